#include "runtime/ipc/paths.h"

#include <dlfcn.h>
#include <link.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "runtime/base/environment.h"
#include "runtime/base/folder.h"
#include "runtime/base/hash.h"
#include "runtime/ipc/messages.h"

namespace hiera {
namespace {

namespace fs = std::filesystem;

// Home folders are shared over networks; what was measured holds on one machine.
std::string MachineId() {
  std::string id;
  std::ifstream("/etc/machine-id") >> id;
  const bool usable = !id.empty() && id.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (usable) return id;
  char name[HOST_NAME_MAX + 1] = "";
  if (gethostname(name, sizeof name - 1) != 0 || name[0] == '\0') return "unknown-machine";
  std::string host(name);
  for (char& c : host) {
    if (c == '/' || c == '.') c = '-';
  }
  return host;
}

// One spelling for every way of naming a folder, also one that does not exist yet: the socket's
// name depends on it.
std::string Canonical(const std::string& path) {
  std::error_code error;
  fs::path canonical = fs::weakly_canonical(fs::absolute(path, error), error);
  if (error) canonical = fs::absolute(path, error).lexically_normal();
  std::string text = canonical.string();
  while (text.size() > 1 && text.back() == '/') text.pop_back();
  return text;
}

// The folder of the file, library or program, that this code was linked into; empty if unknown.
fs::path OwnFolder() {
  Dl_info info;
  link_map* map = nullptr;
  if (dladdr1(reinterpret_cast<void*>(&OwnFolder), &info, reinterpret_cast<void**>(&map),
              RTLD_DL_LINKMAP) == 0 ||
      map == nullptr) {
    return {};
  }
  // The program itself has no name there.
  const char* file = map->l_name[0] == '\0' ? "/proc/self/exe" : map->l_name;
  std::error_code error;
  const fs::path whole = fs::canonical(file, error);
  return error ? fs::path() : whole.parent_path();
}

bool IsExecutable(const fs::path& file) {
  std::error_code error;
  return fs::is_regular_file(file, error) && access(file.c_str(), X_OK) == 0;
}

}  // namespace

Result<std::string> StorePath(const std::string& configured) {
  const Environment& environment = GetEnvironment();
  if (!configured.empty()) return Canonical(configured);
  if (!environment.store_path.empty()) return Canonical(environment.store_path);
  std::string cache = environment.xdg_cache_home;
  // A relative XDG path is to be ignored (XDG Base Directory Specification).
  if (cache.empty() || cache[0] != '/') {
    if (environment.home.empty() || environment.home[0] != '/') {
      return Unavailable("no place for the store: neither HIERA_STORE nor HOME is set");
    }
    cache = environment.home + "/.cache";
  }
  return Canonical(cache + "/hiera/" + MachineId());
}

std::string IndexPath(const std::string& store_path) { return store_path + "/index"; }

std::string ArtifactPath(const std::string& store_path, const std::string& sha256) {
  return store_path + "/artifacts/" + sha256.substr(0, 2) + "/" + sha256;
}

Result<std::string> SocketPath(const std::string& store_path) {
  const Environment& environment = GetEnvironment();
  std::string folder;
  if (!environment.runtime_path.empty()) {
    folder = Canonical(environment.runtime_path);
  } else if (environment.xdg_runtime_dir.starts_with('/') &&
             // The variable outlives the folder where a user changes without a login (su, cron).
             CheckPrivateFolder(environment.xdg_runtime_dir).ok()) {
    folder = environment.xdg_runtime_dir + "/hiera";
  } else {
    folder = "/tmp/hiera-" + std::to_string(geteuid());
  }
  HIERA_RETURN_IF_ERROR(MakePrivateFolder(folder));
  const std::string name = HashBytes(store_path).ToHex().substr(0, 16);
  return folder + "/planner-v" + std::to_string(kProtocolVersion) + "-" + name;
}

Result<std::string> FindProgram(Program program, const std::string& configured) {
  const Environment& environment = GetEnvironment();
  const bool planner = program == Program::kPlanner;
  const std::string name = planner ? "hiera-planner" : "hiera-evaluator";
  const char* variable = planner ? "HIERA_PLANNER" : "HIERA_EVALUATOR";
  const std::string& from_variable =
      planner ? environment.planner_path : environment.evaluator_path;
  // What somebody named is meant: nothing else is tried instead.
  const std::string& named = configured.empty() ? from_variable : configured;
  if (!named.empty()) {
    if (IsExecutable(named)) return Canonical(named);
    return Unavailable(named + ", named by " + (configured.empty() ? variable : "configuration") +
                       ", is not a program that can be run");
  }
  const fs::path own = OwnFolder();
  if (!own.empty()) {
    // The last two: libraries may lie one level deeper, in lib/x86_64-linux-gnu.
    for (const char* relative :
         {".", "../libexec/hiera", "../bin", "../../libexec/hiera", "../../bin"}) {
      const fs::path file = (own / relative / name).lexically_normal();
      if (IsExecutable(file)) return file.string();
    }
  }
  std::string_view rest = environment.path;
  while (!rest.empty()) {
    const std::string_view folder = rest.substr(0, rest.find(':'));
    rest.remove_prefix(std::min(rest.size(), folder.size() + 1));
    // The current folder is not a place to take programs from.
    if (folder.empty() || folder[0] != '/') continue;
    const fs::path file = fs::path(folder) / name;
    if (IsExecutable(file)) return file.string();
  }
  return Unavailable(name + " was found neither beside " + own.string() + " nor on PATH; set " +
                     variable);
}

}  // namespace hiera
