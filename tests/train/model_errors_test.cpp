// What Model refuses: the message names the place and what came, and nothing is changed.
#include <functional>
#include <limits>

#include "tests/train/train_test_util.h"

namespace lockstep {
namespace {

using Role = Column::Role;

FitArguments quiet(FitArguments arguments = {}) {
  arguments.verbose = 0;
  if (arguments.devices == "cpu") arguments.devices = "cpu:1";
  return arguments;
}

void expect_fit_error(const std::string& part, const DatasetPtr& data, FitArguments arguments,
                      ErrorCode code = ErrorCode::kInvalidArgument) {
  Model model = classifier();
  const std::vector<HostTensor> before = model.get_weights();
  expect_error(code, part, [&] { model.fit(data, quiet(std::move(arguments))); });
  expect_same_bits(model.get_weights(), before);
  EXPECT_EQ(model.optimizer_state().iterations, 0);
}

TEST(ModelErrors, NotCompiled) {
  Model model = uncompiled_classifier();
  EXPECT_FALSE(model.is_compiled());
  const DatasetPtr data = class_data(8);
  for (const auto& act : std::initializer_list<std::function<void()>>{
           [&] { model.fit(data, quiet()); }, [&] { model.evaluate(data, {.devices = "cpu:1"}); },
           [&] {
             model.train_on_batch(noise({8, 4}, 1), labels(8, 3), quiet());
           },
           [&] { model.optimizer_state(); }})
    expect_error(ErrorCode::kInvalidArgument, "[classifier] must be compiled", act);
  EXPECT_EQ(model.predict(dataset(noise({8, 4}, 1)), {.devices = "cpu:1"}).size(), 1u);
}

// -- compile

TEST(CompileErrors, UnknownNamesAreRepeated) {
  Model model = uncompiled_classifier();
  expect_error(ErrorCode::kUnsupported, "adamm",
               [&] { model.compile({.optimizer = "adamm", .loss = "mse"}); });
  expect_error(ErrorCode::kUnsupported, "msee",
               [&] { model.compile(CompileArguments{.loss = "msee"}); });
  EXPECT_FALSE(model.is_compiled());
}

TEST(CompileErrors, UnknownMetricsAreRepeatedAtTheLatestBeforeTheFirstStep) {
  Model model = uncompiled_classifier();
  expect_error(ErrorCode::kUnsupported, "acuracy", [&] {
    model.compile({.optimizer = "sgd", .loss = "mse", .metrics = {"acuracy"}});
    model.fit(dataset(noise({8, 4}, 1), noise({8, 3}, 2)), quiet());
  });
}

TEST(CompileErrors, CountsMustBeTheOutputs) {
  Model model = uncompiled_classifier();
  expect_error(ErrorCode::kInvalidArgument, "a loss is needed",
               [&] { model.compile(CompileArguments{}); });
  expect_error(ErrorCode::kInvalidArgument, "2 came", [&] {
    model.compile(CompileArguments{.loss = {"mse", "mae"}});
  });
  expect_error(ErrorCode::kInvalidArgument, "loss_weights", [&] {
    model.compile(CompileArguments{.loss = "mse", .loss_weights = {1, 2}});
  });
  EXPECT_FALSE(model.is_compiled());
}

TEST(CompileErrors, ARefusedCompileChangesNothing) {
  Model model = classifier();
  model.fit(class_data(8), quiet());
  const OptimizerState before = model.optimizer_state();
  expect_error(ErrorCode::kUnsupported, "msee", [&] {
    model.compile_from_config(Json{{"optimizer", "adam"}, {"loss", "msee"}});
  });
  EXPECT_EQ(model.optimizer_state().iterations, before.iterations);
  EXPECT_EQ(model.optimizer_state().variables.size(), before.variables.size());
}

// -- fit

TEST(FitErrors, NumbersOutOfRange) {
  const DatasetPtr data = class_data(8);
  for (const int64_t n : {0, -1}) {
    expect_fit_error("[epochs] must be >= 1", data, {.epochs = n});
    expect_fit_error("[batch_size] must be >= 1", data, {.batch_size = n});
  }
  expect_fit_error("tower_size", data, {.tower_size = -1});
  expect_fit_error("epoch", data, {.initial_epoch = -1});
  expect_fit_error("steps_per_epoch", data, {.steps_per_epoch = 0});
}

TEST(FitErrors, ValidationSplitOutOfRange) {
  const DatasetPtr data = class_data(8);
  for (const double split : {-0.1, 1.0, 2.0, std::numeric_limits<double>::quiet_NaN()})
    expect_fit_error("[validation_split] must be in [0, 1)", data, {.validation_split = split});
  expect_fit_error("[validation_split] 0.5 of 1 samples leaves one part empty", class_data(1),
                   {.validation_split = 0.5});
}

TEST(FitErrors, NoData) {
  expect_fit_error("data", dataset(HostTensor(DType::kF32, {0, 4}), HostTensor(DType::kS32, {0})),
                   {});
  Model model = classifier();
  const DatasetPtr none = dataset(HostTensor(DType::kF32, {0, 4}), HostTensor(DType::kS32, {0}));
  expect_error(ErrorCode::kInvalidArgument, "data",
               [&] { model.evaluate(none, {.devices = "cpu:1"}); });
  expect_error(ErrorCode::kInvalidArgument, "data", [&] {
    model.train_on_batch(HostTensor(DType::kF32, {0, 4}), HostTensor(DType::kS32, {0}), quiet());
  });
  expect_error(ErrorCode::kInvalidArgument, "data",
               [&] { model.fit(class_data(8), quiet({.validation_data = none})); });
}

TEST(FitErrors, TargetsAreNeeded) {
  expect_fit_error("out", dataset(noise({8, 4}, 1)), {});
  Model model = classifier();
  expect_error(ErrorCode::kInvalidArgument, "out", [&] {
    model.evaluate(dataset(noise({8, 4}, 1)), {.devices = "cpu:1"});
  });
  expect_error(ErrorCode::kInvalidArgument, "out", [&] {
    model.fit(class_data(8), quiet({.validation_data = dataset(noise({8, 4}, 1))}));
  });
}

TEST(FitErrors, ShapesThatDoNotFit) {
  expect_fit_error("x/in", dataset(noise({8, 5}, 1), labels(8, 3)), {});
  expect_fit_error("out", dataset(noise({8, 4}, 1), noise({8, 2}, 2)), {});
  expect_fit_error("out", dataset(noise({8, 4}, 1), labels(8, 3), noise({8, 2}, 3)), {});
}

TEST(FitErrors, ATargetThatIsNoOneHotRowNamesItsOutput) {
  Model model = classifier("categorical_crossentropy");
  expect_error(ErrorCode::kInvalidArgument, "out", [&] {
    model.fit(dataset(noise({8, 4}, 1), labels(8, 3)), quiet());
  });
}

HostTensor labels_with(std::initializer_list<int32_t> values) {
  return HostTensor::of<int32_t>({static_cast<int64_t>(values.size())}, values);
}

TEST(FitErrors, LabelsOutOfRangeNameRowAndBatch) {
  for (const int32_t label : {3, -1, 1 << 30}) {
    const DatasetPtr data =
        dataset(noise({8, 4}, 1), labels_with({0, 1, 2, 0, 1, label, 0, label}));
    expect_fit_error(fmt::format("[y/out] labels must be in [0, 3): {} in row 5 of batch 0", label),
                     data, {.shuffle = false});
    Model model = classifier();
    const std::string second =
        fmt::format("[y/out] labels must be in [0, 3): {} in row 1 of batch 1", label);
    expect_error(ErrorCode::kInvalidArgument, second,
                 [&] { model.fit(data, quiet({.batch_size = 4, .shuffle = false})); });
    expect_error(ErrorCode::kInvalidArgument, second,
                 [&] { model.evaluate(data, {.batch_size = 4, .devices = "cpu:1"}); });
  }
}

TEST(FitErrors, LabelsThatFitNoIntAreRefused) {
  HostTensor wide(DType::kS64, {4});
  wide.data<int64_t>()[2] = (int64_t{1} << 32) + 1;  // 1 in the lower half
  expect_fit_error("y", dataset(noise({4, 4}, 1), wide), {});
  HostTensor real(DType::kF32, {4});
  real.data<float>()[2] = std::numeric_limits<float>::quiet_NaN();
  expect_fit_error("y", dataset(noise({4, 4}, 1), real), {});
}

TEST(FitErrors, AModelWorksOnAfterARefusal) {
  Model model = classifier(), other = classifier();
  expect_error(ErrorCode::kInvalidArgument, "labels", [&] {
    model.fit(dataset(noise({4, 4}, 1), labels_with({0, 1, 9, 0})), quiet());
  });
  model.fit(class_data(8), quiet());
  other.fit(class_data(8), quiet());
  expect_same_training(model, other);
}

TEST(FitErrors, AFixedScheduleCannotBeOverruled) {
  Model model = uncompiled_classifier();
  model.compile_from_config(
      Json{{"optimizer",
            {{"class_name", "SGD"},
             {"config",
              {{"learning_rate",
                {{"class_name", "ExponentialDecay"},
                 {"config",
                  {{"initial_learning_rate", 0.5}, {"decay_steps", 10}, {"decay_rate", 0.5}}}}}}}}},
           {"loss", "sparse_categorical_crossentropy"}});
  expect_error(ErrorCode::kInvalidArgument, "ExponentialDecay", [&] {
    model.fit(
        class_data(8),
        quiet({.callbacks = {LearningRateScheduler([](int64_t, double rate) { return rate; })}}));
  });
}

// -- class weights

TEST(ClassWeightErrors, WhatHasNoSingleClassASampleIsRefused) {
  expect_fit_error("class_weight", dataset(noise({8, 4}, 1)), {.class_weight = {{0, 2.0}}});
  const Tensor x = Input({4}, {.name = "in"});
  Model two({x}, {Dense({.units = 1, .name = "p"})(x), Dense({.units = 1, .name = "q"})(x)});
  two.compile({.optimizer = "sgd", .loss = "mse"});
  const DatasetPtr data = columns({column(Role::kInput, "in", noise({8, 4}, 1)),
                                   column(Role::kTarget, "p", noise({8, 1}, 2)),
                                   column(Role::kTarget, "q", noise({8, 1}, 3))});
  expect_error(ErrorCode::kUnsupported, "class_weight", [&] {
    two.fit(data, quiet({.class_weight = {{0, 2.0}}}));
  });
}

TEST(ClassWeightErrors, WeightsOfSeveralStepsASampleAreRefused) {
  // Three labels a sample, each with a weight of its own: there is no class of the sample.
  const Tensor x = Input({3, 4}, {.name = "in"});
  Model model({x}, {Dense({.units = 3, .activation = "softmax", .name = "out"})(x)});
  model.compile({.optimizer = "sgd", .loss = "sparse_categorical_crossentropy"});
  const DatasetPtr data =
      dataset(noise({8, 3, 4}, 1), labels(24, 3).reshaped({8, 3}), noise({8, 3}, 2));
  expect_error(ErrorCode::kInvalidArgument, "class_weight", [&] {
    model.fit(data, quiet({.class_weight = {{0, 2.0}}}));
  });
}

// -- devices

TEST(DeviceErrors, WhatIsNoDeviceString) {
  for (const char* text : {"cpu:0", "cpu:x", "gpu", "", "cpu:", "cpu:-1", "cpu:1.5", "cpu:3-1",
                           "cpu:0-", "cpu:,", "cpu:1,", "cpu:1,,2", "cpu:99999", "cpu:1:2", "CPU:1",
                           " cpu", "cpu:0,cuda:1", "reference:0", "cpu:18446744073709551617"}) {
    SCOPED_TRACE(text);
    expect_fit_error("[devices]", class_data(8), {.devices = text});
  }
}

TEST(DeviceErrors, ZeroDevicesComeWithAHint) {
  expect_fit_error("cpu:1 is one device", class_data(8), {.devices = "cpu:0"});
  // What is no number is answered with what would be right.
  for (const char* text : {"xla_cpu:", "xla_cpu:-1", "xla_cpu:0,x"})
    expect_fit_error(fmt::format("in \"{}\". xla_cpu:2 is two devices, xla_cpu:0-2 those with the "
                                 "indices 0, 1 and 2, xla_cpu:0,2 the first and the third",
                                 text),
                     class_data(8), {.devices = text});
  expect_fit_error("\"one\" in \"cuda:one\". cuda:2 is the third device", class_data(8),
                   {.devices = "cuda:one"});
}

// Whether or not a plugin is installed, no machine has that many.
TEST(DeviceErrors, AcceleratorsThatAreNotThereAreNotFound) {
  for (const char* kind : {"cuda:900", "rocm:901", "tpu:902", "sycl:0-903"})
    expect_fit_error("[devices]", class_data(8), {.devices = kind}, ErrorCode::kNotFound);
}

TEST(DeviceErrors, CoresThatAreNotThereAreNotFound) {
  expect_fit_error("900", class_data(8), {.devices = "cpu:900-901"}, ErrorCode::kNotFound);
}

TEST(DeviceErrors, AlsoInEvaluateAndPredict) {
  Model model = classifier();
  expect_error(ErrorCode::kInvalidArgument, "[devices]",
               [&] { model.evaluate(class_data(8), {.devices = "cpu:x"}); });
  expect_error(ErrorCode::kInvalidArgument, "[devices]",
               [&] { model.predict(class_data(8), {.devices = "cpu:x"}); });
  expect_error(ErrorCode::kInvalidArgument, "[batch_size]",
               [&] { model.predict(class_data(8), {.batch_size = 0, .devices = "cpu:1"}); });
  expect_error(ErrorCode::kInvalidArgument, "[batch_size]",
               [&] { model.evaluate(class_data(8), {.batch_size = 0, .devices = "cpu:1"}); });
}

// -- weights

TEST(SetWeightsErrors, NameTheVariableAndBothShapes) {
  Model model = classifier();
  const std::vector<HostTensor> before = model.get_weights();
  std::vector<HostTensor> weights = before;
  weights[0] = noise(weights[0].shape(), 9);
  weights[2] = HostTensor(DType::kF32, {8, 4});
  expect_error(ErrorCode::kInvalidArgument,
               "[set_weights] \"out/kernel\" must be [8,3]: [8,4] came",
               [&] { model.set_weights(weights); });
  weights.pop_back();
  expect_error(ErrorCode::kInvalidArgument, "[set_weights] 4 tensors expected: 3 came",
               [&] { model.set_weights(weights); });
  expect_same_bits(model.get_weights(), before);
}

TEST(LoadWeightsErrors, ChangeNothing) {
  const TemporaryFolder folder;
  const Tensor x = Input({4});
  Model other(x, Dense({.units = 3})(Dense({.units = 9})(x)));
  other.save(folder / "other.keras");
  Model model = classifier();
  model.fit(class_data(8), quiet());
  const std::vector<HostTensor> before = model.get_weights();
  expect_error(ErrorCode::kInvalidArgument, "[4,8]",
               [&] { model.load_weights(folder / "other.keras"); });
  expect_same_bits(model.get_weights(), before);
}

TEST(HistoryErrors, AnUnknownNameIsNotFound) {
  Model model = classifier();
  const History history = model.fit(class_data(8), quiet());
  expect_error(ErrorCode::kNotFound, "val_loss", [&] { (void)history["val_loss"]; });
}

}  // namespace
}  // namespace lockstep
