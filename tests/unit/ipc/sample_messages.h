// One message of every type, with no field left at its default, and their comparison.
#ifndef HIERA_TESTS_UNIT_IPC_SAMPLE_MESSAGES_H_
#define HIERA_TESTS_UNIT_IPC_SAMPLE_MESSAGES_H_

#include <string>
#include <vector>

#include "runtime/ipc/messages.h"

namespace hiera {

inline Variant SampleVariant() {
  Variant v;
  v.key = {0x0123456789abcdef, 0xfedcba9876543210};
  v.space = Space::kKernel;
  v.family = "gemm";
  v.name = "mr=6 nr=16 clang";
  v.plan = {"object", 4096, 3};
  v.artifact = std::string(64, 'a');
  v.requirements = {{"library libopenblas.so.0", "b1d2"}, {"library libm.so.6", "77aa"}};
  v.baseline_name = "library cblas_sgemm";
  v.baseline_ns = 1234.5;
  v.time_ns = 411.5;
  v.ratio = 3.0;
  v.ratio_low = 2.9;
  v.floor_ns = 200.25;
  v.provisional = true;
  v.measured_unix_s = 1'700'000'000;
  return v;
}

inline Candidate SampleCandidate(std::string name) {
  Candidate c;
  c.space = Space::kLibrary;
  c.family = "cblas";
  c.name = std::move(name);
  c.reason = "fits the first-level cache";
  c.source = std::string("int x;\0int y;", 13);
  c.compiler = Candidate::Compiler::kClang;
  c.flags = {"-funroll-loops", "-DN=8"};
  c.plan = {"library cblas n=8", 1 << 20, 2};
  c.requirements = {{"library libopenblas.so.0", "b1d2"}};
  c.predicted_ns = 99.5;
  return c;
}

inline std::vector<Message> SampleMessages() {
  const Hash128 key{7, 8}, identity{9, 10};
  const Incumbent incumbent{
      Incumbent::Kind::kVariant, {"object", 1, 2}, "/store/artifacts/ab/ab12", "loops o3"};
  MachineFacts facts;
  facts.threads = 12;
  facts.l1_bytes = 48 << 10;
  facts.l2_bytes = 1 << 20;
  facts.l3_bytes = 64 << 20;
  facts.vector_bytes = 64;
  facts.copy_gbps = 41.5;
  facts.flops_f32 = 3e11;
  facts.flops_f64 = 1.5e11;
  facts.has_gcc = false;
  facts.has_clang = true;
  facts.blas = "b1d2";
  facts.blas_what = "library libopenblas.so.0";
  facts.architecture = "sm_90a";
  facts.memory_bytes = int64_t{139} << 30;
  facts.shared_bytes = 227 << 10;
  facts.has_nvrtc = true;
  return {
      Hello{41, "solver", "device=host\n"},
      PlanRequest{"C[i]=A[i]", "device=host\n", "GPU-1234", true, 12.5, "interpreter", true, 30.5,
                  true},
      BaselineReport{key, 77.25},
      VariantReport{key, identity, "differs at element 3"},
      Query{"explain", "0f"},
      Welcome{4711, "/home/u/.cache/hiera/m", "the disk is full"},
      Announce{SampleVariant()},
      Settled{key, "gemm mr=6 wins by 3.0"},
      Progress{key, 3, 16, "building mr=4"},
      Reply{true, "line\nline"},
      MachineRequest{5},
      JudgeRequest{21,
                   "C[i]=A[i]",
                   incumbent,
                   {SampleCandidate("a"), SampleCandidate("b")},
                   20.5,
                   0.25,
                   true,
                   true,
                   3100.5,
                   5.75},
      MachineReport{facts, "device=host\n"},
      JudgeReport{21, 1, Verdict::kWrong, "C[0] is 1, not 2", "/tmp/v.so", std::string(64, 'b'),
                  10.5, 20.5, 1.95, 1.9, true, true, 0.75},
      EnumerateRequest{22, "C[i]=A[i]", 1 << 26},
      EnumerateReport{22,
                      {{"cublaslt",
                        {{"library libcublasLt.so.13", "build-id b1d2"}},
                        {{{"library cublaslt m=8 algo=66", 4096, 0}, "66 64x64", 3, 1.5},
                         {{"library cublaslt m=8 algo=7", 0, 0}, "7", -1, 0}},
                        ""},
                       {"cudnn", {}, {}, "not a convolution"}},
                      "no GPU"},
  };
}

}  // namespace hiera

#endif  // HIERA_TESTS_UNIT_IPC_SAMPLE_MESSAGES_H_
