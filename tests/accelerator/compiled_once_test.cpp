// A process compiles a program once: calls with other batch sizes, and of other models, find again
// what was compiled for them before.
#include <gtest/gtest.h>

#include "lockstep/lockstep.h"
#include "tests/accelerator/plugin_table.h"
#include "tests/train/same_bits.h"

namespace lockstep {
namespace {

constexpr const char* kDevices = "xla_cpu:2";

class CompiledOnce : public testing::Test {
 protected:
  static Model make_model(int64_t units) {
    const Tensor x = Input({3});
    Model model(x, Dense({.units = 1})(Dense({.units = units})(x)));
    model.compile({.optimizer = Adam(), .loss = "mse"});
    return model;
  }

  int64_t compiled() const { return compiled_; }

  const HostTensor x_ = same_bits::noise({24, 3}, 1), y_ = same_bits::noise({24, 1}, 2);
  const DatasetPtr data_ = dataset(x_, y_);

 private:
  using Compile = ReplacedFunction<pjrt::abi::ClientCompileArgs>;
  int64_t compiled_ = 0;
  const Compile compile_{[this](auto& arguments) {
    ++compiled_;
    return Compile::call_on(arguments);
  }};
};

TEST_F(CompiledOnce, OfCallsWithTwoBatchSizesInTurn) {
  Model model = make_model(4);
  const auto once = [&] {
    model.fit(data_, {.batch_size = 8, .verbose = 0, .devices = kDevices, .tower_size = 4});
    model.predict(data_, {.batch_size = 6, .devices = kDevices, .tower_size = 3});
    model.evaluate(data_, {.batch_size = 12, .devices = kDevices, .tower_size = 6});
  };
  once();
  const int64_t first = compiled();
  EXPECT_GT(first, 0);
  for (int again = 0; again < 3; ++again) once();
  EXPECT_EQ(compiled(), first);
  // The optimizer is another, prediction is the same.
  model.compile({.optimizer = SGD(), .loss = "mse"});
  model.predict(data_, {.batch_size = 6, .devices = kDevices, .tower_size = 3});
  EXPECT_EQ(compiled(), first);
}

TEST_F(CompiledOnce, OfTwoModelsInTurn) {
  Model one = make_model(4), other = make_model(5);
  const auto once = [&] {
    for (const int64_t rows : {8, 6})
      for (Model* model : {&one, &other}) {
        FitArguments arguments{.devices = kDevices, .tower_size = rows / 2};
        model->train_on_batch(same_bits::noise({rows, 3}, 3), same_bits::noise({rows, 1}, 4),
                              arguments);
        model->predict_on_batch(x_, {.devices = kDevices, .tower_size = 12});
      }
  };
  once();
  const int64_t first = compiled();
  for (int again = 0; again < 3; ++again) once();
  EXPECT_EQ(compiled(), first);
}

TEST_F(CompiledOnce, OfModelsThatAreAlike) {
  Model one = make_model(4);
  const FitArguments arguments{.batch_size = 8, .verbose = 0, .devices = kDevices, .tower_size = 4};
  one.fit(data_, arguments);
  const int64_t first = compiled();
  make_model(4).fit(data_, arguments);
  EXPECT_EQ(compiled(), first);
}

}  // namespace
}  // namespace lockstep
