#include "runtime/library/cuda/lt_enumerate.h"

#include <algorithm>
#include <set>

namespace hiera {
namespace {

constexpr int kSplits[] = {2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64};
constexpr int64_t kLeastDepth = 32;  // of a part of a split sum
constexpr int kMostCustom = 32;      // custom options that are tried around one base
constexpr uint16_t kLastCluster = 51;

// What an algorithm number admits.
struct Family {
  int id = 0;
  lt::Algo algo{};
  std::vector<uint32_t> tiles, stages;
  bool splits = false;
  uint32_t reductions = 0;
  uint32_t swizzles = 0;  // the largest
  int32_t customs = 0;    // the largest
  std::vector<uint16_t> clusters;
  std::vector<LtAlgorithm> bases;  // accepted, everything but tile and stages at the default
};

class Enumerator {
 public:
  Enumerator(const LtProblem& problem, const LtLimits& limits)
      : problem_(problem), f_(problem.functions()), limits_(limits) {}

  LtEnumeration Run() {
    auto ranking = problem_.Ranking(limits_.ranked, limits_.workspace_bytes);
    if (ranking.ok()) {
      for (const LtChoice& choice : *ranking) {
        if (seen_.insert(choice.algorithm).second) result_.choices.push_back(choice);
      }
    }
    const std::vector<LtChoice> ranked = result_.choices;
    for (const int id : problem_.AlgorithmIds()) AddFamily(id);
    for (Family& family : families_) AddBases(&family);
    for (const LtChoice& choice : ranked) {
      if (Family* family = FamilyOf(choice.algorithm.id)) AddAround(*family, choice.algorithm);
    }
    for (Family& family : families_) AddClusters(&family);
    for (Family& family : families_) AddSplits(family);
    for (Family& family : families_) AddRest(family);
    return std::move(result_);
  }

 private:
  template <typename T>
  T Cap(const lt::Algo& algo, int attribute) const {
    T value{};
    size_t written = 0;
    return f_.cap_get(&algo, attribute, &value, sizeof value, &written) == 0 ? value : T{};
  }

  std::vector<uint32_t> List(const lt::Algo& algo, int attribute) const {
    size_t bytes = 0;
    std::vector<uint32_t> values;
    if (f_.cap_get(&algo, attribute, nullptr, 0, &bytes) == 0 && bytes >= sizeof(uint32_t)) {
      values.resize(bytes / sizeof(uint32_t));
      size_t written = 0;
      if (f_.cap_get(&algo, attribute, values.data(), bytes, &written) != 0) values.clear();
    }
    if (values.empty()) values.push_back(0);
    return values;
  }

  void AddFamily(int id) {
    Family family;
    family.id = id;
    if (!problem_.Init(id, &family.algo) || !problem_.KeepsContract(family.algo)) return;
    family.tiles = List(family.algo, lt::kCapTileIds);
    family.stages = List(family.algo, lt::kCapStageIds);
    family.splits = Cap<int32_t>(family.algo, lt::kCapSplitK) != 0;
    family.reductions =
        Cap<uint32_t>(family.algo, lt::kCapReductionMask) & problem_.ReductionMask();
    family.swizzles = Cap<uint32_t>(family.algo, lt::kCapSwizzle);
    family.customs = Cap<int32_t>(family.algo, lt::kCapCustomMax);
    families_.push_back(std::move(family));
  }

  Family* FamilyOf(int id) {
    for (Family& family : families_) {
      if (family.id == id) return &family;
    }
    return nullptr;
  }

  // Whether the library accepts it; a new one is a choice.
  bool Try(const Family& family, const LtAlgorithm& algorithm) {
    if (seen_.count(algorithm) > 0) return true;
    if (result_.checks >= limits_.checks ||
        static_cast<int>(result_.choices.size()) >= limits_.choices) {
      result_.complete = false;
      return false;
    }
    ++result_.checks;
    LtResolved resolved;
    if (!problem_.Check(algorithm, family.algo, &resolved)) return false;
    if (resolved.workspace_bytes > static_cast<size_t>(limits_.workspace_bytes)) return false;
    seen_.insert(algorithm);
    result_.choices.push_back({algorithm, resolved.workspace_bytes, resolved.waves, false});
    return true;
  }

  void AddBases(Family* family) {
    for (const uint32_t tile : family->tiles) {
      for (const uint32_t stages : family->stages) {
        LtAlgorithm algorithm;
        algorithm.id = family->id;
        algorithm.tile = tile;
        algorithm.stages = stages;
        if (Try(*family, algorithm)) family->bases.push_back(algorithm);
      }
    }
  }

  // One attribute at a time away from what the library itself ranks.
  void AddAround(const Family& family, const LtAlgorithm& center) {
    LtAlgorithm a = center;
    for (const uint32_t tile : family.tiles) {
      a.tile = tile;
      Try(family, a);
    }
    a = center;
    for (const uint32_t stages : family.stages) {
      a.stages = stages;
      Try(family, a);
    }
    a = center;
    for (a.cluster = 0; a.cluster <= kLastCluster; ++a.cluster) Try(family, a);
    a = center;
    for (a.swizzle = 0; a.swizzle <= family.swizzles; ++a.swizzle) Try(family, a);
    a = center;
    for (a.custom = 0; a.custom <= LastCustom(family); ++a.custom) Try(family, a);
    EachSplit(family, center, [&](const LtAlgorithm& split) { Try(family, split); });
  }

  static uint32_t LastCustom(const Family& family) {
    return static_cast<uint32_t>(std::clamp(family.customs, 0, kMostCustom));
  }

  template <typename F>
  void EachSplit(const Family& family, LtAlgorithm a, F&& each) const {
    if (!family.splits) return;
    for (const int split : kSplits) {
      if (problem_.call().k < split * kLeastDepth) return;
      for (const uint32_t scheme : {kLtReduceInPlace, kLtReduceComputeType, kLtReduceOutputType}) {
        if ((family.reductions & scheme) == 0) continue;
        a.split_k = split;
        a.reduction = scheme;
        each(a);
      }
    }
  }

  // Which clusters an algorithm takes is seen on its first base, then tried on all.
  void AddClusters(Family* family) {
    if (family->bases.empty()) return;
    for (uint16_t cluster = 1; cluster <= kLastCluster; ++cluster) {
      bool taken = false;
      for (const size_t sample : {size_t{0}, family->bases.size() / 2, family->bases.size() - 1}) {
        LtAlgorithm a = family->bases[sample];
        a.cluster = cluster;
        taken = taken || Try(*family, a);
      }
      if (taken) family->clusters.push_back(cluster);
    }
    for (const LtAlgorithm& base : family->bases) {
      for (const uint16_t cluster : family->clusters) {
        LtAlgorithm a = base;
        a.cluster = cluster;
        Try(*family, a);
      }
    }
  }

  void AddSplits(const Family& family) {
    for (const LtAlgorithm& base : family.bases) {
      EachSplit(family, base, [&](const LtAlgorithm& split) { Try(family, split); });
    }
  }

  void AddRest(const Family& family) {
    for (const LtAlgorithm& base : family.bases) {
      LtAlgorithm a = base;
      for (a.swizzle = 1; a.swizzle <= family.swizzles; ++a.swizzle) Try(family, a);
      a = base;
      for (a.custom = 1; a.custom <= LastCustom(family); ++a.custom) Try(family, a);
    }
  }

  const LtProblem& problem_;
  const lt::Functions& f_;
  const LtLimits& limits_;
  std::vector<Family> families_;
  std::set<LtAlgorithm> seen_;
  LtEnumeration result_;
};

}  // namespace

LtEnumeration EnumerateLt(const LtProblem& problem, const LtLimits& limits) {
  return Enumerator(problem, limits).Run();
}

}  // namespace hiera
