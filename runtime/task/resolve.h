// Resolver: turns one text's statements into a task's formula: names become tensors, scalars and
// indices, ranges follow from the reads, values get types. One object resolves one text, statement
// by statement. Not thread-safe. Used by parse.cc.
#ifndef HIERA_RUNTIME_TASK_RESOLVE_H_
#define HIERA_RUNTIME_TASK_RESOLVE_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/builder.h"
#include "runtime/task/syntax.h"
#include "runtime/task/task.h"

namespace hiera {

class Resolver {
 public:
  // `task` holds the bound tensors, the scalars and the contract; locals are appended to it.
  Resolver(std::string_view text, const Syntax& syntax, Task* task)
      : text_(text), syntax_(syntax), task_(task), builder_(task) {}

  // Resolves every statement and leaves the formula compact.
  Status Run();

  // Where the text made this node, for errors found later. Valid after Run().
  uint32_t position_of(int node) const { return builder_.position_of(node); }

 private:
  // An index that can be named now, and where its range comes from.
  struct Scope {
    std::string_view name;
    int index;
    uint32_t offset;
    bool stated;      // range known from the text or from the output; else reads settle it
    int tensor = -1;  // of the read that settled it
    int axis = -1;
  };

  Status Run(const StatementItem& item);
  bool OpenOutput(const StatementItem& item, int output, Statement* statement);
  bool OpenScope(const Binder& binder, int64_t extent);
  bool CheckRange(const Scope& scope);
  bool Close(const StatementItem& item, int root, Statement* statement);

  int Value(int expr);
  int Number(const Expr& expr);
  int Name(const Expr& expr);
  int UnknownName(const Expr& expr);
  int Read(const Expr& expr, int tensor);
  int Call(const Expr& expr);
  int BinaryOf(const Expr& expr);
  int ReduceOf(const Expr& expr);
  int ScanOf(const Expr& expr);
  bool SubscriptOf(int expr, int tensor, int axis, Subscript* subscript);
  bool Settle(int index, int tensor, int axis, uint32_t offset);
  bool IsOwnElement(const std::vector<Subscript>& subscripts) const;
  // Whether the expression is affine in the indices; false without an error where it is not.
  bool AffineOf(int expr, Affine* affine);
  bool AffineOfBinary(const Expr& expr, Affine* affine);

  Scope* FindIndex(std::string_view name);
  int FindTensor(std::string_view name) const;
  int FindScalar(std::string_view name) const;
  int Children(const Expr& expr) const;
  int Fail(uint32_t offset, std::string what);     // kBad
  bool Refuse(uint32_t offset, std::string what);  // false
  int Checked(uint32_t offset, int node);
  const Expr& expr(int e) const { return syntax_.exprs[e]; }

  std::string_view text_;
  const Syntax& syntax_;
  Task* task_;
  FormulaBuilder builder_;
  std::vector<Scope> scopes_;
  int assigning_ = -1;  // the bound tensor of the statement being resolved; -1: a local
  const Statement* statement_ = nullptr;  // being resolved
  std::string_view assigning_name_;
  bool in_scan_ = false;  // the value being resolved is scanned: it is taken at other elements too
  std::vector<int> assigned_by_;  // per tensor: the statement that writes it, or -1
  std::vector<uint8_t> read_;     // per tensor: read so far
  Status status_;
};

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_RESOLVE_H_
