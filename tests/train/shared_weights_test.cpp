// Models that share weights: a GAN's generator, discriminator and the two together. Each case names
// the public report whose kind it is.
#include <cmath>

#include "tests/train/train_test_util.h"

namespace lockstep {
namespace {

constexpr int64_t kRows = 8;

FitArguments on(const std::string& devices) {
  FitArguments arguments;
  arguments.devices = devices;
  arguments.tower_size = 3;
  return arguments;
}
const FitArguments kAlone = on("cpu:1");
const EvaluateArguments kAsk{.batch_size = kRows, .devices = "cpu:1"};

CompileArguments adam() {
  return {.optimizer = Adam({.learning_rate = 0.01}), .loss = "binary_crossentropy"};
}

/// Small, with batch normalization and dropout in both.
struct Gan {
  Gan() : generator(make_generator()), discriminator(make_discriminator()), gan(make_gan()) {}

  static Model make_generator() {
    const Tensor noise = Input({3});
    Tensor x = BatchNormalization()(Dense({.units = 8, .use_bias = false})(noise));
    x = Dropout({.rate = 0.25})(LeakyReLU()(x));
    return {noise, Dense({.units = 4, .activation = "tanh"})(x), "generator"};
  }
  static Model make_discriminator() {
    const Tensor sample = Input({4});
    Tensor x = BatchNormalization()(Dense({.units = 6})(sample));
    x = Dropout({.rate = 0.25})(LeakyReLU()(x));
    return {sample, Dense({.units = 1, .activation = "sigmoid"})(x), "discriminator"};
  }
  Model make_gan() {
    discriminator.compile(adam());
    discriminator.set_trainable(false);
    const Tensor noise = Input({3});
    Model model(noise, discriminator(generator(noise)), "gan");
    model.compile(adam());
    return model;
  }

  double train_discriminator(int64_t step, const FitArguments& where = kAlone) {
    const HostTensor z = random_normal({kRows, 3}, 1, "discriminator", step);
    const HostTensor made = generator.predict_on_batch(z, kAsk)[0].tensor;
    discriminator.train_on_batch(noise({kRows, 4}, static_cast<uint64_t>(step)),
                                 full({kRows, 1}, 1), where);
    return discriminator.train_on_batch(made, full({kRows, 1}, 0), where)[0].second;
  }
  double train_generator(int64_t step, const FitArguments& where = kAlone) {
    return gan
        .train_on_batch(random_normal({kRows, 3}, 1, "generator", step), full({kRows, 1}, 1),
                        where)[0]
        .second;
  }

  Model generator, discriminator, gan;
};

bool are_equal(const std::vector<HostTensor>& a, const std::vector<HostTensor>& b) {
  for (size_t i = 0; i < a.size(); ++i)
    if (!a[i].same_bits(b[i])) return false;
  return a.size() == b.size();
}

void expect_same(Gan& a, Gan& b) {
  expect_same_training(a.discriminator, b.discriminator);
  expect_same_training(a.gan, b.gan);
  expect_same_bits(a.generator.get_weights(), b.generator.get_weights());
}

TEST(SharedWeights, WhatOneModelLearnsTheOthersSee) {
  Gan g;
  const HostTensor z = random_normal({kRows, 3}, 2, "z");
  const HostTensor before = g.generator.predict_on_batch(z, kAsk)[0].tensor;
  g.train_generator(0);
  const HostTensor made = g.generator.predict_on_batch(z, kAsk)[0].tensor;
  EXPECT_FALSE(before.same_bits(made));
  g.train_discriminator(0);
  const HostTensor word = g.discriminator.predict_on_batch(made, kAsk)[0].tensor;
  EXPECT_TRUE(word.same_bits(g.gan.predict_on_batch(z, kAsk)[0].tensor));
}

TEST(SharedWeights, SetAndLoadedWeightsAreSeenByAllAndTrainedOn) {
  const TemporaryFolder folder;
  Gan g, other;
  for (int64_t step = 0; step < 3; ++step)
    other.train_discriminator(step), other.train_generator(step);
  g.train_discriminator(0);
  g.train_generator(0);
  const HostTensor z = random_normal({kRows, 3}, 2, "z");
  other.generator.save_weights(folder / "g.weights.h5");
  g.generator.load_weights(folder / "g.weights.h5");
  g.discriminator.set_weights(other.discriminator.get_weights());
  EXPECT_TRUE(g.gan.predict_on_batch(z, kAsk)[0].tensor.same_bits(
      other.gan.predict_on_batch(z, kAsk)[0].tensor));
  expect_same_bits(g.gan.get_weights(), other.gan.get_weights());
  // Evaluated with these, although both models' trainers had seen other weights.
  Gan third;
  third.gan.set_weights(other.gan.get_weights());
  const auto step = [](Gan& gan) {
    return gan.discriminator.test_on_batch(noise({kRows, 4}, 5), full({kRows, 1}, 1), kAsk)[0]
        .second;
  };
  EXPECT_EQ(step(g), step(third));
}

TEST(SharedWeights, AModelThatIsGoneLeavesWhatItTrained) {
  const Tensor x = Input({3});
  Model whole(x, Dense({.units = 1})(x));
  std::vector<HostTensor> trained;
  {
    Model temporary(whole.network());
    temporary.compile({.optimizer = "sgd", .loss = "mse"});
    temporary.train_on_batch(noise({kRows, 3}, 1), full({kRows, 1}, 1), kAlone);
    trained = temporary.get_weights();
    temporary.train_on_batch(noise({kRows, 3}, 1), full({kRows, 1}, 1), kAlone);
  }
  EXPECT_FALSE(are_equal(whole.get_weights(), trained));
}

// keras #8585, tf #22012, eriklindernoren/Keras-GAN #22 and #73.
TEST(SharedWeights, FlagsCountAtCompile) {
  Gan g;
  const auto d0 = g.discriminator.get_weights(), g0 = g.generator.get_weights();
  g.train_generator(0);
  EXPECT_TRUE(are_equal(g.discriminator.get_weights(), d0)) << "frozen in the GAN";
  const auto g1 = g.generator.get_weights();
  EXPECT_FALSE(are_equal(g1, g0));
  g.train_discriminator(0);
  EXPECT_FALSE(are_equal(g.discriminator.get_weights(), d0)) << "learns by itself";
  EXPECT_TRUE(are_equal(g.generator.get_weights(), g1));
  // Nor does a flag that changes between two steps.
  g.generator.set_trainable(false);
  g.train_generator(1);
  EXPECT_FALSE(are_equal(g.generator.get_weights(), g1));
  EXPECT_EQ(g.gan.trainable_variables().size(), 5u);  // two kernels, a bias, gamma, beta
  EXPECT_EQ(g.discriminator.trainable_variables().size(), 6u);
}

// eriklindernoren/Keras-GAN #91.
TEST(SharedWeights, AFrozenModelsCompileWarns) {
  Model model = Gan::make_discriminator();
  model.set_trainable(false);
  testing::internal::CaptureStderr();
  model.compile(adam());
  EXPECT_NE(testing::internal::GetCapturedStderr().find(
                "[discriminator] compiled with 0 trainable parameters"),
            std::string::npos);
  model.set_trainable(true);
  testing::internal::CaptureStderr();
  model.compile(adam());
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

// keras #9522: trained on its own predictions, a frozen model has nothing to lose.
TEST(SharedWeights, FrozenBatchNormalizationIsInInferenceMode) {
  const Tensor x = Input({4});
  Model inner(x, BatchNormalization()(Dense({.units = 3})(x)));
  inner.compile({.optimizer = "sgd", .loss = "mse"});
  for (uint64_t step = 0; step < 3; ++step)
    inner.train_on_batch(noise({kRows, 4}, step), noise({kRows, 3}, step + 9), kAlone);
  inner.set_trainable(false);
  inner.compile({.optimizer = "sgd", .loss = "mse"});
  const HostTensor batch = noise({kRows, 4}, 5);
  const HostTensor own = inner.predict_on_batch(batch, kAsk)[0].tensor;
  EXPECT_EQ(inner.train_on_batch(batch, own, kAlone)[0].second, 0);
}

TEST(SharedWeights, FilesCarryTheFlagsOfTheirCompile) {
  const TemporaryFolder folder;
  Gan g;
  g.train_discriminator(0);
  g.train_generator(0);
  g.discriminator.save(folder / "d.keras");
  g.gan.save(folder / "gan.keras");
  EXPECT_FALSE(g.discriminator.network()->trainable());
  EXPECT_TRUE(Model::load(folder / "d.keras").network()->trainable());
  const Model gan = Model::load(folder / "gan.keras");
  EXPECT_FALSE(gan.get_layer("discriminator")->trainable());
  EXPECT_TRUE(gan.get_layer("generator")->trainable());
}

// keras #10806: each optimizer comes back with slots for what it trains.
TEST(SharedWeights, ReloadedModelsTrainOnAsBefore) {
  const TemporaryFolder folder;
  Gan g;
  for (int64_t step = 0; step < 2; ++step) g.train_discriminator(step), g.train_generator(step);
  g.gan.save(folder / "gan.keras");
  g.discriminator.save(folder / "d.keras");
  Model gan = Model::load(folder / "gan.keras"), d = Model::load(folder / "d.keras");
  expect_same_training(gan, g.gan);
  expect_same_training(d, g.discriminator);
  const HostTensor z = random_normal({kRows, 3}, 3, "z"), real = noise({kRows, 4}, 7),
                   ones = full({kRows, 1}, 1);
  EXPECT_EQ(gan.train_on_batch(z, ones, kAlone), g.gan.train_on_batch(z, ones, kAlone));
  expect_same_training(gan, g.gan);
  EXPECT_EQ(d.train_on_batch(real, ones, kAlone),
            g.discriminator.train_on_batch(real, ones, kAlone));
  expect_same_training(d, g.discriminator);
}

// keras #6607, #9905, #10777, #12470, #13259; tf #34950, #37541: frozen at save, not at load.
TEST(SharedWeights, WeightsKeepTheirPlacesWhateverIsFrozen) {
  const TemporaryFolder folder;
  Gan g;
  for (int64_t step = 0; step < 2; ++step) g.train_discriminator(step), g.train_generator(step);
  g.gan.save_weights(folder / "frozen.weights.h5");
  Gan thawed;
  thawed.discriminator.set_trainable(true);
  thawed.gan.compile(adam());
  thawed.gan.load_weights(folder / "frozen.weights.h5");
  expect_same_bits(thawed.gan.get_weights(), g.gan.get_weights());
  thawed.gan.save_weights(folder / "thawed.weights.h5");
  Gan again;
  again.gan.load_weights(folder / "thawed.weights.h5");
  expect_same_bits(again.gan.get_weights(), g.gan.get_weights());
  expect_same_bits(again.discriminator.get_weights(), g.discriminator.get_weights());
}

// A file of Keras's own GAN: the discriminator inside was compiled before it was frozen.
TEST(SharedWeights, AnInnerModelsCompileComesBackOutOfAFile) {
  const TemporaryFolder folder;
  const std::filesystem::path keras =
      LOCKSTEP_SOURCE_DIR "/tests/keras_oracle/cases/gan-frozen-discriminator/model.keras";
  Model::load(keras).save(folder / "again.keras");
  for (const auto& path : {keras, folder / "again.keras"}) {
    Model gan = Model::load(path);
    EXPECT_FALSE(gan.get_model("sequential").is_compiled());
    Model discriminator = gan.get_model("sequential_1");
    ASSERT_TRUE(discriminator.is_compiled());
    EXPECT_EQ(discriminator.compile_config().optimizer->class_name(), "Adam");
    EXPECT_EQ(discriminator.optimizer_state().learning_rate, 0.001f);
    // The state went along.
    EXPECT_FALSE(gan.get_model("sequential_1").is_compiled());
  }
}

TEST(SharedWeights, SameBitsOnAnyNumberOfDevices) {
  Gan one;
  std::vector<double> losses;
  for (int64_t step = 0; step < 4; ++step) {
    losses.push_back(one.train_discriminator(step));
    losses.push_back(one.train_generator(step));
  }
  for (const char* devices : {"cpu:2", "cpu:3"}) {
    Gan many;
    std::vector<double> other;
    for (int64_t step = 0; step < 4; ++step) {
      other.push_back(many.train_discriminator(step, on(devices)));
      other.push_back(many.train_generator(step, on(devices)));
    }
    EXPECT_EQ(other, losses) << devices;
    expect_same(many, one);
  }
}

/// A loop of one's own: each half step is one count, so that a stop may fall between the
/// discriminator's turn and the generator's.
struct Loop {
  explicit Loop(const std::filesystem::path& folder) : run(folder), turn(run.counter("turn")) {
    run.add("generator", g.generator);
    run.add("discriminator", g.discriminator);
    run.add("gan", g.gan);
    is_resumed = run.resume();
  }
  void go(int64_t until, const FitArguments& where) {
    for (; turn < until; ++turn)
      losses.push_back(turn % 2 == 0 ? g.train_discriminator(turn / 2, where)
                                     : g.train_generator(turn / 2, where));
    run.checkpoint(turn);
    run.finish();
  }
  Gan g;
  lockstep::Run run;
  int64_t& turn;
  bool is_resumed = false;
  std::vector<double> losses;
};

TEST(SharedWeights, AStoppedLoopGoesOnInTheMiddleOfAnAlternation) {
  const TemporaryFolder folder;
  constexpr int64_t kTurns = 40;
  Loop whole(folder / "whole");
  whole.go(kTurns, kAlone);
  std::vector<double> losses;
  PhiloxStream random(philox_key(1, RandomPurpose::kNoise, "stops"));
  int stops = 0;
  for (int64_t turn = 0; turn < kTurns; ++stops) {
    Loop part(folder / "parts");
    EXPECT_EQ(part.is_resumed, turn > 0);
    EXPECT_EQ(part.turn, turn);
    turn = std::min<int64_t>(kTurns, turn + 1 + static_cast<int64_t>(random.below(3)));
    part.go(turn, on(fmt::format("cpu:{}", 1 + random.below(3))));
    losses.insert(losses.end(), part.losses.begin(), part.losses.end());
    if (turn == kTurns) expect_same(part.g, whole.g);
  }
  EXPECT_GE(stops, 20);
  EXPECT_EQ(losses, whole.losses);
}

}  // namespace
}  // namespace lockstep
