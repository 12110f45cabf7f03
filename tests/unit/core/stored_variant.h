// A store with one variant, as a planner would have left it, made by hand: for tests and benchmarks
// of what a process does with an index. The folder goes with the object.
#ifndef HIERA_TESTS_UNIT_CORE_STORED_VARIANT_H_
#define HIERA_TESTS_UNIT_CORE_STORED_VARIANT_H_

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "runtime/device/device.h"
#include "runtime/ipc/index.h"
#include "runtime/ipc/paths.h"
#include "runtime/task/task.h"

namespace hiera {

class StoredVariant {
 public:
  // Of `task` on the host device with one thread; its code is the shared object `object`.
  StoredVariant(const Task& task, const std::filesystem::path& object) {
    char name[] = "/tmp/hiera-stored-XXXXXX";
    if (mkdtemp(name) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
    const std::string fingerprint = MakeHostDevice(1)->fingerprint().Text();
    variant_.key = TaskKey(CanonicalText(task), fingerprint);
    variant_.space = Space::kKernel;
    variant_.family = "by hand";
    variant_.name = object.filename().string();
    variant_.plan.text = "object";
    variant_.artifact = std::string(64, 'c');
    variant_.baseline_name = "interpreter";
    variant_.baseline_ns = 300;
    variant_.time_ns = 100;
    variant_.ratio = 3;
    variant_.ratio_low = 2.9;
    const std::filesystem::path artifact = ArtifactPath(path(), variant_.artifact);
    std::filesystem::create_directories(artifact.parent_path());
    std::filesystem::copy_file(object, artifact);
    Publish(false);
  }
  ~StoredVariant() {
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }
  StoredVariant(const StoredVariant&) = delete;
  StoredVariant& operator=(const StoredVariant&) = delete;

  void Publish(bool switched_off) {
    const Status written = WriteIndex(IndexPath(path()), {++generation_, switched_off, {variant_}});
    if (!written.ok()) throw std::runtime_error(written.message());
  }

  std::string path() const { return folder_.string(); }
  Variant& variant() { return variant_; }

 private:
  std::filesystem::path folder_;
  Variant variant_;
  uint64_t generation_ = 0;
};

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_CORE_STORED_VARIANT_H_
