// What the parser makes of a text: structure, ranges, types, folding.
#include "runtime/task/parse.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/task/texts.h"

namespace hiera {
namespace {

const Node& Root(const Task& task, size_t statement = 0) {
  return task.formula.nodes[task.formula.statements[statement].root];
}

std::vector<int64_t> Ranges(const Task& task, const std::vector<int>& indices) {
  std::vector<int64_t> ranges;
  for (const int i : indices) ranges.push_back(task.formula.indices[i].extent);
  return ranges;
}

TEST(Parse, GemmHasOneReductionOverTheSharedAxis) {
  const Task task = Parsed(
      "tensor A: f32[4,6]\ntensor B: f32[6,5]\ntensor C: f32[4,5]\n"
      "C[i,j] = sum(k: A[i,k] * B[k,j])");
  EXPECT_EQ(task.bound_count, 3);
  const Node& root = Root(task);
  ASSERT_EQ(root.op, Op::kReduce);
  EXPECT_EQ(root.reduce, Reduction::kSum);
  EXPECT_EQ(Ranges(task, root.bound), (std::vector<int64_t>{6}));
  EXPECT_EQ(Ranges(task, task.formula.statements[0].indices), (std::vector<int64_t>{4, 5}));
  EXPECT_EQ(RoleOf(task, 0), Role::kInput);
  EXPECT_EQ(RoleOf(task, 2), Role::kOutput);
}

TEST(Parse, EveryNodeIsReachedAndChildrenComeFirst) {
  const Task task = Parsed(
      "tensor x: f32[4]; tensor n: i32[4]; tensor y: f32[4]; scalar z=0\n"
      "y[i] = z*exp(x[i]) + 2*x[i]^3 - n[i]/4 + select(i % 2 == 0, 1, x[i])");
  std::vector<bool> reached(task.formula.nodes.size(), false);
  reached[task.formula.statements[0].root] = true;
  for (size_t n = task.formula.nodes.size(); n-- > 0;) {
    EXPECT_TRUE(reached[n]) << n;
    for (const int operand : task.formula.nodes[n].operands) {
      ASSERT_LT(operand, static_cast<int>(n));
      reached[operand] = true;
    }
    EXPECT_NE(task.formula.nodes[n].op, Op::kExp);
  }
}

TEST(Parse, ZeroScalarDropsWhatItMultiplies) {
  const std::string head = "tensor A: f32[4]\ntensor C: f32[4]\n";
  const Task zero = Parsed(head + "scalar beta = 0\nC[i] = A[i] + beta*C[i]");
  EXPECT_EQ(RoleOf(zero, 1), Role::kOutput);
  EXPECT_EQ(Root(zero).op, Op::kLoad);
  EXPECT_EQ(zero.scalars.size(), 1u);
  const Task any = Parsed(head + "scalar beta\nC[i] = A[i] + beta*C[i]");
  EXPECT_EQ(RoleOf(any, 1), Role::kInPlace);
  const Task one = Parsed(head + "scalar beta = 1\nC[i] = A[i] + beta*C[i]");
  EXPECT_EQ(one.formula.nodes.size(), 3u);  // two loads and an addition
  const Task minus = Parsed(head + "scalar beta = 0\nC[i] = beta*C[i] - A[i]");
  EXPECT_EQ(Root(minus).op, Op::kNeg);
  const Task sum = Parsed(head + "scalar beta = 0\nC[i] = A[i] + sum(k: C[i]*A[k]*beta)");
  EXPECT_EQ(Root(sum).op, Op::kLoad);
  const Task nothing = Parsed(head + "scalar beta = 0\nC[i] = beta*A[i]/3");
  EXPECT_EQ(Root(nothing).op, Op::kConstant);
  EXPECT_EQ(Root(nothing).constant, 0);
}

TEST(Parse, LiteralZeroDropsNothing) {
  const Task task = Parsed("tensor A: f32[4]\ntensor C: f32[4]\nC[i] = 0*A[i]");
  EXPECT_EQ(Root(task).op, Op::kMul);
}

TEST(Parse, RangesOfReductionsAndLocals) {
  const Task task = Parsed(
      "tensor x: f32[3,10]; tensor y: f32[3,5]\n"
      "m[i] = max(j: x[i,j])\nh[a,b<5] = x[a,2*b] - m[a]\ny[i,j] = mean(r<2: h[i,j]*x[i,2*j+r])");
  EXPECT_EQ(task.tensors[2].name, "m");
  EXPECT_EQ(task.tensors[2].extents, (std::vector<int64_t>{3}));
  EXPECT_EQ(task.tensors[3].extents, (std::vector<int64_t>{3, 5}));
  EXPECT_EQ(task.tensors[3].strides, (std::vector<int64_t>{5, 1}));
  EXPECT_EQ(Ranges(task, Root(task, 0).bound), (std::vector<int64_t>{10}));
  EXPECT_EQ(Ranges(task, Root(task, 2).bound), (std::vector<int64_t>{2}));
  EXPECT_EQ(RoleOf(task, 2), Role::kLocal);
}

TEST(Parse, StatedRangeNeedNotAgreeWithReads) {
  const Task task =
      Parsed("tensor x: f32[10]; tensor w: f32[7]; tensor y: f32[]\ny = sum(k<7: x[k]*w[k])");
  EXPECT_EQ(Ranges(task, Root(task).bound), (std::vector<int64_t>{7}));
}

TEST(Parse, LocalsHaveTheTypeOfTheirValue) {
  const Task task = Parsed(
      "tensor x: f16[4]; tensor y: f32[4]\n"
      "a[i] = 2*x[i]; b[i<4] = argmax(k: x[k]) + i; c[i] = x[i] < 0\n"
      "y[i] = select(c[i], a[i], b[i])");
  EXPECT_EQ(task.tensors[2].dtype, DType::kF32);
  EXPECT_EQ(task.tensors[3].dtype, DType::kI32);
  EXPECT_EQ(task.tensors[4].dtype, DType::kBool);
  EXPECT_EQ(Parsed("tensor x: f64[4]; tensor y: f32[4]; a[i] = x[i]; y[i] = a[i]").tensors[2].dtype,
            DType::kF64);
  EXPECT_EQ(Parsed("contract accumulate=f64; tensor x: f32[4]; tensor y: f32[4]\n"
                   "a[i] = x[i]; y[i] = a[i]")
                .tensors[2]
                .dtype,
            DType::kF64);
}

TEST(Parse, ConversionsAtMixedOperandsAndAtTheStore) {
  const std::string head = "tensor n: i32[4]; tensor x: f32[4]; tensor p: bool[4]; ";
  const Task mixed = Parsed(head + "tensor y: f32[4]\ny[i] = n[i] + x[i]");
  EXPECT_EQ(mixed.formula.nodes[Root(mixed).operands[0]].op, Op::kToReal);
  const Task stored = Parsed(head + "tensor y: f32[4]\ny[i] = n[i] + 1");
  EXPECT_EQ(Root(stored).op, Op::kToReal);
  const Task count = Parsed(head + "tensor y: i32[4]\ny[i] = sum(k: p[k])");
  EXPECT_EQ(Root(count).op, Op::kReduce);
  EXPECT_EQ(Root(count).type, ValueType::kInt);
  const Task truth = Parsed(head + "tensor y: i32[4]\ny[i] = p[i]");
  EXPECT_EQ(Root(truth).op, Op::kSelect);  // 1 or 0
  const Task halves = Parsed(head + "tensor y: f32[4]\ny[i] = n[i]/2");
  EXPECT_EQ(Root(halves).op, Op::kDiv);
  EXPECT_EQ(Root(halves).type, ValueType::kReal);
}

TEST(Parse, ArithmeticOnIndicesIsOneAffineValue) {
  const Task task = Parsed("tensor y: i32[4,5]\ny[i,j] = 3*(i - 2*j) + j - (4 - i) + 2^3");
  const Node& root = Root(task);
  ASSERT_EQ(root.op, Op::kIndex);
  const std::vector<int>& outputs = task.formula.statements[0].indices;
  const std::vector<std::pair<int, int64_t>> expected = {{outputs[0], 4}, {outputs[1], -5}};
  EXPECT_EQ(root.affine.terms, expected);
  EXPECT_EQ(root.affine.offset, 4);
}

TEST(Parse, SubscriptsAreAffineDividedOrGathered) {
  const Task task = Parsed(
      "tensor x: f32[9] outside zero; tensor n: i32[4]; tensor y: f32[4]\n"
      "y[i] = sum(r<3: x[(4*i-2*r+2)/6 - 1]) + x[n[i]+1] + x[2*(i+1)-i]");
  std::vector<Subscript> subscripts;
  for (const Node& node : task.formula.nodes) {
    if (node.op == Op::kLoad && node.target == 0) subscripts.push_back(node.subscripts[0]);
  }
  ASSERT_EQ(subscripts.size(), 3u);
  // (4i - 2r + 2)/6 - 1 = (4i - 2r - 4)/6, in lowest terms.
  EXPECT_EQ(subscripts[0].affine.divisor, 3);
  EXPECT_EQ(subscripts[0].affine.offset, -2);
  EXPECT_EQ(subscripts[0].affine.terms[0].second, 2);
  EXPECT_EQ(subscripts[0].affine.terms[1].second, -1);
  EXPECT_GE(subscripts[1].gather, 0);
  EXPECT_EQ(subscripts[2].affine.terms[0].second, 1);
  EXPECT_EQ(subscripts[2].affine.offset, 2);
  EXPECT_TRUE(CanReadOutside(task, 0));
  EXPECT_FALSE(CanReadOutside(task, 1));
}

TEST(Parse, ConstantsFoldInF64) {
  const Task task = Parsed("tensor y: f32[]\ny = 1/9 - 2*(3 - 0.5)");
  EXPECT_EQ(Root(task).op, Op::kConstant);
  EXPECT_EQ(Root(task).constant, 1.0 / 9 - 5);
  // Not where that would give an infinity.
  EXPECT_EQ(Root(Parsed("tensor y: f32[]\ny = 1/0")).op, Op::kDiv);
}

TEST(Parse, PrecedenceIsTheUsual) {
  const std::string head = "tensor x: f32[4]; tensor y: f32[4]; scalar a; ";
  auto same = [&](const std::string& one, const std::string& other) {
    EXPECT_EQ(CanonicalOf(head + "y[i] = " + one), CanonicalOf(head + "y[i] = " + other)) << one;
  };
  same("x[i] + a*x[i]^2", "x[i] + (a*(x[i]^2))");
  same("-x[i]^2", "-(x[i]^2)");
  same("2^x[i]^a", "2^(x[i]^a)");
  same("x[i]^-a", "x[i]^(-a)");
  same("x[i] - a - 1", "(x[i] - a) - 1");
  same("x[i] / a / 2", "(x[i]/a)/2");
  same("select(not x[i] < a and a > 1 or a < 0, 1, 2)",
       "select(((not (x[i] < a)) and (a > 1)) or (a < 0), 1, 2)");
}

TEST(Parse, LinesContinueAfterOperatorsAndInBrackets) {
  const Task task = Parsed(
      "tensor x: f32[4] # of no account ; ]\r\n\n\ntensor y: f32[4];;\n"
      "y[\ni\n] = x[i] +  # more\n\n  x[i]\n");
  EXPECT_EQ(Root(task).op, Op::kAdd);
  // A line that starts with a sign is a line of its own.
  EXPECT_EQ(ParseTask("tensor x: f32[4]\ntensor y: f32[4]\ny[i] = x[i]\n+ x[i]").status().message(),
            "line 4, column 1: expected a statement NAME[indices] = value, or a declaration, found "
            "'+'");
}

TEST(Parse, WordsOfDeclarationsAreNamesToo) {
  const Task task = Parsed(
      "tensor tensor: f32[4]; tensor scalar: f32[4]; tensor steps: f32[4]; tensor max: f32[4]\n"
      "steps[i] = max(k: max[k]) + tensor[i]; scalar[i] = max(tensor[i], max[i])");
  EXPECT_EQ(task.formula.statements.size(), 2u);
}

TEST(Parse, StepsCarryStates) {
  const std::string head = "tensor u: f32[8] outside wrap; tensor o: f32[8]; tensor v: f32[8]\n";
  const std::string body = "v[i] = u[i-1] + o[i]";
  const Task task = Parsed(head + "steps 5 (u = v, o = u)\n" + body);
  EXPECT_EQ(task.formula.steps, 5);
  EXPECT_EQ(task.formula.carries, (std::vector<Carry>{{0, 2}, {1, 0}}));
  EXPECT_TRUE(Parsed(head + "steps 1 (u = v)\n" + body).formula.carries.empty());
}

TEST(Parse, CallerDeclares) {
  TensorSpec x{"x", DType::kF32, {4}, {2}, Outside::kRefuse};
  TensorSpec y{"y", DType::kF32, {4}, {1}, Outside::kRefuse};
  const Result<Task> task = ParseTask("y[i] = a*x[i]", {x, y}, {{"a", ScalarClass::kAny}}, {});
  ASSERT_TRUE(task.ok()) << task.status().message();
  EXPECT_EQ(task->tensors[0].strides[0], 2);
  x.strides = {1, 1};
  EXPECT_EQ(ParseTask("y[i] = x[i]", {x, y}, {}, {}).status().message(),
            "tensor \"x\": 2 strides for 1 extents (one stride an axis)");
  x.strides = {-1};
  EXPECT_EQ(ParseTask("y[i] = x[i]", {x, y}, {}, {}).status().message(),
            "tensor \"x\": stride[0] = -1 (0 to 2^62 - 1; negative strides are not supported)");
}

TEST(Parse, EmptyExtentsAreTasks) {
  const Task task = Parsed(
      "tensor x: f32[0,4]; tensor y: f32[0]; tensor z: f32[4]\n"
      "y[i] = sum(j: x[i,j]); z[j] = max(i: x[i,j])");
  EXPECT_EQ(task.tensors[1].elements(), 0);
  EXPECT_EQ(task.tensors[1].span_bytes(), 0);
}

TEST(Tensor, SpansAndOverlaps) {
  auto spec = [](std::vector<int64_t> extents, std::vector<int64_t> strides) {
    return TensorSpec{"t", DType::kF16, std::move(extents), std::move(strides), Outside::kRefuse};
  };
  EXPECT_EQ(spec({3, 4}, {10, 2}).span_bytes(), 2 * (2 * 10 + 3 * 2 + 1));
  EXPECT_EQ(spec({}, {}).span_bytes(), 2);
  EXPECT_EQ(DenseStrides({2, 3, 4}), (std::vector<int64_t>{12, 4, 1}));
  EXPECT_FALSE(OverlapsItself(spec({3, 4}, {1, 3})));
  EXPECT_TRUE(OverlapsItself(spec({3, 4}, {3, 1})));
  EXPECT_TRUE(OverlapsItself(spec({2}, {0})));
  EXPECT_FALSE(OverlapsItself(spec({1, 4}, {0, 1})));
  EXPECT_FALSE(OverlapsItself(spec({0, 4}, {0, 0})));
}

}  // namespace
}  // namespace hiera
