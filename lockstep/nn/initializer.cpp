#include "lockstep/nn/initializer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "lockstep/nn/object_fields.h"

namespace lockstep {
namespace {

// Deviation of the standard normal distribution cut off at two deviations.
constexpr double kTruncatedDeviation = 0.87962566103423978;

template <class Next>
HostTensor filled(const Shape& shape, DType dtype, Next&& next) {
  HostTensor tensor(DType::kF32, shape);
  for (float& value : tensor.data<float>()) value = static_cast<float>(next());
  return tensor.as(dtype);
}

class ConstantInitializer final : public Initializer {
 public:
  ConstantInitializer(std::string_view class_name, double value)
      : class_name_(class_name), value_(value) {}
  std::string_view class_name() const override { return class_name_; }
  Json config() const override {
    return class_name_ == "Constant" ? Json{{"value", value_}} : Json::object();
  }
  HostTensor values(const Shape& shape, DType dtype, uint64_t, std::string_view) const override {
    return filled(shape, dtype, [&] { return value_; });
  }

 private:
  std::string_view class_name_;
  double value_;
};

class IdentityInitializer final : public Initializer {
 public:
  explicit IdentityInitializer(double gain) : gain_(gain) {}
  std::string_view class_name() const override { return "Identity"; }
  Json config() const override { return {{"gain", gain_}}; }
  HostTensor values(const Shape& shape, DType dtype, uint64_t,
                    std::string_view path) const override {
    if (shape.rank() != 2)
      invalid_argument("Identity", "the variable must be a matrix: {} is {}", path, shape.str());
    int64_t index = 0;
    return filled(shape, dtype, [&] {
      const int64_t i = index++;
      return i / shape[1] == i % shape[1] ? gain_ : 0.0;
    });
  }

 private:
  double gain_;
};

class RandomInitializer : public Initializer {
 public:
  RandomInitializer(std::string_view class_name, std::optional<int64_t> seed)
      : class_name_(class_name), seed_(seed) {}
  std::string_view class_name() const override { return class_name_; }

 protected:
  Json seed_config() const { return {{"seed", seed_ ? Json(*seed_) : Json()}}; }
  PhiloxStream stream(uint64_t seed, std::string_view path) const {
    const uint64_t own = seed_ ? static_cast<uint64_t>(*seed_) : seed;
    return PhiloxStream(philox_key(own, RandomPurpose::kInit, path));
  }

 private:
  std::string_view class_name_;
  std::optional<int64_t> seed_;
};

double truncated_normal(PhiloxStream& stream) {
  double value = stream.normal();
  while (std::abs(value) > 2.0) value = stream.normal();
  return value;
}

/// RandomUniform (minval, maxval), RandomNormal and TruncatedNormal (mean, stddev).
class DistributionInitializer final : public RandomInitializer {
 public:
  using Draw = double (*)(PhiloxStream& stream, double a, double b);
  DistributionInitializer(std::string_view class_name, std::array<const char*, 2> fields, Draw draw,
                          double a, double b, std::optional<int64_t> seed)
      : RandomInitializer(class_name, seed), fields_(fields), draw_(draw), a_(a), b_(b) {}
  Json config() const override {
    Json json = seed_config();
    json[fields_[0]] = a_;
    json[fields_[1]] = b_;
    return json;
  }
  HostTensor values(const Shape& shape, DType dtype, uint64_t seed,
                    std::string_view path) const override {
    PhiloxStream numbers = stream(seed, path);
    return filled(shape, dtype, [&] { return draw_(numbers, a_, b_); });
  }

 private:
  std::array<const char*, 2> fields_;
  Draw draw_;
  double a_, b_;
};

class ScalingInitializer final : public RandomInitializer {
 public:
  ScalingInitializer(std::string_view class_name, VarianceScalingConfig config)
      : RandomInitializer(class_name, config.seed), config_(std::move(config)) {
    if (config_.distribution == "normal") config_.distribution = "truncated_normal";
    if (!(config_.scale > 0))
      invalid_argument(class_name, "`scale` must be > 0: {}", config_.scale);
    check_among("mode", config_.mode, {"fan_in", "fan_out", "fan_avg"});
    check_among("distribution", config_.distribution,
                {"truncated_normal", "untruncated_normal", "uniform"});
  }
  Json config() const override {
    Json json = seed_config();
    if (class_name() == "VarianceScaling") {
      json["scale"] = config_.scale;
      json["mode"] = config_.mode;
      json["distribution"] = config_.distribution;
    }
    json["input_axes"] = nullptr;
    json["output_axes"] = nullptr;
    return json;
  }
  HostTensor values(const Shape& shape, DType dtype, uint64_t seed,
                    std::string_view path) const override {
    PhiloxStream numbers = stream(seed, path);
    const double variance = config_.scale / std::max(1.0, fan(shape));
    if (config_.distribution == "uniform") {
      const double limit = std::sqrt(3.0 * variance);
      return filled(shape, dtype, [&] { return (2.0 * numbers.uniform() - 1.0) * limit; });
    }
    const double deviation = std::sqrt(variance);
    if (config_.distribution == "untruncated_normal")
      return filled(shape, dtype, [&] { return numbers.normal() * deviation; });
    return filled(shape, dtype,
                  [&] { return truncated_normal(numbers) * (deviation / kTruncatedDeviation); });
  }

 private:
  void check_among(std::string_view field, const std::string& value,
                   std::initializer_list<std::string_view> known) const {
    if (std::find(known.begin(), known.end(), value) == known.end())
      invalid_argument(class_name(), "`{}` must be one of {}: \"{}\"", field,
                       fmt::join(known, ", "), value);
  }
  double fan(const Shape& shape) const {
    const Fans fans = compute_fans(shape);
    if (config_.mode == "fan_in") return static_cast<double>(fans.in);
    if (config_.mode == "fan_out") return static_cast<double>(fans.out);
    return static_cast<double>(fans.in + fans.out) / 2.0;
  }

  VarianceScalingConfig config_;
};

/// Makes the columns of a[rows, columns] orthonormal, in order; rows >= columns. Each column is
/// cleared of those before it twice, after which nothing of them is left in float64. Columns keep
/// their direction: this is QR with a positive diagonal.
void orthonormalise(std::vector<double>& a, int64_t rows, int64_t columns) {
  const auto dot = [&](int64_t i, int64_t j) {
    double sum = 0;
    for (int64_t r = 0; r < rows; ++r) sum += a[r * columns + i] * a[r * columns + j];
    return sum;
  };
  for (int64_t j = 0; j < columns; ++j) {
    for (int pass = 0; pass < 2; ++pass) {
      for (int64_t i = 0; i < j; ++i) {
        const double projection = dot(i, j);
        for (int64_t r = 0; r < rows; ++r) a[r * columns + j] -= projection * a[r * columns + i];
      }
    }
    const double norm = std::sqrt(dot(j, j));
    for (int64_t r = 0; r < rows; ++r) a[r * columns + j] /= norm;
  }
}

class OrthogonalInitializer final : public RandomInitializer {
 public:
  OrthogonalInitializer(double gain, std::optional<int64_t> seed)
      : RandomInitializer("Orthogonal", seed), gain_(gain) {}
  Json config() const override {
    Json json = seed_config();
    json["gain"] = gain_;
    return json;
  }
  HostTensor values(const Shape& shape, DType dtype, uint64_t seed,
                    std::string_view path) const override {
    if (shape.rank() < 2)
      invalid_argument("Orthogonal", "the variable must have two axes or more: {} is {}", path,
                       shape.str());
    const int64_t columns = shape.back(), rows = columns == 0 ? 0 : shape.size() / columns;
    const int64_t tall = std::max(rows, columns), narrow = std::min(rows, columns);
    PhiloxStream numbers = stream(seed, path);
    std::vector<double> matrix(static_cast<size_t>(tall * narrow));
    for (double& value : matrix) value = numbers.normal();
    orthonormalise(matrix, tall, narrow);
    int64_t index = 0;
    return filled(shape, dtype, [&] {
      const int64_t row = index / columns, column = index % columns;
      ++index;
      return gain_ *
             (rows < columns ? matrix[column * narrow + row] : matrix[row * narrow + column]);
    });
  }

 private:
  double gain_;
};

InitializerPtr scaled(std::string_view class_name, double scale, std::string mode,
                      std::string distribution, std::optional<int64_t> seed) {
  return std::make_shared<ScalingInitializer>(
      class_name, VarianceScalingConfig{scale, std::move(mode), std::move(distribution), seed});
}

InitializerPtr read_constant(FieldReader& field) {
  double value = 0.0;
  field("value", value);
  return Constant(value);
}

InitializerPtr read_identity(FieldReader& field) {
  double gain = 1.0;
  field("gain", gain);
  return Identity(gain);
}

std::optional<int64_t> read_seed(FieldReader& field) {
  std::optional<int64_t> seed;
  field("seed", seed);
  return seed;
}

InitializerPtr read_random_uniform(FieldReader& field) {
  double minval = -0.05, maxval = 0.05;
  field("minval", minval);
  field("maxval", maxval);
  return RandomUniform(minval, maxval, read_seed(field));
}

template <InitializerPtr (*make)(double, double, std::optional<int64_t>)>
InitializerPtr read_normal(FieldReader& field) {
  double mean = 0.0, stddev = 0.05;
  field("mean", mean);
  field("stddev", stddev);
  return make(mean, stddev, read_seed(field));
}

InitializerPtr read_orthogonal(FieldReader& field) {
  double gain = 1.0;
  field("gain", gain);
  return Orthogonal(gain, read_seed(field));
}

void read_axes(FieldReader& field) {
  for (const char* key : {"input_axes", "output_axes"})
    if (const Json* axes = field.find(key); axes != nullptr && !axes->is_null())
      unsupported("initializer", "unsupported `{}`: {}", key, axes->dump());
}

InitializerPtr read_variance_scaling(FieldReader& field) {
  VarianceScalingConfig config;
  field("scale", config.scale);
  field("mode", config.mode);
  field("distribution", config.distribution);
  config.seed = read_seed(field);
  read_axes(field);
  return VarianceScaling(config);
}

template <InitializerPtr (*make)(std::optional<int64_t>)>
InitializerPtr read_scaled(FieldReader& field) {
  read_axes(field);
  return make(read_seed(field));
}

struct Row {
  std::string_view class_name, name;
  InitializerPtr (*read)(FieldReader& field);
};
constexpr Row kRows[] = {
    {"Zeros", "zeros", [](FieldReader&) { return Zeros(); }},
    {"Ones", "ones", [](FieldReader&) { return Ones(); }},
    {"Constant", "constant", read_constant},
    {"Identity", "identity", read_identity},
    {"RandomUniform", "random_uniform", read_random_uniform},
    {"RandomNormal", "random_normal", read_normal<RandomNormal>},
    {"TruncatedNormal", "truncated_normal", read_normal<TruncatedNormal>},
    {"Orthogonal", "orthogonal", read_orthogonal},
    {"VarianceScaling", "variance_scaling", read_variance_scaling},
    {"GlorotUniform", "glorot_uniform", read_scaled<GlorotUniform>},
    {"GlorotNormal", "glorot_normal", read_scaled<GlorotNormal>},
    {"HeUniform", "he_uniform", read_scaled<HeUniform>},
    {"HeNormal", "he_normal", read_scaled<HeNormal>},
    {"LecunUniform", "lecun_uniform", read_scaled<LecunUniform>},
    {"LecunNormal", "lecun_normal", read_scaled<LecunNormal>},
};

InitializerPtr read(std::string_view name, const Json& config) {
  std::vector<std::string_view> known;
  for (const Row& row : kRows) {
    known.push_back(row.class_name);
    if (name != row.class_name && name != row.name) continue;
    FieldReader field(config, row.class_name);
    // Keras 2 wrote the variable's dtype here; the layer's policy decides.
    field.find("dtype");
    InitializerPtr initializer = row.read(field);
    field.finish();
    return initializer;
  }
  const std::string closest = closest_name(name, known);
  unsupported("initializer", "unsupported initializer {}.{}", name,
              closest.empty() ? "" : fmt::format(" Did you mean {}?", closest));
}

}  // namespace

Fans compute_fans(const Shape& shape) {
  if (shape.rank() == 0) return {1, 1};
  if (shape.rank() == 1) return {shape[0], shape[0]};
  int64_t field = 1;
  for (int axis = 0; axis < shape.rank() - 2; ++axis) field *= shape[axis];
  return {shape[shape.rank() - 2] * field, shape.back() * field};
}

InitializerPtr initializer_from_config(const Json& json) {
  if (json.is_null()) return nullptr;
  if (json.is_string()) return object_by_name<Initializer>(json.get<std::string>());
  const KerasObject object = keras_object(json, "initializer");
  return read(object.class_name, object.config);
}

Json initializer_to_config(const Initializer& initializer) {
  return keras_object_json("keras.initializers", initializer.class_name(), initializer.config());
}

InitializerPtr Zeros() {
  return std::make_shared<ConstantInitializer>("Zeros", 0.0);
}
InitializerPtr Ones() {
  return std::make_shared<ConstantInitializer>("Ones", 1.0);
}
InitializerPtr Constant(double value) {
  return std::make_shared<ConstantInitializer>("Constant", value);
}
InitializerPtr Identity(double gain) {
  return std::make_shared<IdentityInitializer>(gain);
}

InitializerPtr RandomUniform(double minval, double maxval, std::optional<int64_t> seed) {
  const auto draw = [](PhiloxStream& stream, double low, double high) {
    return low + stream.uniform() * (high - low);
  };
  return std::make_shared<DistributionInitializer>("RandomUniform", std::array{"minval", "maxval"},
                                                   draw, minval, maxval, seed);
}

InitializerPtr RandomNormal(double mean, double stddev, std::optional<int64_t> seed) {
  const auto draw = [](PhiloxStream& stream, double mean, double stddev) {
    return mean + stream.normal() * stddev;
  };
  return std::make_shared<DistributionInitializer>("RandomNormal", std::array{"mean", "stddev"},
                                                   draw, mean, stddev, seed);
}

InitializerPtr TruncatedNormal(double mean, double stddev, std::optional<int64_t> seed) {
  const auto draw = [](PhiloxStream& stream, double mean, double stddev) {
    return mean + truncated_normal(stream) * stddev;
  };
  return std::make_shared<DistributionInitializer>("TruncatedNormal", std::array{"mean", "stddev"},
                                                   draw, mean, stddev, seed);
}

InitializerPtr Orthogonal(double gain, std::optional<int64_t> seed) {
  return std::make_shared<OrthogonalInitializer>(gain, seed);
}

InitializerPtr VarianceScaling(VarianceScalingConfig config) {
  return std::make_shared<ScalingInitializer>("VarianceScaling", std::move(config));
}

InitializerPtr GlorotUniform(std::optional<int64_t> seed) {
  return scaled("GlorotUniform", 1.0, "fan_avg", "uniform", seed);
}
InitializerPtr GlorotNormal(std::optional<int64_t> seed) {
  return scaled("GlorotNormal", 1.0, "fan_avg", "truncated_normal", seed);
}
InitializerPtr HeUniform(std::optional<int64_t> seed) {
  return scaled("HeUniform", 2.0, "fan_in", "uniform", seed);
}
InitializerPtr HeNormal(std::optional<int64_t> seed) {
  return scaled("HeNormal", 2.0, "fan_in", "truncated_normal", seed);
}
InitializerPtr LecunUniform(std::optional<int64_t> seed) {
  return scaled("LecunUniform", 1.0, "fan_in", "uniform", seed);
}
InitializerPtr LecunNormal(std::optional<int64_t> seed) {
  return scaled("LecunNormal", 1.0, "fan_in", "truncated_normal", seed);
}

template <>
InitializerPtr object_by_name<Initializer>(std::string_view name) {
  return read(name, Json::object());
}

}  // namespace lockstep
