// ForkWatch: tells engines of a fork of the process, so that none of their locks is held by a
// thread that the child does not have. Listeners are called in the forking thread: BeforeFork in
// the order of registration, the others in reverse.
//
// Process-wide, never destroyed. Any thread; a listener must not register or unregister in its
// callbacks. Not seen: vfork, posix_spawn and bare clone calls, whose children only execute.
#ifndef HIERA_RUNTIME_CORE_FORK_WATCH_H_
#define HIERA_RUNTIME_CORE_FORK_WATCH_H_

namespace hiera {

class ForkListener {
 public:
  virtual ~ForkListener() = default;
  virtual void BeforeFork() noexcept = 0;
  virtual void AfterForkInParent() noexcept = 0;
  virtual void AfterForkInChild() noexcept = 0;
};

// Borrows the listener until it is unregistered. False where the system has no memory for it.
bool WatchForks(ForkListener* listener);
void UnwatchForks(ForkListener* listener);

// Whether the process has begun to exit: exit() was called, or main returned. From then on nothing
// of ours should call into the application.
bool ProcessExits() noexcept;

}  // namespace hiera

#endif  // HIERA_RUNTIME_CORE_FORK_WATCH_H_
