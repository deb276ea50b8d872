// One attempt at the training of training.h: resume_soak FOLDER DEVICES OUTCOME [EPOCHS]. Goes on
// where an attempt before it was killed, and writes the outcome when the training is done.
#include <cstdio>
#include <cstdlib>

#include "tests/resume/training.h"

int main(int argc, char** argv) {
  using namespace lockstep;
  if (argc != 4 && argc != 5) return 2;
  try {
    const std::filesystem::path folder = argv[1];
    std::filesystem::create_directories(folder);
    FitArguments arguments = make_arguments(folder);
    arguments.devices = argv[2];
    if (argc == 5) arguments.epochs = std::atoi(argv[4]);
    arguments.sink = [](std::string_view line) {
      std::fprintf(stderr, "%.*s\n", static_cast<int>(line.size()), line.data());
    };
    Model model = make_model();
    const History history = model.fit(make_data(150, 1), arguments);
    write_file_atomically(argv[3], outcome(model, history, folder));
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return exit_code(error.code());
  }
}
