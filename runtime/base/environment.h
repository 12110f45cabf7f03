// Every environment variable that HIERA obeys, read once, at the first call of GetEnvironment().
// Later changes of the environment are not seen. Any thread.
#ifndef HIERA_RUNTIME_BASE_ENVIRONMENT_H_
#define HIERA_RUNTIME_BASE_ENVIRONMENT_H_

#include <string>
#include <vector>

namespace hiera {

struct Environment {
  std::string mode;            // HIERA_MODE: on, frozen, off
  std::string store_path;      // HIERA_STORE: the store's folder
  std::string runtime_path;    // HIERA_RUNTIME_DIR: the sockets' folder
  std::string planner_path;    // HIERA_PLANNER: the hiera-planner program
  std::string evaluator_path;  // HIERA_EVALUATOR: the hiera-evaluator program
  std::string gcc;             // HIERA_GCC: the g++ that candidates are built with
  std::string clang;           // HIERA_CLANG: the clang++ that candidates are built with
  std::string nvrtc_path;      // HIERA_NVRTC: the library that compiles CUDA candidates
  std::string cuda_driver;     // HIERA_CUDA_DRIVER: the CUDA driver's library
  std::string blas_path;       // HIERA_BLAS: the CBLAS library of the library space
  std::string cublas_path;     // HIERA_CUBLAS: the libcublas of the library space
  std::string cublaslt_path;   // HIERA_CUBLASLT: the libcublasLt of the library space
  std::string cudnn_path;      // HIERA_CUDNN: the libcudnn of the library space
  int threads = 0;             // HIERA_THREADS: size of the thread pool; 0: every usable core
  int verbose = 0;             // HIERA_VERBOSE: 0 silent, 1 decisions, 2 everything
  int planner_idle_s = 0;      // HIERA_PLANNER_IDLE_S: planner's idle exit; 0: the default

  // Of the user and the system.
  std::string home;             // HOME
  std::string xdg_cache_home;   // XDG_CACHE_HOME
  std::string xdg_runtime_dir;  // XDG_RUNTIME_DIR
  std::string path;             // PATH

  // Every variable as "NAME=value", for the programs that are started.
  std::vector<std::string> all;
};

const Environment& GetEnvironment();

}  // namespace hiera

#endif  // HIERA_RUNTIME_BASE_ENVIRONMENT_H_
