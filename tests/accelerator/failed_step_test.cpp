// A step that fails: either nothing has changed, or every later use says what is lost and why.
#include <gtest/gtest.h>

#include "lockstep/lockstep.h"
#include "tests/accelerator/plugin_table.h"
#include "tests/train/same_bits.h"

namespace lockstep {
namespace {

using Execute = ReplacedFunction<pjrt::abi::LoadedExecutableExecuteArgs>;

/// Runs programs until `left` are left, then refuses.
struct Plugin {
  int left = -1;  // -1: never refuses
  const Execute execute{[this](auto& arguments) {
    if (left == 0) return Execute::refuse(arguments);
    if (left > 0) --left;
    return Execute::call_on(arguments);
  }};
};

Model make_model() {
  const Tensor x = Input({3});
  Model model(x, Dense({.units = 1})(Dense({.units = 4})(x)));
  model.compile({.optimizer = Adam({.gradient_accumulation_steps = 2}), .loss = "mse"});
  return model;
}

bool have_same_bits(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const HostTensor& x, const HostTensor& y) { return x.same_bits(y); });
}

/// What the error says, or "" where there is none.
template <class Body>
std::string words(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

TEST(FailedStep, LeavesEverythingAsItWasOrNamesTheErrorEverAfter) {
  const HostTensor x = same_bits::noise({8, 3}, 1), y = same_bits::noise({8, 1}, 2);
  FitArguments arguments;
  arguments.devices = "xla_cpu:2";
  arguments.tower_size = 4;
  Plugin plugin;
  const auto step = [&](Model& model) { model.train_on_batch(x, y, arguments); };
  Model first = make_model();  // keeps what is compiled
  const std::vector<HostTensor> weights = first.get_weights();
  step(first);
  int refused = 0, lost = 0;
  // Each program of an update step in turn; the step before has filled the accumulators.
  for (int good = 0;; ++good) {
    Model model = make_model(), other = make_model();
    for (Model* one : {&model, &other}) {
      one->set_weights(weights);
      step(*one);
    }
    plugin.left = good;
    const std::string failure = words([&] { step(model); });
    plugin.left = -1;
    if (failure.empty()) break;
    ++refused;
    EXPECT_NE(failure.find("LoadedExecutableExecute failed"), std::string::npos) << failure;
    const std::string later = words([&] { step(model); });
    if (later.empty()) {
      step(other);
      EXPECT_TRUE(have_same_bits(model.get_weights(), other.get_weights())) << good;
      continue;
    }
    ++lost;
    const std::vector<std::function<void()>> uses = {
        [&] { step(model); },
        [&] { model.get_weights(); },
        [&] { model.optimizer_state(); },
        [&] { model.predict_on_batch(x, {.devices = arguments.devices, .tower_size = 4}); },
        [&] { model.predict_on_batch(x); },
        [&] { model.snapshot(); }};
    for (size_t i = 0; i < uses.size(); ++i) {
      const std::string said = words(uses[i]);
      EXPECT_NE(said.find("training step 1 failed in the middle of its update"), std::string::npos)
          << "use " << i << ", " << good << " programs: " << said;
      EXPECT_NE(said.find("LoadedExecutableExecute failed"), std::string::npos) << said;
    }
  }
  EXPECT_GT(lost, 3);
  EXPECT_GT(refused, lost);
}

}  // namespace
}  // namespace lockstep
