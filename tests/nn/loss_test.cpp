// Numbers of Keras 3.15.1, TensorFlow backend (in a tf.function, so that it sees the activation):
//   p = activation(z); v = loss.call(y, p); tape.gradient(tf.reduce_sum(v), z)
#include "lockstep/nn/loss.h"

#include "tests/nn/graph_test_util.h"

namespace lockstep {
namespace {

enum class Activation { kNone, kSoftmax, kLogistic };

Value activate(Builder& builder, Value z, Activation activation) {
  switch (activation) {
    case Activation::kNone:
      return z;
    case Activation::kSoftmax:
      return builder.softmax(z, z.shape().rank() - 1);
    case Activation::kLogistic:
      return builder.logistic(z);
  }
  return z;
}

struct LossRun {
  TestGraph g;
  Value z, values, gradient;

  LossRun(const LossPtr& loss, const HostTensor& y_true, const HostTensor& prediction,
          Activation activation = Activation::kNone) {
    z = g.input(prediction);
    values = loss->call(g.builder, g.input(y_true), activate(g.builder, z, activation));
    gradient = gradients(g.builder, {{values, g.builder.like(values, 1)}}, {z})[0];
  }

  void expect(std::initializer_list<float> want_values, std::initializer_list<float> want_gradient,
              double tolerance = 1e-6) {
    expect_near(g.evaluate(values), want_values, tolerance);
    expect_near(g.evaluate(gradient), want_gradient, tolerance);
  }
};

const HostTensor kZ = HostTensor::of<float>({2, 3}, {1.0f, -2.0f, 0.5f, 0.0f, 3.0f, -1.0f});
const HostTensor kP = HostTensor::of<float>({2, 3}, {0.2f, 0.3f, 0.6f, 0.0f, 1.0f, 0.0f});
const HostTensor kOneHot = HostTensor::of<float>({2, 3}, {0.0f, 1.0f, 0.0f, 0.2f, 0.3f, 0.5f});
const HostTensor kBits = HostTensor::of<float>({2, 3}, {0.0f, 1.0f, 1.0f, 1.0f, 0.0f, 0.25f});

TEST(Loss, CategoricalCrossentropy) {
  const std::initializer_list<float> values = {3.50459695f, 2.66588402f};
  const std::initializer_list<float> gradient = {0.603748918f,  -0.969941139f, 0.366192222f,
                                                 -0.153387383f, 0.636239529f,  -0.482852161f};
  LossRun(CategoricalCrossentropy({.from_logits = true}), kOneHot, kZ).expect(values, gradient);
  LossRun(CategoricalCrossentropy(), kOneHot, kZ, Activation::kSoftmax).expect(values, gradient);
  LossRun(CategoricalCrossentropy({.label_smoothing = 0.1}), kOneHot, kZ, Activation::kSoftmax)
      .expect({3.32126379f, 2.63921738f}, {0.570415556f, -0.903274477f, 0.33285889f, -0.166720703f,
                                           0.632906199f, -0.46618548f});
  LossRun(CategoricalCrossentropy(), kOneHot, kP)
      .expect({1.29928291f, 11.2826672f},
              {0.909090877f, -2.42424202f, 0.909090877f, 0.0f, 0.0f, 0.0f});
}

TEST(Loss, SparseCategoricalCrossentropy) {
  const HostTensor labels = HostTensor::of<int32_t>({2}, {2, 1});
  const std::initializer_list<float> values = {1.00459695f, 0.0658839121f};
  const std::initializer_list<float> gradient = {0.603748918f,  0.0300588869f,  -0.633807778f,
                                                 0.0466126204f, -0.0637604594f, 0.017147826f};
  const LossPtr loss = SparseCategoricalCrossentropy();
  EXPECT_EQ(loss->target_dtype(), DType::kS32);
  LossRun(SparseCategoricalCrossentropy({.from_logits = true}), labels, kZ)
      .expect(values, gradient);
  LossRun(loss, labels, kZ, Activation::kSoftmax).expect(values, gradient);
  LossRun(loss, labels.reshaped({2, 1}), kZ, Activation::kSoftmax).expect(values, gradient);
}

// As on JAX: the row of probabilities is normalised, then clipped.
TEST(Loss, SparseCategoricalCrossentropyOfProbabilities) {
  LossRun(SparseCategoricalCrossentropy(), HostTensor::of<int32_t>({2}, {2, 0}), kP)
      .expect({0.606135786f, 16.1180954f},
              {0.909090877f, 0.909090936f, -0.757575691f, 0.0f, 0.0f, 0.0f});
}

TEST(Loss, IgnoredLabelsNeverIndex) {
  const LossPtr loss = SparseCategoricalCrossentropy({.from_logits = true, .ignore_class = 255});
  const HostTensor labels = HostTensor::of<int32_t>({2}, {255, 1});
  LossRun run(loss, labels, kZ);
  run.expect({0.0f, 0.0658839121f},
             {0.0f, 0.0f, 0.0f, 0.0466126204f, -0.0637604594f, 0.017147826f});
  EXPECT_TRUE(loss->has_mask());
  TestGraph g;
  const Value column = g.input(labels.reshaped({2, 1}));
  const Value mask = loss->mask(g.builder, column, {2, 3});
  EXPECT_EQ(mask.shape(), (Shape{2}));
  expect_near(g.evaluate(mask), {0.0f, 1.0f}, 0);
  EXPECT_FALSE(SparseCategoricalCrossentropy()->mask(g.builder, column, {2, 3}).valid());
}

TEST(Loss, BinaryCrossentropy) {
  const std::initializer_list<float> values = {1.30475557f, 1.43499863f};
  const std::initializer_list<float> gradient = {0.243686199f,  -0.293599039f, -0.125846893f,
                                                 -0.166666672f, 0.317524731f,  0.00631380826f};
  LossRun(BinaryCrossentropy({.from_logits = true}), kBits, kZ).expect(values, gradient);
  LossRun(BinaryCrossentropy(), kBits, kZ, Activation::kLogistic).expect(values, gradient);
  LossRun(BinaryCrossentropy({.label_smoothing = 0.2}), kBits, kZ, Activation::kLogistic)
      .expect({1.2214222f, 1.3516655f}, {0.210352868f, -0.260265708f, -0.0925135612f, -0.13333334f,
                                         0.2841914f, -0.0103528649f});
  LossRun(BinaryCrossentropy(), kBits,
          HostTensor::of<float>({2, 3}, {0.2f, 0.9f, 0.99f, 0.01f, 0.5f, 0.75f}))
      .expect({0.112851471f, 2.13665295f}, {0.416666687f, -0.370370388f, -0.33670032f, -33.3333359f,
                                            0.666666687f, 0.888888896f});
}

TEST(Loss, SaturatedActivationsAreNotClipped) {
  LossRun(BinaryCrossentropy(), HostTensor::of<float>({1, 2}, {0.0f, 1.0f}),
          HostTensor::of<float>({1, 2}, {100.0f, 100.0f}), Activation::kLogistic)
      .expect({50.0f}, {0.5f, 0.0f});
  LossRun(CategoricalCrossentropy(), HostTensor::of<float>({1, 2}, {0.0f, 1.0f}),
          HostTensor::of<float>({1, 2}, {200.0f, 0.0f}), Activation::kSoftmax)
      .expect({200.0f}, {1.0f, -1.0f});
}

// A cross-entropy after the other's activation takes the probabilities as they are: clipped.
TEST(Loss, OnlyTheMatchingActivationIsUndone) {
  TestGraph g;
  const Value z = g.f32({1, 2}, {200.0f, 0.0f});
  const Value y = g.f32({1, 2}, {0.0f, 1.0f});
  Builder& b = g.builder;
  const Value binary = BinaryCrossentropy()->call(b, y, b.softmax(z, 1));
  expect_near(g.evaluate(binary), {16.0f}, 0.01);
  const Value categorical = CategoricalCrossentropy()->call(b, y, b.logistic(z));
  expect_near(g.evaluate(categorical), {1.0986123f});
}

TEST(Loss, MeanSquaredAndAbsoluteError) {
  LossRun(MeanSquaredError(), kOneHot, kZ)
      .expect({3.41666675f, 3.19333339f},
              {0.666666687f, -2.0f, 0.333333343f, -0.13333334f, 1.80000007f, -1.0f});
  LossRun(MeanAbsoluteError(), kOneHot, kZ)
      .expect({1.5f, 1.4666667f}, {0.333333343f, -0.333333343f, 0.333333343f, -0.333333343f,
                                   0.333333343f, -0.333333343f});
}

TEST(Loss, RanksThatDifferByAnAxisOfOneAreMadeEqual) {
  LossRun(MeanSquaredError(), HostTensor::of<float>({2}, {1.0f, 2.0f}),
          HostTensor::of<float>({2, 1}, {3.0f, 0.5f}))
      .expect({4.0f, 2.25f}, {4.0f, -3.0f});
  LossRun(BinaryCrossentropy({.from_logits = true}), HostTensor::of<float>({1}, {1.0f}),
          HostTensor::of<float>({1, 1}, {0.0f}))
      .expect({0.693147182f}, {-0.5f});
  TestGraph g;
  const Value three = g.f32({2, 1, 1}, {1.0f, 2.0f});
  const Value two = g.f32({2, 1}, {1.0f, 2.0f});
  const auto [a, b] = squeeze_or_expand_to_same_rank(g.builder, three, two);
  EXPECT_EQ(a.shape(), (Shape{2, 1}));
  EXPECT_EQ(b.shape(), (Shape{2, 1}));
}

TEST(Loss, CrossentropyPicksTheKindFromShapes) {
  const LossPtr loss = loss_from_config("crossentropy");
  TestGraph g;
  const Value p = g.input(kZ);
  const Value softmax = g.builder.softmax(p, 1);
  const Value labels = g.s32({2, 1}, {2, 1});
  expect_near(g.evaluate(loss->call(g.builder, labels, softmax)), {1.00459695f, 0.0658839121f});
  const Value one_hot_labels = g.input(kOneHot);
  expect_near(g.evaluate(loss->call(g.builder, one_hot_labels, softmax)),
              {3.50459695f, 2.66588402f});
  const Value z = g.f32({2, 1}, {0.0f, 0.0f});
  const Value y = g.f32({2}, {0.0f, 1.0f});
  expect_near(g.evaluate(loss->call(g.builder, y, g.builder.logistic(z))),
              {0.693147182f, 0.693147182f});
}

// Few nodes: the loss after a softmax must cost next to nothing in the backward pass.
TEST(Loss, GradientOfSoftmaxAndCategoricalCrossentropyIsCheap) {
  TestGraph g;
  const Value z = g.input(kZ);
  const Value y = g.input(kOneHot);
  const Value values = CategoricalCrossentropy()->call(g.builder, y, g.builder.softmax(z, 1));
  const size_t forward = g.graph.nodes().size();
  const Value seed = g.builder.like(values, 1);
  const Value gradient = gradients(g.builder, {{values, seed}}, {z})[0];
  EXPECT_TRUE(gradient.valid());
  EXPECT_LE(g.graph.nodes().size() - forward, 14u) << g.graph.str();
}

/// Central differences in double of every element of the prediction.
void expect_gradient_matches_differences(const LossPtr& loss, const HostTensor& y_true,
                                         Activation activation) {
  TestGraph g;
  const Value z = g.input(kP.as(DType::kF64));
  const Value values = loss->call(g.builder, g.input(y_true), activate(g.builder, z, activation));
  const Value total = g.builder.reduce_sum(values, {0});
  const Value gradient = gradients(g.builder, {{total, g.builder.like(total, 1)}}, {z})[0];
  HostTensor point = HostTensor::of<double>({2, 3}, {0.2, 0.3, 0.6, 0.1, 0.7, 0.25});
  g.set_input(0, point);
  const HostTensor got = g.evaluate(gradient);
  constexpr double kStep = 1e-6;
  for (int i = 0; i < 6; ++i) {
    const auto at = [&](double offset) {
      HostTensor moved = point;
      moved.data<double>()[i] += offset;
      g.set_input(0, moved);
      return g.evaluate(total).data<double>()[0];
    };
    EXPECT_NEAR(got.data<double>()[i], (at(kStep) - at(-kStep)) / (2 * kStep), 1e-7)
        << loss->name << " element " << i;
  }
}

TEST(Loss, GradientsMatchCentralDifferences) {
  const HostTensor labels = HostTensor::of<int32_t>({2}, {2, 0});
  const HostTensor ignored = HostTensor::of<int32_t>({2}, {-1, 0});
  for (Activation activation : {Activation::kNone, Activation::kSoftmax, Activation::kLogistic}) {
    expect_gradient_matches_differences(CategoricalCrossentropy(), kOneHot, activation);
    expect_gradient_matches_differences(SparseCategoricalCrossentropy(), labels, activation);
    expect_gradient_matches_differences(SparseCategoricalCrossentropy({.ignore_class = -1}),
                                        ignored, activation);
    expect_gradient_matches_differences(BinaryCrossentropy(), kBits, activation);
    expect_gradient_matches_differences(MeanSquaredError(), kOneHot, activation);
    expect_gradient_matches_differences(MeanAbsoluteError(), kOneHot, activation);
  }
}

TEST(Loss, OneHot) {
  TestGraph g;
  const Value labels = g.s32({2}, {2, 7});
  const Value rows = one_hot(g.builder, labels, 3);
  EXPECT_EQ(rows.type(), (TensorType{DType::kF32, {2, 3}}));
  expect_near(g.evaluate(rows), {0.0f, 0.0f, 1.0f, 0.0f, 0.0f, 0.0f}, 0);
}

TEST(Loss, NamesAndObjects) {
  for (const char* name : {"mse", "MSE", "mean_squared_error", "MeanSquaredError"}) {
    const LossPtr loss = loss_from_config(name);
    EXPECT_EQ(loss->class_name(), "MeanSquaredError");
    EXPECT_EQ(loss_to_config(*loss), name);
  }
  EXPECT_EQ(loss_from_config("mae")->class_name(), "MeanAbsoluteError");
  EXPECT_EQ(loss_from_config("bce")->class_name(), "BinaryCrossentropy");
  const LossPtr function = loss_from_config(Json::parse(
      R"({"module": "builtins", "class_name": "function", "config": "mean_squared_error",
          "registered_name": "function"})"));
  EXPECT_EQ(function->class_name(), "MeanSquaredError");
}

TEST(Loss, ConfigIsWhatKerasWrites) {
  const std::string sparse =
      R"({"module":"keras.losses","class_name":"SparseCategoricalCrossentropy","config":)"
      R"({"name":"sparse_categorical_crossentropy","reduction":"sum_over_batch_size",)"
      R"("from_logits":false,"ignore_class":255},"registered_name":null})";
  const std::string smooth =
      R"({"module":"keras.losses","class_name":"CategoricalCrossentropy","config":)"
      R"({"name":"mine","reduction":"sum","from_logits":true,"label_smoothing":0.1,)"
      R"("axis":-1},"registered_name":null})";
  const std::string mse = R"({"module":"keras.losses","class_name":"MeanSquaredError","config":)"
                          R"({"name":"mean_squared_error","reduction":"mean_with_sample_weight"},)"
                          R"("registered_name":null})";
  for (const std::string& text : {sparse, smooth, mse})
    EXPECT_EQ(loss_to_config(*loss_from_config(Json::parse(text))).dump(), text);
}

TEST(Loss, Reductions) {
  const auto reduction = [](const char* name) {
    Json json = loss_to_config(*MeanSquaredError());
    json["config"]["reduction"] = name;
    return loss_from_config(json)->reduction;
  };
  EXPECT_EQ(reduction("sum_over_batch_size"), Reduction::kSumOverBatchSize);
  EXPECT_EQ(reduction("mean"), Reduction::kSumOverBatchSize);
  EXPECT_EQ(reduction("sum"), Reduction::kSum);
  EXPECT_EQ(reduction("mean_with_sample_weight"), Reduction::kMeanWithSampleWeight);
  expect_error(ErrorCode::kUnsupported, "`reduction` must make one number: none",
               [&] { reduction("none"); });
  expect_error(ErrorCode::kInvalidArgument, "\"mean_with_sample_weight\": \"median\"",
               [&] { reduction("median"); });
}

TEST(Loss, ErrorsNameWhatCame) {
  const auto read = [](const char* text) { loss_from_config(Json::parse(text)); };
  expect_error(ErrorCode::kUnsupported,
               "[loss] \"categorical_crossentropi\" is not among the losses Lockstep has. "
               "Did you mean \"categorical_crossentropy\"?",
               [] { loss_from_config("categorical_crossentropi"); });
  expect_error(ErrorCode::kInvalidArgument, "a Keras object must have a \"class_name\": 3",
               [&] { read("3"); });
  expect_error(ErrorCode::kUnsupported, "[BinaryCrossentropy] `axis` must be -1, the last one: 1",
               [&] { read(R"({"class_name": "BinaryCrossentropy", "config": {"axis": 1}})"); });
  expect_error(ErrorCode::kInvalidArgument, "`label_smoothing` must be in [0, 1]: 2", [&] {
    read(R"({"class_name": "BinaryCrossentropy", "config": {"label_smoothing": 2.0}})");
  });
  expect_error(ErrorCode::kInvalidArgument, "`from_logits` must be true or false: 1", [&] {
    read(R"({"class_name": "BinaryCrossentropy", "config": {"from_logits": 1}})");
  });
  expect_error(ErrorCode::kInvalidArgument, "`ignore_class` must be an integer: \"no\"", [&] {
    read(R"({"class_name": "SparseCategoricalCrossentropy", "config": {"ignore_class": "no"}})");
  });
  expect_error(ErrorCode::kInvalidArgument, "[MeanSquaredError] the configuration has an unknown",
               [&] { read(R"({"class_name": "MeanSquaredError", "config": {"delta": 1}})"); });
}

TEST(Loss, ShapeErrorsNameBothShapes) {
  TestGraph g;
  const Value p = g.input(kP);
  const Value four = g.f32({2, 4}, {1, 2, 3, 4, 5, 6, 7, 8});
  const auto call = [&](const LossPtr& loss) { loss->call(g.builder, four, p); };
  expect_error(ErrorCode::kInvalidArgument,
               "[categorical_crossentropy] one-hot targets must have the prediction's shape: "
               "targets [2,4], predictions [2,3]",
               [&] { call(CategoricalCrossentropy()); });
  expect_error(ErrorCode::kInvalidArgument,
               "[sparse_categorical_crossentropy] class indices must have the prediction's shape "
               "without its last axis: targets [2,4], predictions [2,3]",
               [&] { call(SparseCategoricalCrossentropy()); });
  expect_error(ErrorCode::kInvalidArgument, "targets [2,4], predictions [2,3]",
               [&] { call(BinaryCrossentropy()); });
  expect_error(ErrorCode::kInvalidArgument, "targets [2,4], predictions [2,3]",
               [&] { call(MeanSquaredError()); });
}

}  // namespace
}  // namespace lockstep
