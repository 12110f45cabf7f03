// How many cores this process may use at once: the calling thread's affinity mask, cut down to the
// CPU quota of its control groups. Reads files under /proc and /sys; any thread.
#ifndef HIERA_RUNTIME_DEVICE_HOST_USABLE_CORES_H_
#define HIERA_RUNTIME_DEVICE_HOST_USABLE_CORES_H_

#include <string>
#include <string_view>

namespace hiera {

// At least 1.
int UsableCores();

// The whole cores that CPU quotas leave, rounded up; 0 where no quota is set. `proc_cgroup` is the
// text of /proc/self/cgroup, `root` where the control groups are mounted (/sys/fs/cgroup). Both
// versions of control groups are understood; the tightest quota from the group up to the root
// counts. A group that is not there under `root` (a container sees its own as the root) is looked
// for at the root alone.
int QuotaCores(std::string_view proc_cgroup, const std::string& root);

}  // namespace hiera

#endif  // HIERA_RUNTIME_DEVICE_HOST_USABLE_CORES_H_
