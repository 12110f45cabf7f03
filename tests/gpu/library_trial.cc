#include "tests/gpu/library_trial.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "runtime/evaluator/random.h"
#include "runtime/evaluator/statistics.h"

namespace hiera {
namespace {

constexpr long double kGross = 1000;
constexpr size_t kRotatedBytes = size_t{192} << 20;  // three times the L2 of an H200
constexpr size_t kMostCopies = 16;
constexpr double kReferenceTerms = 5e6;
constexpr double kSampleNs = 200e3;  // of device time in one sample
constexpr int kMostLaunches = 48;
// Filling it takes longer than issuing kMostLaunches calls: 15 us each, at 4 TB/s.
constexpr size_t kRunwayBytes = size_t{3} << 30;
constexpr size_t kScreenRunwayBytes = size_t{384} << 20;
constexpr int kScreenLaunches = 6;

[[noreturn]] void Give(const std::string& why) {
  std::fprintf(stderr, "%s\n", why.c_str());
  std::abort();
}

bool Writes(Role role) { return role == Role::kOutput || role == Role::kInPlace; }

}  // namespace

LibraryTrial::LibraryTrial(GpuMachine& machine, const Task& task, Distribution distribution)
    : machine_(machine),
      task_(task),
      stream_(machine.MakeStream()),
      runway_(machine, kRunwayBytes) {
  Random random(20240917);
  size_t total = 0;
  for (int i = 0; i < task_.bound_count; ++i) {
    Tensor tensor;
    tensor.bytes.resize(static_cast<size_t>(task_.tensors[i].span_bytes()));
    tensor.is_output = Writes(RoleOf(task_, i));
    DrawTensor(task_.tensors[i], distribution, task_.contract.inputs, 0, random,
               tensor.bytes.data());
    total += tensor.bytes.size();
    tensors_.push_back(std::move(tensor));
  }
  scalars_ = DrawScalars(task_, distribution, random);
  const size_t copies =
      std::clamp<size_t>(kRotatedBytes / std::max<size_t>(total, 1), 2, kMostCopies);
  for (size_t copy = 0; copy < copies; ++copy) {
    std::vector<void*> pointers;
    for (const Tensor& tensor : tensors_) {
      buffers_.push_back(std::make_unique<GpuBuffer>(machine_, tensor.bytes.size()));
      machine_.Upload(buffers_.back()->address(), tensor.bytes.data(), tensor.bytes.size());
      pointers.push_back(buffers_.back()->pointer());
    }
    pointers_.push_back(std::move(pointers));
  }
  MakeReference();
}

void LibraryTrial::MakeReference() {
  std::vector<void*> host;
  for (Tensor& tensor : tensors_) host.push_back(tensor.bytes.data());
  ReferenceOptions options;
  options.max_elements = 8;
  options.seed = 1;
  auto few = RunReference(task_, host.data(), scalars_.data(), options);
  if (!few.ok()) Give(few.status().message());
  double terms = 1;
  for (const ReferenceElement& e : few->front().elements) terms = std::max(terms, e.terms);
  options.max_elements =
      std::clamp<int64_t>(static_cast<int64_t>(kReferenceTerms / terms), 64, 4096);
  auto reference = RunReference(task_, host.data(), scalars_.data(), options);
  if (!reference.ok()) Give(reference.status().message());
  reference_ = *std::move(reference);
}

bool LibraryTrial::Run(const Executable& executable, size_t copy) {
  return executable.Run({pointers_[copy].data(), scalars_.data(), stream_}) == HIERA_OK;
}

std::string LibraryTrial::Check(const Executable& executable) {
  const std::vector<void*>& pointers = pointers_[0];
  for (size_t i = 0; i < tensors_.size(); ++i) {
    if (RoleOf(task_, static_cast<int>(i)) == Role::kInPlace) {
      machine_.Upload(reinterpret_cast<uint64_t>(pointers[i]), tensors_[i].bytes.data(),
                      tensors_[i].bytes.size());
    } else if (tensors_[i].is_output) {
      // A NaN in every real type.
      machine_.Fill(reinterpret_cast<uint64_t>(pointers[i]), 0xff, tensors_[i].bytes.size(),
                    stream_);
    }
  }
  const hiera_status status = executable.Run({pointers.data(), scalars_.data(), stream_});
  if (status != HIERA_OK) return "does not run: status " + std::to_string(status);
  if (!machine_.Synchronise(stream_)) return machine_.last_error();
  worst_ = 0;
  gross_ = false;
  std::string outside;  // the first element outside the contract
  for (const ReferenceOutput& output : reference_) {
    const TensorSpec& spec = task_.tensors[output.tensor];
    std::vector<std::byte> got(tensors_[output.tensor].bytes.size());
    machine_.Download(got.data(), reinterpret_cast<uint64_t>(pointers[output.tensor]), got.size());
    const auto size = static_cast<size_t>(SizeOf(spec.dtype));
    for (const ReferenceElement& e : output.elements) {
      const std::byte* at = got.data() + static_cast<size_t>(e.position) * size;
      const long double error = std::fabs(LoadExact(spec.dtype, at) - e.value);
      const long double bound = ErrorBound(e, task_.contract, spec.dtype);
      if (bound > 0) worst_ = std::max(worst_, static_cast<double>(error / bound));
      if (Admits(e, task_.contract, spec.dtype, at)) continue;
      gross_ = gross_ || !(error <= kGross * bound);
      if (!outside.empty()) continue;
      char text[160];
      std::snprintf(text, sizeof text, "element %lld is %.9Lg, not %.9Lg (bound %.3Lg)",
                    static_cast<long long>(e.position), LoadExact(spec.dtype, at), e.value, bound);
      outside = text;
    }
    const bool dense = spec.elements() * static_cast<int64_t>(size) == spec.span_bytes();
    if (!dense) continue;
    for (size_t i = 0; i < got.size(); i += size) {
      bool poison = true;
      for (size_t byte = 0; byte < size; ++byte) poison &= got[i + byte] == std::byte{0xff};
      if (!poison) continue;
      gross_ = true;
      return "element " + std::to_string(i / size) + " is left unwritten";
    }
  }
  return outside;
}

double LibraryTrial::Screen(const Executable& executable) {
  if (!Run(executable, 0)) return -1;
  return TimeMany(executable, nullptr, kScreenLaunches, kScreenRunwayBytes);
}

double LibraryTrial::TimeMany(const Executable& executable, void* graph, int launches,
                              size_t runway_bytes) {
  machine_.Fill(runway_.address(), 0, runway_bytes, stream_);
  const double ns = machine_.Time(stream_, [&] {
    if (graph != nullptr) return machine_.Launch(graph, stream_);
    bool good = true;
    for (int i = 0; i < launches; ++i) good &= Run(executable, static_cast<size_t>(i) % copies());
    return good;
  });
  return ns / launches;
}

Comparison LibraryTrial::Compare(const Executable& first, const Executable& second, int pairs) {
  Comparison result;
  const double once = std::max(Screen(first), 1000.0);
  const int launches = std::clamp(static_cast<int>(kSampleNs / once), 1, kMostLaunches);
  const auto capture = [&](const Executable& executable) {
    return machine_.Capture(stream_, [&] {
      bool good = true;
      for (int i = 0; i < launches; ++i) {
        good = good && Run(executable, static_cast<size_t>(i) % copies());
      }
      return good;
    });
  };
  void* graph_a = capture(first);
  void* graph_b = graph_a == nullptr ? nullptr : capture(second);
  result.graph = graph_a != nullptr && graph_b != nullptr;
  std::vector<double> a, b, ratios;
  for (int i = 0; i < pairs + 2; ++i) {
    const double x = TimeMany(first, result.graph ? graph_a : nullptr, launches, kRunwayBytes);
    const double y = TimeMany(second, result.graph ? graph_b : nullptr, launches, kRunwayBytes);
    if (i < 2 || x <= 0 || y <= 0) continue;  // warm-up
    a.push_back(x);
    b.push_back(y);
    ratios.push_back(x / y);
  }
  for (void* graph : {graph_a, graph_b}) {
    if (graph != nullptr) machine_.Destroy(graph);
  }
  if (ratios.empty()) return result;
  result.first_ns = Median(a);
  result.second_ns = Median(b);
  result.ratio = Median(ratios);
  result.low = Quantile(ratios, 0.25);
  result.high = Quantile(ratios, 0.75);
  return result;
}

}  // namespace hiera
