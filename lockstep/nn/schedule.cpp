#include "lockstep/nn/schedule.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <tuple>

#include "lockstep/nn/object_fields.h"

namespace lockstep {
namespace {

// Everything below is float arithmetic in Keras's order of operations.
using std::cos;
using std::floor;
using std::pow;

float f32(double value) {
  return static_cast<float>(value);
}

void check_positive(std::string_view class_name, std::string_view field, double value) {
  if (!(value > 0)) invalid_argument(class_name, "`{}` must be > 0: {}", field, value);
}

/// A count in `config` under the name of the field.
struct Count {
  double& value;
};

/// FieldReader and FieldWriter that know counts: 1000 is not written as 1000.0.
struct ScheduleReader : FieldReader {
  using FieldReader::FieldReader;
  using FieldReader::operator();
  void operator()(std::string_view key, Count count) { (*this)(key, count.value); }
};
struct ScheduleWriter : FieldWriter {
  using FieldWriter::operator();
  void operator()(std::string_view key, Count count) { (*this)(key, whole_number(count.value)); }
};

template <class Fields, class Config>
void visit_decay(Fields& fields, Config& c) {
  fields("initial_learning_rate", c.initial_learning_rate);
  fields("decay_steps", Count{c.decay_steps});
  fields("decay_rate", c.decay_rate);
  fields("staircase", c.staircase);
  fields("name", c.name);
}

float decay_exponent(double decay_steps, bool staircase, int64_t step) {
  const float p = static_cast<float>(step) / f32(decay_steps);
  return staircase ? floor(p) : p;
}

struct Exponential {
  using Config = ExponentialDecayConfig;
  static constexpr std::string_view kClassName = "ExponentialDecay";
  static void visit(auto& fields, Config& c) { visit_decay(fields, c); }
  static void check(const Config& c) { check_positive(kClassName, "decay_steps", c.decay_steps); }
  static float at(const Config& c, int64_t step) {
    const float p = decay_exponent(c.decay_steps, c.staircase, step);
    return f32(c.initial_learning_rate) * pow(f32(c.decay_rate), p);
  }
};

struct InverseTime {
  using Config = InverseTimeDecayConfig;
  static constexpr std::string_view kClassName = "InverseTimeDecay";
  static void visit(auto& fields, Config& c) { visit_decay(fields, c); }
  static void check(const Config& c) { check_positive(kClassName, "decay_steps", c.decay_steps); }
  static float at(const Config& c, int64_t step) {
    const float p = decay_exponent(c.decay_steps, c.staircase, step);
    return f32(c.initial_learning_rate) / (1.0f + f32(c.decay_rate) * p);
  }
};

struct PiecewiseConstant {
  using Config = PiecewiseConstantDecayConfig;
  static constexpr std::string_view kClassName = "PiecewiseConstantDecay";
  static void visit(ScheduleReader& fields, Config& c) {
    fields("boundaries", c.boundaries);
    fields("values", c.values);
    fields("name", c.name);
  }
  static void visit(ScheduleWriter& fields, Config& c) {
    Json boundaries = Json::array();
    for (double boundary : c.boundaries) boundaries.push_back(whole_number(boundary));
    fields("boundaries", boundaries);
    fields("values", c.values);
    fields("name", c.name);
  }
  static void check(const Config& c) {
    if (c.boundaries.empty() || c.values.size() != c.boundaries.size() + 1)
      invalid_argument(kClassName, "`values` must be one more than `boundaries`: {} and {}",
                       c.values.size(), c.boundaries.size());
    if (!std::is_sorted(c.boundaries.begin(), c.boundaries.end()))
      invalid_argument(kClassName, "`boundaries` must ascend: [{}]", fmt::join(c.boundaries, ", "));
  }
  static float at(const Config& c, int64_t step) {
    size_t i = 0;
    // Keras compares as integers: a fraction of a boundary does not count.
    while (i < c.boundaries.size() && step > static_cast<int64_t>(c.boundaries[i])) ++i;
    return f32(c.values[i]);
  }
};

struct Polynomial {
  using Config = PolynomialDecayConfig;
  static constexpr std::string_view kClassName = "PolynomialDecay";
  static void visit(auto& fields, Config& c) {
    fields("initial_learning_rate", c.initial_learning_rate);
    fields("decay_steps", Count{c.decay_steps});
    fields("end_learning_rate", c.end_learning_rate);
    fields("power", c.power);
    fields("cycle", c.cycle);
    fields("name", c.name);
  }
  static void check(const Config& c) { check_positive(kClassName, "decay_steps", c.decay_steps); }
  static float at(const Config& c, int64_t step_number) {
    float step = static_cast<float>(step_number);
    float decay_steps = f32(c.decay_steps);
    if (c.cycle) {
      decay_steps *= step == 0 ? 1.0f : std::ceil(step / decay_steps);
    } else {
      step = std::min(step, decay_steps);
    }
    const float end = f32(c.end_learning_rate);
    const float p = step / decay_steps;
    return (f32(c.initial_learning_rate) - end) * pow(1.0f - p, f32(c.power)) + end;
  }
};

struct Cosine {
  using Config = CosineDecayConfig;
  static constexpr std::string_view kClassName = "CosineDecay";
  static void visit(auto& fields, Config& c) {
    fields("initial_learning_rate", c.initial_learning_rate);
    fields("decay_steps", Count{c.decay_steps});
    fields("alpha", c.alpha);
    fields("name", c.name);
    fields("warmup_target", c.warmup_target);
    fields("warmup_steps", Count{c.warmup_steps});
  }
  static void check(const Config& c) { check_positive(kClassName, "decay_steps", c.decay_steps); }
  static float at(const Config& c, int64_t step_number) {
    const float decay_steps = f32(c.decay_steps);
    float step = static_cast<float>(step_number);
    if (!c.warmup_target)
      return decayed(c, std::min(step, decay_steps), f32(c.initial_learning_rate));
    const float warmup_steps = f32(c.warmup_steps);
    const float target = f32(*c.warmup_target);
    const float initial = f32(c.initial_learning_rate);
    step = std::min(step, decay_steps + warmup_steps);
    if (step < warmup_steps) return (target - initial) * (step / warmup_steps) + initial;
    return decayed(c, step - warmup_steps, target);
  }
  static float decayed(const Config& c, float step, float from) {
    const float fraction = step / f32(c.decay_steps);
    const float cosine = 0.5f * (1.0f + cos(std::numbers::pi_v<float> * fraction));
    return from * (f32(1.0 - c.alpha) * cosine + f32(c.alpha));
  }
};

struct CosineRestarts {
  using Config = CosineDecayRestartsConfig;
  static constexpr std::string_view kClassName = "CosineDecayRestarts";
  static void visit(auto& fields, Config& c) {
    fields("initial_learning_rate", c.initial_learning_rate);
    fields("first_decay_steps", Count{c.first_decay_steps});
    fields("t_mul", c.t_mul);
    fields("m_mul", c.m_mul);
    fields("alpha", c.alpha);
    fields("name", c.name);
  }
  static void check(const Config& c) {
    check_positive(kClassName, "first_decay_steps", c.first_decay_steps);
    check_positive(kClassName, "t_mul", c.t_mul);
  }
  static float at(const Config& c, int64_t step) {
    const auto [restart, fraction] =
        period(f32(c.t_mul), static_cast<float>(step) / f32(c.first_decay_steps));
    const float height = pow(f32(c.m_mul), restart);
    const float cosine = 0.5f * height * (1.0f + cos(std::numbers::pi_v<float> * fraction));
    const float alpha = f32(c.alpha);
    return f32(c.initial_learning_rate) * ((1.0f - alpha) * cosine + alpha);
  }
  /// Number of the period, counted from 0, and the fraction of it that is done.
  static std::pair<float, float> period(float t_mul, float periods) {
    if (t_mul == 1.0f) return {floor(periods), periods - floor(periods)};
    const float restart = floor(std::log(1.0f - periods * (1.0f - t_mul)) / std::log(t_mul));
    const float length = pow(t_mul, restart);
    const float before = (1.0f - length) / (1.0f - t_mul);
    return {restart, (periods - before) / length};
  }
};

template <class Kind>
class ScheduleOf final : public LearningRateSchedule {
 public:
  explicit ScheduleOf(typename Kind::Config config) : config_(std::move(config)) {
    Kind::check(config_);
  }
  std::string_view class_name() const override { return Kind::kClassName; }
  Json config() const override {
    typename Kind::Config config = config_;
    ScheduleWriter fields;
    Kind::visit(fields, config);
    return std::move(fields).json();
  }
  double at(int64_t step) const override { return Kind::at(config_, step); }

 private:
  typename Kind::Config config_;
};

template <class Kind>
SchedulePtr read(const Json& json) {
  typename Kind::Config config;
  ScheduleReader fields(json, Kind::kClassName);
  Kind::visit(fields, config);
  fields.finish();
  return std::make_shared<ScheduleOf<Kind>>(std::move(config));
}

template <class... Kinds>
SchedulePtr read_any(std::string_view class_name, const Json& config) {
  SchedulePtr schedule;
  ((class_name == Kinds::kClassName ? void(schedule = read<Kinds>(config)) : void()), ...);
  if (schedule) return schedule;
  const std::string closest = closest_name(class_name, std::vector{Kinds::kClassName...});
  unsupported("learning rate schedule", "\"{}\" is not among the schedules Lockstep has.{}",
              class_name, closest.empty() ? "" : fmt::format(" Did you mean \"{}\"?", closest));
}

}  // namespace

SchedulePtr schedule_from_config(const Json& json) {
  const KerasObject object = keras_object(json, "learning rate schedule");
  return read_any<Exponential, InverseTime, PiecewiseConstant, Polynomial, Cosine, CosineRestarts>(
      object.class_name, object.config);
}

Json schedule_to_config(const LearningRateSchedule& schedule) {
  return keras_object_json("keras.optimizers.schedules", schedule.class_name(), schedule.config());
}

SchedulePtr ExponentialDecay(ExponentialDecayConfig config) {
  return std::make_shared<ScheduleOf<Exponential>>(std::move(config));
}

SchedulePtr InverseTimeDecay(InverseTimeDecayConfig config) {
  return std::make_shared<ScheduleOf<InverseTime>>(std::move(config));
}

SchedulePtr PiecewiseConstantDecay(PiecewiseConstantDecayConfig config) {
  return std::make_shared<ScheduleOf<PiecewiseConstant>>(std::move(config));
}

SchedulePtr PolynomialDecay(PolynomialDecayConfig config) {
  return std::make_shared<ScheduleOf<Polynomial>>(std::move(config));
}

SchedulePtr CosineDecay(CosineDecayConfig config) {
  return std::make_shared<ScheduleOf<Cosine>>(std::move(config));
}

SchedulePtr CosineDecayRestarts(CosineDecayRestartsConfig config) {
  return std::make_shared<ScheduleOf<CosineRestarts>>(std::move(config));
}

}  // namespace lockstep
