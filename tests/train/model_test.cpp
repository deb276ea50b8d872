// Model's calls among each other: what equals what, bit for bit where nothing else is said.
#include <array>
#include <cmath>

#include "tests/train/train_test_util.h"

namespace lockstep {
namespace {

using Role = Column::Role;

FitArguments quiet(FitArguments arguments) {
  arguments.verbose = 0;
  if (arguments.devices == "cpu") arguments.devices = "cpu:1";
  return arguments;
}
EvaluateArguments alone(int64_t batch_size = 32) {
  return {.batch_size = batch_size, .devices = "cpu:1"};
}

double value(const Logs& logs, const std::string& name) {
  return monitored(logs, name, "test");
}

// -- fit

TEST(Fit, HistoryHasAValueAnEpochAndALossAStep) {
  Model model = classifier();
  const History history =
      model.fit(class_data(10), quiet({.batch_size = 4, .epochs = 3, .validation_split = 0.2}));
  std::vector<std::string> names;
  for (const auto& [name, values] : history.all()) {
    names.push_back(name);
    EXPECT_EQ(values.size(), 3u) << name;
  }
  EXPECT_EQ(names, (std::vector<std::string>{"loss", "accuracy", "val_loss", "val_accuracy"}));
  EXPECT_EQ(history.step_losses.size(), 6u);
  EXPECT_EQ(model.optimizer_state().iterations, 6);
}

TEST(Fit, TheEpochsLossIsTheMeanOverSamples) {
  Model model = classifier();
  const History history = model.fit(class_data(10), quiet({.batch_size = 4}));
  const auto& steps = history.step_losses;
  EXPECT_NEAR(history["loss"][0], (4 * steps[0] + 4 * steps[1] + 2 * steps[2]) / 10, 1e-12);
}

TEST(Fit, GoesOnWhereASavedModelStopped) {
  const TemporaryFolder folder;
  const DatasetPtr data = class_data(10);
  Model whole = classifier(), first = classifier();
  whole.fit(data, quiet({.batch_size = 4, .epochs = 3}));
  first.fit(data, quiet({.batch_size = 4, .epochs = 1}));
  first.save(folder / "m.keras");
  Model second = Model::load(folder / "m.keras");
  second.fit(data, quiet({.batch_size = 4, .epochs = 3, .initial_epoch = 1}));
  expect_same_training(second, whole);
}

TEST(Fit, TwiceIsAsOnce) {
  const DatasetPtr data = class_data(10);
  Model once = classifier(), twice = classifier();
  once.fit(data, quiet({.batch_size = 4, .epochs = 2}));
  twice.fit(data, quiet({.batch_size = 4, .epochs = 1}));
  twice.fit(data, quiet({.batch_size = 4, .epochs = 2, .initial_epoch = 1}));
  expect_same_training(twice, once);
}

TEST(Fit, StepsPerEpochIsTheBeginningOfTheOrder) {
  const DatasetPtr data = class_data(10);
  Model model = classifier();
  const History whole = classifier().fit(data, quiet({.batch_size = 4}));
  const History part = model.fit(data, quiet({.batch_size = 4, .steps_per_epoch = 2}));
  EXPECT_EQ(part.step_losses,
            std::vector<double>(whole.step_losses.begin(), whole.step_losses.begin() + 2));
  EXPECT_EQ(model.optimizer_state().iterations, 2);
}

TEST(Fit, TheSeedShufflesAndOffIsTheDatasOrder) {
  const DatasetPtr data = class_data(64);
  Model a = classifier(), b = classifier(), c = classifier();
  a.fit(data, quiet({.batch_size = 8, .seed = 1}));
  b.set_weights(classifier().get_weights());
  b.fit(data, quiet({.batch_size = 8, .shuffle = false, .seed = 1}));
  c.set_weights(classifier().get_weights());
  c.fit(data, quiet({.batch_size = 8, .shuffle = false, .seed = 2}));
  expect_same_training(b, c);
  EXPECT_FALSE(a.get_weights()[0].same_bits(b.get_weights()[0]));
}

// -- evaluate

TEST(Evaluate, KeepsWeightsAndOptimizer) {
  const DatasetPtr data = class_data(10);
  Model evaluated = classifier(), plain = classifier();
  for (Model* model : {&evaluated, &plain}) {
    model->fit(data, quiet({.batch_size = 4}));
    if (model == &evaluated) {
      model->evaluate(data, alone(3));
      model->evaluate(data, alone(4));
      model->predict(data, alone(5));
      EXPECT_EQ(model->optimizer_state().iterations, 3);
    }
    model->fit(data, quiet({.batch_size = 4, .epochs = 2, .initial_epoch = 1}));
  }
  expect_same_training(evaluated, plain);
}

TEST(Evaluate, IsWhatFitReportsOfValidationData) {
  Model model = classifier();
  const DatasetPtr validation = class_data(9, 5);
  const History history =
      model.fit(class_data(10), quiet({.batch_size = 4, .validation_data = validation}));
  const Logs logs = model.evaluate(validation, alone(4));
  EXPECT_EQ(value(logs, "loss"), history["val_loss"][0]);
  EXPECT_EQ(value(logs, "accuracy"), history["val_accuracy"][0]);
}

TEST(Evaluate, TheLossIsTheMeanOverSamplesWhateverTheBatch) {
  Model model = classifier();
  const DatasetPtr data = class_data(10);
  const double want = value(model.evaluate(data, alone(10)), "loss");
  for (const int64_t batch : {1, 3, 4, 32})
    EXPECT_NEAR(value(model.evaluate(data, alone(batch)), "loss"), want, 1e-6) << batch;
}

TEST(Evaluate, ALossIsFirst) {
  EXPECT_EQ(classifier().evaluate(class_data(4), alone())[0].first, "loss");
}

// -- train_on_batch

TEST(TrainOnBatch, IsOneStepOfFit) {
  const HostTensor x = noise({6, 4}, 1), y = labels(6, 3);
  Model step = classifier(), fit = classifier();
  for (int i = 0; i < 3; ++i) {
    const Logs logs = step.train_on_batch(x, y, quiet({}));
    const History history = fit.fit(dataset(x, y), quiet({.batch_size = 6, .shuffle = false}));
    EXPECT_EQ(value(logs, "loss"), history["loss"][0]);
    EXPECT_EQ(value(logs, "accuracy"), history["accuracy"][0]);
    expect_same_training(step, fit);
  }
}

TEST(TrainOnBatch, TakesBatchesOfAnySize) {
  Model step = classifier(), fit = classifier();
  for (const int64_t rows : {6, 1, 4}) {
    step.train_on_batch(noise({rows, 4}, 1), labels(rows, 3), quiet({}));
    fit.fit(class_data(rows), quiet({.batch_size = rows, .shuffle = false}));
  }
  expect_same_training(step, fit);
  EXPECT_EQ(step.optimizer_state().iterations, 3);
}

// -- predict

TEST(Predict, SameBitsOnAnyDevices) {
  Model model = classifier();
  const DatasetPtr data = dataset(noise({50, 4}, 1));
  const HostTensor want = model.predict(data, alone())[0].tensor;
  EXPECT_EQ(want.shape(), (Shape{50, 3}));
  for (const int devices : {1, 2, 3})
    for (const int64_t tower : {1, 3, 8}) {
      const auto got =
          model.predict(data, {.devices = fmt::format("cpu:{}", devices), .tower_size = tower});
      const auto again = model.predict(data, {.devices = "cpu:1", .tower_size = tower});
      EXPECT_TRUE(got[0].tensor.same_bits(again[0].tensor)) << devices << " " << tower;
    }
}

TEST(Predict, RowsDoNotDependOnTheBatch) {
  Model model = classifier();
  const DatasetPtr data = dataset(noise({50, 4}, 1));
  const HostTensor want = model.predict(data, alone(50))[0].tensor;
  for (const int64_t batch : {1, 7, 32}) {
    const HostTensor got = model.predict(data, alone(batch))[0].tensor;
    for (size_t i = 0; i < 150; ++i)
      ASSERT_NEAR(got.data<float>()[i], want.data<float>()[i], 1e-6) << batch;
  }
}

TEST(Predict, NamesAndShapesAreTheOutputs) {
  const Tensor x = Input({4});
  Model model({x}, {Dense({.units = 2, .name = "p"})(x), Dense({.units = 1, .name = "q"})(x)});
  const auto results = model.predict(dataset(noise({5, 4}, 1)), alone(2));
  ASSERT_EQ(results.size(), 2u);
  EXPECT_EQ(results[0].name, "p");
  EXPECT_EQ(results[1].name, "q");
  EXPECT_EQ(results[1].tensor.shape(), (Shape{5, 1}));
}

TEST(Predict, OfNoSamplesIsEmpty) {
  const auto results = classifier().predict(dataset(HostTensor(DType::kF32, {0, 4})), alone());
  EXPECT_EQ(results[0].tensor.shape(), (Shape{0, 3}));
}

// -- weights of classes and samples

TEST(ClassWeight, IsTheSampleWeightsWrittenOut) {
  const HostTensor x = noise({10, 4}, 1), y = labels(10, 3);
  HostTensor weights(DType::kF32, {10});
  for (size_t i = 0; i < 10; ++i)
    weights.data<float>()[i] =
        std::array{0.5f, 1.0f, 3.0f}[static_cast<size_t>(y.data<int32_t>()[i])];
  Model by_class = classifier(), by_sample = classifier();
  const History a = by_class.fit(
      dataset(x, y), quiet({.batch_size = 4, .class_weight = {{0, 0.5}, {2, 3.0}}}));  // 1: 1.0
  const History b = by_sample.fit(dataset(x, y, weights), quiet({.batch_size = 4}));
  expect_same_training(by_class, by_sample);
  EXPECT_EQ(a.step_losses, b.step_losses);
}

TEST(ClassWeight, OfOneHotRowsIsThatOfTheirLargest) {
  const HostTensor x = noise({10, 4}, 1), y = labels(10, 3);
  HostTensor rows(DType::kF32, {10, 3});
  for (size_t i = 0; i < 10; ++i)
    rows.data<float>()[3 * i + static_cast<size_t>(y.data<int32_t>()[i])] = 1;
  Model sparse = classifier(), dense = classifier("categorical_crossentropy");
  const std::map<int64_t, double> weights = {{0, 0.5}, {1, 2.0}, {2, 3.0}};
  const History a = sparse.fit(dataset(x, y), quiet({.batch_size = 10, .class_weight = weights}));
  const History b = dense.fit(dataset(x, rows), quiet({.batch_size = 10, .class_weight = weights}));
  EXPECT_NEAR(a.step_losses[0], b.step_losses[0], 1e-6);
}

TEST(ClassWeight, MultipliesTheSampleWeights) {
  const HostTensor x = noise({6, 4}, 1), y = labels(6, 3);
  HostTensor two(DType::kF64, {6}), both(DType::kF32, {6});
  for (size_t i = 0; i < 6; ++i) {
    two.data<double>()[i] = 2;
    both.data<float>()[i] = y.data<int32_t>()[i] == 1 ? 8 : 2;
  }
  Model a = classifier(), b = classifier();
  a.fit(dataset(x, y, two), quiet({.batch_size = 6, .class_weight = {{1, 4.0}}}));
  b.fit(dataset(x, y, both), quiet({.batch_size = 6}));
  expect_same_training(a, b);
}

TEST(SampleWeight, OfZeroIsAsIfTheSampleHadNoLoss) {
  const HostTensor x = noise({6, 4}, 1), y = labels(6, 3);
  Model model = classifier();
  const std::vector<HostTensor> before = model.get_weights();
  const History history =
      model.fit(dataset(x, y, HostTensor(DType::kF32, {6})), quiet({.batch_size = 6}));
  EXPECT_EQ(history["loss"][0], 0);
  expect_same_bits(model.get_weights(), before);
}

// -- validation data

TEST(ValidationData, MayHaveOtherColumnsThanTheTrainingData) {
  const HostTensor x = noise({10, 4}, 1), y = labels(10, 3), w = noise({10}, 4);
  const DatasetPtr plain = dataset(x, y), weighted = dataset(x, y, w);
  for (const auto& [train, validation] : {std::pair{plain, weighted}, std::pair{weighted, plain}}) {
    Model model = classifier(), without = classifier();
    const History history =
        model.fit(train, quiet({.batch_size = 4, .epochs = 2, .validation_data = validation}));
    without.fit(train, quiet({.batch_size = 4, .epochs = 2}));
    expect_same_training(model, without);
    EXPECT_EQ(history["val_loss"][1], value(model.evaluate(validation, alone(4)), "loss"));
    EXPECT_EQ(history["val_loss"].size(), 2u);
  }
}

TEST(ValidationData, MayHaveOtherTypesAndNames) {
  const HostTensor x = noise({8, 4}, 1), y = labels(8, 3);
  const DatasetPtr wide = columns({column(Role::kTarget, "label", y.as(DType::kS64)),
                                   column(Role::kInput, "image", x.as(DType::kF64))});
  Model model = classifier();
  const History history =
      model.fit(dataset(x, y), quiet({.batch_size = 4, .validation_data = wide}));
  EXPECT_EQ(history["val_loss"][0], value(model.evaluate(dataset(x, y), alone(4)), "loss"));
}

TEST(ValidationData, OfASplitIsTheEndBeforeShuffling) {
  const HostTensor x = noise({10, 4}, 1), y = labels(10, 3);
  Model split = classifier(), given = classifier();
  const DatasetPtr data = dataset(x, y);
  const History a = split.fit(data, quiet({.batch_size = 4, .validation_split = 0.25}));
  const History b =
      given.fit(slice(data, 0, 7), quiet({.batch_size = 4, .validation_data = slice(data, 7, 10)}));
  expect_same_training(split, given);
  EXPECT_EQ(a["val_loss"], b["val_loss"]);
}

TEST(ValidationData, GoesBeforeASplit) {  // as in Keras, whose fit ignores the split then
  Model model = classifier();
  const History history = model.fit(
      class_data(8),
      quiet({.batch_size = 4, .validation_data = class_data(4, 2), .validation_split = 0.5}));
  EXPECT_EQ(history.step_losses.size(), 2u);
}

// -- labels that are ignored

LossSpec ignoring(int64_t ignored) {
  LossSpec loss("");
  loss.json = {{"class_name", "SparseCategoricalCrossentropy"},
               {"config", {{"ignore_class", ignored}}}};
  return loss;
}

TEST(IgnoreClass, IsAsIfTheRowsWereNotThere) {
  const HostTensor x = noise({6, 4}, 1);
  for (const int32_t ignored : {-1, 255, 0}) {
    const HostTensor y = HostTensor::of<int32_t>({6}, {1, ignored, 2, 1, ignored, 2});
    HostTensor kept(DType::kF32, {4, 4});
    const size_t rows[] = {0, 2, 3, 5};
    for (size_t i = 0; i < 16; ++i)
      kept.data<float>()[i] = x.data<float>()[4 * rows[i / 4] + i % 4];
    const DatasetPtr all = dataset(x, y),
                     few = dataset(kept, HostTensor::of<int32_t>({4}, {1, 2, 1, 2}));
    Model a = classifier(ignoring(ignored)), b = classifier(ignoring(ignored));
    EXPECT_NEAR(value(a.evaluate(all, alone()), "loss"), value(b.evaluate(few, alone()), "loss"),
                1e-6);
    a.fit(all, quiet({.batch_size = 6, .shuffle = false}));
    b.fit(few, quiet({.batch_size = 6, .shuffle = false}));
    const auto left = a.get_weights(), right = b.get_weights();
    for (size_t t = 0; t < left.size(); ++t)
      for (size_t i = 0; i < static_cast<size_t>(left[t].size()); ++i)
        ASSERT_NEAR(left[t].data<float>()[i], right[t].data<float>()[i], 1e-5) << ignored;
  }
}

TEST(IgnoreClass, ABatchOfNothingElseIsNoStepBackwards) {
  Model model = classifier(ignoring(-1));
  const std::vector<HostTensor> before = model.get_weights();
  const History history =
      model.fit(dataset(noise({4, 4}, 1), HostTensor::of<int32_t>({4}, {-1, -1, -1, -1})),
                quiet({.batch_size = 4}));
  EXPECT_EQ(history["loss"][0], 0);
  expect_same_bits(model.get_weights(), before);
}

TEST(IgnoreClass, OtherLabelsOutOfRangeAreStillRefused) {
  Model model = classifier(ignoring(-1));
  expect_error(ErrorCode::kInvalidArgument, "-2 in row 1 of batch 0", [&] {
    model.fit(dataset(noise({3, 4}, 1), HostTensor::of<int32_t>({3}, {-1, -2, 0})),
              quiet({.shuffle = false}));
  });
}

// -- callbacks that steer a real fit

TEST(CallbacksInFit, RestoredWeightsAreTheBestEpochs) {
  const DatasetPtr data = class_data(16);
  const auto diverge =
      LearningRateScheduler([](int64_t epoch, double) { return epoch < 2 ? 0.01 : 100.0; });
  Model model = classifier(), two_epochs = classifier();
  const History history = model.fit(
      data, quiet({.batch_size = 4,
                   .epochs = 9,
                   .callbacks = {diverge, EarlyStopping({.monitor = "loss",
                                                         .patience = 2,
                                                         .restore_best_weights = true})}}));
  two_epochs.fit(data, quiet({.batch_size = 4, .epochs = 2, .callbacks = {diverge}}));
  EXPECT_EQ(history["loss"].size(), 4u);
  expect_same_bits(model.get_weights(), two_epochs.get_weights());
}

TEST(CallbacksInFit, ALearningRateThatWasSetStays) {
  Model model = classifier();
  model.fit(class_data(4),
            quiet({.callbacks = {LearningRateScheduler([](int64_t, double) { return 0.25; })}}));
  EXPECT_EQ(model.optimizer_state().learning_rate, 0.25f);
}

// As in Keras, whose EarlyStopping and ReduceLROnPlateau say nothing unless they are told to.
TEST(CallbacksInFit, SilentIsSilent) {
  std::vector<std::string> lines;
  Model model = classifier();
  model.fit(
      class_data(4),
      quiet({.epochs = 4,
             .callbacks = {EarlyStopping({.monitor = "loss",
                                          .patience = 2,
                                          .mode = "max",
                                          .restore_best_weights = true}),
                           ReduceLROnPlateau({.monitor = "loss", .patience = 1, .mode = "max"})},
             .sink = [&](std::string_view line) { lines.emplace_back(line); }}));
  EXPECT_EQ(lines, std::vector<std::string>{});
}

TEST(CallbacksInFit, TerminateOnNaNEndsTheEpoch) {
  HostTensor x = noise({12, 4}, 1);
  x.data<float>()[4 * 5] = std::nanf("");  // in the second batch
  Model model = classifier();
  const History history =
      model.fit(dataset(x, labels(12, 3)), quiet({.batch_size = 4,
                                                  .epochs = 3,
                                                  .shuffle = false,
                                                  .callbacks = {TerminateOnNaN()},
                                                  .sink = [](std::string_view) {}}));
  EXPECT_EQ(history.step_losses.size(), 2u);
  EXPECT_EQ(history["loss"].size(), 1u);
}

// -- smaller doors

TEST(OnBatch, EqualsTheWholeDataInOneBatch) {
  Model model = classifier();
  const HostTensor x = noise({6, 4}, 1), y = labels(6, 3);
  EXPECT_EQ(model.test_on_batch(x, y), model.evaluate(dataset(x, y), {.batch_size = 6}));
  const auto a = model.predict_on_batch(x), b = model.predict(dataset(x), {.batch_size = 6});
  ASSERT_EQ(a.size(), 1u);
  EXPECT_EQ(a[0].name, "out");
  EXPECT_TRUE(a[0].tensor.same_bits(b[0].tensor));
  expect_error(ErrorCode::kInvalidArgument, "data", [&] {
    model.test_on_batch(HostTensor(DType::kF32, {0, 4}), HostTensor(DType::kS32, {0}));
  });
}

TEST(GetLayer, FindsByNameAndNamesANearOne) {
  const Model model = classifier();
  EXPECT_EQ(model.get_layer("out")->class_name(), "Dense");
  expect_error(ErrorCode::kNotFound, "Did you mean \"out\"", [&] { model.get_layer("outt"); });
}

TEST(CloneModel, HasTheLayersAndWeightsOfItsOwn) {
  Model model = classifier();
  model.fit(class_data(8), {.verbose = 0});
  Model clone = clone_model(model);
  EXPECT_EQ(clone.summary(), model.summary());
  EXPECT_FALSE(clone.is_compiled());
  EXPECT_FALSE(clone.get_weights()[0].same_bits(model.get_weights()[0]));
  clone.set_weights(model.get_weights());
  const DatasetPtr data = dataset(noise({5, 4}, 3));
  EXPECT_TRUE(clone.predict(data)[0].tensor.same_bits(model.predict(data)[0].tensor));
}

TEST(SaveWeights, ComeBackIntoAnotherModel) {
  const TemporaryFolder folder;
  Model model = classifier();
  model.fit(class_data(8), {.verbose = 0});
  model.save_weights(folder / "m.weights.h5");
  Model other = classifier();
  other.load_weights(folder / "m.weights.h5");
  expect_same_bits(other.get_weights(), model.get_weights());
  model.save_weights(folder / "m.h5");
  Model third = classifier();
  third.load_weights(folder / "m.h5");
  expect_same_bits(third.get_weights(), model.get_weights());
  expect_error(ErrorCode::kInvalidArgument, "must end in .weights.h5, .h5 or .hdf5",
               [&] { model.save_weights(folder / "m.npz"); });
}

// -- normalization over towers

std::vector<std::string> lines_of_fit(bool synchronized, bool global, int64_t tower_size) {
  const Tensor x = Input({4});
  const Tensor h = BatchNormalization({.synchronized = synchronized})(x);
  Model model(x, Dense({.units = 3, .activation = "softmax"})(h));
  model.compile({.loss = "sparse_categorical_crossentropy"});
  std::vector<std::string> lines;
  model.fit(class_data(8), {.batch_size = 8,
                            .verbose = 2,
                            .devices = "cpu:1",
                            .tower_size = tower_size,
                            .global_batchnorm = global,
                            .sink = [&](std::string_view line) { lines.emplace_back(line); }});
  return lines;
}

TEST(BatchNormalizationByTower, IsSaidOnceWithBothRemedies) {
  const std::string said = lines_of_fit(false, false, 4).at(0);
  for (const char* part : {"towers of 4", "8 rows", "synchronized=True", "--batchnorm global"})
    EXPECT_NE(said.find(part), std::string::npos) << said;
  EXPECT_EQ(lines_of_fit(false, false, 8).size(), 2u);
  EXPECT_EQ(lines_of_fit(true, false, 4).size(), 2u);
  EXPECT_EQ(lines_of_fit(false, true, 4).size(), 2u);
}

/// Keras puts the averages in place before it calls on_train_end: EarlyStopping's best weights win.
TEST(Averages, DoNotOverwriteWhatOnTrainEndRestores) {
  const Tensor x = Input({3});
  Model model(x, Dense({.units = 1})(x));
  model.compile_from_config(
      {{"optimizer", {{"class_name", "SGD"}, {"config", {{"use_ema", true}}}}}, {"loss", "mse"}});
  std::vector<HostTensor> restored;
  FitArguments arguments{.batch_size = 4, .epochs = 2, .verbose = 0};
  arguments.devices = "cpu:1";
  arguments.callbacks = {LambdaCallback({.on_train_end = [&](TrainingControl& training) {
    restored = training.weights();
    for (HostTensor& weight : restored)
      for (float& value : weight.data<float>()) value += 1;
    training.set_weights(restored);
  }})};
  model.fit(dataset(noise({8, 3}, 1), noise({8, 1}, 2)), arguments);
  const std::vector<HostTensor> weights = model.get_weights();
  for (size_t i = 0; i < weights.size(); ++i) EXPECT_TRUE(weights[i].same_bits(restored[i]));
}

}  // namespace
}  // namespace lockstep
