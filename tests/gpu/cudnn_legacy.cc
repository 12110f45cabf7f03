#include "tests/gpu/cudnn_legacy.h"

#include <dlfcn.h>

#include <vector>

#include "runtime/library/cuda/cudnn_library.h"

namespace hiera {
namespace {

constexpr int kNchw = 0, kNhwc = 1;             // cudnnTensorFormat_t
constexpr int kTensorOpMath = 1, kFmaMath = 3;  // cudnnMathType_t
constexpr int kAlgorithms = 8;
constexpr size_t kMostWorkspace = size_t{1} << 30;

struct Perf {  // cudnnConvolutionFwdAlgoPerf_t
  int algorithm, status;
  float time;
  size_t memory;
  int determinism, math_type, reserved[3];
};

struct Entries {
  int (*make_tensor)(void**);
  int (*set_tensor)(void*, int type, int rank, const int* extents, const int* strides);
  int (*make_filter)(void**);
  int (*set_filter)(void*, int type, int format, int rank, const int* extents);
  int (*make_conv)(void**);
  int (*set_conv)(void*, int rank, const int* pad, const int* stride, const int* dilation, int mode,
                  int compute);
  int (*set_groups)(void*, int groups);
  int (*set_math)(void*, int type);
  int (*ask)(void* handle, void* x, void* w, void* conv, void* y, int requested, int* returned,
             Perf* perf);
  int (*forward)(void* handle, const void* alpha, void* x_desc, const void* x, void* w_desc,
                 const void* w, void* conv, int algorithm, void* workspace, size_t bytes,
                 const void* beta, void* y_desc, void* y);
};

bool Load(const std::string& path, Entries* e) {
  void* library = dlopen(path.c_str(), RTLD_NOW);
  const auto find = [library](const char* name, auto* entry) {
    *entry = library == nullptr
                 ? nullptr
                 : reinterpret_cast<std::decay_t<decltype(*entry)>>(dlsym(library, name));
    return *entry != nullptr;
  };
  return find("cudnnCreateTensorDescriptor", &e->make_tensor) &&
         find("cudnnSetTensorNdDescriptor", &e->set_tensor) &&
         find("cudnnCreateFilterDescriptor", &e->make_filter) &&
         find("cudnnSetFilterNdDescriptor", &e->set_filter) &&
         find("cudnnCreateConvolutionDescriptor", &e->make_conv) &&
         find("cudnnSetConvolutionNdDescriptor", &e->set_conv) &&
         find("cudnnSetConvolutionGroupCount", &e->set_groups) &&
         find("cudnnSetConvolutionMathType", &e->set_math) &&
         find("cudnnGetConvolutionForwardAlgorithm_v7", &e->ask) &&
         find("cudnnConvolutionForward", &e->forward);
}

int TypeOf(DType dtype) {
  return dtype == DType::kF64    ? cudnn::kDouble
         : dtype == DType::kF16  ? cudnn::kHalf
         : dtype == DType::kBF16 ? cudnn::kBFloat16
                                 : cudnn::kFloat;
}

std::vector<int> Ints(const std::vector<int64_t>& values) { return {values.begin(), values.end()}; }

class Forward : public Executable {
 public:
  explicit Forward(const CudnnGraph& graph) : graph_(graph) {}

  Status Make(GpuMachine& machine, const CudnnLibrary& library) {
    f_ = library.functions;
    if (!Load(library.path, &e_)) return Unsupported("cuDNN without its older functions");
    const int type = TypeOf(graph_.dtype);
    const bool last = graph_.x.strides[1] == 1 && graph_.x.extents[1] > 1;
    const int rank = static_cast<int>(graph_.x.extents.size());
    const auto tensor = [&](const CudnnGraph::Tensor& t, void** made) {
      return e_.make_tensor(made) +
             e_.set_tensor(*made, type, rank, Ints(t.extents).data(), Ints(t.strides).data());
    };
    int status = f_.create(&handle_) + tensor(graph_.x, &x_) + tensor(graph_.y, &y_);
    status += e_.make_filter(&w_) +
              e_.set_filter(w_, type, last ? kNhwc : kNchw, rank, Ints(graph_.w.extents).data());
    status +=
        e_.make_conv(&conv_) + e_.set_conv(conv_, rank - 2, Ints(graph_.pad_before).data(),
                                           Ints(graph_.stride).data(), Ints(graph_.dilation).data(),
                                           cudnn::kCrossCorrelation, TypeOf(graph_.compute));
    status += e_.set_groups(conv_, static_cast<int>(graph_.x.extents[1] / graph_.w.extents[1]));
    const bool half = graph_.dtype == DType::kF16 || graph_.dtype == DType::kBF16;
    status += e_.set_math(conv_, half || graph_.tf32 ? kTensorOpMath : kFmaMath);
    if (status != 0) return DeviceError("cuDNN refuses the convolution's description");
    Perf perf[kAlgorithms];
    int count = 0;
    status = e_.ask(handle_, x_, w_, conv_, y_, kAlgorithms, &count, perf);
    for (int i = 0; status == 0 && i < count; ++i) {
      if (perf[i].status != 0 || perf[i].memory > kMostWorkspace) continue;
      algorithm_ = perf[i].algorithm;
      bytes_ = perf[i].memory;
      workspace_ = std::make_unique<GpuBuffer>(machine, bytes_);
      return {};
    }
    return DeviceError("cuDNN ranks no algorithm");
  }

  hiera_status Run(const Call& run) const noexcept override {
    const double one = 1, zero = 0;
    const float one_f = 1, zero_f = 0;
    const bool wide = graph_.compute == DType::kF64;
    f_.set_stream(handle_, run.stream);
    const int status = e_.forward(
        handle_, wide ? static_cast<const void*>(&one) : &one_f, x_, run.pointers[graph_.x.number],
        w_, run.pointers[graph_.w.number], conv_, algorithm_, workspace_->pointer(), bytes_,
        wide ? static_cast<const void*>(&zero) : &zero_f, y_, run.pointers[graph_.y.number]);
    return status == 0 ? HIERA_OK : HIERA_DEVICE_ERROR;
  }

 private:
  const CudnnGraph graph_;
  cudnn::Functions f_;
  Entries e_{};
  void* handle_ = nullptr;
  void *x_ = nullptr, *w_ = nullptr, *y_ = nullptr, *conv_ = nullptr;
  int algorithm_ = 0;
  size_t bytes_ = 0;
  std::unique_ptr<GpuBuffer> workspace_;
};

}  // namespace

Result<std::unique_ptr<Executable>> MakeCudnnConvolutionForward(GpuMachine& machine,
                                                                const CudnnGraph& graph) {
  if (graph.bias.number >= 0 || !graph.activation.empty()) return Unsupported("an ending");
  if (graph.pad_before != graph.pad_after) {
    // The padding at the end may be less where the stride leaves it out.
    for (size_t i = 0; i < graph.stride.size(); ++i) {
      if (graph.pad_before[i] - graph.pad_after[i] >= graph.stride[i] ||
          graph.pad_before[i] < graph.pad_after[i]) {
        return Unsupported("uneven padding");
      }
    }
  }
  const Result<const CudnnLibrary*> library = CudnnLibrary::Open();
  if (!library.ok()) return library.status();
  auto forward = std::make_unique<Forward>(graph);
  HIERA_RETURN_IF_ERROR(forward->Make(machine, **library));
  return std::unique_ptr<Executable>(std::move(forward));
}

}  // namespace hiera
