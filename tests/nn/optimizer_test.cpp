// Numbers of Keras 3.15.1, TensorFlow backend:
//   v = keras.Variable(kWeight)
//   for g in kGradients: optimizer.apply([tf.constant(g)], [v])
//   v.numpy(), [s.numpy() for s in optimizer.variables]
#include "lockstep/nn/optimizer.h"

#include <functional>

#include "lockstep/nn/update_rules.h"
#include "tests/nn/graph_test_util.h"

namespace lockstep {
namespace {

constexpr std::initializer_list<float> kWeight = {1.0f, -2.0f, 0.5f, 0.0f};
constexpr std::initializer_list<float> kGradients[] = {
    {0.1f, -0.2f, 0.3f, 0.0f}, {0.5f, 0.1f, -0.3f, 1.0f}, {-0.2f, 0.0f, 0.1f, 2.0f}};

/// Three updates of one variable: the weight, then the slots.
std::vector<HostTensor> train(const Optimizer& optimizer) {
  TestGraph g;
  Builder& b = g.builder;
  const Value learning_rate = b.constant(optimizer.common.learning_rate.at(0), DType::kF32);
  Value weight = g.f32({4}, kWeight);
  std::vector<Value> slots;
  for (const SlotSpec& slot : optimizer.slots())
    slots.push_back(b.like(weight, slot.initial_value));
  double updates = 0;
  for (const auto& gradient : kGradients) {
    if (optimizer.common.weight_decay)
      weight = decay_weight(b, weight, learning_rate, *optimizer.common.weight_decay);
    auto result = optimizer.update({.builder = b,
                                    .weight = weight,
                                    .gradient = g.f32({4}, gradient),
                                    .slots = slots,
                                    .learning_rate = learning_rate,
                                    .updates = b.constant(++updates, DType::kF32)});
    EXPECT_EQ(result.slots.size(), slots.size());
    weight = result.weight;
    slots = result.slots;
  }
  slots.insert(slots.begin(), weight);
  return g.evaluate(slots);
}

void expect_trained(const OptimizerPtr& optimizer,
                    std::initializer_list<std::initializer_list<float>> want) {
  const std::vector<HostTensor> got = train(*optimizer);
  ASSERT_EQ(got.size(), want.size());
  for (size_t i = 0; i < got.size(); ++i) {
    SCOPED_TRACE(i == 0 ? "weight" : optimizer->slots()[i - 1].name);
    expect_near(got[i], want.begin()[i], 3e-7);
  }
  const OptimizerPtr copy = optimizer_from_config(optimizer_to_config(*optimizer));
  EXPECT_EQ(copy->config(), optimizer->config());
}

TEST(Optimizer, Sgd) {
  expect_trained(SGD({.learning_rate = 0.1}),
                 {{0.959999979f, -1.99000001f, 0.49000001f, -0.300000012f}});
  expect_trained(SGD({.learning_rate = 0.1, .momentum = 0.9}),
                 {{0.897899985f, -1.9648f, 0.465700001f, -0.389999986f},
                  {-0.0330999941f, 0.00720000034f, -0.00730000064f, -0.289999992f}});
  expect_trained(SGD({.learning_rate = 0.1, .momentum = 0.9, .nesterov = true}),
                 {{0.868110001f, -1.95832002f, 0.459129989f, -0.650999963f},
                  {-0.0330999941f, 0.00720000034f, -0.00730000064f, -0.289999992f}});
}

TEST(Optimizer, RmsProp) {
  expect_trained(RMSprop({.learning_rate = 0.01}),
                 {{0.949412644f, -1.98312163f, 0.483507872f, -0.0601941869f},
                  {0.0273100007f, 0.00413999986f, 0.0163899995f, 0.49000001f}});
  const OptimizerPtr optimizer =
      RMSprop({.learning_rate = 0.01, .rho = 0.8, .momentum = 0.5, .centered = true});
  expect_trained(optimizer, {{0.927125514f, -1.97275865f, 0.475309551f, -0.0623759143f},
                             {0.0492800027f, 0.00672000041f, 0.0279200021f, 0.960000038f},
                             {0.0097747352f, -0.000747166574f, 0.00389439194f, 0.0373759232f},
                             {0.0528000034f, -0.00960000046f, 0.0104000028f, 0.560000002f}});
  for (int i = 0; i < 3; ++i) EXPECT_EQ(optimizer->slots()[i].group, i) << "all of a kind first";
}

TEST(Optimizer, Adam) {
  expect_trained(Adam({.learning_rate = 0.01}),
                 {{0.977527857f, -1.98527825f, 0.489455879f, -0.0157269537f},
                  {0.0331000015f, -0.00720000034f, 0.00729999784f, 0.289999992f},
                  {0.000299729989f, 4.99100461e-05f, 0.000189730112f, 0.00499900058f}});
  const OptimizerPtr amsgrad =
      Adam({.learning_rate = 0.01, .beta_1 = 0.8, .beta_2 = 0.9, .epsilon = 1e-3, .amsgrad = true});
  expect_trained(amsgrad, {{0.978245318f, -1.98655653f, 0.490365028f, -0.0161555372f},
                           {0.0527999997f, -0.00960000139f, 0.0103999991f, 0.560000002f},
                           {0.0273100007f, 0.00413999986f, 0.0163900014f, 0.49000001f},
                           {0.0273100007f, 0.0046000001f, 0.0171000008f, 0.49000001f}});
  EXPECT_EQ(amsgrad->slots()[1].group, 0) << "m and v interleaved";
  EXPECT_EQ(amsgrad->slots()[2].group, 1);
}

TEST(Optimizer, AdamWIsAdamWithWeightDecay) {
  const OptimizerPtr adamw = AdamW({.learning_rate = 0.01, .weight_decay = 0.1});
  expect_trained(adamw, {{0.974559426f, -1.97930682f, 0.487976849f, -0.0157195106f},
                         {0.0331000015f, -0.00720000034f, 0.00729999784f, 0.289999992f},
                         {0.000299729989f, 4.99100461e-05f, 0.000189730112f, 0.00499900058f}});
  const OptimizerPtr adam = Adam({.learning_rate = 0.01, .weight_decay = 0.1});
  EXPECT_TRUE(train(*adamw)[0].same_bits(train(*adam)[0]));
}

TEST(Optimizer, AdamaxAdagradAdadeltaLion) {
  expect_trained(Adamax({.learning_rate = 0.01}),
                 {{0.981344283f, -1.98656154f, 0.48962751f, -0.0106137078f},
                  {0.0331000015f, -0.00720000034f, 0.00729999784f, 0.289999992f},
                  {0.499500006f, 0.199600205f, 0.299700022f, 2.0f}});
  expect_trained(Adagrad({.learning_rate = 0.01}),
                 {{0.991813838f, -1.99723673f, 0.496930063f, -0.0183907747f},
                  {0.400000006f, 0.150000006f, 0.289999992f, 5.0999999f}});
  expect_trained(Adadelta({.learning_rate = 1.0}),
                 {{0.997663319f, -1.99949861f, 0.49943769f, -0.00321207708f},
                  {0.0143262502f, 0.00228000013f, 0.00883625075f, 0.247500002f},
                  {3.27372049e-07f, 1.29826176e-07f, 2.04518969e-07f, 2.56615749e-07f}});
  expect_trained(Lion({.learning_rate = 0.01}),
                 {{0.99000001f, -1.99000001f, 0.49000001f, -0.0199999996f},
                  {0.00393009651f, -0.000970199239f, 0.000970299123f, 0.0298999716f}});
}

TEST(Optimizer, ConfigIsWhatKerasWrites) {
  EXPECT_EQ(optimizer_to_config(*Adam({.learning_rate = 0.02})).dump(),
            R"({"module":"keras.optimizers","class_name":"Adam","config":{"name":"adam",)"
            R"("learning_rate":0.019999999552965164,"weight_decay":null,"clipnorm":null,)"
            R"("global_clipnorm":null,"clipvalue":null,"use_ema":false,"ema_momentum":0.99,)"
            R"("ema_overwrite_frequency":null,"loss_scale_factor":null,)"
            R"("gradient_accumulation_steps":null,"beta_1":0.9,"beta_2":0.999,)"
            R"("epsilon":1e-07,"amsgrad":false},"registered_name":null})");
  EXPECT_EQ(RMSprop()->config()["name"], "rm_sprop");
  EXPECT_EQ(AdamW()->config()["name"], "adam_w");
  EXPECT_EQ(AdamW()->config()["weight_decay"], 0.004);
  EXPECT_EQ(SGD()->config()["learning_rate"], 0.009999999776482582);
}

TEST(Optimizer, LearningRateMayBeASchedule) {
  const OptimizerPtr optimizer =
      SGD({.learning_rate = ExponentialDecay(
               {.initial_learning_rate = 0.5, .decay_steps = 1, .decay_rate = 0.5})});
  EXPECT_EQ(optimizer->common.learning_rate.at(2), 0.125);
  const OptimizerPtr copy = optimizer_from_config(optimizer_to_config(*optimizer));
  EXPECT_EQ(copy->common.learning_rate.at(2), 0.125);
}

TEST(Optimizer, NamesInAnyCase) {
  EXPECT_EQ(optimizer_from_config("rmsprop")->class_name(), "RMSprop");
  EXPECT_EQ(optimizer_from_config("AdamW")->class_name(), "AdamW");
}

TEST(Optimizer, ErrorsNameClassAndField) {
  const auto read = [](const char* text) { optimizer_from_config(Json::parse(text)); };
  expect_error(ErrorCode::kUnsupported,
               "[optimizer] \"adamm\" is not among the optimizers Lockstep has. "
               "Did you mean \"adam\"?",
               [] { optimizer_from_config("adamm"); });
  expect_error(ErrorCode::kUnsupported, "[Adam] `loss_scale_factor` must be null: 2.0",
               [&] { read(R"({"class_name": "Adam", "config": {"loss_scale_factor": 2.0}})"); });
  expect_error(ErrorCode::kInvalidArgument, "unknown field: \"beta1\". Did you mean \"beta_1\"?",
               [&] { read(R"({"class_name": "Adam", "config": {"beta1": 0.5}})"); });
  expect_error(ErrorCode::kInvalidArgument,
               "[SGD] at most one of `clipnorm`, `clipvalue` and `global_clipnorm` may be set: 2",
               [] { SGD({.clipnorm = 1.0, .clipvalue = 1.0}); });
  expect_error(ErrorCode::kInvalidArgument, "[SGD] `momentum` must be in [0, 1]: 2",
               [] { SGD({.momentum = 2.0}); });
  expect_error(ErrorCode::kInvalidArgument, "`gradient_accumulation_steps` must be >= 2: 1",
               [] { SGD({.gradient_accumulation_steps = 1}); });
  expect_error(ErrorCode::kInvalidArgument, "`ema_momentum` must be in [0, 1]: 2",
               [] { SGD({.use_ema = true, .ema_momentum = 2.0}); });
  expect_error(ErrorCode::kInvalidArgument, "`ema_overwrite_frequency` must be >= 1: -1",
               [] { SGD({.use_ema = true, .ema_overwrite_frequency = -1}); });
  expect_error(ErrorCode::kInvalidArgument, "[AdamW] `weight_decay` must be a number: null",
               [] { AdamW({.weight_decay = std::nullopt}); });
  expect_error(ErrorCode::kInvalidArgument, "[Lion] `beta_1` must be in (0, 1]: 0",
               [] { Lion({.beta_1 = 0.0}); });
  expect_error(ErrorCode::kInvalidArgument,
               "[SGD] `learning_rate` must be a number or a schedule: \"fast\"",
               [&] { read(R"({"class_name": "SGD", "config": {"learning_rate": "fast"}})"); });
}

/// Three steps of SGD at 0.1 with gradients changed by `clip`.
HostTensor train_clipped(const std::function<Value(Builder&, Value, Value)>& clip) {
  TestGraph g;
  Builder& b = g.builder;
  Value weight = g.f32({4}, kWeight);
  for (const auto& values : kGradients) {
    const Value gradient = g.f32({4}, values);
    const Value clipped = clip(b, gradient, b.reduce_sum(b.square(gradient), {0}));
    weight = b.subtract(weight, b.multiply(clipped, 0.1));
  }
  return g.evaluate(weight);
}

TEST(UpdateRules, Clipping) {
  const std::initializer_list<float> want = {0.973452508f, -1.98430336f, 0.480425417f,
                                             -0.0927235484f};
  expect_near(train_clipped([](Builder& b, Value gradient, Value squared_norm) {
                return clip_by_norm(b, gradient, squared_norm, 0.5);
              }),
              want, 3e-7);
  expect_near(train_clipped([](Builder& b, Value gradient, Value squared_norm) {
                return b.multiply(gradient, clip_by_global_norm_scale(b, squared_norm, 0.5));
              }),
              want, 3e-7);
  expect_near(train_clipped([](Builder& b, Value gradient, Value) {
                return clip_by_value(b, gradient, 0.15);
              }),
              {0.99000001f, -1.995f, 0.49000001f, -0.0300000012f}, 3e-7);
}

TEST(UpdateRules, ZeroGradientStaysZeroUnderClipnorm) {
  TestGraph g;
  const Value gradient = g.f32({2}, {0.0f, 0.0f});
  const Value norm = g.f32({}, {0.0f});
  expect_near(g.evaluate(clip_by_norm(g.builder, gradient, norm, 1.0)), {0.0f, 0.0f}, 0);
  expect_near(g.evaluate(clip_by_global_norm_scale(g.builder, norm, 2.0)), {1.0f}, 0);
}

TEST(UpdateRules, InfiniteGlobalNormGivesNaN) {
  TestGraph g;
  const Value norm = g.f32({}, {std::numeric_limits<float>::infinity()});
  const HostTensor scale = g.evaluate(clip_by_global_norm_scale(g.builder, norm, 2.0));
  EXPECT_TRUE(std::isnan(scale.data<float>()[0]));
}

TEST(UpdateRules, MovingAverageOfWeightStartsAsCopy) {
  TestGraph g;
  Builder& b = g.builder;
  Value weight = g.f32({4}, kWeight);
  Value average = b.like(weight, 0);
  double iterations = 0;
  for (const auto& gradient : kGradients) {
    weight = b.subtract(weight, b.multiply(g.f32({4}, gradient), 0.1));
    const Value count = b.constant(iterations++, DType::kF32);
    average = moving_average_of_weight(b, average, weight, count, 0.9);
  }
  expect_near(g.evaluate(average), {0.982500017f, -1.98189986f, 0.474700004f, -0.039000012f}, 3e-7);
}

TEST(UpdateRules, AccumulatedMean) {
  TestGraph g;
  const Value mean =
      accumulated_mean(g.builder, g.f32({2}, {1.0f, 2.0f}), g.f32({2}, {4.0f, -2.0f}), 2);
  expect_near(g.evaluate(mean), {2.5f, 0.0f}, 0);
}

}  // namespace
}  // namespace lockstep
