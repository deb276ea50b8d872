// What users of Keras and of other trainers reported about resuming, each as a test. Order of
// samples, dropout and optimizer state are compared as a whole in resume_test.cpp, through the loss
// of every step.
#include <gtest/gtest.h>

#include "tests/train/train_test_util.h"

namespace lockstep {
namespace {

/// 4 steps an epoch.
FitArguments in(const std::filesystem::path& folder, int64_t epochs,
                std::vector<CallbackPtr> callbacks = {}) {
  return {.batch_size = 8,
          .epochs = epochs,
          .verbose = 0,
          .devices = "cpu:1",
          .callbacks = std::move(callbacks),
          .run = folder / "run",
          .resume = true,
          .checkpoint_every = 1};
}

Model with_optimizer(const Json& optimizer) {
  Model model = uncompiled_classifier();
  model.compile_from_config(
      {{"optimizer", optimizer}, {"loss", "sparse_categorical_crossentropy"}});
  return model;
}

Json sgd(const Json& learning_rate) {
  return {{"class_name", "SGD"}, {"config", {{"learning_rate", learning_rate}}}};
}

/// Trains `make()` and stops it after each of `steps` steps, counted from the stop before; then to
/// the end.
template <class Make, class Arguments>
History with_stops(Make make, Arguments arguments, std::initializer_list<int> steps) {
  for (int left : steps) {
    Model model = make();
    FitArguments some = arguments();
    some.should_stop = [&left] { return left-- == 0; };
    EXPECT_TRUE(model.fit(class_data(32), some).is_interrupted);
  }
  Model model = make();
  return model.fit(class_data(32), arguments());
}

// accelerate#1451, KempnerForge#57, lightning#19403: steps skipped at a resume are skipped in every
// later epoch; a second stop in one epoch counts from the first; a step more at each resume.
TEST(Reported, StopsInOneEpochLoseAndRepeatNoStep) {
  const TemporaryFolder whole, broken;
  const auto make = [] { return with_optimizer(sgd(0.1)); };
  const History want = with_stops(make, [&] { return in(whole.path(), 3); }, {});
  const History got = with_stops(make, [&] { return in(broken.path(), 3); }, {1, 2, 1, 5});
  EXPECT_EQ(want.step_losses.size(), 12u);
  EXPECT_EQ(got.step_losses, want.step_losses);
  Model model = with_optimizer(sgd(0.1));
  lockstep::Run run(broken / "run");
  run.add("model", model);
  ASSERT_TRUE(run.resume());
  EXPECT_EQ(run.counter("step"), 12);
  EXPECT_EQ(model.optimizer_state().iterations, 12);
}

// lightning#1772, #4655; keras#13027: the schedule is one epoch behind, or begins anew.
TEST(Reported, SchedulesGoOnAtEveryStep) {
  const Json decay = {
      {"class_name", "ExponentialDecay"},
      {"config", {{"initial_learning_rate", 0.5}, {"decay_steps", 3}, {"decay_rate", 0.5}}}};
  std::vector<double> rates;
  const auto note = [&](TrainingControl& training, int64_t, const Logs&) {
    rates.push_back(training.learning_rate());
  };
  const auto run_with = [&](std::initializer_list<int> stops) {
    const TemporaryFolder folder;
    rates.clear();
    with_stops([&] { return with_optimizer(sgd(decay)); },
               [&] { return in(folder.path(), 2, {LambdaCallback({.on_train_batch_end = note})}); },
               stops);
    return rates;
  };
  const auto want = run_with({});
  EXPECT_EQ(want.size(), 8u);
  EXPECT_EQ(run_with({3, 2}), want);
}

// horovod#1921: a warm-up takes the restored, already scaled rate for the first one.
TEST(Reported, SchedulersSeeTheRateOnce) {
  const auto rate_after = [](std::initializer_list<int> stops) {
    const TemporaryFolder folder;
    double rate = 0;
    with_stops([] { return with_optimizer(sgd(0.01)); },
               [&] {
                 return in(folder.path(), 3,
                           {LearningRateScheduler([](int64_t, double old) { return old * 2; }),
                            LambdaCallback({.on_train_end = [&](TrainingControl& training) {
                              rate = training.learning_rate();
                            }})});
               },
               stops);
    return rate;
  };
  EXPECT_EQ(rate_after({}), static_cast<double>(0.08f));
  EXPECT_EQ(rate_after({2, 2, 3}), rate_after({}));
}

// lightning#14699, pytorch-image-models#2756: patience and cooldown counters are lost.
TEST(Reported, PlateauCountersGoOn) {
  const TemporaryFolder folder;
  std::vector<double> rates;
  // The loss falls, so that every epoch but the first is a bad one.
  const auto arguments = [&] {
    return in(folder.path(), 5,
              {ReduceLROnPlateau({.monitor = "loss", .patience = 3, .mode = "max"}),
               LambdaCallback({.on_epoch_end = [&](TrainingControl& training, int64_t, Logs&) {
                 rates.push_back(training.learning_rate());
               }})});
  };
  with_stops([] { return with_optimizer(sgd(0.5)); }, arguments, {13});
  ASSERT_EQ(rates.size(), 5u);
  EXPECT_EQ(rates[2], 0.5);
  EXPECT_EQ(rates[3], static_cast<double>(0.05f)) << "after two bad epochs, a stop, and one more";
}

// keras#15538: the best value is infinity after a resume, and a worse model takes the better's
// place.
TEST(Reported, TheBestModelStaysTheBest) {
  const TemporaryFolder folder;
  const auto arguments = [&] {
    return in(folder.path(), 4,
              {ModelCheckpoint({.filepath = folder / "best.keras",
                                .monitor = "loss",
                                .save_best_only = true,
                                .mode = "max"})});
  };
  const auto make = [] { return with_optimizer(sgd(0.5)); };
  Bytes best;
  with_stops(make,
             [&] {
               if (std::filesystem::exists(folder / "best.keras"))
                 best = read_file(folder / "best.keras");
               return arguments();
             },
             {6, 4});
  EXPECT_FALSE(best.empty());
  EXPECT_TRUE(read_file(folder / "best.keras") == best);
}

// keras#2378, #1872: epochs count from 1 again, and files of the first epochs are written over.
TEST(Reported, NamesOfFilesGoOn) {
  const TemporaryFolder folder;
  const auto names = [&](int64_t epochs) {
    Model model = with_optimizer(sgd(0.5));
    const History history = model.fit(
        class_data(32),
        in(folder.path(), epochs, {ModelCheckpoint({.filepath = folder / "m{epoch:02d}.keras"})}));
    EXPECT_EQ(history["loss"].size(), static_cast<size_t>(epochs));
  };
  names(3);
  const Bytes third = read_file(folder / "m03.keras");
  names(5);
  EXPECT_TRUE(std::filesystem::exists(folder / "m05.keras"));
  EXPECT_TRUE(read_file(folder / "m03.keras") == third);
}

// keras#12511: restore_best_weights acts only when the callback itself stopped training.
TEST(Reported, BestWeightsComeBackWithoutAStopToo) {
  const TemporaryFolder folder;
  std::vector<HostTensor> first;
  const auto arguments = [&] {
    return in(
        folder.path(), 3,
        {EarlyStopping(
             {.monitor = "loss", .patience = 9, .mode = "max", .restore_best_weights = true}),
         LambdaCallback({.on_epoch_end = [&](TrainingControl& training, int64_t epoch, Logs&) {
           if (epoch == 0) first = training.weights();
         }})});
  };
  Model last = with_optimizer(sgd(0.5));
  int left = 9;
  FitArguments some = arguments();
  some.should_stop = [&left] { return left-- == 0; };
  EXPECT_TRUE(last.fit(class_data(32), some).is_interrupted);
  last = with_optimizer(sgd(0.5));
  last.fit(class_data(32), arguments());
  expect_same_bits(last.get_weights(), first);
}

// keras#13377: an exception in an epoch leaves the rows so far on the disk.
TEST(Reported, RowsBeforeAnErrorAreThere) {
  const TemporaryFolder folder;
  Model model = with_optimizer(sgd(0.5));
  const auto fail_in_the_third = [](TrainingControl&, int64_t epoch) {
    if (epoch == 2) throw std::runtime_error("user's own");
  };
  EXPECT_THROW(
      model.fit(class_data(32), in(folder.path(), 5,
                                   {CSVLogger({.filename = folder / "log.csv"}),
                                    LambdaCallback({.on_epoch_begin = fail_in_the_third})})),
      std::runtime_error);
  const Bytes text = read_file(folder / "log.csv");
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 3) << text;
}

}  // namespace
}  // namespace lockstep
