#include "lockstep/cli/commands.h"

namespace lockstep {

const std::vector<Command>& commands() {
  static const OptionHelp kDevices{"devices", "SPEC",
                                   "cpu (a device a core), cpu:N, cpu:0-3, cuda, cuda:0,1, "
                                   "xla_cpu:N, reference:N (lockstep devices lists them)"};
  static const OptionHelp kBatch{"batch-size", "N", "samples of one step (32)"};
  static const OptionHelp kBenchBatch{"batch-size", "N", "samples of one step (256)"};
  static const OptionHelp kTower{"tower-size", "N", "rows of a tower (from batch size and model)"};
  static const OptionHelp kData{"data", "SOURCE", "fashion-mnist | idx:DIR | npy:DIR | FILE.npz"};
  static const OptionHelp kWeights{"weights", "FILE",
                                   ".keras, .weights.h5, .h5 or .hdf5 to load over the model's"};
  static const std::vector<Command> all = {
      {"train",
       "MODEL --data SOURCE [options]",
       "trains a .keras, .h5 or .json model, zoo:NAME, or what a checkpoint holds. A model "
       "made of a \"generator\" and a \"discriminator\" is trained as a GAN",
       {kData,
        {"validation", "SOURCE", "data to evaluate on after each epoch"},
        {"batch-size", "N", "samples of one step (32; of a GAN 64)"},
        {"epochs", "N", "passes over the data (1)"},
        kDevices,
        kTower,
        {"shuffle", "on|off", "a new order each epoch (on)"},
        {"seed", "N", "of order, dropout and first weights (0)"},
        {"precision", "float32", "the only one so far"},
        {"run", "DIR", "folder for checkpoints, history.csv and run.json"},
        {"resume", "", "go on from the run's newest checkpoint, if it has one"},
        {"checkpoint-every", "STEPS", "besides the ends of epochs"},
        {"keep", "N", "checkpoints that stay (3)"},
        {"save", "OUT.keras", "the trained model"},
        {"losses", "FILE",
         "the loss of each step: .npy, .json (NaN is null) or text (a GAN: d_loss, g_loss)"},
        {"samples", "DIR", "a GAN's pictures from the same noise (DIR of --run, samples/)"},
        {"sample-every", "STEPS", "how often (at ends of epochs)"},
        {"optimizer", "NAME", "instead of the file's"},
        {"loss", "NAME", "instead of the file's"},
        {"metrics", "A,B", "instead of the file's"},
        kWeights,
        {"steps-per-epoch", "N", "steps of an epoch (once through the data)"},
        {"initial-epoch", "N", "first epoch's number (0)"},
        {"batchnorm", "tower|global", "statistics of the tower (default) or of the whole batch"}},
       run_train},
      {"evaluate",
       "MODEL --data SOURCE",
       "loss and metrics on data",
       {kData, kBatch, kDevices, kTower, kWeights, {"out", "FILE.json", "the numbers"}},
       run_evaluate},
      {"predict",
       "MODEL --data SOURCE --out OUT.npz",
       "outputs for data",
       {kData, kBatch, kDevices, kTower, kWeights, {"out", "OUT.npz", "predict/<output>"}},
       run_predict},
      {"inspect",
       "MODEL",
       "layers, shapes and parameters; of a checkpoint or run folder also where it stands",
       {},
       run_inspect},
      {"convert",
       "IN OUT",
       "a model, checkpoint or run as .keras or .json (architecture), or its weights alone as "
       ".weights.h5, .h5, .hdf5 (the layout of Keras 2, which Keras 3 reads too) or .npz",
       {kWeights},
       run_convert},
      {"devices", "", "what can run towers here", {}, run_devices},
      {"ops", "", "every op of the graph", {{"markdown", "", "as a table"}}, run_ops},
      {"bench",
       "MODEL",
       "training speed on random data",
       {kBenchBatch,
        kDevices,
        kTower,
        {"steps", "N", "timed steps (20)"},
        {"roofline", "",
         "each kernel alone, and the step beside its convolutions (on accelerators: its towers) "
         "alone"},
        {"json", "", "one line of JSON"}},
       run_bench},
      {"compile",
       "MODEL",
       "a training's programs for a chip that need not be here: memory plan, fusions, collectives",
       {{"target", "CHIP", "h100 or h200"},
        {"devices", "N", "chips (1)"},
        kBenchBatch,
        kTower,
        {"out", "DIR", "writes each program's StableHLO text there"},
        {"json", "", "one line of JSON"}},
       run_compile},
  };
  return all;
}

}  // namespace lockstep
