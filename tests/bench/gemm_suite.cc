#include "tests/bench/gemm_suite.h"

namespace hiera {
namespace {

GemmRow MakeRow(DType dtype, int64_t m, int64_t n, int64_t k, bool ta, bool tb, int64_t batch) {
  GemmRow row{"", m, n, k, batch, ta, tb, GemmCase::Make(dtype, m, n, k, true, ta, tb, 0)};
  row.name = std::string(DTypeName(dtype)) + " " + std::to_string(m) + "x" + std::to_string(n) +
             "x" + std::to_string(k) + (ta ? " T" : " N") + (tb ? "T" : "N");
  if (batch > 1) {
    row.product.view.batch = {{batch, m * k, k * n, m * n, 0}};
    row.name += " batch " + std::to_string(batch);
  }
  return row;
}

}  // namespace

std::vector<GemmRow> GemmSuite(const std::string& name, DType dtype) {
  std::vector<GemmRow> rows;
  if (name == "square") {
    for (int n = 8; n <= 32; ++n) rows.push_back(MakeRow(dtype, n, n, n, false, false, 1));
  } else if (name == "batched") {
    for (int n = 2; n <= 7; ++n) rows.push_back(MakeRow(dtype, n, n, n, false, false, 1000));
    for (int n : {8, 16, 23, 32}) rows.push_back(MakeRow(dtype, n, n, n, false, false, 1000));
  } else if (name == "small") {
    // Products of block-sparse and finite-element codes.
    const int shapes[][3] = {{5, 13, 5},   {13, 5, 7},     {13, 13, 26},  {26, 13, 13},
                             {26, 26, 26}, {9, 9, 56},     {20, 9, 56},   {35, 9, 35},
                             {56, 9, 56},  {6, 6, 36},     {10, 100, 10}, {64, 64, 64},
                             {48, 48, 48}, {128, 128, 128}};
    for (const auto& s : shapes) rows.push_back(MakeRow(dtype, s[0], s[1], s[2], false, false, 1));
    for (int n : {8, 16, 24, 32}) {
      rows.push_back(MakeRow(dtype, n, n, n, true, false, 1));
      rows.push_back(MakeRow(dtype, n, n, n, false, true, 1));
    }
  } else if (name == "skinny" && dtype == DType::kF32) {
    const int shapes[][5] = {
        {6144, 4, 2048, 0, 0},   {1760, 16, 1760, 0, 0}, {1760, 16, 1760, 1, 0},
        {35, 700, 2048, 0, 0},   {35, 700, 2048, 1, 0},  {64, 64, 100000, 0, 0},
        {512, 16, 100000, 0, 0}, {2560, 32, 2560, 0, 0}, {4096, 1, 4096, 1, 0}};
    for (const auto& s : shapes) {
      rows.push_back(MakeRow(dtype, s[0], s[1], s[2], s[3] != 0, s[4] != 0, 1));
    }
  }
  return rows;
}

GemmOperands::GemmOperands(const GemmCase& product) {
  const GemmView& v = product.view;
  Fill(0, v.m, v.k, v.a_m, v.a_k, v, &GemmView::BatchAxis::stride_a, product.dtype);
  Fill(1, v.k, v.n, v.b_k, v.b_n, v, &GemmView::BatchAxis::stride_b, product.dtype);
  Fill(2, v.m, v.n, v.c_m, v.c_n, v, &GemmView::BatchAxis::stride_c, product.dtype);
}

void GemmOperands::Fill(int tensor, int64_t rows, int64_t cols, int64_t row, int64_t col,
                        const GemmView& view, int64_t GemmView::BatchAxis::*stride, DType dtype) {
  int64_t elements = 1 + (rows - 1) * row + (cols - 1) * col;
  for (const GemmView::BatchAxis& axis : view.batch) {
    elements += (axis.extent - 1) * (axis.*stride);
  }
  const size_t bytes = static_cast<size_t>(elements * SizeOf(dtype) + 63) / 64 * 64;
  buffers_[tensor].reset(static_cast<char*>(std::aligned_alloc(64, bytes)));
  pointers_[tensor] = buffers_[tensor].get();
  for (int64_t i = 0; i < elements; ++i) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const double x = static_cast<double>(state_ >> 11) * 0x1p-52 - 1;
    if (dtype == DType::kF64) {
      static_cast<double*>(pointers_[tensor])[i] = x;
    } else {
      static_cast<float*>(pointers_[tensor])[i] = static_cast<float>(x);
    }
  }
}

}  // namespace hiera
