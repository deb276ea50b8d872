// Command-line arguments: named options with help, and positional words.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace lockstep {

struct OptionHelp {
  std::string name, value, help;  // value "" is a flag
};

/// The words after the command. Throws InvalidArgument for unknown options (with the closest),
/// missing values, and numbers that are none.
class Arguments {
 public:
  Arguments(std::vector<std::string> words, std::vector<OptionHelp> known);

  const std::vector<std::string>& positional() const { return positional_; }
  bool has(const std::string& name) const { return values_.contains(name); }
  std::string text(const std::string& name, const std::string& otherwise = "") const;
  int64_t integer(const std::string& name, int64_t otherwise) const;
  /// The one positional word `what` names; throws when it is missing or there are more.
  std::string only(const std::string& what) const;
  /// Throws when there is a positional word.
  void none() const;

 private:
  std::vector<std::string> positional_;
  std::map<std::string, std::string> values_;
};

/// Finds out before the work whether the file of option `name` can be written: throws NotFound when
/// its folder is missing, InvalidArgument when it is a folder itself.
void check_output(const Arguments& arguments, const std::string& name);

/// The same for a path that `where` names.
void check_writable(const std::string& where, const std::string& path);

struct Command {
  std::string name, usage, summary;
  std::vector<OptionHelp> options;
  int (*run)(const Arguments& arguments);
};

const std::vector<Command>& commands();
std::string command_help(const Command& command);

}  // namespace lockstep
