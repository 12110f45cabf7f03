// Whatever matters in a task shows in its canonical text: every field is changed in turn, and every
// change must give a text of its own. Names must not.
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tests/unit/task/texts.h"

namespace hiera {
namespace {

constexpr const char* kText =
    "tensor u: f32[6,8] strides[10,1] outside zero; tensor w: f32[6,8]; tensor n: i32[6]\n"
    "tensor v: f32[6,8]; tensor s: f32[6,8]\nscalar a; scalar b = 0\n"
    "contract error=3 arithmetic=reassociate inputs=normal workspace=4096 align=16\n"
    "steps 3 (w = v)\n"
    "m[i] = max(k: w[i,k]) + argmax(k: w[i,k])\n"
    "v[i,j] = a*sum(k<4: u[i-1,(2*j+k)/3]) + exp(2.5*w[i,j])*m[i] + u[n[i],j]\n"
    "s[i,j] = cumsum(reverse j: select(i < j, w[i,j], u[i,j+1]))\n";

using Mutation = std::function<void(Task*)>;

int Find(const Task& task, Op op) {
  for (size_t n = 0; n < task.formula.nodes.size(); ++n) {
    if (task.formula.nodes[n].op == op) return static_cast<int>(n);
  }
  ADD_FAILURE() << "no such node";
  return 0;
}

Node& NodeOf(Task* task, Op op) { return task->formula.nodes[Find(*task, op)]; }

Subscript* SubscriptWith(Task* task, const std::function<bool(const Subscript&)>& wanted) {
  for (Node& node : task->formula.nodes) {
    for (Subscript& s : node.subscripts) {
      if (wanted(s)) return &s;
    }
  }
  ADD_FAILURE() << "no such subscript";
  return nullptr;
}

Subscript* Divided(Task* task) {
  return SubscriptWith(task, [](const Subscript& s) { return s.affine.divisor == 3; });
}

using MutationTable = std::vector<std::pair<const char*, Mutation>>;

MutationTable OfLayouts() {
  return {
      {"tensor dtype", [](Task* t) { t->tensors[1].dtype = DType::kF16; }},
      {"tensor integer dtype", [](Task* t) { t->tensors[2].dtype = DType::kBool; }},
      {"tensor extent", [](Task* t) { t->tensors[0].extents[1] = 9; }},
      {"tensor rank",
       [](Task* t) {
         t->tensors[1].extents.push_back(1);
         t->tensors[1].strides.push_back(1);
       }},
      {"tensor stride", [](Task* t) { t->tensors[0].strides[0] = 11; }},
      {"dense stride", [](Task* t) { t->tensors[1].strides[0] = 9; }},
      {"rule clamp", [](Task* t) { t->tensors[0].outside = Outside::kClamp; }},
      {"rule wrap", [](Task* t) { t->tensors[0].outside = Outside::kWrap; }},
      {"rule keep", [](Task* t) { t->tensors[0].outside = Outside::kKeep; }},
      {"rule refuse", [](Task* t) { t->tensors[0].outside = Outside::kRefuse; }},
      {"rule of a local", [](Task* t) { t->tensors[5].outside = Outside::kZero; }},
      {"extent of a local", [](Task* t) { t->tensors[5].extents[0] = 7; }},
      {"one tensor more",
       [](Task* t) {
         t->tensors.insert(t->tensors.begin() + 5, t->tensors[4]);
         ++t->bound_count;
       }},
      {"a local bound", [](Task* t) { ++t->bound_count; }},
      {"order of tensors", [](Task* t) { std::swap(t->tensors[0], t->tensors[1]); }},
      {"scalar class zero", [](Task* t) { t->scalars[0].value_class = ScalarClass::kZero; }},
      {"scalar class one", [](Task* t) { t->scalars[1].value_class = ScalarClass::kOne; }},
      {"scalar class any", [](Task* t) { t->scalars[1].value_class = ScalarClass::kAny; }},
      {"one scalar more",
       [](Task* t) {
         t->scalars.push_back({"c", ScalarClass::kAny});
       }},
  };
}

MutationTable OfContractAndSteps() {
  return {
      {"contract error", [](Task* t) { t->contract.error_scale = 3.0000000000000004; }},
      {"contract exact", [](Task* t) { t->contract.arithmetic = Arithmetic::kExact; }},
      {"contract tf32", [](Task* t) { t->contract.arithmetic = Arithmetic::kTf32; }},
      {"contract inputs any", [](Task* t) { t->contract.inputs = Inputs::kAny; }},
      {"contract inputs positive", [](Task* t) { t->contract.inputs = Inputs::kPositive; }},
      {"contract accumulate", [](Task* t) { t->contract.accumulate = DType::kF64; }},
      {"contract deterministic", [](Task* t) { t->contract.deterministic = true; }},
      {"contract special", [](Task* t) { t->contract.special_values = false; }},
      {"contract workspace", [](Task* t) { t->contract.workspace_bytes = 0; }},
      {"contract alignment", [](Task* t) { t->contract.alignment = 0; }},
      {"steps", [](Task* t) { t->formula.steps = 4; }},
      {"one step", [](Task* t) { t->formula.steps = 1; }},
      {"carry state", [](Task* t) { t->formula.carries[0].state = 0; }},
      {"carry source", [](Task* t) { t->formula.carries[0].source = 4; }},
      {"one carry more",
       [](Task* t) {
         t->formula.carries.push_back({0, 1});
       }},
  };
}

MutationTable OfStatements() {
  return {
      {"output", [](Task* t) { t->formula.statements[1].output = 0; }},
      {"order of output axes",
       [](Task* t) {
         std::swap(t->formula.statements[1].indices[0], t->formula.statements[1].indices[1]);
       }},
      {"one statement less", [](Task* t) { t->formula.statements.pop_back(); }},
      {"order of statements",
       [](Task* t) { std::swap(t->formula.statements[1], t->formula.statements[2]); }},
      {"range of a sum",
       [](Task* t) {
         for (const Node& node : t->formula.nodes) {
           if (node.op == Op::kReduce && node.reduce == Reduction::kSum) {
             t->formula.indices[node.bound[0]].extent = 3;
           }
         }
       }},
      {"kind of a reduction", [](Task* t) { NodeOf(t, Op::kReduce).reduce = Reduction::kMin; }},
      {"constant",
       [](Task* t) {
         for (Node& node : t->formula.nodes) {
           if (node.constant == 2.5) node.constant = 2.5000000000000004;
         }
       }},
      {"function", [](Task* t) { NodeOf(t, Op::kExp).op = Op::kTanh; }},
      {"comparison", [](Task* t) { NodeOf(t, Op::kLess).op = Op::kLessEqual; }},
      {"sides of a comparison",
       [](Task* t) {
         auto& operands = NodeOf(t, Op::kLess).operands;
         std::swap(operands[0], operands[1]);
       }},
      {"sides of a selection",
       [](Task* t) {
         auto& operands = NodeOf(t, Op::kSelect).operands;
         std::swap(operands[1], operands[2]);
       }},
  };
}

MutationTable OfNodes() {
  return {
      {"product for sum", [](Task* t) { NodeOf(t, Op::kAdd).op = Op::kMul; }},
      {"difference for sum", [](Task* t) { NodeOf(t, Op::kAdd).op = Op::kSub; }},
      {"quotient for product", [](Task* t) { NodeOf(t, Op::kMul).op = Op::kDiv; }},
      {"scalar read", [](Task* t) { NodeOf(t, Op::kScalar).target = 1; }},
      {"tensor read", [](Task* t) { NodeOf(t, Op::kLoad).target = 0; }},
      {"offset",
       [](Task* t) {
         SubscriptWith(t, [](const Subscript& s) { return s.affine.offset == -1; })->affine.offset =
             -2;
       }},
      {"divisor", [](Task* t) { Divided(t)->affine.divisor = 2; }},
      {"coefficient", [](Task* t) { Divided(t)->affine.terms[0].second += 2; }},
      {"term dropped", [](Task* t) { Divided(t)->affine.terms.pop_back(); }},
      {"gather to index",
       [](Task* t) {
         SubscriptWith(t, [](const Subscript& s) { return s.gather >= 0; })->gather = -1;
       }},
      {"scan direction", [](Task* t) { NodeOf(t, Op::kScan).scan.reverse = false; }},
      {"scan exclusive", [](Task* t) { NodeOf(t, Op::kScan).scan.exclusive = true; }},
      {"scan kind", [](Task* t) { NodeOf(t, Op::kScan).scan.kind = ScanKind::kProd; }},
      {"scan axis",
       [](Task* t) { NodeOf(t, Op::kScan).target = t->formula.statements[2].indices[0]; }},
      {"index value", [](Task* t) { NodeOf(t, Op::kIndex).affine.offset = 1; }},
  };
}

TEST(Mutation, EveryChangeHasATextOfItsOwn) {
  const Task task = Parsed(kText);
  std::map<std::string, std::string> texts = {{CanonicalText(task), "no change"}};
  MutationTable mutations;
  for (const auto& part : {OfLayouts(), OfContractAndSteps(), OfStatements(), OfNodes()}) {
    mutations.insert(mutations.end(), part.begin(), part.end());
  }
  for (const auto& [name, mutate] : mutations) {
    Task changed = task;
    mutate(&changed);
    ASSERT_NE(changed, task) << name;
    const auto [at, fresh] = texts.emplace(CanonicalText(changed), name);
    EXPECT_TRUE(fresh) << name << " has the text of " << at->second << ":\n" << at->first;
  }
}

TEST(Mutation, NamesAreNoMatter) {
  Task task = Parsed(kText);
  const std::string text = CanonicalText(task);
  for (TensorSpec& tensor : task.tensors) tensor.name += "_renamed";
  for (ScalarSpec& scalar : task.scalars) scalar.name += "_renamed";
  for (Index& index : task.formula.indices) index.name += "_renamed";
  EXPECT_EQ(CanonicalText(task), text);
}

TEST(Mutation, TheFingerprintIsPartOfTheKey) {
  const std::string text = CanonicalOf(kText);
  EXPECT_NE(TaskKey(text, "device=host\n"), TaskKey(text, "device=host\ncores=2\n"));
  EXPECT_NE(TaskKey(text, "device=host\n"), TaskKey(text + "\n", "device=host\n"));
  EXPECT_EQ(TaskKey(text, "device=host\n"), TaskKey(CanonicalOf(text), "device=host\n"));
}

}  // namespace
}  // namespace hiera
