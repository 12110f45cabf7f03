#include "runtime/library/cuda/lt_problem.h"

#include <algorithm>
#include <array>
#include <limits>

namespace hiera {
namespace {

constexpr int kMaxIds = 1024;

Status Refused(const char* function, int status) {
  return Unsupported(std::string(function) + " refuses with status " + std::to_string(status));
}

template <typename T>
T Cap(const lt::Functions& f, const lt::Algo& algo, int attribute, T otherwise) {
  T value{};
  size_t written = 0;
  return f.cap_get(&algo, attribute, &value, sizeof value, &written) == 0 ? value : otherwise;
}

template <typename T>
void Config(const lt::Functions& f, const lt::Algo& algo, int attribute, T* value) {
  size_t written = 0;
  T found{};
  if (f.config_get(&algo, attribute, &found, sizeof found, &written) == 0) *value = found;
}

LtAlgorithm StructureOf(const lt::Functions& f, const lt::Algo& algo) {
  LtAlgorithm s;
  Config(f, algo, lt::kConfigId, &s.id);
  Config(f, algo, lt::kConfigTile, &s.tile);
  Config(f, algo, lt::kConfigStages, &s.stages);
  Config(f, algo, lt::kConfigSplitK, &s.split_k);
  Config(f, algo, lt::kConfigReduction, &s.reduction);
  Config(f, algo, lt::kConfigSwizzle, &s.swizzle);
  Config(f, algo, lt::kConfigCustom, &s.custom);
  Config(f, algo, lt::kConfigInnerShape, &s.inner_shape);
  Config(f, algo, lt::kConfigCluster, &s.cluster);
  return s;
}

}  // namespace

int CublasTypeOf(DType dtype) {
  switch (dtype) {
    case DType::kF64:
      return cublas::kR64F;
    case DType::kF16:
      return cublas::kR16F;
    case DType::kBF16:
      return cublas::kR16BF;
    default:  // CublasCallsOf admits nothing else
      return cublas::kR32F;
  }
}

int CublasComputeOf(const CublasCall& call) {
  if (call.compute == DType::kF64) return cublas::kCompute64F;
  return call.tf32 ? cublas::kCompute32FTf32 : cublas::kCompute32F;
}

Result<std::unique_ptr<LtProblem>> LtProblem::Make(const lt::Functions& functions, void* handle,
                                                   const CublasCall& call) {
  std::unique_ptr<LtProblem> problem(new LtProblem(functions, handle, call));
  HIERA_RETURN_IF_ERROR(problem->MakeDescriptor());
  HIERA_RETURN_IF_ERROR(problem->MakeLayouts());
  return problem;
}

LtProblem::~LtProblem() {
  for (void* layout : {a_, b_, c_}) {
    if (layout != nullptr) f_.layout_destroy(layout);
  }
  if (desc_ != nullptr) f_.desc_destroy(desc_);
}

Status LtProblem::MakeDescriptor() {
  const int made = f_.desc_create(&desc_, CublasComputeOf(call_), CublasTypeOf(call_.compute));
  if (made != 0) return Refused("cublasLtMatmulDescCreate", made);
  const auto set = [this](int attribute, const auto& value) {
    return f_.desc_set(desc_, attribute, &value, sizeof value);
  };
  int32_t epilogue = call_.ending == CublasCall::Ending::kRelu ? lt::kEpilogueRelu : 0;
  if (call_.bias >= 0) epilogue |= lt::kEpilogueBias;
  if (epilogue == 0) epilogue = lt::kEpilogueNone;
  int status = set(lt::kDescTransA, int32_t{call_.transpose_a ? cublas::kOpT : cublas::kOpN});
  if (status == 0) {
    status = set(lt::kDescTransB, int32_t{call_.transpose_b ? cublas::kOpT : cublas::kOpN});
  }
  if (status == 0) status = set(lt::kDescEpilogue, epilogue);
  if (status == 0 && call_.bias >= 0) {
    // Any address will do for now, but its alignment is looked at.
    bias_ = reinterpret_cast<const void*>(static_cast<uintptr_t>(call_.alignment));
    status = set(lt::kDescBiasPointer, bias_);
    if (status == 0) status = set(lt::kDescBiasType, int32_t{CublasTypeOf(call_.output)});
    if (status == 0 && call_.batch > 1) status = set(lt::kDescBiasBatchStride, call_.stride_bias);
  }
  return status == 0 ? Status() : Refused("cublasLtMatmulDescSetAttribute", status);
}

Status LtProblem::MakeLayouts() {
  struct Matrix {
    void** layout;
    DType dtype;
    bool transposed;
    int64_t rows, cols, leading, stride;
  };
  const Matrix matrices[] = {
      {&a_, call_.inputs, call_.transpose_a, call_.m, call_.k, call_.lda, call_.stride_a},
      {&b_, call_.inputs, call_.transpose_b, call_.k, call_.n, call_.ldb, call_.stride_b},
      {&c_, call_.output, false, call_.m, call_.n, call_.ldc, call_.stride_c},
  };
  for (const Matrix& matrix : matrices) {
    const auto rows = static_cast<uint64_t>(matrix.transposed ? matrix.cols : matrix.rows);
    const auto cols = static_cast<uint64_t>(matrix.transposed ? matrix.rows : matrix.cols);
    int status =
        f_.layout_create(matrix.layout, CublasTypeOf(matrix.dtype), rows, cols, matrix.leading);
    if (status != 0) return Refused("cublasLtMatrixLayoutCreate", status);
    if (call_.batch == 1) continue;
    const auto count = static_cast<int32_t>(call_.batch);
    status = f_.layout_set(*matrix.layout, lt::kLayoutBatchCount, &count, sizeof count);
    if (status == 0) {
      status = f_.layout_set(*matrix.layout, lt::kLayoutBatchStride, &matrix.stride,
                             sizeof matrix.stride);
    }
    if (status != 0) return Refused("cublasLtMatrixLayoutSetAttribute", status);
  }
  return {};
}

uint32_t LtProblem::ReductionMask() const {
  // In the output's type only where that is the type of the sums.
  const bool wide = call_.output == call_.compute;
  return kLtReduceComputeType | (wide ? kLtReduceInPlace | kLtReduceOutputType : 0);
}

bool LtProblem::KeepsContract(const lt::Algo& algo) const {
  const auto flags = Cap<uint64_t>(f_, algo, lt::kCapNumericalFlags, 0);
  if ((flags & (lt::kAccumulates16F | lt::kGaussian)) != 0) return false;
  if (call_.inputs == DType::kF32) {
    const uint64_t rounding =
        lt::kRoundsTo16F | lt::kRoundsTo16BF | (call_.tf32 ? uint64_t{0} : lt::kRoundsToTf32);
    if ((flags & rounding) != 0) return false;
  }
  for (const int cap :
       {lt::kCapAlignmentA, lt::kCapAlignmentB, lt::kCapAlignmentC, lt::kCapAlignmentD}) {
    if (Cap<uint32_t>(f_, algo, cap, 1) > call_.alignment) return false;
  }
  return call_.batch == 1 || Cap<int32_t>(f_, algo, lt::kCapStridedBatch, 1) != 0;
}

bool LtProblem::Init(int id, lt::Algo* algo) const {
  const int in = CublasTypeOf(call_.inputs);
  const int out = CublasTypeOf(call_.output);
  return f_.algo_init(handle_, CublasComputeOf(call_), CublasTypeOf(call_.compute), in, in, out,
                      out, id, algo) == 0;
}

bool LtProblem::Check(const LtAlgorithm& s, lt::Algo algo, LtResolved* resolved) const {
  const auto set = [&](int attribute, const auto& value) {
    return f_.config_set(&algo, attribute, &value, sizeof value) == 0;
  };
  // An algorithm without an attribute refuses it: that is no harm where its default is meant.
  const bool taken = (set(lt::kConfigTile, s.tile) || s.tile == 0) &&
                     (set(lt::kConfigStages, s.stages) || s.stages == 0) &&
                     (set(lt::kConfigSplitK, s.split_k) || s.split_k == 1) &&
                     (set(lt::kConfigReduction, s.reduction) || s.reduction == 0) &&
                     (set(lt::kConfigSwizzle, s.swizzle) || s.swizzle == 0) &&
                     (set(lt::kConfigCustom, s.custom) || s.custom == 0) &&
                     (set(lt::kConfigInnerShape, s.inner_shape) || s.inner_shape == 0) &&
                     (set(lt::kConfigCluster, s.cluster) || s.cluster == 0);
  if (!taken) return false;
  lt::Found found{};
  if (f_.algo_check(handle_, desc_, a_, b_, c_, c_, &algo, &found) != 0) return false;
  resolved->algo = algo;
  resolved->workspace_bytes = found.workspace_bytes;
  resolved->waves = found.waves;
  return true;
}

Result<LtResolved> LtProblem::Resolve(const LtAlgorithm& algorithm) const {
  lt::Algo algo{};
  LtResolved resolved;
  if (!Init(algorithm.id, &algo) || !Check(algorithm, algo, &resolved)) {
    return Unavailable("this cuBLASLt does not run the product with " + algorithm.Text());
  }
  return resolved;
}

Result<std::vector<LtChoice>> LtProblem::Ranking(int count, int64_t workspace_bytes) const {
  void* preference = nullptr;
  int status = f_.preference_create(&preference);
  if (status != 0) return Refused("cublasLtMatmulPreferenceCreate", status);
  const auto set = [&](int attribute, const auto& value) {
    if (status == 0) status = f_.preference_set(preference, attribute, &value, sizeof value);
  };
  set(lt::kPrefMaxWorkspace, static_cast<uint64_t>(workspace_bytes));
  set(lt::kPrefReductionMask, ReductionMask());
  for (const int side :
       {lt::kPrefAlignmentA, lt::kPrefAlignmentB, lt::kPrefAlignmentC, lt::kPrefAlignmentD}) {
    set(side, static_cast<uint32_t>(call_.alignment));
  }
  std::vector<lt::Found> found(static_cast<size_t>(count));
  int returned = 0;
  if (status == 0) {
    status =
        f_.heuristic(handle_, desc_, a_, b_, c_, c_, preference, count, found.data(), &returned);
  }
  f_.preference_destroy(preference);
  if (status != 0 || returned == 0) {
    return Unavailable("cublasLtMatmulAlgoGetHeuristic finds no algorithm, status " +
                       std::to_string(status));
  }
  std::vector<LtChoice> choices;
  for (int i = 0; i < returned; ++i) {
    if (found[i].state != 0 || !KeepsContract(found[i].algo)) continue;
    choices.push_back(
        {StructureOf(f_, found[i].algo), found[i].workspace_bytes, found[i].waves, true});
  }
  if (choices.empty()) return Unavailable("no algorithm of cuBLASLt's keeps the contract");
  return choices;
}

std::vector<int> LtProblem::AlgorithmIds() const {
  std::array<int, kMaxIds> ids{};
  int count = 0;
  const int in = CublasTypeOf(call_.inputs);
  const int out = CublasTypeOf(call_.output);
  if (f_.algo_ids(handle_, CublasComputeOf(call_), CublasTypeOf(call_.compute), in, in, out, out,
                  kMaxIds, ids.data(), &count) != 0) {
    return {};
  }
  std::vector<int> sorted(ids.begin(), ids.begin() + std::clamp(count, 0, kMaxIds));
  std::sort(sorted.begin(), sorted.end());
  return sorted;
}

int LtProblem::Run(const void* alpha, const void* a, const void* b, const void* beta, void* c,
                   const void* bias, const LtResolved& resolved, void* workspace, void* stream) {
  if (call_.bias >= 0 && bias != bias_) {
    const int status = f_.desc_set(desc_, lt::kDescBiasPointer, &bias, sizeof bias);
    if (status != 0) return status;
    bias_ = bias;
  }
  return f_.matmul(handle_, desc_, alpha, a, a_, b, b_, beta, c, c_, c, c_, &resolved.algo,
                   workspace, resolved.workspace_bytes, stream);
}

}  // namespace hiera
