// Callbacks against a training that only pretends: what they must do is read off Keras 3.15.1's
// keras/src/callbacks.
#include "lockstep/train/callbacks.h"

#include <cmath>
#include <fstream>
#include <functional>
#include <limits>
#include <random>

#include "tests/formats/format_test_util.h"

namespace lockstep {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(),
                 kNaN = std::numeric_limits<double>::quiet_NaN();

/// Notes what callbacks ask for. A learning rate is a float, as the optimizers'; the weights are
/// the epoch's number.
class FakeTraining final : public TrainingControl {
 public:
  double learning_rate() const override { return rate_; }
  void set_learning_rate(double value) override { rate_ = static_cast<float>(value); }
  void stop_training() override { is_stopped = true; }
  std::vector<HostTensor> weights() override {
    ++weights_seen;
    return {HostTensor::scalar<int64_t>(epoch)};
  }
  void set_weights(const std::vector<HostTensor>& weights) override {
    restored = weights.at(0).data<int64_t>()[0];
  }
  void save(const std::filesystem::path&) override { ADD_FAILURE() << "nobody asked for a file"; }
  void save_weights(const std::filesystem::path& path) override { save(path); }
  int64_t step() const override { return 0; }
  bool is_resumed() const override { return resumed; }
  void log(std::string_view line) override { lines.emplace_back(line); }

  int64_t epoch = -1;
  bool is_stopped = false, resumed = false;
  int weights_seen = 0;
  std::optional<int64_t> restored;  // the weights of which epoch
  std::vector<std::string> lines;

 private:
  float rate_ = 1;
};

void end_epoch(Callback& callback, FakeTraining& training, int64_t epoch, Logs logs) {
  callback.on_epoch_end(training, epoch, logs);
}

/// The epochs of a fit whose logs hold these values of `name`; the number of epochs that ran.
int64_t run(Callback& callback, FakeTraining& training, const std::vector<double>& values,
            const std::string& name = "val_loss") {
  training.is_stopped = false;
  callback.on_train_begin(training);
  int64_t epoch = 0;
  for (; epoch < static_cast<int64_t>(values.size()) && !training.is_stopped; ++epoch) {
    training.epoch = epoch;
    callback.on_epoch_begin(training, epoch);
    end_epoch(callback, training, epoch, {{name, values[static_cast<size_t>(epoch)]}});
  }
  callback.on_train_end(training);
  return epoch;
}

int64_t epochs_until_stop(const EarlyStoppingConfig& config, const std::vector<double>& values) {
  FakeTraining training;
  return run(*EarlyStopping(config), training, values, config.monitor);
}

// -- EarlyStopping

TEST(EarlyStopping, StopsAfterPatience) {
  EXPECT_EQ(epochs_until_stop({}, {3, 2, 2, 1, 0}), 3);
  EXPECT_EQ(epochs_until_stop({.patience = 1}, {3, 2, 2, 1, 0}), 3) << "as patience 0 does";
  EXPECT_EQ(epochs_until_stop({.patience = 2}, {3, 2, 2, 2, 0}), 4);
  EXPECT_EQ(epochs_until_stop({.patience = 2}, {3, 2, 2, 1, 1, 1, 1}), 6)
      << "an improvement begins the count anew";
  EXPECT_EQ(epochs_until_stop({.patience = 3}, {3, 4, 5}), 3) << "not stopped";
}

TEST(EarlyStopping, LargerIsBetterInModeMax) {
  EXPECT_EQ(epochs_until_stop({.mode = "max"}, {1, 2, 3, 3, 9}), 4);
  EXPECT_EQ(epochs_until_stop({.mode = "min"}, {1, 2, 3, 3, 9}), 2);
}

TEST(EarlyStopping, AutoKnowsWhatGrows) {
  for (const char* name : {"accuracy", "val_accuracy", "acc", "val_acc", "binary_accuracy",
                           "val_sparse_categorical_accuracy", "top_k_categorical_accuracy"})
    EXPECT_EQ(epochs_until_stop({.monitor = name}, {1, 2, 3, 3, 9}), 4) << name;
  for (const char* name : {"loss", "val_loss", "mae", "val_mean_squared_error", "out_loss",
                           "root_mean_squared_error", "categorical_crossentropy"})
    EXPECT_EQ(epochs_until_stop({.monitor = name}, {3, 2, 1, 1, 0}), 4) << name;
}

TEST(EarlyStopping, AnUnknownModeIsRefused) {
  expect_error(ErrorCode::kInvalidArgument, "[EarlyStopping] mode must be auto, min or max: \"up\"",
               [] { EarlyStopping({.mode = "up"}); });
}

TEST(EarlyStopping, SmallerChangesThanMinDeltaAreNone) {
  EXPECT_EQ(epochs_until_stop({.min_delta = 0.5}, {3, 2.4, 1.95, 1}), 3);
  EXPECT_EQ(epochs_until_stop({.min_delta = 0.5}, {3, 2.5}), 2) << "equal to it is none either";
  EXPECT_EQ(epochs_until_stop({.min_delta = 0.5, .mode = "max"}, {1, 1.6, 2, 9}), 3);
}

TEST(EarlyStopping, MinDeltaHasNoSign) {  // monitor_callback.py: abs(min_delta)
  EXPECT_EQ(epochs_until_stop({.min_delta = -0.5}, {3, 2.4, 1.95, 1}), 3);
}

TEST(EarlyStopping, SmallChangesAddUp) {  // each is measured against the best, not the last
  EXPECT_EQ(epochs_until_stop({.min_delta = 0.5, .patience = 2}, {3, 2.7, 2.4, 2.3, 2.2}), 5);
}

TEST(EarlyStopping, ABaselineMustBeBeaten) {
  EXPECT_EQ(epochs_until_stop({.patience = 3, .baseline = 1.0}, {5, 4, 3, 2, 1.5}), 5)
      << "improvements only stop the fit when they come to an end";
  EXPECT_EQ(epochs_until_stop({.patience = 3, .baseline = 1.0}, {5, 4, 3, 3, 0}), 4);
  EXPECT_EQ(epochs_until_stop({.patience = 3, .baseline = 1.0}, {0.9, 0.8, 2, 2, 2, 2}), 5);
  EXPECT_EQ(epochs_until_stop({.patience = 2, .mode = "max", .baseline = 4}, {1, 5, 4, 4, 9}), 4);
}

TEST(EarlyStopping, WarmUpEpochsAreNotLookedAt) {
  EXPECT_EQ(epochs_until_stop({.patience = 1, .start_from_epoch = 3}, {0, 9, 9, 9, 8, 8, 0}), 6);
}

TEST(EarlyStopping, TheFirstEpochNeverStops) {
  EXPECT_EQ(epochs_until_stop({.patience = 0, .baseline = 0.0}, {5, 5, 0}), 2);
}

TEST(EarlyStopping, AFirstNaNIsTheBest) {  // monitor_callback.py: any first value improves
  EXPECT_EQ(epochs_until_stop({.patience = 2}, {kNaN, kNaN, kNaN, kNaN}), 3);
  EXPECT_EQ(epochs_until_stop({.patience = 2}, {kInfinity, kInfinity, kInfinity, kInfinity}), 3);
}

TEST(EarlyStopping, ALaterNaNIsNoImprovement) {
  EXPECT_EQ(epochs_until_stop({.patience = 1}, {3, kNaN, 1}), 2);
}

TEST(EarlyStopping, RestoresTheBestWeights) {
  FakeTraining training;
  const auto callback = EarlyStopping({.patience = 2, .restore_best_weights = true});
  EXPECT_EQ(run(*callback, training, {3, 1, 2, 2, 2}), 4);
  EXPECT_EQ(training.restored, 1);
}

TEST(EarlyStopping, RestoresAlsoWhenTheFitEndsByItself) {
  FakeTraining training;
  run(*EarlyStopping({.patience = 9, .restore_best_weights = true}), training, {1, 2, 3});
  EXPECT_EQ(training.restored, 0);
}

TEST(EarlyStopping, RestoresTheBestThatTheBaselineRefused) {
  FakeTraining training;
  run(*EarlyStopping({.patience = 2, .baseline = 0.0, .restore_best_weights = true}), training,
      {3, 2, 4, 4});
  EXPECT_EQ(training.restored, 1);
}

TEST(EarlyStopping, LeavesWeightsAlone) {
  FakeTraining training;
  run(*EarlyStopping(), training, {3, 4});
  EXPECT_EQ(training.weights_seen, 0);
  EXPECT_FALSE(training.restored);
}

TEST(EarlyStopping, NeverRestoresWhatItNeverSaw) {
  FakeTraining training;
  run(*EarlyStopping({.restore_best_weights = true, .start_from_epoch = 5}), training, {3, 4});
  EXPECT_FALSE(training.restored);
}

TEST(EarlyStopping, MayBeUsedForSeveralFits) {
  FakeTraining training;
  const auto callback = EarlyStopping({.patience = 2});
  EXPECT_EQ(run(*callback, training, {1, 2, 2}), 3);
  EXPECT_EQ(run(*callback, training, {9, 8, 8, 8, 8}), 4);
}

TEST(EarlyStopping, SaysWhatThereIsToMonitor) {
  FakeTraining training;
  expect_error(ErrorCode::kInvalidArgument,
               "[EarlyStopping] monitor must be one of loss, mae: \"val_loss\"", [&] {
                 end_epoch(*EarlyStopping(), training, 0, {{"loss", 1}, {"mae", 2}});
               });
}

// -- ReduceLROnPlateau

/// The learning rate at the end of each epoch, which began as 1.
std::vector<double> rates(const ReduceLROnPlateauConfig& config,
                          const std::vector<double>& values) {
  FakeTraining training;
  const auto callback = ReduceLROnPlateau(config);
  callback->on_train_begin(training);
  std::vector<double> result;
  for (size_t epoch = 0; epoch < values.size(); ++epoch) {
    end_epoch(*callback, training, static_cast<int64_t>(epoch), {{config.monitor, values[epoch]}});
    result.push_back(training.learning_rate());
  }
  return result;
}
using Rates = std::vector<double>;

TEST(ReduceLROnPlateau, ReducesByTheFactorAfterPatience) {
  EXPECT_EQ(rates({.factor = 0.5, .patience = 2}, {3, 3, 3, 3, 3, 2, 2, 2}),
            (Rates{1, 1, 0.5, 0.5, 0.25, 0.25, 0.25, 0.125}));
  EXPECT_EQ(rates({.factor = 0.5, .patience = 1}, {3, 3, 2, 3}), (Rates{1, 0.5, 0.5, 0.25}));
}

TEST(ReduceLROnPlateau, DefaultsAreKerass) {
  const Rates got = rates({}, std::vector<double>(12, 1.0));
  EXPECT_EQ(got[9], 1);
  EXPECT_EQ(got[10], static_cast<double>(0.1f));
  EXPECT_EQ(rates({.patience = 1}, {1, 0.9999}), (Rates{1, static_cast<double>(0.1f)}))
      << "min_delta is 1e-4";
  EXPECT_EQ(rates({.patience = 1}, {1, 0.9998}), (Rates{1, 1}));
}

TEST(ReduceLROnPlateau, MinDeltaHasNoSign) {
  EXPECT_EQ(rates({.factor = 0.5, .patience = 1, .min_delta = -0.5}, {1, 0.75}), (Rates{1, 0.5}));
}

TEST(ReduceLROnPlateau, LooksAtTheModeAndAtNames) {
  EXPECT_EQ(rates({.factor = 0.5, .patience = 1, .mode = "max"}, {1, 2, 2}), (Rates{1, 1, 0.5}));
  EXPECT_EQ(rates({.monitor = "val_accuracy", .factor = 0.5, .patience = 1}, {1, 2, 2}),
            (Rates{1, 1, 0.5}));
  EXPECT_EQ(rates({.factor = 0.5, .patience = 1}, {1, 2, 2}), (Rates{1, 0.5, 0.25}));
}

TEST(ReduceLROnPlateau, WaitsOutTheCooldown) {
  // Reduced at 1; in the epochs 2 and 3 nothing is counted, the last of them counts again.
  EXPECT_EQ(rates({.factor = 0.5, .patience = 1, .cooldown = 2}, {3, 3, 3, 3, 3, 3}),
            (Rates{1, 0.5, 0.5, 0.25, 0.25, 0.125}));
  EXPECT_EQ(rates({.factor = 0.5, .patience = 2, .cooldown = 2}, {3, 3, 3, 3, 3, 3, 3}),
            (Rates{1, 1, 0.5, 0.5, 0.5, 0.25, 0.25}));
}

TEST(ReduceLROnPlateau, StopsAtMinLr) {
  EXPECT_EQ(rates({.factor = 0.5, .patience = 1, .min_lr = 0.375}, {3, 3, 3, 3}),
            (Rates{1, 0.5, 0.375, 0.375}));
  // 0.1 is no float: the rate that was set from it is not above it.
  const double tenth = static_cast<double>(0.1f);
  EXPECT_EQ(rates({.factor = 0.5, .patience = 1, .min_lr = 0.1}, std::vector<double>(7, 1.0)),
            (Rates{1, 0.5, 0.25, 0.125, tenth, tenth, tenth}));
}

TEST(ReduceLROnPlateau, FactorsThatDoNotReduceAreRefused) {
  for (const double factor : {1.0, 2.0})
    expect_error(ErrorCode::kInvalidArgument, "[ReduceLROnPlateau] factor must be below 1",
                 [&] { ReduceLROnPlateau({.factor = factor}); });
}

TEST(ReduceLROnPlateau, MayBeUsedForSeveralFits) {
  FakeTraining training;
  const auto callback = ReduceLROnPlateau({.factor = 0.5, .patience = 1, .cooldown = 5});
  run(*callback, training, {1, 1});
  EXPECT_EQ(training.learning_rate(), 0.5);
  run(*callback, training, {9, 9});
  EXPECT_EQ(training.learning_rate(), 0.25);
}

TEST(ReduceLROnPlateau, SaysWhatThereIsToMonitor) {
  FakeTraining training;
  expect_error(ErrorCode::kInvalidArgument,
               "[ReduceLROnPlateau] monitor must be one of loss, learning_rate: \"val_loss\"", [&] {
                 end_epoch(*ReduceLROnPlateau(), training, 0, {{"loss", 1}});
               });
}

// -- what both add to the logs

TEST(LearningRateCallbacks, LogTheRateAtTheEndOfAnEpoch) {  // ReduceLROnPlateau: before it reduces
  FakeTraining training;
  const auto plateau = ReduceLROnPlateau({.factor = 0.5, .patience = 1});
  const auto scheduler = LearningRateScheduler([](int64_t, double) { return 0.25; });
  for (const CallbackPtr& callback : {plateau, scheduler}) {
    callback->on_train_begin(training);
    for (int64_t epoch = 0; epoch < 2; ++epoch) {
      callback->on_epoch_begin(training, epoch);
      const double rate = training.learning_rate();
      Logs logs = {{"loss", 1}, {"val_loss", 1}};
      callback->on_epoch_end(training, epoch, logs);
      EXPECT_EQ(logs, (Logs{{"loss", 1}, {"val_loss", 1}, {"learning_rate", rate}}));
    }
  }
}

// -- LearningRateScheduler, TerminateOnNaN

TEST(LearningRateScheduler, SetsTheRateWhenAnEpochBegins) {
  FakeTraining training;
  std::vector<std::pair<int64_t, double>> calls;
  const auto callback = LearningRateScheduler([&](int64_t epoch, double rate) {
    calls.emplace_back(epoch, rate);
    return rate / 2;
  });
  run(*callback, training, {1, 1, 1});
  EXPECT_EQ(calls, (std::vector<std::pair<int64_t, double>>{{0, 1}, {1, 0.5}, {2, 0.25}}));
  EXPECT_EQ(training.learning_rate(), 0.125);
}

TEST(TerminateOnNaN, StopsAtANumberThatIsNone) {
  for (const double loss : {kNaN, kInfinity, -kInfinity}) {
    FakeTraining training;
    TerminateOnNaN()->on_train_batch_end(training, 7, {{"loss", loss}, {"mae", 1}});
    EXPECT_TRUE(training.is_stopped) << loss;
    EXPECT_EQ(training.lines,
              std::vector<std::string>{"Batch 7: Invalid loss, terminating training"});
  }
}

TEST(TerminateOnNaN, LooksAtTheLossAlone) {
  FakeTraining training;
  const auto callback = TerminateOnNaN();
  callback->on_train_batch_end(training, 0, {{"loss", 1e300}, {"mae", kNaN}});
  callback->on_train_batch_end(training, 0, {});
  end_epoch(*callback, training, 0, {{"loss", kNaN}});
  EXPECT_FALSE(training.is_stopped);
}

// -- monitored

TEST(Monitored, FindsByName) {
  const Logs logs = {{"loss", 1}, {"accuracy", 2}, {"val_loss", 3}, {"val_accuracy", 4}};
  EXPECT_EQ(monitored(logs, "loss", "w"), 1);
  EXPECT_EQ(monitored(logs, "val_loss", "w"), 3);
  EXPECT_EQ(monitored(logs, "accuracy", "w"), 2);
  EXPECT_EQ(monitored(logs, "acc", "w"), 2);
  EXPECT_EQ(monitored(logs, "val_acc", "w"), 4);
}

TEST(Monitored, PrefersTheExactName) {
  EXPECT_EQ(monitored({{"accuracy", 2}, {"acc", 1}}, "acc", "w"), 1);
}

TEST(Monitored, SaysWhatThereIs) {
  const Logs logs = {{"loss", 1}, {"acc", 2}};
  expect_error(ErrorCode::kInvalidArgument, "[who] monitor must be one of loss, acc: \"val_acc\"",
               [&] { monitored(logs, "val_acc", "who"); });
  expect_error(ErrorCode::kInvalidArgument, "\"accuracy\"",
               [&] { monitored(logs, "accuracy", "who"); });
  expect_error(ErrorCode::kInvalidArgument, "\"loss\"", [&] { monitored({}, "loss", "who"); });
}

// -- CSVLogger

class CSVLoggerTest : public testing::Test {
 protected:
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  void log(const CallbackPtr& callback, const std::vector<Logs>& epochs, int64_t first = 0) {
    callback->on_train_begin(training_);
    for (const Logs& logs : epochs) end_epoch(*callback, training_, first++, logs);
    callback->on_train_end(training_);
  }
  TemporaryFolder folder_;
  const std::string path_ = (folder_ / "log.csv").string();
  FakeTraining training_;
};

TEST_F(CSVLoggerTest, WritesARowAnEpochByName) {
  log(CSVLogger({path_}),
      {{{"loss", 0.5}, {"accuracy", 1}, {"val_loss", 2}, {"val_accuracy", 3}},
       {{"loss", 0.25}, {"accuracy", 1}, {"val_loss", 2}, {"val_accuracy", 4}}});
  EXPECT_EQ(text(),
            "epoch,accuracy,loss,val_accuracy,val_loss\n"
            "0,1,0.5,3,2\n"
            "1,1,0.25,4,2\n");
}

TEST_F(CSVLoggerTest, RowsAreThereAtTheEndOfTheirEpoch) {
  const auto callback = CSVLogger({path_});
  callback->on_train_begin(training_);
  end_epoch(*callback, training_, 0, {{"loss", 0.5}, {"val_loss", 1}});
  EXPECT_EQ(text(), "epoch,loss,val_loss\n0,0.5,1\n");
}

TEST_F(CSVLoggerTest, LeavesRoomForValidationThatMayFollow) {  // csv_logger.py: val_keys_found
  log(CSVLogger({path_}), {{{"loss", 0.5}, {"mae", 2}}});
  EXPECT_EQ(text(), "epoch,loss,mae,val_loss,val_mae\n0,0.5,2,NA,NA\n");
}

TEST_F(CSVLoggerTest, ColumnsAreThoseOfTheFirstEpoch) {
  log(CSVLogger({path_}), {{{"loss", 0.5}, {"val_loss", 1}}, {{"loss", 0.25}}});
  EXPECT_EQ(text(), "epoch,loss,val_loss\n0,0.5,1\n1,0.25,NA\n");
}

TEST_F(CSVLoggerTest, NumbersComeBackAsTheyWere) {
  const double third = 1.0 / 3;
  log(CSVLogger({path_}), {{{"loss", third}, {"val_loss", kNaN}}});
  const std::string all = text();
  EXPECT_EQ(std::stod(all.substr(all.find("\n0,") + 3)), third);
  EXPECT_NE(all.find(",nan\n"), std::string::npos) << all;
}

TEST_F(CSVLoggerTest, TheSeparatorIsTheUsers) {
  log(CSVLogger({.filename = path_, .separator = ";"}), {{{"loss", 0.5}, {"val_loss", 1}}});
  EXPECT_EQ(text(), "epoch;loss;val_loss\n0;0.5;1\n");
}

TEST_F(CSVLoggerTest, AppendGoesOnWithoutASecondHeader) {
  const CSVLoggerConfig config{.filename = path_, .append = true};
  log(CSVLogger(config), {{{"loss", 0.5}, {"val_loss", 1}}});
  log(CSVLogger(config), {{{"loss", 0.25}, {"val_loss", 1}}}, 1);
  EXPECT_EQ(text(), "epoch,loss,val_loss\n0,0.5,1\n1,0.25,1\n");
}

TEST_F(CSVLoggerTest, AppendToAnEmptyFileWritesTheHeader) {
  { const std::ofstream empty(path_); }
  log(CSVLogger({.filename = path_, .append = true}), {{{"loss", 0.5}, {"val_loss", 1}}});
  EXPECT_EQ(text(), "epoch,loss,val_loss\n0,0.5,1\n");
}

TEST_F(CSVLoggerTest, WithoutAppendTheOldFileGoes) {
  const auto callback = CSVLogger({path_});
  log(callback, {{{"loss", 0.5}, {"val_loss", 1}}, {{"loss", 0.5}, {"val_loss", 1}}});
  log(callback, {{{"loss", 0.25}, {"val_loss", 1}}});
  EXPECT_EQ(text(), "epoch,loss,val_loss\n0,0.25,1\n");
}

TEST_F(CSVLoggerTest, AFileThatCannotBeWrittenIsNamed) {
  expect_error(ErrorCode::kInvalidArgument, "none/log.csv", [&] {
    CSVLogger({(folder_ / "none/log.csv").string()})->on_train_begin(training_);
  });
}

TEST_F(CSVLoggerTest, AResumedTrainingCutsWhatCameAfterItsCheckpoint) {
  const Logs logs = {{"loss", 0.5}, {"val_loss", 1}};
  const auto callback = CSVLogger({path_});
  callback->on_train_begin(training_);
  end_epoch(*callback, training_, 0, logs);
  const Json state = callback->state();
  end_epoch(*callback, training_, 1, logs);
  training_.resumed = true;
  const auto again = CSVLogger({path_});
  again->on_train_begin(training_);
  again->restore(training_, state, {});
  end_epoch(*again, training_, 1, {{"loss", 0.25}});
  EXPECT_EQ(text(), "epoch,loss,val_loss\n0,0.5,1\n1,0.25,NA\n");
}

// -- resuming

/// What a callback did at each epoch.
struct Deeds {
  std::vector<double> rates;
  int64_t stopped_after = -1;
  std::optional<int64_t> restored;
  bool operator==(const Deeds&) const = default;
};

/// All epochs, in a new callback from epoch `cut` on that knows only the old one's checkpoint.
Deeds deeds(const std::function<CallbackPtr()>& make, const std::vector<double>& values,
            int64_t cut) {
  Deeds result;
  FakeTraining training;
  CallbackPtr callback = make();
  callback->on_train_begin(training);
  for (int64_t epoch = 0; epoch < static_cast<int64_t>(values.size()); ++epoch) {
    if (epoch == cut) {
      const Json state = Json::parse(callback->state().dump());  // as it stands in a file
      const std::vector<HostTensor> tensors = callback->tensors();
      callback = make();
      training.resumed = true;
      callback->on_train_begin(training);
      callback->restore(training, state, tensors);
    }
    training.epoch = epoch;
    callback->on_epoch_begin(training, epoch);
    end_epoch(*callback, training, epoch, {{"val_loss", values[static_cast<size_t>(epoch)]}});
    result.rates.push_back(training.learning_rate());
    if (!training.is_stopped) continue;
    result.stopped_after = epoch;
    break;
  }
  callback->on_train_end(training);
  result.restored = training.restored;
  return result;
}

TEST(ResumedCallbacks, DoWhatUninterruptedOnesDo) {
  const std::vector<std::function<CallbackPtr()>> makers = {
      [] { return EarlyStopping({.patience = 3, .restore_best_weights = true}); },
      [] { return EarlyStopping({.patience = 3, .baseline = 0.6, .start_from_epoch = 2}); },
      [] { return EarlyStopping({.min_delta = 0.1, .patience = 2, .mode = "max"}); },
      [] { return ReduceLROnPlateau({.factor = 0.5, .patience = 2, .cooldown = 2}); },
      [] { return ReduceLROnPlateau({.factor = 0.5, .patience = 1, .min_lr = 0.1}); },
      [] {
        return LearningRateScheduler([](int64_t e, double rate) { return e % 3 ? rate / 2 : 1; });
      },
  };
  std::mt19937 random(1);
  for (int draw = 0; draw < 40; ++draw) {
    std::vector<double> values;
    for (int i = 0; i < 12; ++i) values.push_back(static_cast<double>(random() % 11) / 10);
    if (draw % 4 == 0) values[random() % 12] = kNaN;
    for (size_t m = 0; m < makers.size(); ++m)
      for (int64_t cut = 1; cut < 12; ++cut)
        ASSERT_EQ(deeds(makers[m], values, cut), deeds(makers[m], values, -1))
            << "callback " << m << ", cut before epoch " << cut << ", draw " << draw;
  }
}

}  // namespace
}  // namespace lockstep
