// What cuBLAS and cuBLASLt fix of their binary interface, as far as it is called: functions as
// tables that a library or a test fills, and the numbers of their enumerations. Declared here and
// not taken from NVIDIA's headers, so that every build can call the libraries wherever they are; a
// test compares the numbers with the headers where there are some.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_CUBLAS_ABI_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_CUBLAS_ABI_H_

#include <cstddef>
#include <cstdint>

namespace hiera::cublas {

inline constexpr int kSuccess = 0;
inline constexpr int kNotSupported = 15;  // CUBLAS_STATUS_NOT_SUPPORTED

enum Operation : int { kOpN = 0, kOpT = 1 };
enum DataType : int { kR32F = 0, kR64F = 1, kR16F = 2, kR16BF = 14 };
enum Compute : int { kCompute32F = 68, kCompute64F = 70, kCompute32FTf32 = 77 };
// CUBLAS_DEFAULT_MATH with CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION: partial sums of 16-bit
// products stay in f32.
inline constexpr int kMathFullSums = 16;
inline constexpr int kAlgorithmDefault = -1;  // CUBLAS_GEMM_DEFAULT

struct Functions {
  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*set_stream)(void* handle, void* stream) = nullptr;
  int (*set_math_mode)(void* handle, int mode) = nullptr;
  int (*gemm)(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
              const void* a, int type_a, int lda, const void* b, int type_b, int ldb,
              const void* beta, void* c, int type_c, int ldc, int compute, int algorithm) = nullptr;
  int (*gemm_batched)(void* handle, int op_a, int op_b, int m, int n, int k, const void* alpha,
                      const void* a, int type_a, int lda, long long stride_a, const void* b,
                      int type_b, int ldb, long long stride_b, const void* beta, void* c,
                      int type_c, int ldc, long long stride_c, int batch, int compute,
                      int algorithm) = nullptr;
};

}  // namespace hiera::cublas

namespace hiera::lt {

enum DescAttribute : int {  // cublasLtMatmulDescAttributes_t
  kDescTransA = 3,
  kDescTransB = 4,
  kDescEpilogue = 7,
  kDescBiasPointer = 8,
  kDescBiasBatchStride = 10,
  kDescBiasType = 26,
};
enum LayoutAttribute : int { kLayoutBatchCount = 5, kLayoutBatchStride = 6 };
enum PreferenceAttribute : int {  // cublasLtMatmulPreferenceAttributes_t
  kPrefMaxWorkspace = 1,
  kPrefReductionMask = 3,
  kPrefAlignmentA = 5,
  kPrefAlignmentB = 6,
  kPrefAlignmentC = 7,
  kPrefAlignmentD = 8,
};
enum Epilogue : int { kEpilogueNone = 1, kEpilogueRelu = 2, kEpilogueBias = 4 };
enum CapAttribute : int {  // cublasLtMatmulAlgoCapAttributes_t
  kCapSplitK = 0,
  kCapReductionMask = 1,
  kCapSwizzle = 2,
  kCapStridedBatch = 3,
  kCapTileIds = 6,
  kCapCustomMax = 7,
  kCapEpilogueMask = 12,
  kCapStageIds = 13,
  kCapNumericalFlags = 15,
  kCapAlignmentA = 16,
  kCapAlignmentB = 17,
  kCapAlignmentC = 18,
  kCapAlignmentD = 19,
};
enum ConfigAttribute : int {  // cublasLtMatmulAlgoConfigAttributes_t
  kConfigId = 0,
  kConfigTile = 1,
  kConfigSplitK = 2,
  kConfigReduction = 3,
  kConfigSwizzle = 4,
  kConfigCustom = 5,
  kConfigStages = 6,
  kConfigInnerShape = 7,
  kConfigCluster = 8,
};
// cublasLtNumericalImplFlags_t.
inline constexpr uint64_t kAccumulates16F = uint64_t{1} << 8;
inline constexpr uint64_t kRoundsToTf32 = uint64_t{4} << 16;
inline constexpr uint64_t kRoundsTo16F = uint64_t{1} << 16;
inline constexpr uint64_t kRoundsTo16BF = uint64_t{2} << 16;
inline constexpr uint64_t kGaussian = uint64_t{1} << 32;

// cublasLtMatmulAlgo_t: opaque to its callers.
struct Algo {
  uint64_t data[8];
};
// cublasLtMatmulHeuristicResult_t.
struct Found {
  Algo algo;
  size_t workspace_bytes;
  int state;
  float waves;
  int reserved[4];
};

struct Functions {
  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  size_t (*version)() = nullptr;
  int (*desc_create)(void** desc, int compute, int scale_type) = nullptr;
  int (*desc_destroy)(void* desc) = nullptr;
  int (*desc_set)(void* desc, int attribute, const void* value, size_t bytes) = nullptr;
  int (*layout_create)(void** layout, int type, uint64_t rows, uint64_t cols,
                       int64_t leading) = nullptr;
  int (*layout_destroy)(void* layout) = nullptr;
  int (*layout_set)(void* layout, int attribute, const void* value, size_t bytes) = nullptr;
  int (*preference_create)(void** preference) = nullptr;
  int (*preference_destroy)(void* preference) = nullptr;
  int (*preference_set)(void* preference, int attribute, const void* value, size_t bytes) = nullptr;
  int (*heuristic)(void* handle, void* desc, void* a, void* b, void* c, void* d, void* preference,
                   int requested, Found* found, int* count) = nullptr;
  int (*algo_ids)(void* handle, int compute, int scale, int a, int b, int c, int d, int requested,
                  int* ids, int* count) = nullptr;
  int (*algo_init)(void* handle, int compute, int scale, int a, int b, int c, int d, int id,
                   Algo* algo) = nullptr;
  int (*algo_check)(void* handle, void* desc, void* a, void* b, void* c, void* d, const Algo* algo,
                    Found* found) = nullptr;
  int (*cap_get)(const Algo* algo, int attribute, void* value, size_t bytes,
                 size_t* written) = nullptr;
  int (*config_set)(Algo* algo, int attribute, const void* value, size_t bytes) = nullptr;
  int (*config_get)(const Algo* algo, int attribute, void* value, size_t bytes,
                    size_t* written) = nullptr;
  int (*matmul)(void* handle, void* desc, const void* alpha, const void* a, void* layout_a,
                const void* b, void* layout_b, const void* beta, const void* c, void* layout_c,
                void* d, void* layout_d, const Algo* algo, void* workspace, size_t workspace_bytes,
                void* stream) = nullptr;
};

}  // namespace hiera::lt

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_CUBLAS_ABI_H_
