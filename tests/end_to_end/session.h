// A store and a sockets' folder of one test's own, and the programs run in them. Stops the planner
// and deletes both folders at the end.
#ifndef HIERA_TESTS_END_TO_END_SESSION_H_
#define HIERA_TESTS_END_TO_END_SESSION_H_

#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include <map>
#include <string>
#include <vector>

struct Outcome {
  int exit_code = -1;  // 128 + signal where a signal ended it
  std::string output;  // standard output
  std::string errors;  // standard error
  // Value of a "name=value" line of the output; "" where there is none.
  std::string operator[](const std::string& name) const;
};

// A program in progress.
class Running {
 public:
  Running(pid_t pid, std::string output_path) : pid_(pid), output_path_(std::move(output_path)) {}
  Outcome Wait();  // once
  pid_t pid() const { return pid_; }

 private:
  pid_t pid_;
  std::string output_path_;
};

class Session {
 public:
  Session();
  ~Session();

  void Set(const std::string& name, const std::string& value) { environment_[name] = value; }
  void Unset(const std::string& name) { environment_.erase(name); }

  Running Start(const std::vector<std::string>& command);
  Outcome Run(const std::vector<std::string>& command) { return Start(command).Wait(); }
  Outcome App(std::vector<std::string> arguments);
  Outcome Hiera(std::vector<std::string> arguments);

  // The planner of this session's store; 0 where none answers.
  pid_t PlannerPid();

  const std::string& store() const { return store_; }
  std::string Path(const std::string& name) const { return folder_ + "/" + name; }

 private:
  std::string folder_;
  std::string store_;
  std::map<std::string, std::string> environment_;
  int started_ = 0;
};

// Polls until `condition` holds; false once the deadline has passed.
template <typename Condition>
bool Eventually(Condition condition, double seconds = 60) {
  timespec start, now;
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (;;) {
    if (condition()) return true;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (static_cast<double>(now.tv_sec - start.tv_sec) > seconds) return false;
    usleep(10'000);  // between two looks
  }
}

#endif  // HIERA_TESTS_END_TO_END_SESSION_H_
