#include "runtime/device/host/interpreter/lanes.h"

#include "runtime/device/host/cpu.h"

namespace hiera::interpreter {

const LaneTable& Lanes() {
  static const LaneTable& best = [&]() -> const LaneTable& {
    const int level = ReadCpu().level;
    return level >= 4 ? kLanesV4 : level == 3 ? kLanesV3 : kLanesV1;
  }();
  return best;
}

}  // namespace hiera::interpreter
