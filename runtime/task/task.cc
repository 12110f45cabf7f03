#include "runtime/task/task.h"

#include "runtime/task/check.h"

namespace hiera {

Role RoleOf(const Task& task, int tensor) {
  if (task.is_local(tensor)) return Role::kLocal;
  const Formula& formula = task.formula;
  const Statement* writer = nullptr;
  int first_node = 0;  // of the statement that writes it: nodes lie in the order of statements
  for (const Statement& statement : formula.statements) {
    if (statement.output == tensor) {
      writer = &statement;
      break;
    }
    first_node = statement.root + 1;
  }
  if (writer == nullptr) return Role::kInput;
  for (int n = first_node; n <= writer->root; ++n) {
    const Node& node = formula.nodes[n];
    if (node.op == Op::kLoad && node.target == tensor) return Role::kInPlace;
  }
  return Role::kOutput;
}

bool CanReadOutside(const Task& task, int tensor) {
  for (const Node& node : task.formula.nodes) {
    if (node.op != Op::kLoad || node.target != tensor) continue;
    for (size_t axis = 0; axis < node.subscripts.size(); ++axis) {
      if (CanFallOutside(task, node, static_cast<int>(axis))) return true;
    }
  }
  return false;
}

Hash128 TaskKey(std::string_view canonical_text, std::string_view fingerprint_text) {
  std::string both;
  both.reserve(canonical_text.size() + fingerprint_text.size() + 1);
  both.append(canonical_text);
  both.push_back('\0');  // neither text holds one, so no two pairs run into one
  both.append(fingerprint_text);
  return HashBytes(both);
}

}  // namespace hiera
