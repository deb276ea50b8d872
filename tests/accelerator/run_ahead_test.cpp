// The host queues a step before it reads the losses of the one before, where nobody looks at each
// step.
#include <gtest/gtest.h>

#include "lockstep/lockstep.h"
#include "tests/accelerator/plugin_table.h"
#include "tests/train/same_bits.h"

namespace lockstep {
namespace {

constexpr int64_t kSteps = 6;

class RunAhead : public testing::Test {
 protected:
  History fit(std::vector<CallbackPtr> callbacks, std::function<bool()> should_stop = nullptr) {
    const Tensor x = Input({3});
    Model model(x, Dense({.units = 1})(x));
    model.set_weights({same_bits::noise({3, 1}, 3), same_bits::noise({1}, 4)});
    model.compile({.optimizer = SGD(), .loss = "mse"});
    FitArguments arguments{.batch_size = 4, .verbose = 0, .devices = "xla_cpu:1", .tower_size = 4};
    arguments.callbacks = std::move(callbacks);
    arguments.should_stop = std::move(should_stop);
    executed_ = 0;
    downloads_.clear();
    History history = model.fit(data_, arguments);
    iterations_ = model.optimizer_state().iterations;
    return history;
  }

  /// Steps that were queued as a whole before each download of losses.
  std::vector<int64_t> steps_before_reads() const {
    std::vector<int64_t> steps;
    for (int64_t step = 0; step < kSteps; ++step)
      steps.push_back(downloads_.at(static_cast<size_t>(step)) * kSteps / executed_);
    return steps;
  }

  int64_t iterations_ = 0;

 private:
  using Execute = ReplacedFunction<pjrt::abi::LoadedExecutableExecuteArgs>;
  using Download = ReplacedFunction<pjrt::abi::BufferToHostBufferArgs>;
  const DatasetPtr data_ =
      dataset(same_bits::noise({4 * kSteps, 3}, 1), same_bits::noise({4 * kSteps, 1}, 2));
  int64_t executed_ = 0;
  std::vector<int64_t> downloads_;  // programs before each
  const Execute execute_{[this](auto& arguments) {
    ++executed_;
    return Execute::call_on(arguments);
  }};
  const Download download_{[this](auto& arguments) {
    downloads_.push_back(executed_);
    return Download::call_on(arguments);
  }};
};

TEST_F(RunAhead, ByOneStepUnlessACallbackWatches) {
  const History ahead = fit({EarlyStopping({.monitor = "loss"})});
  EXPECT_EQ(steps_before_reads(), (std::vector<int64_t>{2, 3, 4, 5, 6, 6}));
  std::vector<double> seen;
  const auto look = [&](TrainingControl&, int64_t, const Logs& logs) {
    seen.push_back(logs[0].second);
  };
  const History watched = fit({LambdaCallback({.on_train_batch_end = look})});
  EXPECT_EQ(steps_before_reads(), (std::vector<int64_t>{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(ahead.step_losses, watched.step_losses);
  EXPECT_EQ(ahead["loss"], watched["loss"]);
  EXPECT_EQ(seen.size(), static_cast<size_t>(kSteps));
}

TEST_F(RunAhead, AndStopsWhereItIsToldTo) {
  int left = 4;
  const History stopped = fit({}, [&] { return --left == 0; });
  EXPECT_EQ(stopped.step_losses.size(), 3u);
  EXPECT_EQ(iterations_, 3);
}

}  // namespace
}  // namespace lockstep
