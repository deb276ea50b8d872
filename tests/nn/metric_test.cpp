// Numbers of Keras 3.15.1: m.update_state(y, p, sample_weight=w); m.variables, float(m.result()).
#include "lockstep/nn/metric.h"

#include "tests/nn/graph_test_util.h"

namespace lockstep {
namespace {

Json metric_object(const char* class_name, Json config = Json::object()) {
  return {{"module", "keras.metrics"}, {"class_name", class_name}, {"config", std::move(config)}};
}

struct MetricRun {
  std::string name;
  double total, count, result;
};

MetricRun run(const Json& json, const HostTensor& y_true, const HostTensor& y_pred,
              const HostTensor* weights = nullptr) {
  const MetricPtr metric = metric_from_config(json, y_true.shape(), y_pred.shape());
  TestGraph g;
  const Value t = g.input(y_true.as(metric->target_dtype()));
  const Value p = g.input(y_pred);
  const Value w = weights ? g.input(*weights) : Value{};
  std::vector<double> sums;
  for (const HostTensor& sum : g.evaluate(metric->update(g.builder, t, p, w))) {
    EXPECT_EQ(sum.type(), TensorType{});
    sums.push_back(sum.data<float>()[0]);
  }
  return {metric->name, sums.at(0), sums.at(1), metric->result(sums)};
}

void expect_run(const MetricRun& got, const char* name, double total, double count, double result) {
  EXPECT_EQ(got.name, name);
  EXPECT_NEAR(got.total, total, 1e-6 * (1 + total)) << name;
  EXPECT_NEAR(got.count, count, 1e-6 * (1 + count)) << name;
  EXPECT_NEAR(got.result, result, 1e-6) << name;
}

const HostTensor kP = HostTensor::of<float>(
    {4, 3}, {0.1f, 0.7f, 0.2f, 0.5f, 0.2f, 0.3f, 0.3f, 0.3f, 0.4f, 0.25f, 0.5f, 0.25f});
const HostTensor kOneHot = HostTensor::of<float>({4, 3}, {0, 1, 0, 0, 0, 1, 0, 0, 1, 1, 0, 0});
const HostTensor kLabels = HostTensor::of<float>({4}, {1, 2, 2, 0});
const HostTensor kWeights = HostTensor::of<float>({4}, {1.0f, 2.0f, 0.5f, 4.0f});
const HostTensor kColumn = HostTensor::of<float>({4, 1}, {1, 0, 1, 0});
const HostTensor kColumnP = HostTensor::of<float>({4, 1}, {0.6f, 0.5f, 0.4f, 0.7f});
const HostTensor kReal = HostTensor::of<float>({2, 2}, {1, 2, 3, 4});
const HostTensor kRealP = HostTensor::of<float>({2, 2}, {1, 0, 0, 2});
const HostTensor kPair = HostTensor::of<float>({2}, {1.0f, 3.0f});

TEST(Metric, AccuracyIsResolvedFromShapes) {
  expect_run(run("accuracy", kOneHot, kP), "accuracy", 2, 4, 0.5);
  expect_run(run("acc", kLabels, kP), "acc", 2, 4, 0.5);
  expect_run(run("accuracy", kLabels.reshaped({4, 1}), kP), "accuracy", 2, 4, 0.5);
  expect_run(run("accuracy", kColumn, kColumnP), "accuracy", 2, 4, 0.5);
  expect_run(run("Accuracy", kColumn.reshaped({4}), kColumnP), "Accuracy", 2, 4, 0.5);
  // Shapes only: several sigmoid units with targets of the same rank count as classes.
  const HostTensor bits = HostTensor::of<float>({1, 3}, {1, 1, 0});
  const HostTensor p = HostTensor::of<float>({1, 3}, {0.9f, 0.1f, 0.2f});
  EXPECT_EQ(metric_from_config("accuracy", bits.shape(), p.shape())->class_name(),
            "CategoricalAccuracy");
  expect_run(run("accuracy", bits, p), "accuracy", 1, 1, 1);
}

TEST(Metric, WeightsCountInTotalAndCount) {
  expect_run(run("categorical_accuracy", kOneHot, kP, &kWeights), "categorical_accuracy", 1.5, 7.5,
             0.2);
  expect_run(run("sparse_categorical_accuracy", kLabels.reshaped({4, 1}), kP, &kWeights),
             "sparse_categorical_accuracy", 1.5, 7.5, 0.2);
  const HostTensor y = HostTensor::of<float>({2, 2}, {1, 0, 0, 1});
  const HostTensor p = HostTensor::of<float>({2, 2}, {0.6f, 0.1f, 0.5f, 0.4f});
  expect_run(
      run(metric_object("BinaryAccuracy", {{"name", "at45"}, {"threshold", 0.45}}), y, p, &kPair),
      "at45", 1, 4, 0.25);
}

TEST(Metric, Regression) {
  expect_run(run("mse", kReal, kRealP), "mse", 8.5, 2, 4.25);
  expect_run(run("mae", kReal, kRealP, &kPair), "mae", 8.5, 4, 2.125);
  const Json rmse = metric_object("RootMeanSquaredError");
  expect_run(run(rmse, kReal, kRealP), "root_mean_squared_error", 8.5, 2, 2.0615527629852295);
  expect_run(run(rmse, kReal, kRealP, &kPair), "root_mean_squared_error", 21.5, 4,
             2.3184046745300293);
}

// Keras averages what lies beyond the weights' axes, and a row counts as the mean of its weights.
TEST(Metric, WeightsOfValuesWithMoreAxes) {
  HostTensor y(DType::kF32, {2, 3, 2}), p(DType::kF32, {2, 3, 2});
  for (int i = 0; i < 12; ++i) {
    y.data<float>()[i] = static_cast<float>(i) / 4;
    p.data<float>()[i] = y.data<float>()[i] * 0.5f + 1;
  }
  const HostTensor steps = HostTensor::of<float>({2, 3}, {1, 0, 2, 3, 1, 1});
  expect_run(run("mse", y, p), "mse", 0.5677083730697632, 2, 0.2838541865348816);
  expect_run(run("mse", y, p, &kPair), "mse", 0.6666666865348816, 4, 0.1666666716337204);
  expect_run(run("mse", y, p, &steps), "mse", 0.5, 2.6666665077209473, 0.1875000149011612);
}

TEST(Metric, TopK) {
  const Json top1 = metric_object("TopKCategoricalAccuracy", {{"k", 1}});
  expect_run(run(top1, kOneHot, kP), "top_k_categorical_accuracy", 2, 4, 0.5);
  const Json sparse2 = metric_object("SparseTopKCategoricalAccuracy", {{"name", "top2"}, {"k", 2}});
  expect_run(run(sparse2, kLabels, kP), "top2", 4, 4, 1);
}

TEST(Metric, LossesAsMetrics) {
  expect_run(run("categorical_crossentropy", kOneHot, kP), "categorical_crossentropy",
             3.8632328510284424, 4, 0.9658082127571106);
  expect_run(run("sparse_categorical_crossentropy", kLabels, kP), "sparse_categorical_crossentropy",
             3.8632328510284424, 4, 0.9658082127571106);
}

TEST(Metric, FunctionObjectsAndConfig) {
  const Json function = {{"module", "builtins"},
                         {"class_name", "function"},
                         {"config", "mean_absolute_error"},
                         {"registered_name", "function"}};
  expect_run(run(function, kReal, kRealP), "mean_absolute_error", 3.5, 2, 1.75);
  const MetricPtr metric = metric_from_config(
      metric_object("BinaryAccuracy", {{"name", "at60"}, {"dtype", "float32"}, {"threshold", 0.6}}),
      {4, 1}, {4, 1});
  EXPECT_EQ(metric->config().dump(), R"({"name":"at60","dtype":"float32","threshold":0.6})");
}

TEST(Metric, NothingCountedIsZero) {
  const MetricPtr metric = metric_from_config("mse", {4, 1}, {4, 1});
  EXPECT_EQ(metric->result(std::vector<double>{0.0, 0.0}), 0.0);
}

TEST(Metric, ErrorsNameWhatCame) {
  const auto read = [](const Json& json) { metric_from_config(json, {4, 3}, {4, 3}); };
  expect_error(ErrorCode::kUnsupported, "[metric] \"AUC\" is not among the metrics Lockstep has.",
               [&] { read("AUC"); });
  expect_error(ErrorCode::kUnsupported, "Did you mean \"categorical_accuracy\"?",
               [&] { read("categorical_acuracy"); });
  expect_error(ErrorCode::kInvalidArgument, "[BinaryAccuracy] `threshold` must be in (0, 1): 2",
               [&] {
                 read(metric_object("BinaryAccuracy", {{"threshold", 2.0}}));
               });
  expect_error(ErrorCode::kInvalidArgument, "[TopKCategoricalAccuracy] `k` must be >= 1: 0", [&] {
    read(metric_object("TopKCategoricalAccuracy", {{"k", 0}}));
  });
  expect_error(ErrorCode::kUnsupported, "`from_sorted_ids` must be false", [&] {
    read(metric_object("SparseTopKCategoricalAccuracy", {{"from_sorted_ids", true}}));
  });
  expect_error(ErrorCode::kUnsupported, "`ignore_class` of the metric must be null: 3", [&] {
    read(metric_object("SparseCategoricalCrossentropy", {{"ignore_class", 3}}));
  });
  expect_error(ErrorCode::kUnsupported, "[CategoricalCrossentropy] `axis` must be -1", [&] {
    read(metric_object("CategoricalCrossentropy", {{"axis", 1}}));
  });
  expect_error(ErrorCode::kInvalidArgument, "`label_smoothing` must be in [0, 1]: -1", [&] {
    read(metric_object("BinaryCrossentropy", {{"label_smoothing", -1.0}}));
  });
  expect_error(ErrorCode::kInvalidArgument,
               "[categorical_accuracy] targets must fit the predictions: targets [4,1], "
               "predictions [4,3]",
               [&] { run("categorical_accuracy", kColumn, kP); });
}

}  // namespace
}  // namespace lockstep
