// Syntax: the parsed text, before names, ranges and types are resolved. Expressions lie in one
// array, children linked by position, so that a text costs a handful of allocations. Borrows the
// text. Pure functions.
#ifndef HIERA_RUNTIME_TASK_SYNTAX_H_
#define HIERA_RUNTIME_TASK_SYNTAX_H_

#include <cstdint>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/formula.h"
#include "runtime/task/lex.h"

namespace hiera {

enum class ExprKind : uint8_t {
  kNumber,
  kName,    // an index, a scalar, a tensor of rank 0, or a word (inf, true, false)
  kRead,    // name[children...]
  kCall,    // name(children...)
  kUnary,   // name is "-" or "not"
  kBinary,  // name is the operator
  kReduce,  // name(binders: child)
  kScan,    // name(binder: child)
};

struct Expr {
  ExprKind kind = ExprKind::kNumber;
  bool integer = false;    // kNumber
  bool reverse = false;    // kScan
  bool exclusive = false;  // kScan
  uint32_t offset = 0;     // where an error about it points: the operator of a kBinary
  int first = -1;          // child
  int next = -1;           // sibling
  int binder = -1;         // kReduce, kScan: the first of them in Syntax::binders
  int binder_count = 0;
  std::string_view name;
  double number = 0;
};

struct Binder {
  std::string_view name;
  int64_t range = -1;  // stated, else -1
  uint32_t offset = 0;
};

struct TensorItem {
  uint32_t offset = 0;
  TensorSpec spec;
};

struct ScalarItem {
  uint32_t offset = 0;
  std::string_view name;
  int value = -1;  // 0 or 1 where stated
};

struct ContractField {
  std::string_view name;
  Token value;
  uint32_t offset = 0;
};

struct StepsItem {
  struct Pair {
    std::string_view state, source;
    uint32_t state_offset, source_offset;
  };
  uint32_t offset = 0;
  int64_t steps = 1;
  std::vector<Pair> pairs;
  bool present = false;
};

struct StatementItem {
  std::string_view name;
  uint32_t offset = 0;
  int binder = 0;  // the left side's indices, in Syntax::binders
  int binder_count = 0;
  Outside outside = Outside::kRefuse;  // of a local
  bool has_outside = false;
  int root = -1;
};

struct Syntax {
  std::vector<Expr> exprs;  // children before parents
  std::vector<Binder> binders;
  std::vector<TensorItem> tensors;
  std::vector<ScalarItem> scalars;
  std::vector<ContractField> contract;
  bool has_contract = false;
  uint32_t contract_offset = 0;
  StepsItem steps;
  std::vector<StatementItem> statements;
};

Result<Syntax> ParseSyntax(std::string_view text);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_SYNTAX_H_
