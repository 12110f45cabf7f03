// The call path makes no system call and allocates nothing: run in a child that the kernel kills at
// its first system call, with every allocation counted.
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <iterator>

#include "hiera/hiera.h"
#include "runtime/task/parse.h"
#include "tests/unit/core/stored_variant.h"

namespace {

std::atomic<long> g_allocations{0};

}  // namespace

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
// Every allocation of the process passes here, the library's own C++ runtime included.
extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* malloc(size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_calloc(count, size);
}
void* realloc(void* block, size_t size) {
  g_allocations.fetch_add(1, std::memory_order_relaxed);
  return __libc_realloc(block, size);
}
}
#endif

namespace hiera {
namespace {

constexpr int kRight = 0, kWrongValue = 1, kWrongStatus = 2, kAllocated = 3, kNoFilter = 4;

hiera_status Triple(void*, void* const* pointers, const double*, void*) {
  for (int i = 0; i < 4; ++i) {
    static_cast<float*>(pointers[1])[i] = 3 * static_cast<const float*>(pointers[0])[i];
  }
  return HIERA_OK;
}

class CallPathTest : public testing::Test {
 protected:
  void SetUp() override {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "a sanitizer's runtime makes system calls of its own";
#endif
  }

  hiera_op* Create(uint32_t mode, const std::string& store, const char* text,
                   hiera_baseline_fn baseline, uint32_t alignment = 0) {
    hiera_config config = HIERA_CONFIG_INIT;
    config.mode = mode;
    config.store_dir = store.c_str();
    config.threads = 1;
    EXPECT_EQ(hiera_engine_create(&config, &engine_), HIERA_OK) << hiera_last_error();
    const hiera_tensor tensors[] = {{"x", HIERA_F32, 1, {4}, {0}, 0, 0},
                                    {"y", HIERA_F32, 1, {4}, {0}, 0, 0}};
    hiera_contract contract = HIERA_CONTRACT_INIT;
    contract.alignment = alignment;
    hiera_formula formula = HIERA_FORMULA_INIT;
    formula.text = text;
    formula.tensors = tensors;
    formula.tensor_count = 2;
    formula.baseline = baseline;
    formula.contract = &contract;
    hiera_op* op = nullptr;
    EXPECT_EQ(hiera_op_create(engine_, &formula, &op), HIERA_OK) << hiera_last_error();
    return op;
  }

  void ExpectSilent(hiera_op* op, float factor) {
    const pid_t child = fork();
    if (child == 0) Child(op, factor);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_FALSE(WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
        << "killed by the kernel: the call path made a system call";
    ASSERT_TRUE(WIFEXITED(status));
    EXPECT_EQ(WEXITSTATUS(status), kRight);
  }

  // All but the end of the process, and the clock: where the machine has no counter that user code
  // may read, the C library asks the kernel for the time.
  static bool RefuseSystemCalls() {
    sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_exit_group, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clock_gettime, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const sock_fprog filter{std::size(program), program};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0;
  }

  [[noreturn]] static void Child(hiera_op* op, float factor) {
    alignas(64) float x[4] = {1, 2, 3, 4}, y[4] = {0};
    void* pointers[] = {x, y};
    if (!RefuseSystemCalls()) _exit(kNoFilter);
    const long before = g_allocations.load();
    int result = kRight;
    for (int i = 0; i < 1000; ++i) {
      y[3] = 0;
      if (hiera_op_run(op, pointers, nullptr, nullptr) != HIERA_OK) result = kWrongStatus;
      if (y[3] != factor * 4) result = kWrongValue;
    }
    if (g_allocations.load() != before) result = kAllocated;
    _exit(result);
  }

  hiera_engine* engine_ = nullptr;
};

TEST_F(CallPathTest, AStoredVariant) {
  StoredVariant stored(*ParseTask("tensor x: f32[4]\ntensor y: f32[4]\ny[i] = 2*x[i]"),
                       HIERA_DOUBLE_VARIANT);
  hiera_op* op = Create(HIERA_MODE_FROZEN, stored.path(), "y[i] = 2*x[i]", nullptr);
  hiera_op_info info = HIERA_OP_INFO_INIT;
  ASSERT_EQ(hiera_op_get_info(op, &info), HIERA_OK);
  ASSERT_EQ(info.space, static_cast<uint32_t>(HIERA_SPACE_KERNEL));
  ExpectSilent(op, 2);
  hiera_op_destroy(op);
  hiera_engine_destroy(engine_);
}

TEST_F(CallPathTest, ACallersBaselineFromItsFirstCall) {
  hiera_op* op = Create(HIERA_MODE_OFF, "", "y[i] = 3*x[i]", Triple);
  ExpectSilent(op, 3);
  hiera_op_destroy(op);
  hiera_engine_destroy(engine_);
}

// The first run of the interpreter may set up what its thread needs; later ones may not.
TEST_F(CallPathTest, TheInterpreterOnceItHasRun) {
  hiera_op* op = Create(HIERA_MODE_OFF, "", "y[i] = 5*x[i]", nullptr);
  alignas(64) float x[4] = {1, 2, 3, 4}, y[4] = {0};
  void* pointers[] = {x, y};
  ASSERT_EQ(hiera_op_run(op, pointers, nullptr, nullptr), HIERA_OK);
  ExpectSilent(op, 5);
  hiera_op_destroy(op);
  hiera_engine_destroy(engine_);
}

}  // namespace
}  // namespace hiera
