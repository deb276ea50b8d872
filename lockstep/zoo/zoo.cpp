#include "lockstep/zoo/zoo.h"

#include "lockstep/zoo/models.h"

namespace lockstep {
namespace {

struct Entry {
  std::string_view name;
  NetworkPtr (*network)();
  Json (*compile_config)();
};

constexpr Entry kModels[] = {
    {"dcgan", zoo::dcgan_network, zoo::dcgan_compile_config},
    {"mnist_cnn", zoo::mnist_cnn_network, zoo::mnist_cnn_compile_config},
};

const Entry& find_entry(std::string_view name) {
  for (const Entry& entry : kModels) {
    if (entry.name == name) return entry;
  }
  const std::string closest = closest_name(name, zoo_names());
  fail(ErrorCode::kNotFound, "zoo", "the name must be one of {}: \"{}\"{}",
       fmt::join(zoo_names(), ", "), name,
       closest.empty() ? "" : fmt::format(". Did you mean \"{}\"?", closest));
}

}  // namespace

const std::vector<std::string_view>& zoo_names() {
  static const std::vector<std::string_view> names = [] {
    std::vector<std::string_view> list;
    for (const Entry& entry : kModels) list.push_back(entry.name);
    return list;
  }();
  return names;
}

NetworkPtr zoo_model(std::string_view name) {
  return find_entry(name).network();
}

Json zoo_compile_config(std::string_view name) {
  return find_entry(name).compile_config();
}

}  // namespace lockstep
