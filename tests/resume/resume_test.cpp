// The second promise as a property: a training stopped anywhere and gone on with on other devices
// ends with the bits of one that was never stopped.
#include <gtest/gtest.h>

#include <random>

#include "lockstep/io/checkpoint.h"
#include "tests/resume/training.h"

namespace lockstep {
namespace {

std::string unbroken() {
  static const std::string result = [] {
    const TemporaryFolder folder;
    FitArguments arguments = make_arguments(folder.path());
    arguments.devices = "cpu:2";
    Model model = make_model();
    const History history = model.fit(make_data(150, 1), arguments);
    EXPECT_FALSE(history.is_interrupted);
    EXPECT_GT(history.step_losses.size(), 20u);
    return outcome(model, history, folder.path());
  }();
  return result;
}

class Resume : public testing::TestWithParam<int> {};

TEST_P(Resume, AfterStopsAnywhereOnAnyDevices) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  const TemporaryFolder folder;
  int stops = 0;
  for (int attempt = 0;; ++attempt) {
    ASSERT_LT(attempt, 200);
    Model model = make_model();
    FitArguments arguments = make_arguments(folder.path());
    arguments.devices = fmt::format("cpu:{}", 1 + random() % 3);
    // Asked once a step, in validation too; at least one step is done each time.
    int left = 2 + static_cast<int>(random() % 9);
    arguments.should_stop = [&left] { return --left == 0; };
    const History history = model.fit(make_data(150, 1), arguments);
    if (history.is_interrupted) {
      ++stops;
      continue;
    }
    EXPECT_EQ(outcome(model, history, folder.path()), unbroken());
    break;
  }
  EXPECT_GT(stops, 3);
}

INSTANTIATE_TEST_SUITE_P(Draws, Resume, testing::Range(0, 8));

/// Trains to the end, from wherever the run in `folder` stands.
void expect_unbroken(const TemporaryFolder& folder, const LogSink& sink = nullptr) {
  Model model = make_model();
  FitArguments arguments = make_arguments(folder.path());
  arguments.sink = sink;
  const History history = model.fit(make_data(150, 1), arguments);
  EXPECT_EQ(outcome(model, history, folder.path()), unbroken());
}

TEST(ResumedRun, ThatIsCompleteDoesNoMoreSteps) {
  const TemporaryFolder folder;
  for (int time = 0; time < 2; ++time) expect_unbroken(folder);
}

TEST(ResumedRun, ACheckpointThatCannotBeWrittenLosesNoTraining) {
  const TemporaryFolder folder;
  FitArguments arguments = make_arguments(folder.path());
  arguments.epochs = 2;
  arguments.sink = [](std::string_view) {};
  int moved = 0;
  // A file stands where the folder of checkpoints was.
  arguments.callbacks = {
      LambdaCallback({.on_epoch_end = [&](TrainingControl&, int64_t epoch, Logs&) {
        if (epoch == 0) return;
        write_file_atomically(folder / "run/file", "");
        // An earlier checkpoint may still be on its way, and its folder come back.
        std::error_code error;
        do {
          std::filesystem::rename(folder / "run/checkpoints",
                                  folder.path() / fmt::format("run/moved-{}", moved++), error);
          std::filesystem::rename(folder / "run/file", folder / "run/checkpoints", error);
        } while (error);
      }})};
  Model model = make_model();
  const History history = model.fit(make_data(150, 1), arguments);
  EXPECT_EQ(history.step_losses.size(), 10u);
  EXPECT_NE(history.unwritten_checkpoint.find("run/checkpoints"), std::string::npos)
      << history.unwritten_checkpoint;
}

TEST(ResumedRun, AnotherLayerIsNamedWithBothSettings) {
  const TemporaryFolder folder;
  const auto fit = [&](double rate) {
    const Tensor x = Input({4}, {.name = "in"});
    const Tensor h = Dropout({.rate = rate, .name = "drop"})(x);
    Model model(x, Dense({.units = 3, .activation = "softmax", .name = "out"})(h), "net");
    model.compile({.optimizer = Adam(), .loss = {"sparse_categorical_crossentropy"}});
    model.fit(class_data(8), {.verbose = 0, .run = folder / "run", .resume = true});
  };
  fit(0.25);
  expect_error(ErrorCode::kInvalidArgument,
               "model.config.layers.drop.config.rate of this run is 0.25: it cannot go on with 0.5",
               [&] { fit(0.5); });
}

TEST(ResumedRun, MayHaveMoreEpochs) {
  const TemporaryFolder folder;
  FitArguments arguments = make_arguments(folder.path());
  arguments.epochs = 2;
  Model first = make_model();
  first.fit(make_data(150, 1), arguments);
  // EarlyStopping put back its best weights at the end; the run goes on from its checkpoint.
  expect_unbroken(folder);
}

TEST(ResumedRun, PassesOverDamagedCheckpointsAndNamesThem) {
  const TemporaryFolder folder;
  FitArguments arguments = make_arguments(folder.path());
  int left = 13;
  arguments.should_stop = [&left] { return --left == 0; };
  Model first = make_model();
  ASSERT_TRUE(first.fit(make_data(150, 1), arguments).is_interrupted);
  const auto checkpoints = list_checkpoints(folder / "run/checkpoints");
  ASSERT_GE(checkpoints.size(), 2u);
  Bytes bytes = read_file(checkpoints.back() / "model.keras");
  bytes[bytes.size() / 2] ^= 1;
  write_file_atomically(checkpoints.back() / "model.keras", bytes);
  std::vector<std::string> lines;
  expect_unbroken(folder, [&](std::string_view line) { lines.emplace_back(line); });
  ASSERT_FALSE(lines.empty());
  EXPECT_NE(lines[0].find("damaged"), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find(checkpoints.back().filename().string()), std::string::npos) << lines[0];
}

TEST(ResumedRun, OtherArgumentsAreRefusedNamingBoth) {
  const TemporaryFolder folder;
  FitArguments arguments = make_arguments(folder.path());
  arguments.epochs = 1;
  Model first = make_model();
  first.fit(make_data(150, 1), arguments);
  const auto refused = [&](const std::string& part,
                           const std::function<void(FitArguments&)>& edit) {
    FitArguments changed = make_arguments(folder.path());
    edit(changed);
    Model model = make_model();
    expect_error(ErrorCode::kInvalidArgument, part, [&] { model.fit(make_data(150, 1), changed); });
  };
  refused("batch_size of this run is 32: it cannot go on with 16",
          [](FitArguments& a) { a.batch_size = 16; });
  refused("seed of this run is 5: it cannot go on with 6", [](FitArguments& a) { a.seed = 6; });
  refused("tower_size of this run is 8: it cannot go on with 4",
          [](FitArguments& a) { a.tower_size = 4; });
  refused("shuffle", [](FitArguments& a) { a.shuffle = false; });
  refused("callbacks", [](FitArguments& a) { a.callbacks.pop_back(); });
  refused("validation_samples", [](FitArguments& a) { a.validation_data = nullptr; });
  refused("has checkpoints already", [](FitArguments& a) { a.resume = false; });
  refused("validation_digest", [](FitArguments& a) { a.validation_data = make_data(40, 3); });
  Model same = make_model();
  expect_error(ErrorCode::kInvalidArgument, "data_digest",
               [&] { same.fit(make_data(150, 9), make_arguments(folder.path())); });
  Model other = classifier();
  expect_error(ErrorCode::kInvalidArgument,
               "model.config.name of this run is \"net\": it cannot go on with \"classifier\"",
               [&] { other.fit(class_data(150), make_arguments(folder.path())); });
}

TEST(ResumedRun, HasOneProcessAtATime) {
  const TemporaryFolder folder;
  const lockstep::Run first(folder / "run");
  expect_error(ErrorCode::kInvalidArgument, "another process",
               [&] { const lockstep::Run second(folder / "run"); });
}

TEST(CustomLoop, GoesOnThroughRun) {
  const DatasetPtr data = make_data(64, 1);
  const auto train = [&](Model& model, lockstep::Run& run, int64_t until) {
    int64_t& step = run.counter("step");
    for (; step < until; ++step)
      model.train_on_batch(noise({16, 6, 6, 2}, static_cast<uint64_t>(step)),
                           labels(16, 5, static_cast<uint64_t>(step)), {.tower_size = 8});
    run.checkpoint(step);
    run.finish();
  };
  const TemporaryFolder folder;
  Model whole = make_model(), broken = make_model();
  {
    lockstep::Run run(folder / "whole");
    run.add("net", whole);
    EXPECT_FALSE(run.resume());
    train(whole, run, 7);
  }
  for (const int64_t until : {2, 5, 7}) {
    broken = make_model();
    lockstep::Run run(folder / "broken");
    run.add("net", broken);
    EXPECT_EQ(run.resume(), until > 2);
    train(broken, run, until);
  }
  expect_same_training(whole, broken);
}

}  // namespace
}  // namespace lockstep
