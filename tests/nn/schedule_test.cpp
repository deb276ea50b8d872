// Numbers of Keras 3.15.1, TensorFlow backend:
//   [float(np.float32(schedule(i))) for i in (0, 1, 3, 4, 7, 10)]
#include "lockstep/nn/schedule.h"

#include "tests/nn/graph_test_util.h"

namespace lockstep {
namespace {

void expect_rates(const SchedulePtr& schedule, std::initializer_list<float> want) {
  static constexpr int64_t steps[] = {0, 1, 3, 4, 7, 10};
  for (size_t i = 0; i < want.size(); ++i) {
    const double got = schedule->at(steps[i]);
    EXPECT_EQ(got, static_cast<double>(static_cast<float>(got))) << "not a float32";
    EXPECT_NEAR(got, want.begin()[i], 2e-7 * want.begin()[i]) << "step " << steps[i];
  }
  const SchedulePtr copy = schedule_from_config(schedule_to_config(*schedule));
  EXPECT_EQ(copy->at(7), schedule->at(7));
  EXPECT_EQ(copy->config(), schedule->config());
}

TEST(Schedule, ExponentialDecay) {
  ExponentialDecayConfig config{.initial_learning_rate = 0.1, .decay_steps = 4, .decay_rate = 0.7};
  expect_rates(ExponentialDecay(config),
               {0.10000000149011612f, 0.09146912395954132f, 0.07652855664491653f,
                0.07000000029802322f, 0.053569991141557693f, 0.04099633917212486f});
  config.staircase = true;
  expect_rates(ExponentialDecay(config), {0.1f, 0.1f, 0.1f, 0.07000000029802322f,
                                          0.07000000029802322f, 0.04899999871850014f});
}

TEST(Schedule, InverseTimeDecay) {
  InverseTimeDecayConfig config{.initial_learning_rate = 0.1, .decay_steps = 4, .decay_rate = 0.7};
  expect_rates(InverseTimeDecay(config),
               {0.10000000149011612f, 0.08510638773441315f, 0.06557377427816391f,
                0.05882352963089943f, 0.04494382441043854f, 0.036363635212183f});
  config.staircase = true;
  expect_rates(InverseTimeDecay(config),
               {0.1f, 0.1f, 0.1f, 0.05882352963089943f, 0.05882352963089943f, 0.0416666641831398f});
}

TEST(Schedule, PiecewiseConstantDecay) {
  const SchedulePtr schedule =
      PiecewiseConstantDecay({.boundaries = {2, 4}, .values = {1.0, 0.5, 0.1}});
  expect_rates(schedule, {1.0f, 1.0f, 0.5f, 0.5f, 0.1f, 0.1f});
  EXPECT_EQ(schedule->at(2), 1.0) << "a boundary belongs to the value before it";
}

TEST(Schedule, PolynomialDecay) {
  PolynomialDecayConfig config{
      .initial_learning_rate = 0.1, .decay_steps = 4, .end_learning_rate = 0.01, .power = 2.0};
  expect_rates(PolynomialDecay(config),
               {0.10000000149011612f, 0.06062500178813934f, 0.015625f, 0.009999999776482582f,
                0.009999999776482582f, 0.009999999776482582f});
  config.power = 0.5;
  config.cycle = true;
  expect_rates(PolynomialDecay(config),
               {0.10000000149011612f, 0.08794228732585907f, 0.054999999701976776f,
                0.009999999776482582f, 0.04181980341672897f, 0.04674234986305237f});
}

TEST(Schedule, CosineDecay) {
  CosineDecayConfig config{.initial_learning_rate = 0.1, .decay_steps = 6, .alpha = 0.1};
  expect_rates(CosineDecay(config),
               {0.10000000149011612f, 0.0939711481332779f, 0.05499999597668648f,
                0.032499995082616806f, 0.010000000707805157f, 0.010000000707805157f});
}

TEST(Schedule, CosineDecayWithWarmup) {
  CosineDecayConfig config{.initial_learning_rate = 0.0,
                           .decay_steps = 6,
                           .alpha = 0.1,
                           .warmup_target = 0.3,
                           .warmup_steps = 3};
  expect_rates(CosineDecay(config),
               {0.0f, 0.10000000894069672f, 0.30000001192092896f, 0.2819134593009949f,
                0.09749998897314072f, 0.030000001192092896f});
}

TEST(Schedule, CosineDecayRestarts) {
  CosineDecayRestartsConfig config{.initial_learning_rate = 0.1,
                                   .first_decay_steps = 3,
                                   .t_mul = 2.0,
                                   .m_mul = 0.9,
                                   .alpha = 0.05};
  expect_rates(CosineDecayRestarts(config),
               {0.10000000149011612f, 0.07625000178813934f, 0.09049999713897705f,
                0.08477258682250977f, 0.026375005021691322f, 0.08063899725675583f});
  config.t_mul = 1.0;
  config.m_mul = 0.5;
  expect_rates(CosineDecayRestarts(config),
               {0.10000000149011612f, 0.07625000178813934f, 0.05249999836087227f,
                0.04062499850988388f, 0.022812502458691597f, 0.013906250707805157f});
}

TEST(Schedule, ConfigIsWhatKerasWrites) {
  const SchedulePtr schedule = CosineDecay({.initial_learning_rate = 0.0,
                                            .decay_steps = 6,
                                            .alpha = 0.1,
                                            .warmup_target = 0.3,
                                            .warmup_steps = 3});
  EXPECT_EQ(schedule_to_config(*schedule).dump(),
            R"({"module":"keras.optimizers.schedules","class_name":"CosineDecay","config":)"
            R"({"initial_learning_rate":0.0,"decay_steps":6,"alpha":0.1,"name":"CosineDecay",)"
            R"("warmup_target":0.3,"warmup_steps":3},"registered_name":null})");
  const SchedulePtr piecewise =
      PiecewiseConstantDecay({.boundaries = {2, 4}, .values = {1.0, 0.5, 0.1}});
  EXPECT_EQ(piecewise->config().dump(),
            R"({"boundaries":[2,4],"values":[1.0,0.5,0.1],"name":"PiecewiseConstant"})");
}

TEST(Schedule, ErrorsNameTheField) {
  const auto read = [](const char* text) { schedule_from_config(Json::parse(text)); };
  expect_error(ErrorCode::kInvalidArgument, "[ExponentialDecay] `decay_steps` must be > 0: 0",
               [] { ExponentialDecay({.initial_learning_rate = 0.1}); });
  expect_error(ErrorCode::kInvalidArgument,
               "[PiecewiseConstantDecay] `values` must be one more than `boundaries`: 1 and 1",
               [] { PiecewiseConstantDecay({.boundaries = {1}, .values = {0.1}}); });
  expect_error(ErrorCode::kInvalidArgument, "`boundaries` must ascend: [4, 2]", [] {
    PiecewiseConstantDecay({.boundaries = {4, 2}, .values = {1, 2, 3}});
  });
  expect_error(ErrorCode::kUnsupported,
               "\"CosineDecy\" is not among the schedules Lockstep has. "
               "Did you mean \"CosineDecay\"?",
               [&] { read(R"({"class_name": "CosineDecy", "config": {}})"); });
  expect_error(ErrorCode::kInvalidArgument, "[PolynomialDecay] `cycle` must be true or false: 3",
               [&] { read(R"({"class_name": "PolynomialDecay", "config": {"cycle": 3}})"); });
  expect_error(ErrorCode::kInvalidArgument,
               "unknown field: \"decay_step\". Did you mean \"decay_steps\"?",
               [&] { read(R"({"class_name": "ExponentialDecay", "config": {"decay_step": 3}})"); });
  expect_error(ErrorCode::kInvalidArgument, "a Keras object must have a \"class_name\": 3",
               [&] { read("3"); });
}

}  // namespace
}  // namespace lockstep
