#include "runtime/core/fork_watch.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>
#include <vector>

namespace hiera {
namespace {

// Never destroyed: the process may fork while it exits. Reaches every engine that is not destroyed,
// which also tells leak checkers that an engine kept to the end is meant.
struct Registry {
  std::mutex mutex;
  std::vector<ForkListener*> listeners;
};

Registry& TheRegistry() {
  static Registry& registry = *new Registry;
  return registry;
}

std::atomic<bool> g_exits{false};

void NoteExit() { g_exits.store(true, std::memory_order_release); }

void Before() {
  Registry& registry = TheRegistry();
  registry.mutex.lock();
  for (ForkListener* listener : registry.listeners) listener->BeforeFork();
}

void InParent() {
  Registry& registry = TheRegistry();
  for (auto it = registry.listeners.rbegin(); it != registry.listeners.rend(); ++it) {
    (*it)->AfterForkInParent();
  }
  registry.mutex.unlock();
}

void InChild() {
  Registry& registry = TheRegistry();
  for (auto it = registry.listeners.rbegin(); it != registry.listeners.rend(); ++it) {
    (*it)->AfterForkInChild();
  }
  registry.mutex.unlock();
}

}  // namespace

bool WatchForks(ForkListener* listener) {
  static const bool installed =
      pthread_atfork(Before, InParent, InChild) == 0 && std::atexit(NoteExit) == 0;
  if (!installed) return false;
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  registry.listeners.push_back(listener);
  return true;
}

void UnwatchForks(ForkListener* listener) {
  Registry& registry = TheRegistry();
  const std::lock_guard lock(registry.mutex);
  std::erase(registry.listeners, listener);
}

bool ProcessExits() noexcept { return g_exits.load(std::memory_order_acquire); }

}  // namespace hiera
