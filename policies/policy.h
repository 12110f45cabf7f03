// Policy: proposes candidates in one space for tasks of one family, and refines them from what was
// measured. A policy is a function from (task, evidence, budget) to candidates with reasons: it
// touches no device, file or clock, so that it can be tested with fictional evidence.
//
// Thread safety: policies are stateless; every method may be called from any thread.
#ifndef HIERA_POLICIES_POLICY_H_
#define HIERA_POLICIES_POLICY_H_

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/candidate.h"
#include "runtime/task/library_choice.h"
#include "runtime/task/task.h"

namespace hiera {

struct Trial {
  Candidate candidate;
  Verdict verdict = Verdict::kNotFaster;
  std::string detail;      // what the verdict rests on
  double time_ns = 0;      // median; 0 where it never ran
  double baseline_ns = 0;  // the incumbent beside it
  double ratio = 0,
         ratio_low = 0;  // baseline / candidate: median of pairs, low end of its 95 % interval
};

struct Evidence {
  MachineFacts machine;
  double baseline_ns = 0;     // what the application measured; 0: nothing yet
  std::string baseline_name;  // "interpreter", "library ...", "caller"
  double floor_ns = 0;        // roofline of the task on this machine
  std::vector<Trial> trials;  // of every policy for this task so far, oldest first
  // What the device's libraries offer, where a policy of this task wants to know, or why nothing.
  std::vector<LibraryOffer> offers;
  std::string offers_refusal;
};

struct Budget {
  int candidates = 16;  // at most so many proposals in this round
  double seconds = 30;  // left for this task, compilation included
};

// Either candidates, best first, or a reason why there are none.
struct Proposal {
  std::vector<Candidate> candidates;
  std::string
      refusal;  // set where candidates is empty: "not a stencil: reads x at a gathered index"
};

class Policy {
 public:
  virtual ~Policy() = default;
  virtual std::string_view name() const = 0;  // "framework", "cblas", "gemm", "stencil", ...
  virtual Space space() const = 0;

  // Whether it chooses among evidence.offers, which cost a moment of the device to find out.
  virtual bool NeedsOffers() const { return false; }

  // The first round.
  virtual Proposal Propose(const Task& task, const Evidence& evidence,
                           const Budget& budget) const = 0;

  // Later rounds: neighbours of what did well, given evidence.trials. Never proposes a (family,
  // name) that was tried. The default has nothing to add.
  virtual Proposal Refine(const Task& task, const Evidence& evidence, const Budget& budget) const;
};

// The fastest correct trial of a family so far; null: none.
const Trial* BestTrial(const Evidence& evidence, std::string_view family);
bool WasTried(const Evidence& evidence, std::string_view family, std::string_view name);

// Every policy of this build for the host, in the order in which spaces are tried.
const std::vector<const Policy*>& HostPolicies();
// Likewise for CUDA.
const std::vector<const Policy*>& CudaPolicies();
// Those of the two that are for this machine.
const std::vector<const Policy*>& PoliciesFor(const MachineFacts& machine);

}  // namespace hiera

#endif  // HIERA_POLICIES_POLICY_H_
