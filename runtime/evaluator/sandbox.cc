#include "runtime/evaluator/sandbox.h"

#include <fcntl.h>
#include <linux/landlock.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/evaluator/syscall_filter.h"

namespace hiera {
namespace {

void Limit(__rlimit_resource resource, rlim_t value) {
  const rlimit limit = {value, value};
  setrlimit(resource, &limit);
}

// Everything that the first version of landlock knows; later versions only add to it, and what they
// add is covered by the system call filter.
constexpr uint64_t kReading =
    LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR;
constexpr uint64_t kAllAccess =
    kReading | LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR |
    LANDLOCK_ACCESS_FS_REMOVE_FILE | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR |
    LANDLOCK_ACCESS_FS_MAKE_REG | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO |
    LANDLOCK_ACCESS_FS_MAKE_BLOCK | LANDLOCK_ACCESS_FS_MAKE_SYM;

std::string CloseFileSystem(const std::vector<std::string>& readable) {
  landlock_ruleset_attr attributes = {};
  attributes.handled_access_fs = kAllAccess;
  const int rules = static_cast<int>(
      syscall(SYS_landlock_create_ruleset, &attributes, sizeof attributes.handled_access_fs, 0));
  if (rules < 0) return std::string("no landlock (") + std::strerror(errno) + ")";
  for (const std::string& path : readable) {
    const int fd = open(path.c_str(), O_PATH | O_CLOEXEC);
    if (fd < 0) continue;  // what is not there needs no rule
    struct stat info;
    landlock_path_beneath_attr beneath = {};
    beneath.parent_fd = fd;
    beneath.allowed_access = kReading;
    if (fstat(fd, &info) == 0 && !S_ISDIR(info.st_mode)) {
      beneath.allowed_access &= ~uint64_t{LANDLOCK_ACCESS_FS_READ_DIR};
    }
    syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &beneath, 0);
    close(fd);
  }
  std::string lack;
  if (syscall(SYS_landlock_restrict_self, rules, 0) != 0) {
    lack = std::string("landlock refused (") + std::strerror(errno) + ")";
  }
  close(rules);
  return lack;
}

}  // namespace

std::string EnterSandbox(const SandboxOptions& options) {
  std::string lacks;
  const auto add = [&](const std::string& lack) {
    if (!lack.empty()) lacks += (lacks.empty() ? "" : ", ") + lack;
  };
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) add("privileges cannot be given up");
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  Limit(RLIMIT_CORE, 0);
  Limit(RLIMIT_FSIZE, 0);
  Limit(RLIMIT_MSGQUEUE, 0);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
  if (options.data_bytes > 0) Limit(RLIMIT_DATA, static_cast<rlim_t>(options.data_bytes));
#endif
  if (options.cpu_seconds > 0) Limit(RLIMIT_CPU, static_cast<rlim_t>(options.cpu_seconds));
  add(CloseFileSystem(options.readable));
  const Status filtered = ForbidOutsideWorld();
  if (!filtered.ok()) add(filtered.message());
  return lacks;
}

}  // namespace hiera
