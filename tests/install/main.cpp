// Touches the installed library from end to end: a Keras model by name, a graph, a compiled
// program.
#include <cstdio>

#include "lockstep/backend/onednn/onednn_backend.h"
#include "lockstep/ir/builder.h"
#include "lockstep/lockstep.h"
#include "lockstep/zoo/zoo.h"

namespace ls = lockstep;

namespace {

/// 2 * x + x on the CPU backend.
float triple(float x) {
  ls::Graph graph;
  ls::Builder builder(graph);
  const ls::Value in = builder.parameter({ls::DType::kF32, {}}, "x");
  graph.add_result(builder.add(builder.add(in, in), in));

  const auto backend = ls::make_onednn_backend();
  const auto program = backend->compile(graph, {"triple"});
  const auto context = program->create_context(0);
  float result = 0;
  const void* const inputs[] = {&x};
  void* const outputs[] = {&result};
  program->run(*context, inputs, outputs);
  return result;
}

}  // namespace

int main() {
  const ls::Model model(ls::zoo_model("mnist_cnn"));
  std::printf("%s\n3 * 7 = %g\n", model.summary().c_str(), static_cast<double>(triple(7)));
  return model.network()->parameter_count() > 0 && triple(7) == 21 ? 0 : 1;
}
