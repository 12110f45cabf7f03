#include "tests/unit/device/fictional_driver.h"

#include <algorithm>
#include <cstring>
#include <sstream>
#include <stdexcept>

namespace hiera {
namespace {

FictionalDriver* now = nullptr;

using Library = std::vector<std::unique_ptr<FictionalDriver::Kernel>>;

std::unique_ptr<FictionalDriver::Kernel> ParseKernel(const std::string& line) {
  auto kernel = std::make_unique<FictionalDriver::Kernel>();
  std::istringstream words(line);
  std::string word;
  words >> word >> kernel->name >> word >> kernel->threads >> word >> kernel->shared >> word;
  if (!words || word != "params") return nullptr;
  size_t offset = 0, size = 0;
  char colon = 0;
  while (words >> offset >> colon >> size) kernel->params.push_back({offset, size});
  return kernel;
}

FictionalDriver::Kernel* KernelOf(CUkernel kernel) {
  return reinterpret_cast<FictionalDriver::Kernel*>(kernel);
}

}  // namespace

// The entries that do more than succeed.
struct FictionalEntries {
  static void Fill(cuda::Driver& t) {
    FillDevices(t);
    FillContexts(t);
    FillCode(t);
    FillMemory(t);
    FillStreams(t);
  }

  static void FillDevices(cuda::Driver& t) {
    t.DriverGetVersion = [](int* version) { return *version = 13000, CUDA_SUCCESS; };
    t.GetErrorName = [](CUresult result, const char** name) {
      *name = result == CUDA_ERROR_INVALID_IMAGE ? "CUDA_ERROR_INVALID_IMAGE" : "CUDA_ERROR";
      return CUDA_SUCCESS;
    };
    t.GetErrorString = [](CUresult, const char** text) { return *text = nullptr, CUDA_SUCCESS; };
    t.DeviceGetCount = [](int* n) {
      return *n = static_cast<int>(now->cards_.size()), now->Enter("DeviceGetCount");
    };
    t.DeviceGet = [](CUdevice* device, int ordinal) { return *device = ordinal, CUDA_SUCCESS; };
    t.DeviceGetName = [](char* name, int bytes, CUdevice d) {
      std::strncpy(name, now->cards_[d].name.c_str(), bytes);
      return CUDA_SUCCESS;
    };
    t.DeviceGetUuid = [](CUuuid* uuid, CUdevice d) {
      for (int i = 0; i < 16; ++i) uuid->bytes[i] = static_cast<char>(0xa0 + i);
      uuid->bytes[15] = static_cast<char>(d);
      return CUDA_SUCCESS;
    };
    t.DeviceTotalMem = [](size_t* bytes, CUdevice d) {
      return *bytes = now->cards_[d].memory, CUDA_SUCCESS;
    };
    t.DeviceGetAttribute = [](int* value, CUdevice_attribute what, CUdevice d) {
      const FictionalDriver::Card& card = now->cards_[d];
      *value = what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR   ? card.major
               : what == CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR ? card.minor
               : what == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT     ? card.multiprocessors
               : what == CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE            ? 1 << 20
                                                                      : card.shared_bytes;
      return CUDA_SUCCESS;
    };
  }

  static void FillContexts(cuda::Driver& t) {
    t.DevicePrimaryCtxRetain = [](CUcontext* context, CUdevice d) {
      ++now->primary_uses_[d];
      return *context = now->primaries_[d], now->Enter("DevicePrimaryCtxRetain");
    };
    t.DevicePrimaryCtxRelease = [](CUdevice d) { return --now->primary_uses_[d], CUDA_SUCCESS; };
    t.DevicePrimaryCtxGetState = [](CUdevice d, unsigned* flags, int* active) {
      return *flags = 0, *active = now->primary_uses_[d] > 0, CUDA_SUCCESS;
    };
    t.CtxGetCurrent = [](CUcontext* c) { return *c = now->current(), CUDA_SUCCESS; };
    t.CtxGetDevice = [](CUdevice* d) {
      if (now->current() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
      return *d = now->card_of_.at(now->current()), CUDA_SUCCESS;
    };
    t.CtxPushCurrent = [](CUcontext c) { return now->stack_.push_back(c), CUDA_SUCCESS; };
    t.CtxPopCurrent = [](CUcontext* c) {
      return *c = now->current(), now->stack_.pop_back(), CUDA_SUCCESS;
    };
  }

  static CUresult LoadLibrary(CUlibrary* library, const void* code) {
    const CUresult entered = now->Enter("LibraryLoadData", true);
    if (entered != CUDA_SUCCESS) return entered;
    auto made = std::make_unique<Library>();
    std::istringstream lines(static_cast<const char*>(code));
    for (std::string line; std::getline(lines, line);) {
      auto kernel = ParseKernel(line);
      if (kernel == nullptr) return CUDA_ERROR_INVALID_IMAGE;
      made->push_back(std::move(kernel));
    }
    *library = reinterpret_cast<CUlibrary>(made.get());
    now->libraries_.push_back(std::move(made));
    return CUDA_SUCCESS;
  }

  static CUresult Launch(const CUlaunchConfig* config, CUfunction f, void** params, void** extra) {
    const CUresult entered = now->Enter("LaunchKernelEx");
    if (entered != CUDA_SUCCESS) return entered;
    FictionalDriver::Kernel* kernel = KernelOf(reinterpret_cast<CUkernel>(f));
    FictionalDriver::Launched launched;
    launched.kernel = kernel->name;
    launched.context = now->current();
    launched.stream = config->hStream;
    launched.config = *config;
    launched.attributes.assign(config->attrs, config->attrs + config->numAttrs);
    launched.was_loaded = kernel->loaded.contains(now->current());
    if (extra != nullptr) {
      const char* bytes = static_cast<const char*>(extra[1]);
      launched.block.assign(bytes, bytes + *static_cast<size_t*>(extra[3]));
    } else {
      const char* bytes = static_cast<const char*>(params[0]);
      launched.block.assign(bytes, bytes + kernel->params[0].second);
    }
    now->launched.push_back(launched);
    now->log.push_back("launch " + kernel->name);
    return CUDA_SUCCESS;
  }

  static void FillCode(cuda::Driver& t) {
    t.LibraryLoadData = [](CUlibrary* library, const void* code, CUjit_option*, void**, unsigned,
                           CUlibraryOption*, void**,
                           unsigned) { return LoadLibrary(library, code); };
    t.LibraryUnload = [](CUlibrary) { return now->Enter("LibraryUnload"); };
    t.LibraryGetKernel = [](CUkernel* kernel, CUlibrary library, const char* name) {
      for (auto& known : *reinterpret_cast<Library*>(library)) {
        if (known->name == name) {
          return *kernel = reinterpret_cast<CUkernel>(known.get()), CUDA_SUCCESS;
        }
      }
      return CUDA_ERROR_NOT_FOUND;
    };
    t.KernelGetFunction = [](CUfunction* f, CUkernel kernel) {
      return *f = reinterpret_cast<CUfunction>(kernel), now->Enter("KernelGetFunction", true);
    };
    t.FuncLoad = [](CUfunction f) {
      KernelOf(reinterpret_cast<CUkernel>(f))->loaded.insert(now->current());
      return now->Enter("FuncLoad", true);
    };
    t.KernelGetAttribute = [](int* value, CUfunction_attribute what, CUkernel kernel, CUdevice) {
      const FictionalDriver::Kernel& k = *KernelOf(kernel);
      const auto set = k.attributes.find(what);
      *value = set != k.attributes.end()                         ? set->second
               : what == CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK ? k.threads
               : what == CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES     ? k.shared
                                                                 : 48 << 10;
      return CUDA_SUCCESS;
    };
    t.KernelSetAttribute = [](CUfunction_attribute what, int value, CUkernel kernel, CUdevice) {
      return KernelOf(kernel)->attributes[what] = value, CUDA_SUCCESS;
    };
    t.KernelGetParamInfo = [](CUkernel kernel, size_t i, size_t* offset, size_t* size) {
      const auto& params = KernelOf(kernel)->params;
      if (i >= params.size()) return CUDA_ERROR_INVALID_VALUE;
      return *offset = params[i].first, *size = params[i].second, CUDA_SUCCESS;
    };
    t.LaunchKernelEx = Launch;
  }

  static void FillMemory(cuda::Driver& t) {
    t.MemPoolCreate = [](CUmemoryPool* pool, const CUmemPoolProps*) {
      return *pool = reinterpret_cast<CUmemoryPool>(1), now->Enter("MemPoolCreate", true);
    };
    t.MemPoolDestroy = [](CUmemoryPool) { return now->Enter("MemPoolDestroy"); };
    t.MemPoolSetAttribute = [](CUmemoryPool, CUmemPool_attribute, void*) { return CUDA_SUCCESS; };
    t.MemAllocFromPoolAsync = [](CUdeviceptr* address, size_t bytes, CUmemoryPool, CUstream) {
      const CUresult entered = now->Enter("MemAllocFromPoolAsync");
      if (entered != CUDA_SUCCESS) return entered;
      *address = now->next_address_;
      now->next_address_ += bytes + 4096;
      now->log.push_back("allocate " + std::to_string(bytes));
      return CUDA_SUCCESS;
    };
    t.MemFreeAsync = [](CUdeviceptr, CUstream) { return now->log.push_back("free"), CUDA_SUCCESS; };
    t.MemcpyHtoDAsync = [](CUdeviceptr, const void*, size_t, CUstream) {
      return now->Enter("MemcpyHtoDAsync");
    };
    t.MemsetD8Async = [](CUdeviceptr, unsigned char value, size_t bytes, CUstream) {
      now->log.push_back("fill " + std::to_string(bytes) + " with " + std::to_string(value));
      return CUDA_SUCCESS;
    };
  }

  static void FillStreams(cuda::Driver& t) {
    t.EventCreate = [](CUevent* event, unsigned) {
      return *event = reinterpret_cast<CUevent>(1), now->Enter("EventCreate");
    };
    t.EventRecord = [](CUevent, CUstream) { return now->Enter("EventRecord"); };
    t.EventQuery = [](CUevent) {
      const CUresult entered = now->Enter("EventQuery", true);
      if (entered != CUDA_SUCCESS) return entered;
      return now->events_are_ready ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
    };
    t.EventElapsedTime = [](float* ms, CUevent, CUevent) {
      return *ms = now->elapsed_ms, now->Enter("EventElapsedTime");
    };
    t.EventDestroy = [](CUevent) { return now->Enter("EventDestroy"); };
    t.StreamCreate = [](CUstream* s, unsigned) {
      return *s = reinterpret_cast<CUstream>(0x99), CUDA_SUCCESS;
    };
    t.StreamDestroy = [](CUstream) { return CUDA_SUCCESS; };
    t.StreamIsCapturing = [](CUstream stream, CUstreamCaptureStatus* status) {
      const bool captured = now->captured_.contains(stream);
      *status = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
      return CUDA_SUCCESS;
    };
    t.StreamSynchronize = [](CUstream) { return now->Enter("StreamSynchronize", true); };
    t.ThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode* mode) {
      return std::swap(*mode, now->mode_), CUDA_SUCCESS;
    };
  }
};

FictionalDriver::FictionalDriver(std::vector<Card> cards) : cards_(std::move(cards)) {
  now = this;
  FictionalEntries::Fill(table_);
  primary_uses_.resize(cards_.size());
  for (size_t c = 0; c < cards_.size(); ++c) primaries_.push_back(NewContext(static_cast<int>(c)));
}

FictionalDriver::~FictionalDriver() { now = nullptr; }

CUcontext FictionalDriver::NewContext(int card) {
  handles_.push_back(std::make_unique<char>());
  const auto context = reinterpret_cast<CUcontext>(handles_.back().get());
  card_of_[context] = card;
  return context;
}

CUresult FictionalDriver::Enter(const char* entry, bool ends_captures) {
  ++counts_[entry];
  if (ends_captures && !captured_.empty() && mode_ != CU_STREAM_CAPTURE_MODE_RELAXED)
    broken_ = true;
  const auto failure = failures_.find(entry);
  if (failure == failures_.end()) return CUDA_SUCCESS;
  const CUresult result = failure->second;
  failures_.erase(failure);
  return result;
}

const FictionalDriver::Kernel& FictionalDriver::kernel(const std::string& name) const {
  for (const auto& library : libraries_) {
    for (const auto& kernel : *library) {
      if (kernel->name == name) return *kernel;
    }
  }
  throw std::out_of_range(name);
}

int FictionalDriver::Count(const std::string& entry) const {
  const auto known = counts_.find(entry);
  return known == counts_.end() ? 0 : known->second;
}

}  // namespace hiera
