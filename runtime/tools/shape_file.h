// ShapeFile: what `hiera tune` reads. Either a CSV file of GEMM or convolution shapes, or formulas
// with their declarations, one task a line. Lines that are empty or begin with # are skipped.
//
// CSV: the first line names the columns, in any order; columns that mean nothing here are ignored.
//   GEMM          m n k [batch] [ta] [tb] [dtype] [layout]   layout: row or column
//   convolution   n c h w k r s [pad_h pad_w stride_h stride_w groups dtype]   k: filters, r x s:
//   kernel
// Formulas: the language of docs/formulas.md with its declarations, items separated by ";".
#ifndef HIERA_RUNTIME_TOOLS_SHAPE_FILE_H_
#define HIERA_RUNTIME_TOOLS_SHAPE_FILE_H_

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "hiera/hiera.h"
#include "runtime/base/status.h"

namespace hiera {

struct ShapeEntry {
  int line = 0;        // in the file, from 1
  std::string label;   // "gemm f32 35x700x2048"
  std::string family;  // "GEMM", "convolution", "formula"
  std::variant<hiera_gemm, hiera_conv, std::string> what;
};

struct ShapeDefaults {
  uint32_t dtype = HIERA_F32;
  bool column_major = false;
};

// Errors: kInvalidArgument, "line L: column NAME: what is wrong".
Result<std::vector<ShapeEntry>> ParseShapes(std::string_view text, const ShapeDefaults& defaults);

}  // namespace hiera

#endif  // HIERA_RUNTIME_TOOLS_SHAPE_FILE_H_
