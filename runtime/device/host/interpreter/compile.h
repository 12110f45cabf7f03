// Compile: a stage's statement to a program. Pure function.
#ifndef HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_COMPILE_H_
#define HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_COMPILE_H_

#include "runtime/device/host/interpreter/program.h"
#include "runtime/device/interpreter/lower.h"

namespace hiera::interpreter {

Program Compile(const Lowered& lowered, const Statement& statement);

}  // namespace hiera::interpreter

#endif  // HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_COMPILE_H_
