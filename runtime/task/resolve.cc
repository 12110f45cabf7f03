#include "runtime/task/resolve.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/task/affine.h"
#include "runtime/task/limits.h"

namespace hiera {

namespace {

std::string Quoted(std::string_view name) { return "\"" + std::string(name) + "\""; }

std::string AxisOf(const TensorSpec& tensor, int axis) {
  return std::to_string(tensor.extents[axis]) + " along axis " + std::to_string(axis) + " of " +
         tensor.name;
}

}  // namespace

int Resolver::Fail(uint32_t offset, std::string what) {
  if (status_.ok()) status_ = ErrorAt(text_, offset, what);
  return FormulaBuilder::kBad;
}

bool Resolver::Refuse(uint32_t offset, std::string what) {
  Fail(offset, std::move(what));
  return false;
}

int Resolver::Checked(uint32_t offset, int node) {
  if (node == FormulaBuilder::kBad && status_.ok()) Fail(offset, builder_.error());
  return node;
}

Resolver::Scope* Resolver::FindIndex(std::string_view name) {
  for (size_t i = scopes_.size(); i-- > 0;) {
    if (scopes_[i].name == name) return &scopes_[i];
  }
  return nullptr;
}

int Resolver::FindTensor(std::string_view name) const {
  for (size_t i = 0; i < task_->tensors.size(); ++i) {
    if (task_->tensors[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int Resolver::FindScalar(std::string_view name) const {
  for (size_t i = 0; i < task_->scalars.size(); ++i) {
    if (task_->scalars[i].name == name) return static_cast<int>(i);
  }
  return -1;
}

int Resolver::Children(const Expr& expr) const {
  int count = 0;
  for (int c = expr.first; c >= 0; c = syntax_.exprs[c].next) ++count;
  return count;
}

Status Resolver::Run() {
  task_->formula.nodes.reserve(syntax_.exprs.size() + 8);
  assigned_by_.assign(task_->tensors.size(), -1);
  read_.assign(task_->tensors.size(), 0);
  for (const StatementItem& item : syntax_.statements) HIERA_RETURN_IF_ERROR(Run(item));
  for (size_t t = task_->bound_count; t < task_->tensors.size(); ++t) {
    if (read_[t]) continue;
    const uint32_t offset = syntax_.statements[assigned_by_[t]].offset;
    return ErrorAt(text_, offset,
                   Quoted(task_->tensors[t].name) +
                       " is never read (to be an output it must be a declared tensor)");
  }
  builder_.Compact();
  return {};
}

Status Resolver::Run(const StatementItem& item) {
  builder_.SetPosition(item.offset);
  const int output = FindTensor(item.name);
  Statement statement;
  scopes_.clear();
  assigning_ = output;
  assigning_name_ = item.name;
  statement_ = &statement;
  if (!OpenOutput(item, output, &statement)) return status_;
  const int root = Value(item.root);
  if (root == FormulaBuilder::kBad) return status_;
  for (const Scope& scope : scopes_) {
    if (!CheckRange(scope)) return status_;
  }
  if (!Close(item, root, &statement)) return status_;
  task_->formula.statements.push_back(std::move(statement));
  return status_;
}

bool Resolver::OpenOutput(const StatementItem& item, int output, Statement* statement) {
  if (FindScalar(item.name) >= 0) {
    return Refuse(item.offset, Quoted(item.name) + " is a scalar, which cannot be assigned");
  }
  if (output >= 0) {
    const TensorSpec& tensor = task_->tensors[output];
    if (assigned_by_[output] >= 0) {
      return Refuse(item.offset,
                    Quoted(item.name) + " is assigned twice (give the first value another name)");
    }
    if (read_[output]) {
      return Refuse(item.offset,
                    Quoted(item.name) +
                        " is read by an earlier statement (an output is written before "
                        "other statements read it)");
    }
    if (item.binder_count != tensor.rank()) {
      return Refuse(item.offset, Quoted(item.name) + " has " + std::to_string(tensor.rank()) +
                                     (tensor.rank() == 1 ? " axis, but " : " axes, but ") +
                                     std::to_string(item.binder_count) + " indices here");
    }
    if (item.has_outside) {
      return Refuse(item.offset, "the rule of " + Quoted(item.name) +
                                     " stands where it is declared (only a local has one here)");
    }
    if (OverlapsItself(tensor)) {
      return Refuse(item.offset,
                    Quoted(item.name) + " is written, but its strides make elements overlap");
    }
  } else if (item.binder_count > kMaxRank) {
    return Refuse(item.offset,
                  Quoted(item.name) + " has more than " + std::to_string(kMaxRank) + " axes");
  }
  for (int i = 0; i < item.binder_count; ++i) {
    const Binder& binder = syntax_.binders[item.binder + i];
    const int64_t extent = output >= 0 ? task_->tensors[output].extents[i] : binder.range;
    if (output >= 0 && binder.range >= 0 && binder.range != extent) {
      return Refuse(binder.offset, "index " + Quoted(binder.name) + " is said to run over " +
                                       std::to_string(binder.range) + ", but over " +
                                       AxisOf(task_->tensors[output], i));
    }
    if (!OpenScope(binder, extent)) return false;
    statement->indices.push_back(scopes_.back().index);
  }
  return true;
}

bool Resolver::OpenScope(const Binder& binder, int64_t extent) {
  if (FindIndex(binder.name) != nullptr) {
    return Refuse(binder.offset, Quoted(binder.name) + " is an index here already (rename one)");
  }
  const int tensor = FindTensor(binder.name);
  if (FindScalar(binder.name) >= 0 || (tensor >= 0 && task_->tensors[tensor].rank() == 0)) {
    return Refuse(binder.offset, Quoted(binder.name) + " is an index and a " +
                                     (tensor >= 0 ? "tensor of rank 0" : "scalar") +
                                     " at once (rename one)");
  }
  const int index = Checked(binder.offset, builder_.AddIndex(binder.name, extent));
  if (index < 0) return false;
  scopes_.push_back({binder.name, index, binder.offset, extent >= 0, -1, -1});
  return true;
}

bool Resolver::CheckRange(const Scope& scope) {
  if (task_->formula.indices[scope.index].extent >= 0) return true;
  const std::string name(scope.name);
  return Refuse(scope.offset, "index " + Quoted(name) + " has no range: no read has " + name +
                                  " alone as a subscript (say " + name + "<N)");
}

bool Resolver::Close(const StatementItem& item, int root, Statement* statement) {
  builder_.SetPosition(item.offset);
  int output = assigning_;
  if (output < 0) {
    if (task_->tensors.size() >= kMaxTensors) {
      return Refuse(item.offset,
                    "more than " + std::to_string(kMaxTensors) + " tensors and locals");
    }
    TensorSpec local;
    local.name = std::string(item.name);
    for (const int i : statement->indices) {
      local.extents.push_back(task_->formula.indices[i].extent);
    }
    local.strides = DenseStrides(local.extents);
    local.outside = item.outside;
    const ValueType type = builder_.type_of(root);
    local.dtype = type == ValueType::kReal  ? task_->contract.accumulate
                  : type == ValueType::kInt ? DType::kI32
                                            : DType::kBool;
    const Status valid = Validate(local);
    if (!valid.ok()) return Refuse(item.offset, valid.message());
    output = static_cast<int>(task_->tensors.size());
    task_->tensors.push_back(std::move(local));
    assigned_by_.push_back(-1);
    read_.push_back(0);
  }
  const DType dtype = task_->tensors[output].dtype;
  const ValueType type = builder_.type_of(root);
  if (IsReal(dtype)) {
    root = builder_.ToReal(root);
  } else if (dtype == DType::kI32 && type == ValueType::kReal) {
    return Refuse(item.offset, Quoted(item.name) +
                                   " holds integers (i32), but its value is real "
                                   "(declare it real, or compare or count)");
  } else if (dtype == DType::kI32) {
    root = builder_.ToNumber(root);
  } else if (type != ValueType::kBool) {
    return Refuse(item.offset, Quoted(item.name) +
                                   " holds truth values (bool), but its value is a number (say "
                                   "value != 0)");
  }
  if (Checked(item.offset, root) == FormulaBuilder::kBad) return false;
  assigned_by_[output] = static_cast<int>(task_->formula.statements.size());
  statement->output = output;
  statement->root = root;
  return true;
}

}  // namespace hiera
