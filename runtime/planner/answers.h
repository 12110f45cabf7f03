// Answers: what the planner says to the command's questions, as text for people. Reads the
// catalogue.
#ifndef HIERA_RUNTIME_PLANNER_ANSWERS_H_
#define HIERA_RUNTIME_PLANNER_ANSWERS_H_

#include <string>

#include "runtime/ipc/messages.h"
#include "runtime/planner/catalogue.h"

namespace hiera {

// "status" is answered with `activity` in it, "ls", "show KEY" and "explain KEY" from the store. A
// key may be shortened as long as one task alone begins with it. Never fails: a question that
// cannot be answered gives ok = false and the reason.
Reply Answer(const Query& query, Catalogue& catalogue, const std::string& activity);

}  // namespace hiera

#endif  // HIERA_RUNTIME_PLANNER_ANSWERS_H_
