// The progress bar as Keras draws it.
#pragma once

#include <string>

#include "lockstep/train/callback.h"

namespace lockstep {

/// "12/235 ━━━━━ 3s 14ms/step - accuracy: 0.7 - loss: 0.8": the running line on a terminal and,
/// when `is_last`, the finished one. `seconds` since the epoch began.
std::string progress_line(int64_t done, int64_t total, double seconds, const Logs& logs,
                          bool is_last);

/// "235/235 - 4s - 17ms/step - accuracy: 0.81 - loss: 0.5": one line an epoch, for pipes.
std::string epoch_line(int64_t steps, double seconds, const Logs& logs);

}  // namespace lockstep
