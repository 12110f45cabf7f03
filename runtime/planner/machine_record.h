// What the evaluator measured of a machine, as it is kept among the store's knowledge. Pure
// functions.
#ifndef HIERA_RUNTIME_PLANNER_MACHINE_RECORD_H_
#define HIERA_RUNTIME_PLANNER_MACHINE_RECORD_H_

#include <string>
#include <string_view>

#include "runtime/base/status.h"
#include "runtime/task/candidate.h"

namespace hiera {

// The knowledge entry of the device with this fingerprint.
std::string MachineRecordName(std::string_view fingerprint);

std::string EncodeMachineRecord(const MachineFacts& facts);
// Errors: kInvalidArgument (another version, or damaged): the machine is measured again.
Result<MachineFacts> DecodeMachineRecord(std::string_view bytes);

}  // namespace hiera

#endif  // HIERA_RUNTIME_PLANNER_MACHINE_RECORD_H_
