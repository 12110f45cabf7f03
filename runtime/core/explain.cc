#include "runtime/core/explain.h"

#include <cstdio>

namespace hiera {
namespace {

std::string Number(const char* format, double value) {
  char text[64];
  std::snprintf(text, sizeof text, format, value);
  return text;
}

std::string Nanoseconds(double ns) {
  if (ns >= 1e6) return Number("%.3g ms", ns / 1e6);
  if (ns >= 1e3) return Number("%.3g us", ns / 1e3);
  return Number("%.3g ns", ns);
}

std::string_view PlanningText(const Slot& slot) {
  switch (slot.planning()) {
    case Planning::kNever:
      return "not planned";
    case Planning::kKnown:
      return "known from the published index; the planner has not been asked";
    case Planning::kWanted:
      return "waiting to ask the planner";
    case Planning::kAsked:
      return "the planner is at it";
    case Planning::kSettled:
      return "settled: the planner has nothing left to try";
  }
  return "?";
}

std::string NowText(const Slot& slot) {
  const Active* active = slot.Current();
  std::string text = "now: ";
  if (slot.suspended()) text += "the baseline, because HIERA is switched off for this store";
  if (active->variant != nullptr) {
    const Variant& v = *active->variant;
    text += std::string(SpaceName(v.space)) + ", " + v.family + " " + v.name + "\n  measured " +
            Nanoseconds(v.time_ns) + " against " + Nanoseconds(v.baseline_ns) + " of " +
            v.baseline_name + ": " + Number("%.3g", v.ratio) + " x, at least " +
            Number("%.3g", v.ratio_low) + " x";
    if (v.floor_ns > 0) text += "; the roofline floor is " + Nanoseconds(v.floor_ns);
    if (v.provisional) text += "; measured in a noisy moment";
  } else if (!slot.suspended()) {
    text += "the baseline";
  }
  if (active->kind == Active::Kind::kTrial) {
    const auto* trial = static_cast<const LiveTrial*>(active->executable);
    const Variant& v = *trial->variant().variant;
    text += "\n  on trial on alternate calls: " + v.family + " " + v.name;
  }
  return text + "\n";
}

std::string TrialText(const Slot& slot) {
  const LiveTrial* trial = slot.last_trial();
  if (trial == nullptr || trial->winner() == nullptr) return "";
  const Variant& v = *trial->variant().variant;
  return "last trial on live calls: " + v.family + " " + v.name +
         (trial->winner() == &trial->variant() ? " won" : " lost") + ", " +
         Number("%.3g", trial->ratio()) + " x what ran before it\n";
}

}  // namespace

std::string Explain(Engine& engine, Slot& slot, int planner_ms) {
  std::string text = "key: " + slot.key().ToHex() +
                     "\ndevice: " + std::string(engine.device().name()) + "\ntask:\n" +
                     slot.canonical();
  if (text.back() != '\n') text += '\n';
  text += "work: " + Number("%.4g", slot.cost().flops) + " flops, " +
          Number("%.4g", slot.cost().bytes) + " bytes\n";
  text += "baseline: " + slot.baseline().name + ", " +
          (slot.baseline_ns() > 0 ? Nanoseconds(slot.baseline_ns()) + " here"
                                  : std::string("not measured here yet")) +
          "\n";
  {
    const std::unique_lock lock = engine.Lock();
    text += NowText(slot) + TrialText(slot) + "swaps: " + std::to_string(slot.generation()) +
            "\nplanning: " + std::string(PlanningText(slot));
    if (!slot.notes.outcome.empty()) text += " (" + slot.notes.outcome + ")";
    text += '\n';
  }
  Result<std::string> answer = engine.AskPlanner({"explain", slot.key().ToHex()}, planner_ms);
  if (answer.ok())
    return text + "the planner says:\n" + *answer + (answer->ends_with('\n') ? "" : "\n");
  return text + "planner: " + engine.PlannerState() + " (" + answer.status().message() + ")\n";
}

}  // namespace hiera
