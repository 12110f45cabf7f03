// What the parser says about texts that are wrong: where, what, and how to mend it.
#include <gtest/gtest.h>

#include <string>

#include "runtime/task/limits.h"
#include "runtime/task/parse.h"

namespace hiera {
namespace {

// Declarations of the cases below: line 1, so that the statements start on line 2.
constexpr const char* kHead =
    "tensor x: f32[8]; tensor M: f32[8,4]; tensor n: i32[8]; tensor p: bool[8]; tensor o: f32[]; "
    "tensor y: f32[8]; scalar a\n";

struct ErrorCase {
  const char* text;
  const char* message;
};

class ErrorOf : public testing::TestWithParam<ErrorCase> {};

TEST_P(ErrorOf, SaysWhereAndWhat) {
  const Result<Task> task = ParseTask(std::string(kHead) + GetParam().text);
  ASSERT_FALSE(task.ok()) << GetParam().text;
  EXPECT_EQ(task.status().code(), Code::kInvalidArgument);
  EXPECT_EQ(task.status().message(), GetParam().message) << GetParam().text;
}

INSTANTIATE_TEST_SUITE_P(
    Words, ErrorOf,
    testing::Values(
        ErrorCase{"y[i] = x[i] & p[i]", "line 2, column 13: unexpected character '&' (say `and`)"},
        ErrorCase{"y[i] = !p[i]",
                  "line 2, column 8: unexpected character '!' (say `not`, or != for unequal)"},
        ErrorCase{"y[i] = x[i]**2",
                  "line 2, column 12: ** is not an operator here (a power is said x^2)"},
        ErrorCase{"y[i] = 2x[i]",
                  "line 2, column 8: a number that runs into a name (put * between them)"},
        ErrorCase{"y[i] = 1e", "line 2, column 8: a number without the digits of its exponent"},
        ErrorCase{"y[i] = 1e999", "line 2, column 8: a number out of the range of f64"},
        ErrorCase{"y[i] = 9007199254740993",
                  "line 2, column 8: an integer above 2^53 (write it with a decimal point to have "
                  "a real)"},
        ErrorCase{"y[i] = x[i]\xc3", "line 2, column 12: unexpected character with code 0xc3"}));

INSTANTIATE_TEST_SUITE_P(
    Grammar, ErrorOf,
    testing::Values(
        ErrorCase{"", "the text has no statement (expected NAME[indices] = value)"},
        ErrorCase{"y[i]",
                  "line 2, column 5: expected '=' after the left side of a statement, found the "
                  "end of the text"},
        ErrorCase{"y[i] =",
                  "line 2, column 7: expected a value (a number, a name, a call or a parenthesis), "
                  "found the end of the text"},
        ErrorCase{"y[i] = x[i] x[i]",
                  "line 2, column 13: expected an operator, or ';' or a new line before the next "
                  "statement, found 'x'"},
        ErrorCase{"y[i] = (x[i]; o = 1",
                  "line 2, column 13: expected ')' to close the parenthesis, found ';'"},
        ErrorCase{"y[i+1] = x[i]",
                  "line 2, column 4: expected ']' or ',' (a left side has plain indices, one an "
                  "axis), found '+'"},
        ErrorCase{"y[2] = x[i]", "line 2, column 3: expected the name of an index, found '2'"},
        ErrorCase{"y[i] = select(0 < a < 1, 1, 2)",
                  "line 2, column 21: comparisons do not chain (say a < b and b < c)"},
        ErrorCase{"y[i] = sum(x[i])",
                  "line 2, column 8: sum needs an index and a colon, as in sum(k: x[k])"},
        ErrorCase{"y[i] = cumsum(up i: x[i])",
                  "line 2, column 15: expected cumsum([reverse] [exclusive] INDEX: value), found "
                  "'up'"},
        ErrorCase{"tensor z: f33[8]; y[i] = x[i]",
                  "line 2, column 11: unknown element type \"f33\" (f64, f32, f16, bf16, i32 or "
                  "bool)"},
        ErrorCase{"tensor z: f32[8] outside mirror; y[i] = x[i]",
                  "line 2, column 26: unknown rule \"mirror\" for reads outside (refuse, zero, "
                  "clamp, wrap or keep)"},
        ErrorCase{"tensor z: f32[8] strides[1,2]; y[i] = x[i]",
                  "line 2, column 8: tensor \"z\": 2 strides for 1 extents (one stride an axis)"},
        ErrorCase{"tensor z: f32[-1]; y[i] = x[i]",
                  "line 2, column 15: expected an extent (an integer), found '-'"},
        ErrorCase{"tensor x: f32[8]; y[i] = x[i]", "line 2, column 8: \"x\" is declared twice"},
        ErrorCase{"tensor or: f32[8]; y[i] = x[i]",
                  "line 2, column 8: \"or\" is a word of the language, not a name"},
        ErrorCase{"scalar b = 2; y[i] = x[i]",
                  "line 2, column 12: a scalar's class of 2 (expected 0 to 1)"},
        ErrorCase{"contract speed=1; y[i] = x[i]",
                  "line 2, column 10: contract speed=1: unknown word of a contract (error, "
                  "arithmetic, inputs, accumulate, deterministic, special, workspace or align)"},
        ErrorCase{"contract align=8; y[i] = x[i]",
                  "line 2, column 1: contract.alignment is 8 (0, 1 or 16)"},
        ErrorCase{"tensor d: f64[2]; contract accumulate=f32; y[i] = x[i]",
                  "line 2, column 28: contract accumulate=f32: a tensor is f64 (say "
                  "accumulate=f64, or nothing)"}));

INSTANTIATE_TEST_SUITE_P(
    Names, ErrorOf,
    testing::Values(
        ErrorCase{"y[i] = z[i]",
                  "line 2, column 8: unknown name \"z\" (known here: x M n p o y a i)"},
        ErrorCase{"y[i] = lg(x[i])",
                  "line 2, column 8: unknown function \"lg\" (known: abs exp log sin cos sqrt "
                  "rsqrt tanh erf relu gelu silu sigmoid floor real pow min max select)"},
        ErrorCase{"y[i] = exp(x[i], 2)", "line 2, column 8: exp takes 1 operand, not 2"},
        ErrorCase{"y[i] = x[i,i]", "line 2, column 8: \"x\" has 1 axis, but 2 subscripts here"},
        ErrorCase{"y[i] = M", "line 2, column 8: \"M\" has 2 axes, but 0 subscripts here"},
        ErrorCase{"y[i] = a[i]", "line 2, column 8: \"a\" is no tensor and takes no subscripts"},
        ErrorCase{"y[i,j] = M[i,j]", "line 2, column 1: \"y\" has 1 axis, but 2 indices here"},
        ErrorCase{"a = x[0]", "line 2, column 1: \"a\" is a scalar, which cannot be assigned"},
        ErrorCase{"y[i] = sum(i: x[i])",
                  "line 2, column 12: \"i\" is an index here already (rename one)"},
        ErrorCase{"y[a] = x[a]",
                  "line 2, column 3: \"a\" is an index and a scalar at once (rename one)"},
        ErrorCase{
            "y[o] = x[o]",
            "line 2, column 3: \"o\" is an index and a tensor of rank 0 at once (rename one)"},
        ErrorCase{"y[i] = x[i]; y[i] = 2*x[i]",
                  "line 2, column 14: \"y\" is assigned twice (give the first value another name)"},
        ErrorCase{"m[i] = x[i]; y[i] = x[i]",
                  "line 2, column 1: \"m\" is never read (to be an output it must be a declared "
                  "tensor)"},
        ErrorCase{"m[i] = x[i]; m[i] = x[i]",
                  "line 2, column 14: \"m\" is assigned twice (give the first value another name)"},
        ErrorCase{"m[i] = m[i]", "line 2, column 8: \"m\" is read before it is assigned"},
        ErrorCase{"m[i] = y[i]; y[i] = m[i]",
                  "line 2, column 14: \"y\" is read by an earlier statement (an output is written "
                  "before other statements read it)"},
        ErrorCase{"m = x[0]; n2 = m",
                  "line 2, column 11: \"n2\" is never read (to be an output it must be a declared "
                  "tensor)"}));

INSTANTIATE_TEST_SUITE_P(
    Ranges, ErrorOf,
    testing::Values(
        ErrorCase{"y[i] = sum(k: x[i])",
                  "line 2, column 12: index \"k\" has no range: no read has k alone as a subscript "
                  "(say k<N)"},
        ErrorCase{"y[i] = sum(k: x[k]*M[i,k])",
                  "line 2, column 24: index \"k\" runs over 8 along axis 0 of \"x\", but over 4 "
                  "along axis 1 of \"M\" (make them equal, or say k<N)"},
        ErrorCase{"m[i] = 1; y[i] = m[i]",
                  "line 2, column 3: index \"i\" has no range: no read has i alone as a subscript "
                  "(say i<N)"},
        ErrorCase{"y[i<4] = x[i]",
                  "line 2, column 3: index \"i\" is said to run over 4, but over 8 along axis 0 of "
                  "y"},
        ErrorCase{
            "y[i] = x[i+1]",
            "line 2, column 8: axis 0 of \"x\" (extent 8) is read from 1 to 8 (give it a rule "
            "for reads outside: zero, clamp, wrap or keep)"},
        ErrorCase{"y[i] = x[7-2*i]",
                  "line 2, column 8: axis 0 of \"x\" (extent 8) is read from -7 to 7 (give it a "
                  "rule for reads outside: zero, clamp, wrap or keep)"},
        ErrorCase{"y[i] = x[n[i]]",
                  "line 2, column 8: axis 0 of \"x\" (extent 8) is gathered, so a read can fall "
                  "outside it (give it a rule for reads outside: zero, clamp, wrap or keep)"},
        ErrorCase{"y[i] = x[i/2]",
                  "line 2, column 8: axis 0 of \"x\" (extent 8) is read at a quotient by 2, which "
                  "is outside where it is not whole (give it a rule for reads outside: zero, "
                  "clamp, wrap or keep)"},
        ErrorCase{"tensor z: f32[8] outside clamp; y[i] = z[i/2]",
                  "line 2, column 40: axis 0 of \"z\" (extent 8) is read at a quotient by 2, which "
                  "is outside where it is not whole, and the rule clamp has no element for it (use "
                  "zero or keep)"},
        ErrorCase{"tensor z: f32[0] outside wrap; y[i] = z[i]",
                  "line 2, column 39: axis 0 of \"z\" (extent 0) is read from 0 to 7, and the rule "
                  "wrap needs an element to take (use zero)"},
        ErrorCase{"tensor z: f32[4] outside keep; m[i<8] = z[i]; y[i] = m[i]",
                  "line 2, column 41: axis 0 of \"z\" (extent 4) is read from 0 to 7, and \"m\" is "
                  "a local, which has no value to keep (use another rule than keep)"},
        ErrorCase{"y[i] = x[3000000000*i]",
                  "line 2, column 20: a number in this subscript is above 2^31"},
        ErrorCase{"tensor z: f32[0]; o = sum(k: argmax(l: z[l]))",
                  "line 2, column 30: argmax over an empty range has no value"},
        ErrorCase{"o = sum(k<2000000000, l<2000000000, m<8: 1.0)",
                  "line 2, column 1: more than 2^62 iterations"}));

INSTANTIATE_TEST_SUITE_P(
    Types, ErrorOf,
    testing::Values(
        ErrorCase{"y[i] = x[x[i]]",
                  "line 2, column 10: the subscript of axis 0 of \"x\" must be an integer, and it "
                  "is real"},
        ErrorCase{"y[i] = x[p[i]]",
                  "line 2, column 10: the subscript of axis 0 of \"x\" must be an integer, and it "
                  "is a truth value"},
        ErrorCase{"y[i] = select(x[i], 1, 0)",
                  "line 2, column 8: the condition of select must be a truth value (say x != 0)"},
        ErrorCase{"y[i] = not x[i]",
                  "line 2, column 8: `not` needs a truth value (say not (x != 0))"},
        ErrorCase{"y[i] = select(p[i] and n[i], 1, 0)",
                  "line 2, column 20: `and` needs truth values (say x != 0)"},
        ErrorCase{"y[i] = any(k: x[k])", "line 2, column 8: any needs truth values (say x != 0)"},
        ErrorCase{"y[i] = x[i] % 2",
                  "line 2, column 13: % needs integers (for reals say x - y*floor(x/y))"},
        ErrorCase{"n[i] = 2*x[i]",
                  "line 2, column 1: \"n\" holds integers (i32), but its value is real (declare it "
                  "real, or compare or count)"},
        ErrorCase{"p[i] = n[i]",
                  "line 2, column 1: \"p\" holds truth values (bool), but its value is a number "
                  "(say value != 0)"},
        ErrorCase{"y[i] = argmax(k,l: M[k,l])",
                  "line 2, column 8: argmax runs over exactly one index"},
        ErrorCase{"y[i] = sum(k: cumsum(k: x[k]))",
                  "line 2, column 22: \"k\" is no index of the left side (a scan runs along one of "
                  "those)"},
        ErrorCase{"y[i] = 2*y[7-i]",
                  "line 2, column 10: \"y\" is written by this statement, which can read it only "
                  "at the very element it writes (give the old value another tensor)"},
        ErrorCase{"y[i] = cumsum(i: y[i])",
                  "line 2, column 18: \"y\" is written by this statement, which can read it only "
                  "at the very element it writes (give the old value another tensor)"},
        ErrorCase{"tensor z: f32[8] strides[0]; z[i] = x[i]",
                  "line 2, column 30: \"z\" is written, but its strides make elements overlap"}));

INSTANTIATE_TEST_SUITE_P(
    Steps, ErrorOf,
    testing::Values(
        ErrorCase{"steps 0 (x = y); y[i] = x[i]",
                  "line 2, column 7: a number of steps of 0 (expected 1 to 16777216)"},
        ErrorCase{"steps 2 (y = x); y[i] = x[i]",
                  "line 2, column 10: \"y\" cannot be a state (an input tensor can)"},
        ErrorCase{"steps 2 (x = n); y[i] = x[i]",
                  "line 2, column 10: \"x\" and \"n\" differ in extents or element type, so "
                  "neither can become the other"},
        ErrorCase{"tensor z: f32[8]; steps 2 (x = z); y[i] = x[i]",
                  "line 2, column 32: \"z\" is neither an output nor a state, so it never changes"},
        ErrorCase{"steps 2 (x = y, x = y); y[i] = x[i]",
                  "line 2, column 17: \"x\" is carried twice"},
        ErrorCase{"steps 2 (x = y); y[i] = x[i] + y[i]",
                  "line 2, column 32: \"y\" is read and written in place, which several steps "
                  "cannot be (carry it: read another tensor and add it to `steps`)"}));

TEST(Limits, DeepNestingIsAnErrorNotACrash) {
  const int levels = 20000;
  for (const auto& [open, close] : {std::pair<std::string, std::string>{"(", ")"},
                                    {"-", ""},
                                    {"exp(", ")"},
                                    {"not ", ""},
                                    {"x[", "]"},
                                    {"2^", ""},
                                    {"sum(k<1:", ")"},
                                    {"1+(", ")"}}) {
    std::string text = std::string(kHead) + "y[i] = ";
    for (int l = 0; l < levels && text.size() < kMaxTextBytes - 100; ++l) text += open;
    text += "1";
    const Result<Task> task = ParseTask(text);
    ASSERT_FALSE(task.ok()) << open;
    EXPECT_NE(task.status().message().find("nested deeper than 200"), std::string::npos)
        << open << ": " << task.status().message();
  }
}

TEST(Limits, LongChainsAndPowersAreBounded) {
  std::string sum = std::string(kHead) + "y[i] = x[i]";
  for (int l = 0; l < 1100; ++l) sum += "+x[i]";
  EXPECT_EQ(ParseTask(sum).status().message(),
            "line 2, column 5127: an expression of more than 1024 levels (give a part of it a name "
            "in a statement of its own)");
  std::string power = std::string(kHead) + "y[i] = (((((((x[i]^8)^8)^8)^8)^8)^8)^8)^8";
  EXPECT_NE(ParseTask(power).status().message().find("more than 65536 operations"),
            std::string::npos);
  EXPECT_EQ(ParseTask(std::string(kMaxTextBytes + 1, ' ')).status().message(),
            "the text has 65537 bytes (at most 65536)");
  std::string tensors;
  for (int t = 0; t < 65; ++t) tensors += "tensor t" + std::to_string(t) + ": f32[2]\n";
  EXPECT_EQ(ParseTask(tensors + "t0[i] = t1[i]").status().message(),
            "line 65, column 8: more than 64 tensors");
  EXPECT_EQ(ParseTask(std::string(kHead) + "y[i] = sum(b<1,c<1,d<1,e<1,f<1,g<1,h<1,j<1,k<1: 1.0)")
                .status()
                .message(),
            "line 2, column 8: sum over more than 8 indices");
  EXPECT_EQ(ParseTask("tensor " + std::string(65, 'a') + ": f32[2]").status().message(),
            "line 1, column 8: a name longer than 64 characters");
}

}  // namespace
}  // namespace hiera
