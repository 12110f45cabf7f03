// The canonical text: equal for every spelling of one task, different for different tasks.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/task/parse.h"

namespace hiera {
namespace {

constexpr const char* kVectors =
    "tensor x: f32[8]\ntensor y: f32[8]\ntensor z: f32[8]\ntensor n: i32[8]\n"
    "tensor M: f32[8,8]\ntensor out: f32[8]\nscalar a\nscalar b\n";

std::string Canonical(const std::string& text) {
  const Result<Task> task = ParseTask(text);
  EXPECT_TRUE(task.ok()) << text << "\n" << task.status().message();
  return task.ok() ? CanonicalText(*task) : "";
}

std::string Statement(const std::string& value, const std::string& head = "") {
  return Canonical(kVectors + head + "out[i] = " + value);
}

struct Pair {
  const char* first;
  const char* second;
};

class SameTask : public testing::TestWithParam<Pair> {};

TEST_P(SameTask, SharesTheText) {
  EXPECT_EQ(Statement(GetParam().first), Statement(GetParam().second));
}

TEST_P(SameTask, TextIsAFixedPoint) {
  const std::string text = Statement(GetParam().first);
  EXPECT_EQ(Canonical(text), text);
}

INSTANTIATE_TEST_SUITE_P(
    Spellings, SameTask,
    testing::Values(
        Pair{"x[i]+y[i]", "y[i] + x[i]  # comment"}, Pair{"x[i]-y[i]", "x[i]+(-y[i])"},
        Pair{"x[i]-y[i]", "-(y[i]-x[i])"}, Pair{"x[i]-y[i]", "-y[i]+x[i]"},
        Pair{"(x[i]+y[i])+z[i]", "x[i]+(z[i]+y[i])"}, Pair{"x[i]*y[i]*z[i]", "z[i]*(x[i]*y[i])"},
        Pair{"x[i]-2*y[i]", "x[i]+(-2)*y[i]"}, Pair{"x[i]-2*y[i]", "x[i]+y[i]*-2.0"},
        Pair{"-(x[i]+y[i])*z[i]", "(-x[i]-y[i])*z[i]"}, Pair{"x[i]^2", "x[i]*x[i]"},
        Pair{"x[i]^3*y[i]", "x[i]*y[i]*x[i]*x[i]"}, Pair{"(x[i]^2)^2", "x[i]^4"},
        Pair{"pow(x[i],2)", "x[i]^2.0"}, Pair{"relu(x[i])", "max(x[i],0)"},
        Pair{"relu(x[i])", "max(0.0,x[i])"}, Pair{"max(x[i],y[i],0)", "relu(max(y[i],x[i]))"},
        Pair{"min(x[i],min(y[i],z[i]))", "min(z[i],y[i],x[i])"},
        Pair{"sum(k: M[i,k]*x[k])", "sum(l<8: x[l]*M[i,l])"},
        Pair{"sum(k,l: M[i,k]*M[k,l])", "sum(l,k: M[i,k]*M[k,l])"},
        Pair{"sum(k,l: M[i,k]*M[k,l])", "sum(l: sum(k: M[i,k]*M[k,l]))"},
        Pair{"sum(k,l: x[k]*x[l]*M[k,l])", "sum(k,l: M[l,k]*x[l]*x[k])"},
        Pair{"max(k: max(l: M[k,l]))", "max(l,k: M[k,l])"},
        Pair{"mean(k: mean(l: M[k,l]))", "mean(l,k: M[k,l])"},
        Pair{"select(x[i]<y[i],1,0)", "select(y[i]>x[i],1,0)"},
        Pair{"select(x[i]==y[i] and z[i]>0,x[i],0)", "select(0<z[i] and y[i]==x[i],x[i],0.0)"},
        Pair{"select(x[i]>0 or (y[i]>0 or z[i]>0),x[i],y[i])",
             "select((z[i]>0 or x[i]>0) or y[i]>0,x[i],y[i])"},
        Pair{"x[i]+1+2", "3.0+x[i]"}, Pair{"0.5*x[i]*2", "x[i]"}, Pair{"1*x[i]", "x[i]"},
        Pair{"x[i]/1", "x[i]"}, Pair{"x[i]*(1/4)", "0.25*x[i]"},
        Pair{"n[i]+x[i]", "real(n[i])+x[i]"}, Pair{"real(i+n[i]+i)", "n[i]+2*i"},
        Pair{"real(i*3+1-1)", "3*i"}, Pair{"a*x[i]+b*y[i]", "y[i]*b+x[i]*a"},
        Pair{"-x[i]/y[i]", "-(x[i]/y[i])"},
        Pair{"sum(k: select(k<=i,x[k],0))", "sum(j: select(i>=j,x[j],0))"},
        Pair{"exp(x[i]-max(k: x[k]))/sum(k: exp(x[k]-max(l: x[l])))",
             "exp(-max(m: x[m])+x[i])/sum(q: exp(x[q]-max(p: x[p])))"}));

TEST(Canonical, ExactArithmeticKeepsTheOrderOfRealSums) {
  const std::string exact = "contract arithmetic=exact\n";
  EXPECT_NE(Statement("x[i]+y[i]", exact), Statement("y[i]+x[i]", exact));
  EXPECT_NE(Statement("(x[i]+y[i])+z[i]", exact), Statement("x[i]+(y[i]+z[i])", exact));
  EXPECT_NE(Statement("sum(k,l: M[k,l])", exact), Statement("sum(l,k: M[k,l])", exact));
  EXPECT_NE(Statement("sum(k: sum(l: M[k,l]))", exact), Statement("sum(k,l: M[k,l])", exact));
  EXPECT_EQ(Statement("x[i]-y[i]", exact), Statement("x[i]+(-y[i])", exact));
  EXPECT_EQ(Statement("x[i]^2", exact), Statement("x[i]*x[i]", exact));
  EXPECT_EQ(Statement("(x[i]+y[i])+z[i]", exact), Statement("x[i]+y[i]+z[i]", exact));
  EXPECT_EQ(Statement("n[i]+2*i", exact), Statement("2*i+n[i]", exact));
  for (const char* value :
       {"-(x[i]-y[i])*(-z[i])", "x[i]-(y[i]-z[i])", "(x[i]*y[i])/(z[i]*x[i])", "-x[i]*-2-(-y[i])",
        "x[i]*(y[i]*z[i])", "(-(x[i]+y[i]))^0.5", "max(x[i],max(y[i],0))", "2^-x[i]^y[i]"}) {
    const std::string text = Statement(value, exact);
    EXPECT_EQ(Canonical(text), text) << value;
  }
}

}  // namespace
}  // namespace hiera
