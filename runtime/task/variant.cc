#include "runtime/task/variant.h"

#include <limits>
#include <string>
#include <string_view>
#include <utility>

#include "runtime/base/bytes.h"

namespace hiera {
namespace {

// Stored: a change of the fields below is another version.
constexpr uint32_t kVersion = 1;
constexpr uint32_t kMaxRequirements = 1024;

Status Damaged(const char* what) { return InvalidArgument(std::string("a variant's ") + what); }

}  // namespace

std::string_view SpaceName(Space space) {
  switch (space) {
    case Space::kBaseline:
      return "baseline";
    case Space::kFramework:
      return "framework";
    case Space::kLibrary:
      return "library";
    case Space::kKernel:
      return "kernel";
  }
  return "?";
}

Hash128 Variant::Identity() const {
  ByteWriter w;
  w.String(family);
  w.String(name);
  w.String(plan.text);
  w.I64(plan.workspace_bytes);
  w.I64(plan.threads);
  w.String(artifact);
  return HashBytes(w.bytes());
}

std::string EncodeVariant(const Variant& v) {
  ByteWriter w;
  w.U64(v.key.high);
  w.U64(v.key.low);
  w.U8(static_cast<uint8_t>(v.space));
  w.String(v.family);
  w.String(v.name);
  w.String(v.plan.text);
  w.I64(v.plan.workspace_bytes);
  w.I64(v.plan.threads);
  w.String(v.artifact);
  w.U32(static_cast<uint32_t>(v.requirements.size()));
  for (const Requirement& r : v.requirements) {
    w.String(r.what);
    w.String(r.identity);
  }
  w.String(v.baseline_name);
  w.F64(v.baseline_ns);
  w.F64(v.time_ns);
  w.F64(v.ratio);
  w.F64(v.ratio_low);
  w.F64(v.floor_ns);
  w.U8(v.provisional ? 1 : 0);
  w.I64(v.measured_unix_s);

  ByteWriter record;
  record.U32(kVersion);
  record.U64(Checksum64(w.bytes()));
  return std::move(record).bytes() + w.bytes();
}

Result<Variant> DecodeVariant(std::string_view bytes) {
  constexpr size_t kHeaderBytes = 12;
  ByteReader header(bytes);
  const uint32_t version = header.U32();
  const uint64_t checksum = header.U64();
  if (!header.ok()) return Damaged("record is cut short");
  if (version != kVersion) return Damaged("record is of another version");
  const std::string_view body = bytes.substr(kHeaderBytes);
  if (Checksum64(body) != checksum) return Damaged("checksum does not match");

  ByteReader r(body);
  Variant v;
  v.key.high = r.U64();
  v.key.low = r.U64();
  const uint8_t space = r.U8();
  if (space > static_cast<uint8_t>(Space::kKernel)) return Damaged("space is unknown");
  v.space = static_cast<Space>(space);
  v.family = r.String();
  v.name = r.String();
  v.plan.text = r.String();
  v.plan.workspace_bytes = r.I64();
  const int64_t threads = r.I64();
  if (threads < 0 || threads > std::numeric_limits<int>::max()) {
    return Damaged("thread count is out of range");
  }
  v.plan.threads = static_cast<int>(threads);
  v.artifact = r.String();
  const uint32_t requirements = r.U32();
  if (requirements > kMaxRequirements) return Damaged("requirements are too many");
  for (uint32_t i = 0; i < requirements && r.ok(); ++i) {
    Requirement& requirement = v.requirements.emplace_back();
    requirement.what = r.String();
    requirement.identity = r.String();
  }
  v.baseline_name = r.String();
  v.baseline_ns = r.F64();
  v.time_ns = r.F64();
  v.ratio = r.F64();
  v.ratio_low = r.F64();
  v.floor_ns = r.F64();
  v.provisional = r.U8() != 0;
  v.measured_unix_s = r.I64();
  if (!r.done()) return Damaged("fields do not fill its record");
  return v;
}

}  // namespace hiera
