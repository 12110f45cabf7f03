#include "runtime/core/engine_parts.h"

#include <memory>
#include <mutex>
#include <string_view>

#include "runtime/base/environment.h"
#include "runtime/base/log.h"
#include "runtime/core/loading.h"
#include "runtime/ipc/paths.h"

namespace hiera {
namespace {

std::string Text(const char* text) { return text == nullptr ? std::string() : std::string(text); }

Result<Mode> ModeOf(uint32_t configured) {
  switch (configured) {
    case HIERA_MODE_ON:
      return Mode::kOn;
    case HIERA_MODE_FROZEN:
      return Mode::kFrozen;
    case HIERA_MODE_OFF:
      return Mode::kOff;
    case HIERA_MODE_DEFAULT:
      break;
    default:
      return InvalidArgument("hiera_config.mode is " + std::to_string(configured) +
                             ", which is none of HIERA_MODE_...");
  }
  const std::string& mode = GetEnvironment().mode;
  if (mode.empty() || mode == "on") return Mode::kOn;
  if (mode == "frozen") return Mode::kFrozen;
  if (mode != "off") {
    Log(LogLevel::kWarning,
        "HIERA_MODE is \"" + mode + "\", which is none of on, frozen, off; taken as off");
  }
  return Mode::kOff;
}

Result<std::unique_ptr<Device>> DeviceOf(const hiera_config& config) {
  constexpr uint32_t kMostThreads = 1024;
  if (config.threads > kMostThreads) {
    return InvalidArgument("hiera_config.threads is " + std::to_string(config.threads) +
                           "; it may be 0 (every usable core) to " + std::to_string(kMostThreads));
  }
  const std::string name = Text(config.device);
  if (name.empty() || name == "auto" || name == "host") {
    return MakeHostDevice(static_cast<int>(config.threads));
  }
  if (name == "cuda" || name.starts_with("cuda:")) {
    Result<std::unique_ptr<Device>> device = MakeCudaDevice(name);
    if (device.ok()) return device;
    const Status& why = device.status();
    return Status(why.code(), "hiera_config.device is \"" + name + "\": " + why.message());
  }
  return InvalidArgument("hiera_config.device is \"" + name +
                         "\", which is no device; use \"host\", \"cuda\", \"cuda:N\" or "
                         "\"cuda:GPU-UUID\"");
}

Result<Baseline> BuiltInBaseline(Device& device, const Task& task) {
  Result<Baseline> library = LibraryBaseline(device, task);
  if (library.ok()) return library;
  Log(LogLevel::kDebug, "no library baseline: " + library.status().message());
  Result<std::unique_ptr<Executable>> interpreter = device.Interpret(task);
  if (!interpreter.ok()) return interpreter.status();
  Baseline baseline;
  baseline.kind = HIERA_BASELINE_INTERPRETER;
  baseline.name = "interpreter";
  baseline.executable = *std::move(interpreter);
  return baseline;
}

// A channel to a planner that runs already, past its greeting.
Result<Channel> ConnectRunning(const std::string& store_path, const Hello& hello, int timeout_ms) {
  Result<std::string> socket = SocketPath(store_path);
  if (!socket.ok()) return socket.status();
  Result<Channel> channel = ConnectTo(*socket);
  if (!channel.ok()) return channel.status();
  HIERA_RETURN_IF_ERROR(channel->Send(hello, timeout_ms));
  Result<std::optional<Message>> welcome = channel->Receive(timeout_ms);
  if (!welcome.ok()) return welcome.status();
  if (!welcome->has_value() || !std::holds_alternative<Welcome>(**welcome)) {
    return Unavailable("the planner did not greet in time");
  }
  return channel;
}

// Where artifacts lie: in the store that was asked for, until its planner says otherwise.
class Whereabouts {
 public:
  explicit Whereabouts(std::string store) : store_(std::move(store)) {}

  std::string store() {
    const std::lock_guard lock(mutex_);
    return store_;
  }
  // Tells the log of trouble, once for each kind.
  void Take(const Welcome& welcome) {
    {
      const std::lock_guard lock(mutex_);
      store_ = welcome.store_path;
      if (welcome.trouble == told_) return;
      told_ = welcome.trouble;
    }
    if (!welcome.trouble.empty()) Log(LogLevel::kWarning, "planner: " + welcome.trouble);
  }

 private:
  std::mutex mutex_;
  std::string store_, told_;
};

}  // namespace

Result<EngineParts> RealParts(const hiera_config& config) {
  EngineParts parts;
  Result<Mode> mode = ModeOf(config.mode);
  if (!mode.ok()) return mode.status();
  parts.mode = *mode;
  Result<std::unique_ptr<Device>> device = DeviceOf(config);
  if (!device.ok()) return device.status();
  parts.device = *std::move(device);
  parts.plan_seconds = config.plan_seconds;

  std::string store;
  if (parts.mode != Mode::kOff) {
    Result<std::string> path = StorePath(Text(config.store_dir));
    if (path.ok()) {
      store = *std::move(path);
      parts.index_path = IndexPath(store);
    } else {
      Log(LogLevel::kWarning,
          "no store, operators run on their baselines: " + path.status().message());
    }
  }
  Device* borrowed = parts.device.get();  // the parts outlive the functions in them
  parts.baseline = [borrowed](const Task& task) { return BuiltInBaseline(*borrowed, task); };
  const auto whereabouts = std::make_shared<Whereabouts>(store);
  parts.load = [borrowed, whereabouts](const Task& task, const Variant& variant) {
    return LoadVariant(*borrowed, whereabouts->store(), task, variant);
  };
  parts.connect = [store, whereabouts, planner = Text(config.planner_path)](const Hello& hello,
                                                                            int timeout_ms) {
    Welcome welcome;
    Result<Channel> channel = ConnectToPlanner(store, planner, hello, timeout_ms, &welcome);
    if (channel.ok()) whereabouts->Take(welcome);
    return channel;
  };
  parts.connect_running = [store](const Hello& hello, int timeout_ms) {
    return ConnectRunning(store, hello, timeout_ms);
  };
  return parts;
}

}  // namespace hiera
