// lockstep COMMAND ...: finds the command, turns errors into exit codes.
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>

#include "lockstep/base/error.h"
#include "lockstep/cli/arguments.h"
#include "lockstep/cli/signals.h"

namespace lockstep {
namespace {

void print_overview() {
  std::printf("lockstep COMMAND ...   (lockstep COMMAND --help is the manual)\n");
  for (const Command& command : commands())
    std::printf("  %-10s %s\n", command.name.c_str(), command.summary.c_str());
}

int run(std::vector<std::string> words) {
  if (words.empty() || words[0] == "--help" || words[0] == "help") {
    print_overview();
    return words.empty() ? 2 : 0;
  }
  std::vector<std::string> names;
  for (const Command& command : commands()) {
    names.push_back(command.name);
    if (command.name != words[0]) continue;
    words.erase(words.begin());
    for (const std::string& word : words)
      if (word == "--help") {
        std::fputs(command_help(command).c_str(), stdout);
        return 0;
      }
    return command.run(Arguments(std::move(words), command.options));
  }
  const std::string closest = closest_name(words[0], names);
  invalid_argument("lockstep", "there is no command \"{}\"{}", words[0],
                   closest.empty() ? "" : ". Did you mean " + closest + "?");
}

}  // namespace
}  // namespace lockstep

int main(int count, char** values) {
  // A file that may not grow is an error with a name, not the end.
  std::signal(SIGXFSZ, SIG_IGN);
  lockstep::name_vendor_crashes();
  try {
    return lockstep::run({values + 1, values + count});
  } catch (const lockstep::Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return lockstep::exit_code(error.code());
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "[memory] there is not enough of it\n");
    return lockstep::exit_code(lockstep::ErrorCode::kOutOfMemory);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "[lockstep] %s\n", error.what());
    return lockstep::exit_code(lockstep::ErrorCode::kInternal);
  }
}
