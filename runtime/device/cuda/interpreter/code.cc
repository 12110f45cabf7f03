#include "runtime/device/cuda/interpreter/code.h"

// The assembler reads the file: as a source of bytes it would be ten times as long, and slow.
asm(".pushsection .rodata\n"
    ".balign 64\n"
    "hiera_interpreter_code:\n"
    ".incbin \"" HIERA_INTERPRETER_FATBIN
    "\"\n"
    "hiera_interpreter_code_end:\n"
    ".byte 0\n"
    ".popsection\n");

extern "C" {
extern const char hiera_interpreter_code[] __attribute__((visibility("hidden")));
extern const char hiera_interpreter_code_end[] __attribute__((visibility("hidden")));
}

namespace hiera::cuda {

std::string_view InterpreterCode() {
  return {hiera_interpreter_code,
          static_cast<size_t>(hiera_interpreter_code_end - hiera_interpreter_code)};
}

}  // namespace hiera::cuda
