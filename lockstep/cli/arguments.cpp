#include "lockstep/cli/arguments.h"

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "lockstep/base/error.h"

namespace lockstep {

Arguments::Arguments(std::vector<std::string> words, std::vector<OptionHelp> known) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--")) {
      positional_.push_back(words[i]);
      continue;
    }
    const size_t equals = words[i].find('=');
    const std::string name =
        words[i].substr(2, equals == std::string::npos ? std::string::npos : equals - 2);
    const auto it = std::find_if(known.begin(), known.end(),
                                 [&](const OptionHelp& o) { return o.name == name; });
    if (it == known.end()) {
      std::vector<std::string> names;
      for (const OptionHelp& option : known) names.push_back(option.name);
      const std::string closest = closest_name(name, names);
      invalid_argument("--" + name, "is not an option of this command{}",
                       closest.empty() ? "" : ". Did you mean --" + closest + "?");
    }
    if (it->value.empty()) {
      if (equals != std::string::npos) invalid_argument("--" + name, "takes no value");
      values_[name] = "on";
    } else if (equals != std::string::npos) {
      values_[name] = words[i].substr(equals + 1);
    } else if (i + 1 < words.size()) {
      values_[name] = words[++i];
    } else {
      invalid_argument("--" + name, "needs a value: {}", it->value);
    }
  }
}

std::string Arguments::text(const std::string& name, const std::string& otherwise) const {
  const auto it = values_.find(name);
  return it == values_.end() ? otherwise : it->second;
}

int64_t Arguments::integer(const std::string& name, int64_t otherwise) const {
  const auto it = values_.find(name);
  if (it == values_.end()) return otherwise;
  int64_t value = 0;
  const char* end = it->second.data() + it->second.size();
  const auto [stop, error] = std::from_chars(it->second.data(), end, value);
  if (error != std::errc() || stop != end)
    invalid_argument("--" + name, "must be a whole number: \"{}\"", it->second);
  return value;
}

std::string Arguments::only(const std::string& what) const {
  if (positional_.size() != 1)
    invalid_argument(what, "exactly one is expected: {} came", positional_.size());
  return positional_[0];
}

std::string command_help(const Command& command) {
  std::string text =
      fmt::format("lockstep {} {}\n  {}\n", command.name, command.usage, command.summary);
  for (const OptionHelp& option : command.options)
    text += fmt::format("  {:<28} {}\n",
                        "--" + option.name + (option.value.empty() ? "" : " " + option.value),
                        option.help);
  return text;
}

void Arguments::none() const {
  if (!positional_.empty()) invalid_argument(positional_[0], "no word is expected here");
}

void check_writable(const std::string& where, const std::string& text) {
  if (text.empty()) invalid_argument(where, "must name a file");
  const std::filesystem::path path = text, folder = path.parent_path();
  if (!folder.empty() && !std::filesystem::is_directory(folder))
    fail(ErrorCode::kNotFound, where, "the folder {} must exist", folder.string());
  if (std::filesystem::is_directory(path))
    invalid_argument(where, "must be a file: {} is a folder", text);
}

void check_output(const Arguments& arguments, const std::string& name) {
  if (arguments.has(name)) check_writable("--" + name, arguments.text(name));
}

}  // namespace lockstep
