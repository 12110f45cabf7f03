#include "runtime/tools/shape_file.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <map>

#include "runtime/task/tensor.h"

namespace hiera {
namespace {

using Row = std::map<std::string, std::string, std::less<>>;

std::string_view Trim(std::string_view s) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!s.empty() && blank(s.front())) s.remove_prefix(1);
  while (!s.empty() && blank(s.back())) s.remove_suffix(1);
  return s;
}

// Fields of a CSV line; a field in double quotes may hold commas, and "" for a quote.
std::vector<std::string> SplitCsv(std::string_view line) {
  std::vector<std::string> fields(1);
  bool quoted = false;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      fields.back() += '"';
      ++i;
    } else if (c == '"') {
      quoted = !quoted;
    } else if (c == ',' && !quoted) {
      fields.emplace_back();
    } else {
      fields.back() += c;
    }
  }
  for (std::string& field : fields) field = std::string(Trim(field));
  return fields;
}

// Reads one row's columns and remembers the first thing that is wrong.
class Columns {
 public:
  explicit Columns(const Row& row) : row_(row) {}

  int64_t Number(std::string_view name, int64_t least, int64_t fallback) {
    const auto found = row_.find(name);
    if (found == row_.end() || found->second.empty()) {
      if (fallback < 0) Fail(name, "is missing");
      return fallback;
    }
    const std::string& text = found->second;
    int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size() || value < least) {
      Fail(name,
           "must be a whole number of at least " + std::to_string(least) + ", not '" + text + "'");
    }
    return value;
  }
  int64_t Size(std::string_view name) { return Number(name, 1, -1); }

  uint32_t DTypeOr(uint32_t fallback) {
    const auto found = row_.find("dtype");
    if (found == row_.end() || found->second.empty()) return fallback;
    const Result<DType> dtype = DTypeFromName(found->second);
    if (!dtype.ok()) {
      Fail("dtype", dtype.status().message());
      return fallback;
    }
    return static_cast<uint32_t>(*dtype);
  }

  bool ColumnMajorOr(bool fallback) {
    const auto found = row_.find("layout");
    if (found == row_.end() || found->second.empty()) return fallback;
    if (found->second == "row") return false;
    if (found->second == "column") return true;
    Fail("layout", "must be row or column, not '" + found->second + "'");
    return fallback;
  }

  const std::string& error() const { return error_; }

 private:
  void Fail(std::string_view name, const std::string& what) {
    if (error_.empty()) error_ = "column " + std::string(name) + ": " + what;
  }
  const Row& row_;
  std::string error_;
};

std::string NameOf(uint32_t dtype) { return std::string(DTypeName(static_cast<DType>(dtype))); }

ShapeEntry Gemm(Columns& columns, const ShapeDefaults& defaults) {
  hiera_gemm gemm = HIERA_GEMM_INIT;
  gemm.dtype = columns.DTypeOr(defaults.dtype);
  gemm.m = columns.Size("m");
  gemm.n = columns.Size("n");
  gemm.k = columns.Size("k");
  gemm.batch = columns.Number("batch", 1, 1);
  gemm.transpose_a = columns.Number("ta", 0, 0) != 0;
  gemm.transpose_b = columns.Number("tb", 0, 0) != 0;
  gemm.column_major = columns.ColumnMajorOr(defaults.column_major);
  gemm.alpha_class = HIERA_SCALAR_ONE;
  gemm.beta_class = HIERA_SCALAR_ZERO;
  ShapeEntry entry;
  entry.family = "GEMM";
  entry.label = "gemm " + NameOf(gemm.dtype) + " " + std::to_string(gemm.m) + "x" +
                std::to_string(gemm.n) + "x" + std::to_string(gemm.k);
  if (gemm.batch > 1) entry.label += " batch " + std::to_string(gemm.batch);
  if (gemm.transpose_a || gemm.transpose_b) {
    entry.label +=
        std::string(" ") + (gemm.transpose_a ? "T" : "N") + (gemm.transpose_b ? "T" : "N");
  }
  entry.what = gemm;
  return entry;
}

ShapeEntry Convolution(Columns& columns, const ShapeDefaults& defaults) {
  hiera_conv conv = HIERA_CONV_INIT;
  conv.dtype = columns.DTypeOr(defaults.dtype);
  conv.spatial_rank = 2;
  conv.n = columns.Size("n");
  conv.c = columns.Size("c");
  conv.f = columns.Size("k");
  conv.groups = columns.Number("groups", 1, 1);
  conv.input[0] = columns.Size("h");
  conv.input[1] = columns.Size("w");
  conv.kernel[0] = columns.Size("r");
  conv.kernel[1] = columns.Size("s");
  conv.stride[0] = columns.Number("stride_h", 1, 1);
  conv.stride[1] = columns.Number("stride_w", 1, 1);
  conv.pad_begin[0] = conv.pad_end[0] = columns.Number("pad_h", 0, 0);
  conv.pad_begin[1] = conv.pad_end[1] = columns.Number("pad_w", 0, 0);
  ShapeEntry entry;
  entry.family = "convolution";
  entry.label = "conv " + NameOf(conv.dtype) + " n" + std::to_string(conv.n) + " c" +
                std::to_string(conv.c) + " " + std::to_string(conv.input[0]) + "x" +
                std::to_string(conv.input[1]) + " k" + std::to_string(conv.f) + " " +
                std::to_string(conv.kernel[0]) + "x" + std::to_string(conv.kernel[1]);
  entry.what = conv;
  return entry;
}

// Which kind of shape a CSV header announces; empty for a line that is no header.
std::string KindOf(const std::vector<std::string>& header) {
  const auto has = [&](const char* name) {
    return std::find(header.begin(), header.end(), name) != header.end();
  };
  if (has("n") && has("c") && has("h") && has("w") && has("k") && has("r") && has("s")) {
    return "convolution";
  }
  return has("m") && has("n") && has("k") ? "GEMM" : "";
}

Result<ShapeEntry> FromRow(const std::vector<std::string>& header, std::string_view line,
                           const std::string& kind, const ShapeDefaults& defaults) {
  const std::vector<std::string> fields = SplitCsv(line);
  if (fields.size() != header.size()) {
    return InvalidArgument(std::to_string(fields.size()) + " fields where the header has " +
                           std::to_string(header.size()));
  }
  Row row;
  for (size_t i = 0; i < header.size(); ++i) row[header[i]] = fields[i];
  Columns columns(row);
  ShapeEntry entry = kind == "GEMM" ? Gemm(columns, defaults) : Convolution(columns, defaults);
  if (!columns.error().empty()) return InvalidArgument(columns.error());
  return entry;
}

}  // namespace

Result<std::vector<ShapeEntry>> ParseShapes(std::string_view text, const ShapeDefaults& defaults) {
  std::vector<ShapeEntry> entries;
  std::vector<std::string> header;
  std::string kind;
  int number = 0;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = Trim(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    if (line.empty() || line.front() == '#') continue;
    if (header.empty() && entries.empty()) {
      header = SplitCsv(line);
      kind = KindOf(header);
      if (!kind.empty()) continue;
    }
    if (kind.empty()) {
      ShapeEntry entry;
      entry.family = "formula";
      entry.label =
          std::string(line.substr(line.rfind(';') == line.npos ? 0 : line.rfind(';') + 1));
      entry.label = std::string(Trim(entry.label));
      entry.what = std::string(line);
      entries.push_back(std::move(entry));
    } else {
      Result<ShapeEntry> entry = FromRow(header, line, kind, defaults);
      if (!entry.ok()) {
        return InvalidArgument("line " + std::to_string(number) + ": " + entry.status().message());
      }
      entries.push_back(std::move(*entry));
    }
    entries.back().line = number;
  }
  if (entries.empty()) {
    return InvalidArgument(
        "no shapes: a CSV file begins with a line of column names (m,n,k or n,c,h,w,k,r,s), "
        "other files hold one formula with its declarations a line");
  }
  return entries;
}

}  // namespace hiera
