// The driver's entries that are about devices and contexts.
#include <cstring>

#include "tests/fake_cuda/process.h"

namespace hiera::fake_cuda {
namespace {

const Card* CardOf(CUdevice device) {
  const std::vector<Card>& cards = Cards();
  return device >= 0 && static_cast<size_t>(device) < cards.size() ? &cards[device] : nullptr;
}

// With the lock; the device must be one.
template <typename F>
CUresult OfCard(CUdevice device, const F& work) {
  return Locked([&](Process& process) {
    const Card* card = CardOf(device);
    return card == nullptr ? CUDA_ERROR_INVALID_DEVICE : work(process, *card);
  });
}

struct ErrorText {
  CUresult error;
  const char *name, *text;
};
#define FAKE_CUDA_ERROR(error, text) \
  { error, #error, text }
constexpr ErrorText kErrors[] = {
    FAKE_CUDA_ERROR(CUDA_SUCCESS, "no error"),
    FAKE_CUDA_ERROR(CUDA_ERROR_INVALID_VALUE, "invalid argument"),
    FAKE_CUDA_ERROR(CUDA_ERROR_OUT_OF_MEMORY, "out of memory"),
    FAKE_CUDA_ERROR(CUDA_ERROR_NOT_INITIALIZED, "initialization error"),
    FAKE_CUDA_ERROR(CUDA_ERROR_NO_DEVICE, "no CUDA-capable device is detected"),
    FAKE_CUDA_ERROR(CUDA_ERROR_INVALID_DEVICE, "invalid device ordinal"),
    FAKE_CUDA_ERROR(CUDA_ERROR_INVALID_IMAGE, "device kernel image is invalid"),
    FAKE_CUDA_ERROR(CUDA_ERROR_INVALID_CONTEXT, "invalid device context"),
    FAKE_CUDA_ERROR(CUDA_ERROR_NO_BINARY_FOR_GPU, "no kernel image is available"),
    FAKE_CUDA_ERROR(CUDA_ERROR_INVALID_HANDLE, "invalid resource handle"),
    FAKE_CUDA_ERROR(CUDA_ERROR_NOT_FOUND, "named symbol not found"),
    FAKE_CUDA_ERROR(CUDA_ERROR_NOT_READY, "device not ready"),
    FAKE_CUDA_ERROR(CUDA_ERROR_ILLEGAL_ADDRESS, "an illegal memory access was encountered"),
    FAKE_CUDA_ERROR(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, "too many resources requested for launch"),
    FAKE_CUDA_ERROR(CUDA_ERROR_ILLEGAL_INSTRUCTION, "an illegal instruction was encountered"),
    FAKE_CUDA_ERROR(CUDA_ERROR_MISALIGNED_ADDRESS, "misaligned address"),
    FAKE_CUDA_ERROR(CUDA_ERROR_LAUNCH_FAILED, "unspecified launch failure"),
    FAKE_CUDA_ERROR(CUDA_ERROR_INVALID_CLUSTER_SIZE, "misconfigured cluster"),
    FAKE_CUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                    "operation not permitted when stream is capturing"),
    FAKE_CUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED,
                    "operation failed due to a previous error during capture"),
    FAKE_CUDA_ERROR(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                    "operation would make the legacy stream depend on a capturing blocking stream"),
    FAKE_CUDA_ERROR(CUDA_ERROR_CAPTURED_EVENT,
                    "operation not permitted on an event last recorded in a capturing stream"),
    FAKE_CUDA_ERROR(CUDA_ERROR_NOT_SUPPORTED, "operation not supported"),
};
#undef FAKE_CUDA_ERROR

CUresult Describe(CUresult error, const char* ErrorText::*what, const char** text) {
  for (const ErrorText& known : kErrors) {
    if (known.error == error) return *text = known.*what, CUDA_SUCCESS;
  }
  return *text = nullptr, CUDA_ERROR_INVALID_VALUE;
}

}  // namespace
}  // namespace hiera::fake_cuda

using namespace hiera::fake_cuda;  // the entries are C's

extern "C" {

CUresult cuInit(unsigned flags) {
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (Cards().empty()) return CUDA_ERROR_NO_DEVICE;
  Process& process = Process::Get();
  const std::lock_guard lock(process.mutex);
  process.initialised = true;
  process.primaries.resize(Cards().size());
  return CUDA_SUCCESS;
}

CUresult cuDriverGetVersion(int* version) { return *version = CUDA_VERSION, CUDA_SUCCESS; }

CUresult cuGetErrorName(CUresult error, const char** name) {
  return Describe(error, &ErrorText::name, name);
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  return Describe(error, &ErrorText::text, text);
}

CUresult cuDeviceGetCount(int* count) {
  return Locked([&](Process&) { return *count = static_cast<int>(Cards().size()), CUDA_SUCCESS; });
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  return OfCard(ordinal, [&](Process&, const Card&) { return *device = ordinal, CUDA_SUCCESS; });
}
CUresult cuDeviceGetName(char* name, int bytes, CUdevice device) {
  return OfCard(device, [&](Process&, const Card& card) {
    std::strncpy(name, card.name.c_str(), bytes);
    if (bytes > 0) name[bytes - 1] = '\0';
    return CUDA_SUCCESS;
  });
}
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
  return OfCard(device,
                [&](Process&, const Card& card) { return *uuid = card.uuid(), CUDA_SUCCESS; });
}
CUresult cuDeviceTotalMem(size_t* bytes, CUdevice device) {
  return OfCard(
      device, [&](Process&, const Card& card) { return *bytes = card.memory_bytes, CUDA_SUCCESS; });
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute what, CUdevice device) {
  return OfCard(device, [&](Process&, const Card& card) {
    return *value = card.Attribute(what), CUDA_SUCCESS;
  });
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  return OfCard(device, [&](Process& process, const Card&) {
    Context*& primary = process.primaries[device];
    if (primary == nullptr) primary = process.NewContext(device);
    ++primary->uses;
    return *context = reinterpret_cast<CUcontext>(primary), CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxRelease(CUdevice device) {
  return OfCard(device, [&](Process& process, const Card&) {
    Context*& primary = process.primaries[device];
    if (primary == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    if (--primary->uses > 0) return CUDA_SUCCESS;
    process.Destroy(primary);
    primary = nullptr;
    return CUDA_SUCCESS;
  });
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  return OfCard(device, [&](Process& process, const Card&) {
    *flags = 0;
    return *active = process.primaries[device] != nullptr, CUDA_SUCCESS;
  });
}

#if CUDA_VERSION >= 13000
CUresult cuCtxCreate(CUcontext* context, CUctxCreateParams*, unsigned, CUdevice device) {
#else
CUresult cuCtxCreate(CUcontext* context, unsigned, CUdevice device) {
#endif
  return OfCard(device, [&](Process& process, const Card&) {
    Context* const made = process.NewContext(device);
    ContextStack().push_back(made);
    return *context = reinterpret_cast<CUcontext>(made), CUDA_SUCCESS;
  });
}
CUresult cuCtxDestroy(CUcontext context) {
  return Locked([&](Process& process) {
    auto* const known = reinterpret_cast<Context*>(context);
    if (process.contexts.count(known) == 0) return CUDA_ERROR_INVALID_CONTEXT;
    if (process.current() == known) ContextStack().pop_back();
    process.Destroy(known);
    return CUDA_SUCCESS;
  });
}

CUresult cuCtxGetCurrent(CUcontext* context) {
  return Locked([&](Process& process) {
    return *context = reinterpret_cast<CUcontext>(process.current()), CUDA_SUCCESS;
  });
}
CUresult cuCtxPushCurrent(CUcontext context) {
  return Locked([&](Process& process) {
    auto* const known = reinterpret_cast<Context*>(context);
    if (process.contexts.count(known) == 0) return CUDA_ERROR_INVALID_CONTEXT;
    return ContextStack().push_back(known), CUDA_SUCCESS;
  });
}
CUresult cuCtxPopCurrent(CUcontext* context) {
  return Locked([&](Process& process) {
    if (ContextStack().empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context != nullptr) *context = reinterpret_cast<CUcontext>(process.current());
    return ContextStack().pop_back(), CUDA_SUCCESS;
  });
}
CUresult cuCtxSetCurrent(CUcontext context) {
  return Locked([&](Process& process) {
    auto* const known = reinterpret_cast<Context*>(context);
    if (known != nullptr && process.contexts.count(known) == 0) return CUDA_ERROR_INVALID_CONTEXT;
    std::vector<Context*>& stack = ContextStack();
    if (!stack.empty()) stack.pop_back();
    if (known != nullptr) stack.push_back(known);
    return CUDA_SUCCESS;
  });
}
CUresult cuCtxGetDevice(CUdevice* device) {
  return Locked([&](Process& process) {
    const Context* const current = process.current();
    if (current == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
    return *device = current->card, CUDA_SUCCESS;
  });
}
CUresult cuCtxGetId(CUcontext context, unsigned long long* id) {
  return Locked([&](Process& process) {
    const Context* const asked =
        context == nullptr ? process.current() : reinterpret_cast<Context*>(context);
    if (asked == nullptr || process.contexts.count(const_cast<Context*>(asked)) == 0) {
      return CUDA_ERROR_INVALID_CONTEXT;
    }
    return *id = asked->id, CUDA_SUCCESS;
  });
}
CUresult cuCtxSynchronize() {
  return Waiting([](Process&, Context&) { return CUDA_SUCCESS; });
}

}  // extern "C"
