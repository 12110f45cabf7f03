// Formula: the typed tree of a task's statements after names, ranges and types are resolved. The
// parser and the typed constructors build it; the reference, the interpreter, the code generators
// and the classification read it. A plain value, held in one array of nodes; children precede
// parents, and statements follow one another, so a loop over the array visits them in order. A node
// may be the operand of several others of its statement (x^2 is x*x of one node x): the tree is
// walked as one where it is read, and computed once by whoever loops over the array. Every node is
// reached from a statement's root.
#ifndef HIERA_RUNTIME_TASK_FORMULA_H_
#define HIERA_RUNTIME_TASK_FORMULA_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "runtime/task/tensor.h"

namespace hiera {

// An index runs over [0, extent). Output indices belong to a statement's left side; bound indices
// to the reduction that introduces them. No two bindings share an entry, even where the text used
// one name twice. Scans introduce no index of their own: see kScan.
struct Index {
  std::string name;
  int64_t extent = 0;

  friend bool operator==(const Index&, const Index&) = default;
};

// (sum of coefficient * index + offset) / divisor. An inexact quotient is out of range, which is
// how strided transposed convolutions are said; where one can occur the tensor's rule is zero or
// keep, for the others have no element to take. Terms are sorted by index, with no zero
// coefficient; every number is at most 2^31 in size and the fraction is in lowest terms.
struct Affine {
  std::vector<std::pair<int, int64_t>> terms;  // (position in Formula::indices, coefficient)
  int64_t offset = 0;
  int64_t divisor = 1;  // >= 1

  friend bool operator==(const Affine&, const Affine&) = default;
};

// One axis of a read: affine in the indices, or the value of an integer expression (a gather). A
// gathered tensor must have a rule for reads outside it.
struct Subscript {
  Affine affine;
  int gather = -1;  // node whose integer value is the subscript; -1: affine

  friend bool operator==(const Subscript&, const Subscript&) = default;
};

// Values are real (computed in the statement's accumulation type), integer (exact, 64 bits wide
// while computed; stored to i32 by truncation to 32 bits) or boolean.
enum class ValueType : uint8_t { kReal, kInt, kBool };

// Append only: the numbers are not stored, but code generators switch over them.
enum class Op : uint8_t {
  // Leaves.
  kConstant,  // Node::constant
  kScalar,    // Task::scalars[target]; real
  kIndex,     // the value of Node::affine (divisor 1); integer
  kLoad,      // element `subscripts` of tensor `target`
  // One operand. Real in and out unless said otherwise.
  kNeg,  // also integer
  kAbs,  // also integer
  kExp,
  kLog,
  kSin,
  kCos,
  kSqrt,
  kRsqrt,
  kTanh,
  kErf,
  kSigmoid,  // 1 / (1 + exp(-x))
  kRelu,     // max(x, 0); NaN stays NaN
  kGelu,     // x/2 * (1 + erf(x / sqrt(2)))
  kSilu,     // x * sigmoid(x)
  kFloor,
  kNot,     // boolean
  kToReal,  // integer or boolean to real
  // Two operands of one type.
  kAdd,
  kSub,
  kMul,
  kDiv,  // real only
  kPow,  // real only
  kMin,  // NaN in either operand gives NaN
  kMax,  // NaN in either operand gives NaN
  kMod,  // integer only, result in [0, divisor) for a positive divisor
  kLess,
  kLessEqual,
  kEqual,
  kNotEqual,  // comparisons: boolean result, any operand type; a > b is parsed as b < a
  kAnd,
  kOr,      // boolean
  kSelect,  // three operands: condition, value if true, value if false; only the chosen value
            // counts
  kReduce,  // Node::reduce over Node::bound of operand 0
  kScan,    // Node::scan of operand 0 along index `target`
};

enum class Reduction : uint8_t {
  kSum,
  kProd,
  kMax,
  kMin,   // NaN in any element gives NaN
  kMean,  // sum / number of elements
  kArgMax,
  kArgMin,  // one bound index; the smallest index among equals, the first NaN if there is one
  kAny,
  kAll,  // boolean
};

enum class ScanKind : uint8_t { kSum, kProd };

struct Scan {
  ScanKind kind = ScanKind::kSum;
  bool reverse = false;    // from the end of the axis
  bool exclusive = false;  // without the element itself; starts from 0 or 1

  friend bool operator==(const Scan&, const Scan&) = default;
};

struct Node {
  Op op = Op::kConstant;
  ValueType type = ValueType::kReal;
  std::vector<int> operands;          // positions in Formula::nodes, each below this node's own
  double constant = 0;                // kConstant (integers and booleans too: exact below 2^53)
  int target = -1;                    // kScalar: scalar; kLoad: tensor; kScan: index
  Affine affine;                      // kIndex
  std::vector<Subscript> subscripts;  // kLoad: one per axis
  Reduction reduce = Reduction::kSum;
  std::vector<int> bound;  // kReduce: positions in Formula::indices
  Scan scan;  // kScan. Value at i: combination of operand 0 over all i' <= i of the axis
              // (< i where exclusive; >= i, > i where reversed), other indices fixed.
              // `target` is an output index of the statement.

  friend bool operator==(const Node&, const Node&) = default;
};

// tensors[output][indices] = nodes[root], for every value of the indices. The root's type is that
// of the output: real for a real dtype, integer for i32, boolean for bool. Where a read of the
// element breaks a kKeep rule the element is not written. Statements run one after another, each
// finished before the next begins.
struct Statement {
  int output = -1;           // Task tensor number; see Task for bound tensors and locals
  std::vector<int> indices;  // one plain index per axis of the output
  int root = -1;

  friend bool operator==(const Statement&, const Statement&) = default;
};

// Several steps of one update: the statements run `steps` times, and after each run every `state`
// takes the value of its `source`, all at once. The bound buffer of a state is only read. State 0
// is the bound buffer. An element that `keep` leaves unwritten in a run before the last has the
// value that the state being replaced had there; after the last run the bound output's own element
// stays.
struct Carry {
  int state = -1;   // an input tensor
  int source = -1;  // an output tensor, or another state, of the same extents and dtype

  friend bool operator==(const Carry&, const Carry&) = default;
};

struct Formula {
  std::vector<Index> indices;
  std::vector<Node> nodes;
  std::vector<Statement> statements;
  int64_t steps = 1;
  std::vector<Carry> carries;  // empty where steps is 1

  friend bool operator==(const Formula&, const Formula&) = default;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_FORMULA_H_
