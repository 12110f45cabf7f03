// A CUDA driver that has no device: it answers as the real one would, writes down what it is asked
// to launch, and notices what would end a capture. One at a time; one thread.
//
// Its code is text: "kernel NAME threads T shared S params OFFSET:SIZE ..." a line.
#ifndef HIERA_TESTS_UNIT_DEVICE_FICTIONAL_DRIVER_H_
#define HIERA_TESTS_UNIT_DEVICE_FICTIONAL_DRIVER_H_

#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/device/cuda/driver.h"

namespace hiera {

class FictionalDriver {
 public:
  struct Card {
    std::string name = "Fiction 1";
    int major = 9, minor = 0, multiprocessors = 4;
    int shared_bytes = 227 << 10;
    size_t memory = size_t{16} << 30;
  };
  struct Kernel {
    std::string name;
    int threads = 1024, shared = 0;
    std::vector<std::pair<size_t, size_t>> params;
    std::map<int, int> attributes;  // as set
    std::set<CUcontext> loaded;     // where
  };
  struct Launched {
    std::string kernel;
    CUcontext context;
    CUstream stream;
    CUlaunchConfig config;
    std::vector<CUlaunchAttribute> attributes;
    std::vector<char> block;  // the parameters
    bool was_loaded;          // before the launch
  };

  explicit FictionalDriver(std::vector<Card> cards);
  ~FictionalDriver();

  const cuda::Driver& table() const { return table_; }

  // A context of a card, and which one this thread uses.
  CUcontext NewContext(int card);
  void Use(CUcontext context) { stack_ = {context}; }
  CUcontext current() const { return stack_.empty() ? nullptr : stack_.back(); }
  size_t depth() const { return stack_.size(); }

  // A capture in global mode begins on a stream; the next call of one of the functions that end it
  // does, unless the thread is in relaxed mode.
  void Capture(CUstream stream) { captured_.insert(stream); }
  void EndCapture() { captured_.clear(); }
  bool broken() const { return broken_; }

  // The next call of an entry fails.
  void Fail(const std::string& entry, CUresult result) { failures_[entry] = result; }
  int Count(const std::string& entry) const;
  // Of what was loaded first under this name.
  const Kernel& kernel(const std::string& name) const;

  std::vector<Launched> launched;
  std::vector<std::string> log;  // launches, allocations, fills and frees, in order
  bool events_are_ready = true;
  float elapsed_ms = 0.5f;
  CUcontext primary_of(int card) const { return primaries_[card]; }

 private:
  friend struct FictionalEntries;
  CUresult Enter(const char* entry, bool ends_captures = false);

  cuda::Driver table_;
  std::vector<Card> cards_;
  std::map<CUcontext, int> card_of_;
  std::vector<CUcontext> stack_;
  std::map<std::string, int> counts_;
  std::map<std::string, CUresult> failures_;
  std::set<CUstream> captured_;
  CUstreamCaptureMode mode_ = CU_STREAM_CAPTURE_MODE_GLOBAL;
  bool broken_ = false;
  std::vector<std::unique_ptr<std::vector<std::unique_ptr<Kernel>>>> libraries_;
  std::vector<int> primary_uses_;
  std::vector<CUcontext> primaries_;
  std::vector<std::unique_ptr<char>> handles_;
  uintptr_t next_address_ = 0x7000000000;
};

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_DEVICE_FICTIONAL_DRIVER_H_
