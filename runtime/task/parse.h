// The language of formulas. docs/formulas.md is its reference; in short:
//
//   text      := item { (";" | newline) item }        "#" starts a comment up to the line's end;
//                                                      newlines inside ( ) and [ ] do not count
//   item      := tensor | scalar | contract | steps | statement
//   tensor    := "tensor" NAME ":" DTYPE "[" [ints] "]" { "strides" "[" ints "]" | "outside" RULE }
//   scalar    := "scalar" NAME [ "=" ("0" | "1") ]
//   contract  := "contract" { WORD "=" VALUE }         error, arithmetic, inputs, accumulate,
//                                                      deterministic, special, workspace, align
//   steps     := "steps" INT "(" NAME "=" NAME { "," NAME "=" NAME } ")"
//   statement := NAME [ "[" index {"," index} "]" ] [ "outside" RULE ] "=" expression
//   index     := NAME [ "<" INT ]                     on the left side and in reductions
//
// A newline after an operator, a comma or a colon does not count either. A left side that is no
// declared tensor is a local, the only one to state its rule for reads outside there.
//
// Expressions have the usual operators (or and not, comparisons, + - * / %, unary -, ^ for powers),
// calls f(x), select(c, a, b), reductions sum(k, l<3: body) [max min prod mean argmax argmin any
// all], scans cumsum(j: body), cumprod(reverse exclusive j: body), reads A[i, 2*y+r-1] and gathers
// W[idx[i], j]. max and min with two operands and no colon are the pointwise functions.
//
// Thread safety: pure functions.
#ifndef HIERA_RUNTIME_TASK_PARSE_H_
#define HIERA_RUNTIME_TASK_PARSE_H_

#include <string_view>
#include <vector>

#include "runtime/base/status.h"
#include "runtime/task/task.h"

namespace hiera {

// Parses text that declares its tensors and scalars itself. The binding order is the order of
// declaration. Errors: kInvalidArgument; the message is
// "line L, column C: what is wrong (what was expected or how to mend it)".
Result<Task> ParseTask(std::string_view text);

// Parses text against tensors and scalars that the caller declares (the C API). The text may hold a
// steps item but no tensor, scalar or contract item.
Result<Task> ParseTask(std::string_view text, std::vector<TensorSpec> tensors,
                       std::vector<ScalarSpec> scalars, const Contract& contract);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_PARSE_H_
