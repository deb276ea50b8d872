// Configurations of models as older Keras versions wrote them, brought to today's form.
#pragma once

#include <string>
#include <vector>

#include "lockstep/formats/json.h"

namespace lockstep {

/// Throws Unsupported naming the layer where the configuration brings code along: it is never run,
/// wherever it hides.
void refuse_code(const Json& config, const std::string& where);

/// What a reader did otherwise than one might think, a line each.
using Remarks = std::vector<std::string>;

/// A model's configuration without what Keras 1 and 2 say differently: class names of old versions,
/// classes of users' own that hold a graph of layers, and the wrapping of `multi_gpu_model`, whose
/// inner model is what was meant. What is not known stays for the reader of networks to refuse.
Json modern_model_config(Json config, Remarks& remarks);

/// compile_config of a training_config or compile_config of any version. `keras_version` as the
/// file has it, "" when it has none: norms to clip to were global before 2.4.
Json modern_compile_config(const Json& config, const std::string& keras_version);

/// Whether "2.2.4-tf" is older than 2.11; "" is.
bool is_older_version(const std::string& version, int major, int minor);

}  // namespace lockstep
