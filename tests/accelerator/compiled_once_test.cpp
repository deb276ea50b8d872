// A process compiles a program once: calls with other batch sizes, and of other models, find again
// what was compiled for them before.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>

#include "lockstep/backend/pjrt/abi.h"
#include "lockstep/backend/pjrt/kind_settings.h"
#include "lockstep/lockstep.h"
#include "tests/train/same_bits.h"

namespace lockstep {
namespace {

namespace abi = pjrt::abi;

constexpr const char* kDevices = "xla_cpu:2";

/// Counts what XLA's plugin compiles, by a function of our own in its table.
class CompiledOnce : public testing::Test {
 protected:
  CompiledOnce() {
    const std::string path = pjrt::load_plugin("xla_cpu")->path();
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    const auto get_api = reinterpret_cast<abi::Api* (*)()>(dlsym(library, "GetPjrtApi"));
    entry_ = &get_api()->functions[static_cast<size_t>(abi::Function::kClientCompile)];
    plugins_own_ = reinterpret_cast<Compile>(*entry_);
    compiled_ = 0;
    *entry_ = reinterpret_cast<void*>(&count);
  }
  ~CompiledOnce() override { *entry_ = reinterpret_cast<void*>(plugins_own_); }

  static Model make_model(int64_t units) {
    const Tensor x = Input({3});
    Model model(x, Dense({.units = 1})(Dense({.units = units})(x)));
    model.compile({.optimizer = Adam(), .loss = "mse"});
    return model;
  }

  static int64_t compiled() { return compiled_; }

  const HostTensor x_ = same_bits::noise({24, 3}, 1), y_ = same_bits::noise({24, 1}, 2);
  const DatasetPtr data_ = dataset(x_, y_);

 private:
  using Compile = abi::Error* (*)(void*);
  static abi::Error* count(void* arguments) {
    ++compiled_;
    return plugins_own_(arguments);
  }

  void** entry_;
  static inline Compile plugins_own_;
  static inline std::atomic<int64_t> compiled_;
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
