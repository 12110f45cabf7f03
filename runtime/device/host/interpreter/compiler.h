// Compiler: turns the tree of one statement into a program. Private to compile*.cc; lives for one
// call of Compile.
#ifndef HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_COMPILER_H_
#define HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_COMPILER_H_

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/device/host/interpreter/program.h"
#include "runtime/device/interpreter/lower.h"

namespace hiera::interpreter {

inline constexpr int kRunBlock = 0, kOuterBlock = 1, kLaneBlock = 2;

// A computed node. `mask`: booleans, 1 where a read under it broke a keep rule.
struct Value {
  int slot = kNoSlot;
  bool vector = false;
  int mask = kNoSlot;
  bool mask_vector = false;
};

class Compiler {
 public:
  Compiler(const Lowered& lowered, const Statement& statement)
      : l_(lowered), statement_(statement), lanes_(Lanes()) {}

  Program Run();

 private:
  // A place for instructions: one block, run for each value of `indices`. `lane`: the index along
  // the lanes there and in all scopes above that know it.
  struct Scope {
    int block;
    std::vector<int> indices;
    int lane;
    int parent;
    std::map<std::pair<int, bool>, Value> values;  // by (node, guarded)
  };

  const Node& node(int i) const { return l_.formula.nodes[i]; }
  bool DependsOn(int node, int index) const {
    return std::binary_search(l_.depends[node].begin(), l_.depends[node].end(), index);
  }
  Lane LaneOf(ValueType type) const {
    return type == ValueType::kInt ? Lane::kInt : type == ValueType::kBool ? Lane::kBool : l_.real;
  }
  int real() const { return l_.real == Lane::kF64 ? 1 : 0; }

  int NewSlot(Lane type, bool vector, int64_t lanes = kBlockLanes);
  int NewScope(std::vector<int> indices, int lane, int parent);
  void Emit(int scope, Item item) { p_.blocks[scopes_[scope].block].push_back(std::move(item)); }
  void EmitFill(int scope, int slot, Lane type, double real, int64_t integer, bool vector,
                int64_t lanes);
  int Place(int node, int scope) const;
  // `guarded`: under a select, where only chosen reads count for keep rules.
  Value Visit(int node, int scope, bool guarded);
  Value VisitNew(int node, int scope, bool guarded, bool vector);
  Value VisitLeaf(int node, int scope, bool vector);
  Value VisitOp(int node, int scope, bool guarded, bool vector);
  Value VisitLoad(int node, int scope, bool guarded, bool vector);
  Value VisitSelect(const Node& n, int scope, bool guarded, bool vector);
  bool VisitMultiplyAdd(const Node& n, int scope, bool guarded, bool vector, Value* out);

  // A term of a sum: sign * product of factors, which are uniform, * lanes.
  struct Term {
    int lanes = -1;  // node; -1: 1
    std::vector<int> factors;
    bool negative = false;
  };
  bool VisitSum(int node, int scope, bool guarded, bool vector, Value* out);
  void CollectTerms(int node, int scope, Term outer, bool first, std::vector<Term>* terms) const;
  bool OnlyPlainKeeps(int node) const;
  int FactorOf(int node, int scope) const;
  // A tap whose row has not been found yet: `read` where it reads a tensor, else a value's slot.
  struct TapRead {
    Tap tap;
    std::optional<Node> read;
    int slot = kNoSlot;
  };
  bool IsTap(int node) const;
  bool VisitTapReduce(int node, int scope, bool guarded, Value* out);
  bool SplitProduct(const Node& n, int scope, int* lanes, int* load, std::vector<int>* factors);
  void PlaceTap(const Node& read, int scope, Tap* tap, TapSum* sum);
  int FamilyOf(const Node& read, int scope, TapSum* sum);
  void FinishRows(TapSum* sum);
  void EmitTaps(int scope, int factor_scope, const std::vector<TapRead>& reads, TapSum sum,
                Value* out);
  int PlaceOf(const std::vector<int>& depends, int scope) const;
  AxisRead ReadOf(const Affine& affine, int lane) const;
  // `clipped`: it only runs once the lanes have been cut to those that break no keep rule.
  Load LoadOf(const Node& n, int scope, bool guarded, bool vector, bool clipped, Value* gathered);
  bool UnderLaneBlock(int scope) const;
  void AddClips(const Node& n);

  struct Loops {
    int home = -1, inner = -1;  // scopes
    int lane_index = -1;        // of the lane loop, or -1
    bool vector = false;        // the accumulators have a block of lanes
    std::vector<int> order;     // indices, outermost first
    std::vector<int> scopes;    // one per index
    int64_t fold_lanes = 0;
  };
  Value VisitReduce(int node, int scope, bool guarded, bool vector);
  bool VisitPanel(int node, int scope, Value* out);
  Loops OpenLoops(int node, int home, bool vector);
  void CloseLoops(const Loops& loops);
  Value VisitArg(const Node& n, const Loops& loops, bool guarded);
  Value Accumulate(const Node& n, const Loops& loops, bool guarded);
  int EmitFold(const Loops& loops, int slot, Lane type, int kind);
  void AccumulateBody(const Node& n, const Loops& loops, int total, const Value& body);
  Value DivideByCount(const Node& n, int scope, Value total);
  Value FoldMask(const Loops& loops, const Value& body);
  int JoinMasks(int scope, const Value& a, const Value& b, bool* vector);
  void CountUses(int node);

  const Lowered& l_;
  const Statement& statement_;
  const LaneTable& lanes_;
  Program p_;
  std::vector<Scope> scopes_;
  std::vector<int> uses_;
};

}  // namespace hiera::interpreter

#endif  // HIERA_RUNTIME_DEVICE_HOST_INTERPRETER_COMPILER_H_
