// The second promise on devices with a memory of their own: stopped anywhere, gone on with on other
// devices, the same bits as never stopped.
#include <gtest/gtest.h>

#include "tests/resume/training.h"

namespace lockstep {
namespace {

TEST(ResumeOnXla, AfterStopsOnAnyDevices) {
  const TemporaryFolder whole, broken;
  FitArguments arguments = make_arguments(whole.path());
  arguments.devices = "xla_cpu:2";
  Model model = make_model();
  const History history = model.fit(make_data(150, 1), arguments);
  const std::string unbroken = outcome(model, history, whole.path());

  int attempt = 0;
  for (; attempt < 40; ++attempt) {
    Model again = make_model();
    arguments = make_arguments(broken.path());
    arguments.devices = fmt::format("xla_cpu:{}", 1 + attempt % 3);
    // Asked once a step: in the middle of accumulation, at ends of epochs, in validation.
    int left = 7 + attempt % 5;
    arguments.should_stop = [&left] { return --left == 0; };
    const History stopped = again.fit(make_data(150, 1), arguments);
    if (stopped.is_interrupted) continue;
    EXPECT_EQ(outcome(again, stopped, broken.path()), unbroken);
    break;
  }
  EXPECT_GT(attempt, 3);
  EXPECT_LT(attempt, 40);
}

}  // namespace
}  // namespace lockstep
