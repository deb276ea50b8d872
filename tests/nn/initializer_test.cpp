// Initializers: moments and bounds of each, their fans, their keys, and their configurations.
#include "lockstep/nn/initializer.h"

#include "layer_test_util.h"

namespace lockstep {
namespace {

const Shape kShape{64, 100};

std::vector<double> drawn(const InitializerPtr& initializer, const Shape& shape = kShape,
                          uint64_t seed = 7, std::string_view path = "dense/kernel") {
  const HostTensor tensor = initializer->values(shape, DType::kF32, seed, path);
  const auto values = tensor.data<float>();
  return {values.begin(), values.end()};
}

struct Moments {
  double mean = 0, deviation = 0, largest = 0;
};

Moments moments(const std::vector<double>& values) {
  Moments m;
  for (double value : values) m.mean += value / static_cast<double>(values.size());
  for (double value : values) {
    m.deviation += (value - m.mean) * (value - m.mean) / static_cast<double>(values.size());
    m.largest = std::max(m.largest, std::abs(value));
  }
  m.deviation = std::sqrt(m.deviation);
  return m;
}

TEST(Initializer, FansOfKernels) {
  EXPECT_EQ(compute_fans({}), (Fans{1, 1}));
  EXPECT_EQ(compute_fans({5}), (Fans{5, 5}));
  EXPECT_EQ(compute_fans({5, 7}), (Fans{5, 7}));
  EXPECT_EQ(compute_fans({3, 2, 5, 7}), (Fans{30, 42}));
}

TEST(Initializer, Constants) {
  EXPECT_EQ(drawn(Zeros(), {2}), (std::vector<double>{0, 0}));
  EXPECT_EQ(drawn(Ones(), {2}), (std::vector<double>{1, 1}));
  EXPECT_EQ(drawn(Constant(0.5), {2}), (std::vector<double>{0.5, 0.5}));
  EXPECT_EQ(drawn(Identity(2.0), {2, 3}), (std::vector<double>{2, 0, 0, 0, 2, 0}));
}

struct DistributionCase {
  const char* name;
  InitializerPtr initializer;
  double mean, deviation, largest;  // largest 0: unbounded
};

class Distribution : public testing::TestWithParam<DistributionCase> {};

TEST_P(Distribution, HasItsMomentsAndBounds) {
  const DistributionCase& want = GetParam();
  const Moments got = moments(drawn(want.initializer));
  // 6,400 draws: five deviations of the mean, three percent of the deviation.
  EXPECT_NEAR(got.mean, want.mean, 5 * want.deviation / 80);
  EXPECT_NEAR(got.deviation, want.deviation, 0.03 * want.deviation);
  if (want.largest == 0) return;
  EXPECT_LE(got.largest, want.largest);
  EXPECT_GT(got.largest, 0.95 * want.largest);
}

// Fan in 64, fan out 100.
constexpr double kTruncated = 2.0 / 0.87962566103423978;
INSTANTIATE_TEST_SUITE_P(
    Keras, Distribution,
    testing::Values(
        DistributionCase{"random_uniform", RandomUniform(-0.5, 1.5), 0.5, 2 / std::sqrt(12.0), 1.5},
        DistributionCase{"random_normal", RandomNormal(1.0, 0.5), 1.0, 0.5, 0},
        DistributionCase{"truncated_normal", TruncatedNormal(0.0, 0.5), 0.0,
                         0.5 * 0.87962566103423978, 1.0},
        DistributionCase{"glorot_uniform", GlorotUniform(), 0.0, std::sqrt(1 / 82.0),
                         std::sqrt(3 / 82.0)},
        DistributionCase{"glorot_normal", GlorotNormal(), 0.0, std::sqrt(1 / 82.0),
                         kTruncated * std::sqrt(1 / 82.0)},
        DistributionCase{"he_uniform", HeUniform(), 0.0, std::sqrt(2 / 64.0), std::sqrt(6 / 64.0)},
        DistributionCase{"he_normal", HeNormal(), 0.0, std::sqrt(2 / 64.0),
                         kTruncated * std::sqrt(2 / 64.0)},
        DistributionCase{"lecun_uniform", LecunUniform(), 0.0, std::sqrt(1 / 64.0),
                         std::sqrt(3 / 64.0)},
        DistributionCase{"lecun_normal", LecunNormal(), 0.0, std::sqrt(1 / 64.0),
                         kTruncated * std::sqrt(1 / 64.0)},
        DistributionCase{"variance_scaling",
                         VarianceScaling({.scale = 3.0,
                                          .mode = "fan_out",
                                          .distribution = "untruncated_normal"}),
                         0.0, std::sqrt(3 / 100.0), 0}),
    [](const testing::TestParamInfo<DistributionCase>& info) { return info.param.name; });

TEST(Initializer, OrthogonalColumnsOrRows) {
  for (const Shape& shape : {Shape{6, 4}, Shape{4, 6}, Shape{3, 2, 4}}) {
    const std::vector<double> q = drawn(Orthogonal(2.0), shape);
    const int64_t columns = shape.back(), rows = shape.size() / columns;
    const bool by_column = rows >= columns;
    const int64_t count = by_column ? columns : rows, length = by_column ? rows : columns;
    const auto at = [&](int64_t vector, int64_t i) {
      return by_column ? q[i * columns + vector] : q[vector * columns + i];
    };
    for (int64_t a = 0; a < count; ++a) {
      for (int64_t b = 0; b < count; ++b) {
        double dot = 0;
        for (int64_t i = 0; i < length; ++i) dot += at(a, i) * at(b, i);
        EXPECT_NEAR(dot, a == b ? 4.0 : 0.0, 1e-5) << shape.str();
      }
    }
  }
}

TEST(Initializer, ValuesDependOnSeedAndPath) {
  EXPECT_EQ(drawn(GlorotUniform(), {4, 4}, 7, "a"), drawn(GlorotUniform(), {4, 4}, 7, "a"));
  EXPECT_NE(drawn(GlorotUniform(), {4, 4}, 7, "a"), drawn(GlorotUniform(), {4, 4}, 8, "a"));
  EXPECT_NE(drawn(GlorotUniform(), {4, 4}, 7, "a"), drawn(GlorotUniform(), {4, 4}, 7, "b"));
  EXPECT_EQ(drawn(GlorotUniform(3), {4, 4}, 7, "a"), drawn(GlorotUniform(3), {4, 4}, 8, "a"));
  EXPECT_EQ(drawn(GlorotUniform(3), {4, 4}, 1, "a"), drawn(GlorotUniform(), {4, 4}, 3, "a"));
}

TEST(Initializer, ConfigurationsComeBack) {
  for (const InitializerPtr& initializer :
       {Zeros(), Ones(), Constant(2.5), Identity(0.5), RandomUniform(-1, 2, 3), RandomNormal(1, 2),
        TruncatedNormal(), Orthogonal(0.5, 4), VarianceScaling({.scale = 2.0, .mode = "fan_avg"}),
        GlorotUniform(5), GlorotNormal(), HeUniform(), HeNormal(), LecunUniform(), LecunNormal()}) {
    const Json json = initializer_to_config(*initializer);
    const InitializerPtr back = initializer_from_config(json);
    EXPECT_EQ(initializer_to_config(*back), json);
    EXPECT_EQ(drawn(back, {3, 3}), drawn(initializer, {3, 3})) << json.dump();
  }
  EXPECT_EQ(initializer_to_config(*GlorotUniform()).dump(),
            R"({"module":"keras.initializers","class_name":"GlorotUniform","config":{"seed":null,)"
            R"("input_axes":null,"output_axes":null},"registered_name":null})");
}

TEST(Initializer, Keras2ConfigurationsAreRead) {
  const Json json = Json::parse(
      R"({"class_name": "VarianceScaling", "config": {"scale": 1.0, "mode": "fan_avg",
          "distribution": "uniform", "seed": null, "dtype": "float32"}})");
  EXPECT_EQ(drawn(initializer_from_config(json)), drawn(GlorotUniform()));
}

TEST(Initializer, RefusesWhatItDoesNotKnow) {
  expect_error(ErrorCode::kUnsupported, "unsupported initializer STFT",
               [] { initializer_from_config("STFT"); });
  expect_error(ErrorCode::kInvalidArgument, "`mode` must be one of fan_in, fan_out, fan_avg: \"fan\"",
               [] { VarianceScaling({.mode = "fan"}); });
  expect_error(ErrorCode::kInvalidArgument, "`scale` must be > 0",
               [] { VarianceScaling({.scale = 0.0}); });
  expect_error(ErrorCode::kInvalidArgument, "must have two axes or more",
               [] { drawn(Orthogonal(), {3}); });
  expect_error(ErrorCode::kInvalidArgument, "the variable must be a matrix",
               [] { drawn(Identity(), {3}); });
  expect_error(ErrorCode::kUnsupported, "unsupported `input_axes`: [0]", [] {
    initializer_from_config(
        Json::parse(R"({"class_name": "HeNormal", "config": {"input_axes": [0]}})"));
  });
}

}  // namespace
}  // namespace lockstep
