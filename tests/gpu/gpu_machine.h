// GpuMachine: one GPU for a test, through the driver opened at run time: a primary context made
// current, memory, streams, events, graphs. A test skips with `why` where there is none.
#ifndef HIERA_TESTS_GPU_GPU_MACHINE_H_
#define HIERA_TESTS_GPU_GPU_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace hiera {

class GpuMachine {
 public:
  // The process's; its context is current in the calling thread. Null where there is no GPU.
  static GpuMachine* Get();
  static const std::string& why();  // there is none

  const std::string& name() const { return name_; }
  int multiprocessors() const { return multiprocessors_; }

  // Ends the program where the driver fails: a test has nothing to go on with.
  uint64_t Allocate(size_t bytes);
  void Free(uint64_t address);
  void Upload(uint64_t to, const void* from, size_t bytes);
  void Download(void* to, uint64_t from, size_t bytes);
  void Fill(uint64_t at, unsigned char value, size_t bytes, void* stream);
  void* MakeStream();
  // Empty where the work fails; an error that ends the context is in last_error().
  bool Synchronise(void* stream);
  const std::string& last_error() const { return last_error_; }

  // Device time of `work` on the stream, in nanoseconds; negative where it fails.
  double Time(void* stream, const std::function<bool()>& work);

  // What `work` puts into the stream, as a graph; null where it can't be captured.
  void* Capture(void* stream, const std::function<bool()>& work);
  bool Launch(void* graph, void* stream);
  void Destroy(void* graph);

 private:
  bool Open();
  bool Good(int result, const char* what);
  std::string name_, last_error_;
  int multiprocessors_ = 0;
  void* begin_ = nullptr;  // events
  void* end_ = nullptr;
};

// Memory of the device that is given back.
class GpuBuffer {
 public:
  GpuBuffer(GpuMachine& machine, size_t bytes)
      : machine_(machine), address_(machine.Allocate(bytes)) {}
  ~GpuBuffer() { machine_.Free(address_); }
  GpuBuffer(const GpuBuffer&) = delete;
  GpuBuffer& operator=(const GpuBuffer&) = delete;
  uint64_t address() const { return address_; }
  void* pointer() const { return reinterpret_cast<void*>(address_); }

 private:
  GpuMachine& machine_;
  uint64_t address_;
};

}  // namespace hiera

#endif  // HIERA_TESTS_GPU_GPU_MACHINE_H_
