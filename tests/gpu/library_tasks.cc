#include "tests/gpu/library_tasks.h"

#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/task/parse.h"

namespace hiera {
namespace {

std::string N(int64_t value) { return std::to_string(value); }

std::string Matrix(const char* name, DType dtype, int64_t batch, int64_t rows, int64_t cols,
                   bool transposed) {
  const std::string before = batch > 1 ? N(batch) + "," : "";
  const std::string step = batch > 1 ? N(rows * cols) + "," : "";
  return std::string("tensor ") + name + ": " + std::string(DTypeName(dtype)) + "[" + before +
         N(rows) + "," + N(cols) + "] strides [" + step +
         (transposed ? N(cols) + ",1" : "1," + N(rows)) + "]\n";
}

}  // namespace

Task ProductTask(DType dtype, const ProductShape& s) {
  const std::string b = s.batch > 1 ? "b," : "";
  std::string text = Matrix("A", dtype, s.batch, s.m, s.k, s.transpose_a) +
                     Matrix("B", dtype, s.batch, s.k, s.n, s.transpose_b) +
                     Matrix("C", dtype, s.batch, s.m, s.n, false);
  if (s.bias_relu) text += "tensor d: " + std::string(DTypeName(dtype)) + "[" + N(s.m) + "]\n";
  const std::string sum = "sum(p: A[" + b + "i,p]*B[" + b + "p,j])";
  text += "C[" + b + "i,j] = " + (s.bias_relu ? "relu(" + sum + " + d[i])" : sum);
  Result<Task> task = ParseTask(text);
  if (!task.ok()) {
    std::fprintf(stderr, "%s\n%s\n", task.status().message().c_str(), text.c_str());
    std::abort();
  }
  task->contract.alignment = kWideAlignment;
  task->contract.inputs = Inputs::kNormal;
  task->contract.special_values = false;
  return *std::move(task);
}

}  // namespace hiera
