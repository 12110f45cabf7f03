// Compiler: turns the tree of one statement into instructions. Private to compile*.cc; lives for
// one attempt.
//
// Scope 0 is a point: its indices are the output's. Each loop is a scope inside another. A node is
// computed in the outermost scope that knows all of its indices, once, and constants once for all
// points of a thread. Where that would keep too many values at a time, a second attempt makes
// constants for each point, and a third shares nothing and computes each node where it is used.
#ifndef HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_COMPILER_H_
#define HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_COMPILER_H_

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/device/cuda/interpreter/assembly.h"
#include "runtime/device/cuda/interpreter/compile.h"
#include "runtime/device/interpreter/lower.h"

namespace hiera::cuda {

enum class Sharing { kAll, kWithinPoints, kNothing };

inline constexpr int kNone = -1;
inline constexpr int kOnce = -2;  // as a scope: in front of all points

// A computed node: its slot, and that of a boolean which is 1 where a read under it broke a keep
// rule; kNone: none can.
struct Value {
  int slot = kNone;
  int mask = kNone;
};

class Compiler {
 public:
  Compiler(const interpreter::Lowered& lowered, const Statement& statement, uint32_t team,
           Sharing sharing);

  // Nothing where the values do not fit.
  std::optional<StageProgram> Run();

 private:
  struct Scope {
    int parent = kNone;
    std::vector<int> indices;
    std::vector<Instruction> code;
    std::map<int, Value> values;  // by node
  };

  const Node& node(int i) const { return l_.formula.nodes[i]; }
  int64_t ExtentOf(int index) const { return l_.formula.indices[index].extent; }
  bool DependsOn(int node, int index) const;
  bool IsWide(ValueType type) const {
    return type == ValueType::kInt ||
           (type == ValueType::kReal && l_.real == interpreter::Lane::kF64);
  }
  int NewSlot(ValueType type) { return assembly_.NewSlot(IsWide(type)); }
  int BufferNumber(int buffer);

  int Place(int node, int scope) const;
  void Emit(int scope, Instruction instruction) {
    (scope == kOnce ? once_ : scopes_[scope].code).push_back(std::move(instruction));
  }
  // Where a constant of a scope is made: of a point's, once for all points of a thread.
  int ConstantScope(int scope) const { return scope == 0 && keeps_constants_ ? kOnce : scope; }
  int EmitBinary(int scope, Code code, ValueType type, int a, int b);
  int EmitReal(int scope, double value);
  int EmitInteger(int scope, int64_t value);
  int EmitBoolean(int scope, bool value);
  // Offset and terms of a linear form over index values; returns the number of terms.
  uint32_t AddLinear(Instruction* instruction, int64_t offset,
                     const std::map<int, int64_t>& terms) const;

  Value Visit(int node, int scope);
  Value VisitNew(int node, int scope);
  Value VisitLeaf(const Node& n, int scope);
  Value VisitLoad(const Node& n, int scope);
  Value VisitRuledLoad(const Node& n, int scope);
  Value VisitOp(const Node& n, int scope);
  bool VisitMultiplyAdd(const Node& n, int scope, Value* out);
  Value VisitSelect(const Node& n, int scope);
  int JoinMasks(int scope, int a, int b);

  Value VisitReduce(int node, int scope);
  Value VisitArg(const Node& n, int scope);
  Value DivideByCount(const Node& n, int scope, Value total);
  bool VisitDot(const Node& n, int scope, Value* out);
  void Accumulate(const Node& n, int inner, int total, int* mask, int home);
  // Opens the loops of a reduction; CloseLoops ends them.
  struct Loops {
    int home = kNone, inner = kNone;
    bool by_team = false;
  };
  // `without_last`: the last index of LoopOrder is left to whoever asks.
  Loops OpenLoops(const Node& n, int scope, bool without_last);
  int OpenLoop(int parent, const std::vector<int>& indices, int index_slot, bool by_team,
               int64_t extent);
  bool IsFlattened(const std::vector<int>& order, int scope) const;
  void OpenFlattened(const std::vector<int>& order, Loops* loops);
  void CloseLoops(const Loops& loops);
  std::vector<int> LoopOrder(const Node& n) const;
  int64_t StrideOf(int node, int index) const;
  void EmitCombine(const Loops& loops, int slot, ValueType type, Combination how);
  void EmitStart(int scope, int slot, const Node& n);
  void EmitPoint();
  void EmitStore(const Value& root);
  void CountUses(int node);
  int NeedOf(int node);
  std::vector<int> VisitOrder(const Node& n) const;

  // A load without rule or gather as an element offset over indices.
  struct PlainLoad {
    int64_t offset = 0;
    std::map<int, int64_t> terms;  // index -> elements
  };
  bool IsPlain(const Node& load) const;
  PlainLoad PlainOf(const Node& load) const;
  void EmitDot(const Node& product, const Loops& loops, int index, int total);

  const interpreter::Lowered& l_;
  const Statement& statement_;
  const uint32_t team_;
  const bool shares_, keeps_constants_;
  Assembly assembly_;
  std::vector<Scope> scopes_;
  std::vector<Instruction> once_;  // before the first point
  std::map<int, int> index_slots_;
  struct LoopEdge {
    int slot;
    bool by_team;
    int64_t extent;
  };
  std::map<int, LoopEdge> edges_;  // by scope
  std::vector<int> uses_;          // by node
  std::vector<int> need_;          // by node: slots that its tree needs where nothing is shared
  bool too_many_buffers_ = false;
  StageProgram out_;
};

// The code of an operation on operands of a type. Not for leaves, select, reductions and scans.
Code CodeOf(Op op, ValueType operands);

}  // namespace hiera::cuda

#endif  // HIERA_RUNTIME_DEVICE_CUDA_INTERPRETER_COMPILER_H_
