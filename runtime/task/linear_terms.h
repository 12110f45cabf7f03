// LinearTerms: a statement seen as activation(term + term + ...), the frame that GEMM and
// convolution share. Pure functions over one task. Used by the classification.
#ifndef HIERA_RUNTIME_TASK_LINEAR_TERMS_H_
#define HIERA_RUNTIME_TASK_LINEAR_TERMS_H_

#include <vector>

#include "runtime/task/task.h"

namespace hiera {

struct LinearTerm {
  double factor = 1;      // the constants of the product
  int scalar = -1;        // the one scalar of the product
  bool plain = true;      // false: several scalars
  std::vector<int> core;  // the nodes that are multiplied, constants and scalars apart
};

struct LinearTerms {
  std::vector<Op> activation;  // real unary operations around the sum, innermost first
  std::vector<LinearTerm> terms;
};

LinearTerms LinearTermsOf(const Task& task, int root);

// The product at `node`, with its constants and scalars apart.
LinearTerm LinearTermOf(const Task& task, int node);

// sum over `bound` of factor * scalar * x * y with two loads x and y, else false. The body's
// constants and scalars are multiplied into `term`.
bool IsSumOfProducts(const Task& task, LinearTerm* term, int* x, int* y, std::vector<int>* bound);

// Whether every subscript of the load is one index alone or 0, none twice, and no read of it can
// fall outside. Appends (index, stride of the tensor along it).
bool PlainStrides(const Task& task, const Node& load,
                  std::vector<std::pair<int, int64_t>>* strides);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TASK_LINEAR_TERMS_H_
