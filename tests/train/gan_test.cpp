// fit_gan: the loop of a GAN, its pictures and its run folder.
#include "lockstep/train/gan.h"

#include "lockstep/formats/files.h"
#include "tests/train/train_test_util.h"

namespace lockstep {
namespace {

namespace fs = std::filesystem;

/// Images of 4 x 4.
struct Models {
  explicit Models(bool is_frozen = true) {
    discriminator.compile({.optimizer = Adam(), .loss = "binary_crossentropy"});
    discriminator.set_trainable(!is_frozen);
    const Tensor z = Input({3});
    gan.emplace(z, discriminator(generator(z)), "gan");
    gan->compile({.optimizer = Adam(), .loss = "binary_crossentropy"});
  }
  static Model make_generator() {
    const Tensor z = Input({3});
    Tensor x = Reshape({.target_shape = {2, 2, 2}})(Dense({.units = 8, .activation = "relu"})(z));
    x = Conv2DTranspose({.filters = 1, .kernel_size = 2, .strides = 2, .activation = "sigmoid"})(x);
    return {z, x, "generator"};
  }
  static Model make_discriminator() {
    const Tensor image = Input({4, 4, 1});
    Tensor x = Dropout({.rate = 0.25})(Conv2D({.filters = 3, .kernel_size = 3})(image));
    return {image, Dense({.units = 1, .activation = "sigmoid"})(Flatten()(x)), "discriminator"};
  }
  GanModels all() { return {generator, discriminator, *gan}; }

  Model generator = make_generator(), discriminator = make_discriminator();
  std::optional<Model> gan;
};

DatasetPtr images(int64_t rows = 20) {
  HostTensor x(DType::kU8, {rows, 4, 4});
  PhiloxStream random(philox_key(3, RandomPurpose::kNoise, "images"));
  for (uint8_t& value : x.data<uint8_t>()) value = static_cast<uint8_t>(random.below(256));
  ArrayDataset::Array array{{Column::Role::kInput, "", {}, 255.0f}, std::move(x)};
  std::vector<ArrayDataset::Array> arrays;
  arrays.push_back(std::move(array));
  return columns(std::move(arrays));
}

GanArguments quiet(GanArguments arguments) {
  arguments.batch_size = 6;
  arguments.verbose = 0;
  if (arguments.devices == "cpu") arguments.devices = "cpu:1";
  arguments.tower_size = 4;
  return arguments;
}

void expect_same_models(Models& a, Models& b) {
  expect_same_training(a.discriminator, b.discriminator);
  expect_same_training(*a.gan, *b.gan);
}

TEST(FitGan, HasLossesOfEachStepAndMeansOfEachEpoch) {
  Models m;
  const GanHistory history = fit_gan(m.all(), images(), quiet({.epochs = 2}));
  ASSERT_EQ(history.d_losses.size(), 6u);  // 20 samples are three batches of 6
  ASSERT_EQ(history.g_losses.size(), 6u);
  double sum = 0;
  for (size_t i = 3; i < 6; ++i) sum += history.d_losses[i];
  EXPECT_DOUBLE_EQ(history.epochs["d_loss"].at(1), sum / 3);
  EXPECT_EQ(m.discriminator.optimizer_state().iterations, 12);
  EXPECT_EQ(m.gan->optimizer_state().iterations, 6);
}

TEST(FitGan, SameBitsOnAnyNumberOfDevicesAndAfterAnyStop) {
  const TemporaryFolder folder;
  Models whole;
  const GanHistory unbroken =
      fit_gan(whole.all(), images(), quiet({.epochs = 3, .run = folder / "whole"}));
  int stops = 0;
  GanHistory last;
  for (int devices = 1;; devices = devices % 3 + 1) {
    Models m;
    GanArguments arguments = quiet({.epochs = 3, .devices = fmt::format("cpu:{}", devices)});
    arguments.run = folder / "parts";
    arguments.resume = true;
    int asked = 0;
    arguments.should_stop = [&] { return ++asked > 2; };
    last = fit_gan(m.all(), images(), arguments);
    if (last.is_interrupted) {
      ++stops;
      continue;
    }
    expect_same_models(m, whole);
    break;
  }
  EXPECT_EQ(stops, 4);
  EXPECT_EQ(last.d_losses, unbroken.d_losses);
  EXPECT_EQ(last.g_losses, unbroken.g_losses);
  for (const char* file : {"history.csv", "samples/step-00000003.png", "samples/step-00000009.png"})
    EXPECT_EQ(read_file(folder / "parts" / file), read_file(folder / "whole" / file)) << file;
  EXPECT_TRUE(read_file(folder / "whole" / "history.csv").starts_with("epoch,d_loss,g_loss\n0,"));
}

TEST(FitGan, RefusesOtherSettingsOnResume) {
  const TemporaryFolder folder;
  Models m;
  fit_gan(m.all(), images(), quiet({.run = folder / "run"}));
  const auto refused = [&](const std::string& text, GanArguments arguments) {
    arguments.run = folder / "run";
    Models again;
    expect_error(ErrorCode::kInvalidArgument, text,
                 [&] { fit_gan(again.all(), images(), quiet(arguments)); });
  };
  refused("has checkpoints already: resume to go on", {});
  refused("seed of this run is 0: it cannot go on with 7", {.seed = 7, .resume = true});
}

TEST(FitGan, WritesPicturesEverySoManySteps) {
  const TemporaryFolder folder;
  Models m;
  fit_gan(m.all(), images(), quiet({.epochs = 2, .sample_every = 4, .samples = folder / "s"}));
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(folder / "s"))
    names.push_back(entry.path().filename().string());
  std::sort(names.begin(), names.end());
  EXPECT_EQ(names, (std::vector<std::string>{"step-00000004.png", "step-00000006.png"}));
}

TEST(FitGan, RefusesModelsThatAreNotAGan) {
  const auto refused = [](const std::string& text, const GanModels& models,
                          GanArguments arguments = {}) {
    expect_error(ErrorCode::kInvalidArgument, text,
                 [&] { fit_gan(models, images(), quiet(std::move(arguments))); });
  };
  Models m, other, thawed(/*is_frozen=*/false);
  refused("must share the weights of \"generator\"", {other.generator, m.discriminator, *m.gan});
  refused("must share the weights of \"discriminator\"",
          {m.generator, other.discriminator, *m.gan});
  refused("the discriminator must be frozen in it", thawed.all());
  refused("the generator's result must be [-1,3]: [-1,4,4,1] came", {m.generator, *m.gan, *m.gan});
  refused("[generator] must be compiled", {m.generator, m.generator, *m.gan});
  refused("epochs", m.all(), {.epochs = 0});
  refused("needs a run folder", m.all(), {.resume = true});
  refused("needs a folder for the pictures", m.all(), {.sample_every = 2});
  expect_error(ErrorCode::kInvalidArgument, "must be at most the 5 samples there are: 6",
               [&] { fit_gan(m.all(), images(5), quiet({})); });
}

TEST(ImageGrid, IsAPngOfAllImages) {
  const Bytes png = image_grid(full({5, 3, 4, 1}, 0.5f), 2);
  EXPECT_TRUE(png.starts_with("\x89PNG\r\n"));
  // Three rows of two: 2 pixels around each image.
  EXPECT_EQ(static_cast<uint8_t>(png[19]), 2 + 2 * (4 + 2));
  EXPECT_EQ(static_cast<uint8_t>(png[23]), 2 + 3 * (3 + 2));
  expect_error(ErrorCode::kInvalidArgument, "1 or 3 channels: [1,2,2,2] came", [] {
    image_grid(full({1, 2, 2, 2}, 0), 1);
  });
}

}  // namespace
}  // namespace lockstep
