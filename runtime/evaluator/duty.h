// Duty: how much of the processors the workers of a key may take while others need them: a quarter
// of three seconds at once, then a twentieth of the time that passes. On a machine that is
// otherwise idle (a program that waits for its operators to settle, `hiera tune`) nothing is held
// back.
//
// Times are monotonic nanoseconds. Not thread-safe.
#ifndef HIERA_RUNTIME_EVALUATOR_DUTY_H_
#define HIERA_RUNTIME_EVALUATOR_DUTY_H_

#include <cstdint>
#include <list>
#include <string>

#include "runtime/evaluator/contention.h"

namespace hiera {

class Duty {
 public:
  // Whose work follows. A key that was seen lately goes on where it was.
  void Enter(const std::string& key, int64_t now_ns);

  // Whether the key is in its first three seconds.
  bool IsYoung(int64_t now_ns) const;

  // Work was done for the key: `device_ns` of all processors.
  void Charge(double device_ns);

  // How long from now on until the key may work again; 0: at once.
  int64_t WaitNs(int64_t now_ns) const;

 private:
  struct Bucket {
    std::string key;
    int64_t since_ns = 0;
    double used_ns = 0;
  };
  std::list<Bucket> buckets_;  // the present key's first
};

// Whether programs of ordinary priority used so much of the processors between two readings that
// they would feel a worker: more than a tenth. What runs at a lower priority than usual (compilers
// for candidates among them) has said that it can wait.
bool OthersAreBusy(const ProcessorTimes& before, const ProcessorTimes& after);

}  // namespace hiera

#endif  // HIERA_RUNTIME_EVALUATOR_DUTY_H_
