// Training of a generative adversarial network: a generator learns to make from noise what a
// discriminator takes for real, while the discriminator learns to tell both apart (Goodfellow et
// al., "Generative Adversarial Nets", 2014).
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "lockstep/base/log.h"
#include "lockstep/train/model.h"

namespace lockstep {

/// Three models that share weights:
///
///   generator      noise [n] -> sample
///   discriminator  sample -> probability [1] of being real; compiled
///   gan            noise [n] -> the discriminator's word on the generator's sample; compiled while
///                  the discriminator was frozen
struct GanModels {
  Model &generator, &discriminator, &gan;
};

struct GanArguments {
  int64_t batch_size = 64;
  int64_t epochs = 1;
  uint64_t seed = 0;
  int verbose = -1;  // as in FitArguments
  std::string devices = "cpu";
  int64_t tower_size = 0;
  bool global_batchnorm = false;
  /// As in FitArguments. The folder also gets history.csv (epoch, d_loss, g_loss) and samples/.
  std::filesystem::path run = {};
  bool resume = false;
  int64_t checkpoint_every = 0;
  int64_t keep = 3;
  Json run_details = nullptr;
  /// A picture of 64 samples from the same noise every so many steps, and at the end:
  /// step-00000100.png in `samples`, or in the run folder's samples/. 0: at ends of epochs. The
  /// generator's results are shown from 0 (black) to 1 (white).
  int64_t sample_every = 0;
  std::filesystem::path samples = {};
  std::function<bool()> should_stop = nullptr;
  /// After each step, counted from 1.
  std::function<void(int64_t step, double d_loss, double g_loss)> on_step = nullptr;
  LogSink sink = nullptr;
};

struct GanHistory {
  History epochs;                          // mean "d_loss" and "g_loss" of each
  std::vector<double> d_losses, g_losses;  // of each step
  bool is_interrupted = false;
  std::string unwritten_checkpoint;  // why the newest one could not be written; "" when it was
};

/// A step is three: the discriminator on a batch of `images`, on as many samples of the generator,
/// and the generator through `gan`. Samples that do not fill a batch at an epoch's end are left
/// out.
///
/// Throws InvalidArgument where the models do not share their weights, the discriminator is not
/// frozen in `gan`, or the shapes do not fit together; and as Model::fit.
GanHistory fit_gan(const GanModels& models, const DatasetPtr& images,
                   const GanArguments& arguments = {});

/// Images [n, height, width, channels] side by side, `columns` in a row, as a PNG; 0 is black, 1 is
/// white. Throws InvalidArgument for other ranks and for channels other than 1 and 3.
Bytes image_grid(const HostTensor& images, int64_t columns);

}  // namespace lockstep
