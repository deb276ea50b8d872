#include "lockstep/train/run_settings.h"

namespace lockstep {

void refuse_difference(const std::string& where, const std::string& name, const Json& before,
                       const Json& now) {
  if (before == now) return;
  if (before.is_object() && now.is_object()) {
    for (const Json* one : {&before, &now})
      for (const auto& [key, value] : one->items())
        refuse_difference(where, name.empty() ? key : name + "." + key, before.value(key, Json()),
                          now.value(key, Json()));
    return;
  }
  if (before.is_array() && now.is_array() && before.size() == now.size()) {
    for (size_t i = 0; i < now.size(); ++i) {
      // A layer is better known by its name.
      const Json config = now[i].is_object() ? now[i].value("config", Json()) : Json();
      const std::string known = config.is_object() ? config.value("name", "") : "";
      refuse_difference(where, name + "." + (known.empty() ? std::to_string(i) : known), before[i],
                        now[i]);
    }
    return;
  }
  invalid_argument(where, "{} of this run is {}: it cannot go on with {}", name, dump_json(before),
                   dump_json(now));
}

void forget_optimizer_name(Json& compile_config) {
  Json& optimizer = compile_config["optimizer"];
  if (optimizer.is_object() && optimizer.contains("config")) optimizer["config"].erase("name");
}

}  // namespace lockstep
