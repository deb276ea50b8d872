// One function a command; each returns the exit code. Errors leave as exceptions.
#pragma once

#include "lockstep/cli/arguments.h"

namespace lockstep {

int run_train(const Arguments& arguments);
int run_evaluate(const Arguments& arguments);
int run_predict(const Arguments& arguments);
int run_convert(const Arguments& arguments);
int run_inspect(const Arguments& arguments);
int run_devices(const Arguments& arguments);
int run_ops(const Arguments& arguments);
int run_bench(const Arguments& arguments);
int run_compile(const Arguments& arguments);

}  // namespace lockstep
