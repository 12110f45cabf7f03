// A folder of a test's own, removed with it. Not thread-safe.
#ifndef HIERA_TESTS_TEMPORARY_FOLDER_H_
#define HIERA_TESTS_TEMPORARY_FOLDER_H_

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

namespace hiera {

class TemporaryFolder {
 public:
  TemporaryFolder() {
    char name[] = "/tmp/hiera-test-XXXXXX";
    if (mkdtemp(name) == nullptr) throw std::runtime_error("no temporary folder");
    path_ = name;
  }
  ~TemporaryFolder() {
    std::error_code error;
    std::filesystem::remove_all(path_, error);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::string& path() const { return path_; }
  std::string operator/(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
};

}  // namespace hiera

#endif  // HIERA_TESTS_TEMPORARY_FOLDER_H_
