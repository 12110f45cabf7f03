// SHA-256, the identity of built code. Pure functions; any thread.
#ifndef HIERA_RUNTIME_EVALUATOR_DIGEST_H_
#define HIERA_RUNTIME_EVALUATOR_DIGEST_H_

#include <string>
#include <string_view>

#include "runtime/base/status.h"

namespace hiera {

// 64 lower-case hexadecimal digits.
std::string DigestOf(std::string_view bytes);
// Errors: kUnavailable (the file cannot be read).
Result<std::string> DigestOfFile(const std::string& path);

// The whole of a file. Errors: kUnavailable.
Result<std::string> ReadFile(const std::string& path);
// Replaces a file by one with that content. Errors: kUnavailable.
Status WriteFile(const std::string& path, std::string_view content);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_DIGEST_H_
