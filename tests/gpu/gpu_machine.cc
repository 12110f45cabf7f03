#include "tests/gpu/gpu_machine.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace hiera {
namespace {

// The driver's entries, as cuda.h declares them.
struct Entries {
  int (*init)(unsigned flags);
  int (*device_get)(int* device, int ordinal);
  int (*device_name)(char* name, int bytes, int device);
  int (*device_attribute)(int* value, int attribute, int device);
  int (*retain)(void** context, int device);
  int (*set_current)(void* context);
  int (*allocate)(uint64_t* address, size_t bytes);
  int (*release)(uint64_t address);
  int (*upload)(uint64_t to, const void* from, size_t bytes);
  int (*download)(void* to, uint64_t from, size_t bytes);
  int (*fill)(uint64_t at, unsigned char value, size_t bytes, void* stream);
  int (*stream_create)(void** stream, unsigned flags);
  int (*stream_synchronise)(void* stream);
  int (*event_create)(void** event, unsigned flags);
  int (*event_record)(void* event, void* stream);
  int (*event_elapsed)(float* ms, void* begin, void* end);
  int (*error_name)(int error, const char** name);
  int (*begin_capture)(void* stream, int mode);
  int (*end_capture)(void* stream, void** graph);
  int (*instantiate)(void** executable, void* graph, unsigned long long flags);
  int (*graph_launch)(void* executable, void* stream);
  int (*graph_destroy)(void* graph);
  int (*executable_destroy)(void* executable);
};
Entries g_driver;
std::string g_why;

constexpr int kMultiprocessorCount = 16;  // CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT
constexpr unsigned kNonBlocking = 1;      // CU_STREAM_NON_BLOCKING
constexpr int kThreadLocal = 1;           // CU_STREAM_CAPTURE_MODE_THREAD_LOCAL

template <typename F>
bool Find(void* library, const char* name, F* function) {
  *function = reinterpret_cast<F>(dlsym(library, name));
  if (*function == nullptr) g_why = std::string("the driver has no ") + name;
  return *function != nullptr;
}

bool FindAll(void* l) {
  Entries& d = g_driver;
  return Find(l, "cuInit", &d.init) && Find(l, "cuDeviceGet", &d.device_get) &&
         Find(l, "cuDeviceGetName", &d.device_name) &&
         Find(l, "cuDeviceGetAttribute", &d.device_attribute) &&
         Find(l, "cuDevicePrimaryCtxRetain", &d.retain) &&
         Find(l, "cuCtxSetCurrent", &d.set_current) && Find(l, "cuMemAlloc_v2", &d.allocate) &&
         Find(l, "cuMemFree_v2", &d.release) && Find(l, "cuMemcpyHtoD_v2", &d.upload) &&
         Find(l, "cuMemcpyDtoH_v2", &d.download) && Find(l, "cuMemsetD8Async", &d.fill) &&
         Find(l, "cuStreamCreate", &d.stream_create) &&
         Find(l, "cuStreamSynchronize", &d.stream_synchronise) &&
         Find(l, "cuEventCreate", &d.event_create) && Find(l, "cuEventRecord", &d.event_record) &&
         Find(l, "cuEventElapsedTime", &d.event_elapsed) &&
         Find(l, "cuGetErrorName", &d.error_name) &&
         Find(l, "cuStreamBeginCapture_v2", &d.begin_capture) &&
         Find(l, "cuStreamEndCapture", &d.end_capture) &&
         Find(l, "cuGraphInstantiateWithFlags", &d.instantiate) &&
         Find(l, "cuGraphLaunch", &d.graph_launch) && Find(l, "cuGraphDestroy", &d.graph_destroy) &&
         Find(l, "cuGraphExecDestroy", &d.executable_destroy);
}

void Must(int result, const char* what) {
  if (result == 0) return;
  const char* name = "";
  g_driver.error_name(result, &name);
  std::fprintf(stderr, "%s fails: %s\n", what, name);
  std::abort();
}

}  // namespace

GpuMachine* GpuMachine::Get() {
  // Never destroyed: the driver may be gone at exit.
  static GpuMachine* machine = [] {
    auto* made = new GpuMachine;
    return made->Open() ? made : nullptr;
  }();
  return machine;
}

const std::string& GpuMachine::why() { return g_why; }

bool GpuMachine::Good(int result, const char* what) {
  if (result == 0) return true;
  const char* name = "";
  g_driver.error_name(result, &name);
  last_error_ = std::string(what) + ": " + name;
  return false;
}

bool GpuMachine::Open() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_GLOBAL);
  if (library == nullptr) {
    g_why = "no libcuda.so.1";
    return false;
  }
  if (!FindAll(library)) return false;
  int device = 0;
  void* context = nullptr;
  if (!Good(g_driver.init(0), "cuInit") || !Good(g_driver.device_get(&device, 0), "cuDeviceGet") ||
      !Good(g_driver.retain(&context, device), "cuDevicePrimaryCtxRetain") ||
      !Good(g_driver.set_current(context), "cuCtxSetCurrent")) {
    g_why = "no GPU: " + last_error_;
    return false;
  }
  char name[128] = "";
  Must(g_driver.device_name(name, sizeof name, device), "cuDeviceGetName");
  name_ = name;
  Must(g_driver.device_attribute(&multiprocessors_, kMultiprocessorCount, device),
       "cuDeviceGetAttribute");
  Must(g_driver.event_create(&begin_, 0), "cuEventCreate");
  Must(g_driver.event_create(&end_, 0), "cuEventCreate");
  return true;
}

uint64_t GpuMachine::Allocate(size_t bytes) {
  uint64_t address = 0;
  Must(g_driver.allocate(&address, bytes == 0 ? 1 : bytes), "cuMemAlloc");
  return address;
}
void GpuMachine::Free(uint64_t address) { Must(g_driver.release(address), "cuMemFree"); }
void GpuMachine::Upload(uint64_t to, const void* from, size_t bytes) {
  Must(g_driver.upload(to, from, bytes), "cuMemcpyHtoD");
}
void GpuMachine::Download(void* to, uint64_t from, size_t bytes) {
  Must(g_driver.download(to, from, bytes), "cuMemcpyDtoH");
}
void GpuMachine::Fill(uint64_t at, unsigned char value, size_t bytes, void* stream) {
  Must(g_driver.fill(at, value, bytes, stream), "cuMemsetD8Async");
}
void* GpuMachine::MakeStream() {
  void* stream = nullptr;
  Must(g_driver.stream_create(&stream, kNonBlocking), "cuStreamCreate");
  return stream;
}
bool GpuMachine::Synchronise(void* stream) {
  return Good(g_driver.stream_synchronise(stream), "cuStreamSynchronize");
}

double GpuMachine::Time(void* stream, const std::function<bool()>& work) {
  float ms = 0;
  const bool good = Good(g_driver.event_record(begin_, stream), "cuEventRecord") && work() &&
                    Good(g_driver.event_record(end_, stream), "cuEventRecord") &&
                    Synchronise(stream) &&
                    Good(g_driver.event_elapsed(&ms, begin_, end_), "cuEventElapsedTime");
  return good ? static_cast<double>(ms) * 1e6 : -1;
}

void* GpuMachine::Capture(void* stream, const std::function<bool()>& work) {
  void* graph = nullptr;
  void* executable = nullptr;
  if (!Good(g_driver.begin_capture(stream, kThreadLocal), "cuStreamBeginCapture")) return nullptr;
  const bool done = work();
  if (!Good(g_driver.end_capture(stream, &graph), "cuStreamEndCapture")) return nullptr;
  if (done && !Good(g_driver.instantiate(&executable, graph, 0), "cuGraphInstantiate")) {
    executable = nullptr;
  }
  g_driver.graph_destroy(graph);
  return executable;
}
bool GpuMachine::Launch(void* graph, void* stream) {
  return Good(g_driver.graph_launch(graph, stream), "cuGraphLaunch");
}
void GpuMachine::Destroy(void* graph) {
  Must(g_driver.executable_destroy(graph), "cuGraphExecDestroy");
}

}  // namespace hiera
