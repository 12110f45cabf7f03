// The numbers that runtime/library/cuda declares for NVIDIA's libraries, against their headers.
#include <cublasLt.h>
#include <cublas_v2.h>
#include <gtest/gtest.h>

#include <type_traits>

#include "runtime/library/cuda/cublas_abi.h"
#include "runtime/task/lt_algorithm.h"
#if HIERA_HAVE_CUDNN_HEADERS
#include <cudnn.h>

#include "runtime/library/cuda/cudnn_abi.h"
#endif

namespace hiera {
namespace {

// Parameters of an entry: as many as the header's function has, each of the same size and passed in
// the same way.
template <typename A, typename B>
constexpr bool kAlike =
    sizeof(A) == sizeof(B) && std::is_floating_point_v<A> == std::is_floating_point_v<B>;
template <typename Ours, typename Theirs>
struct Same : std::false_type {};
template <typename R, typename... A, typename S, typename... B>
requires(sizeof...(A) == sizeof...(B)) struct Same<R (*)(A...), S (*)(B...)>
    : std::bool_constant<kAlike<R, S> && (kAlike<A, B> && ...)> {
};

#define EXPECT_SAME(table, entry, function)                                            \
  static_assert(Same<decltype(table::Functions::entry), decltype(&::function)>::value, \
                #function " has another signature")

EXPECT_SAME(cublas, create, cublasCreate_v2);
EXPECT_SAME(cublas, set_stream, cublasSetStream_v2);
EXPECT_SAME(cublas, set_math_mode, cublasSetMathMode);
EXPECT_SAME(lt, version, cublasLtGetVersion);
EXPECT_SAME(lt, desc_create, cublasLtMatmulDescCreate);
EXPECT_SAME(lt, desc_set, cublasLtMatmulDescSetAttribute);
EXPECT_SAME(lt, layout_create, cublasLtMatrixLayoutCreate);
EXPECT_SAME(lt, layout_set, cublasLtMatrixLayoutSetAttribute);
EXPECT_SAME(lt, preference_create, cublasLtMatmulPreferenceCreate);
EXPECT_SAME(lt, preference_set, cublasLtMatmulPreferenceSetAttribute);
EXPECT_SAME(lt, heuristic, cublasLtMatmulAlgoGetHeuristic);
EXPECT_SAME(lt, algo_ids, cublasLtMatmulAlgoGetIds);
EXPECT_SAME(lt, algo_init, cublasLtMatmulAlgoInit);
EXPECT_SAME(lt, algo_check, cublasLtMatmulAlgoCheck);
EXPECT_SAME(lt, cap_get, cublasLtMatmulAlgoCapGetAttribute);
EXPECT_SAME(lt, config_set, cublasLtMatmulAlgoConfigSetAttribute);
EXPECT_SAME(lt, config_get, cublasLtMatmulAlgoConfigGetAttribute);
EXPECT_SAME(lt, matmul, cublasLtMatmul);

// Overloaded in the header.
using GemmEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t, cublasOperation_t, int, int,
                                  int, const void*, const void*, cudaDataType, int, const void*,
                                  cudaDataType, int, const void*, void*, cudaDataType, int,
                                  cublasComputeType_t, cublasGemmAlgo_t);
using GemmStridedBatchedEx = cublasStatus_t (*)(cublasHandle_t, cublasOperation_t,
                                                cublasOperation_t, int, int, int, const void*,
                                                const void*, cudaDataType, int, long long,
                                                const void*, cudaDataType, int, long long,
                                                const void*, void*, cudaDataType, int, long long,
                                                int, cublasComputeType_t, cublasGemmAlgo_t);
[[maybe_unused]] constexpr GemmEx kGemmEx = &::cublasGemmEx;
[[maybe_unused]] constexpr GemmStridedBatchedEx kBatched = &::cublasGemmStridedBatchedEx;
static_assert(Same<decltype(cublas::Functions::gemm), GemmEx>::value);
static_assert(Same<decltype(cublas::Functions::gemm_batched), GemmStridedBatchedEx>::value);

TEST(VendorAbiTest, Cublas) {
  EXPECT_EQ(cublas::kNotSupported, CUBLAS_STATUS_NOT_SUPPORTED);
  EXPECT_EQ(cublas::kOpN, CUBLAS_OP_N);
  EXPECT_EQ(cublas::kOpT, CUBLAS_OP_T);
  EXPECT_EQ(cublas::kR32F, CUDA_R_32F);
  EXPECT_EQ(cublas::kR64F, CUDA_R_64F);
  EXPECT_EQ(cublas::kR16F, CUDA_R_16F);
  EXPECT_EQ(cublas::kR16BF, CUDA_R_16BF);
  EXPECT_EQ(cublas::kCompute32F, CUBLAS_COMPUTE_32F);
  EXPECT_EQ(cublas::kCompute64F, CUBLAS_COMPUTE_64F);
  EXPECT_EQ(cublas::kCompute32FTf32, CUBLAS_COMPUTE_32F_FAST_TF32);
  EXPECT_EQ(cublas::kMathFullSums,
            CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION);
  EXPECT_EQ(cublas::kAlgorithmDefault, CUBLAS_GEMM_DEFAULT);
}

TEST(VendorAbiTest, LtStructures) {
  EXPECT_EQ(sizeof(lt::Algo), sizeof(cublasLtMatmulAlgo_t));
  EXPECT_EQ(sizeof(lt::Found), sizeof(cublasLtMatmulHeuristicResult_t));
  EXPECT_EQ(offsetof(lt::Found, workspace_bytes),
            offsetof(cublasLtMatmulHeuristicResult_t, workspaceSize));
  EXPECT_EQ(offsetof(lt::Found, state), offsetof(cublasLtMatmulHeuristicResult_t, state));
  EXPECT_EQ(offsetof(lt::Found, waves), offsetof(cublasLtMatmulHeuristicResult_t, wavesCount));
}

TEST(VendorAbiTest, LtAttributes) {
  EXPECT_EQ(lt::kDescTransA, CUBLASLT_MATMUL_DESC_TRANSA);
  EXPECT_EQ(lt::kDescTransB, CUBLASLT_MATMUL_DESC_TRANSB);
  EXPECT_EQ(lt::kDescEpilogue, CUBLASLT_MATMUL_DESC_EPILOGUE);
  EXPECT_EQ(lt::kDescBiasPointer, CUBLASLT_MATMUL_DESC_BIAS_POINTER);
  EXPECT_EQ(lt::kDescBiasBatchStride, CUBLASLT_MATMUL_DESC_BIAS_BATCH_STRIDE);
  EXPECT_EQ(lt::kDescBiasType, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE);
  EXPECT_EQ(lt::kLayoutBatchCount, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT);
  EXPECT_EQ(lt::kLayoutBatchStride, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET);
  EXPECT_EQ(lt::kPrefMaxWorkspace, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES);
  EXPECT_EQ(lt::kPrefReductionMask, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK);
  EXPECT_EQ(lt::kPrefAlignmentA, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(lt::kPrefAlignmentD, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES);
  EXPECT_EQ(lt::kEpilogueNone, CUBLASLT_EPILOGUE_DEFAULT);
  EXPECT_EQ(lt::kEpilogueRelu, CUBLASLT_EPILOGUE_RELU);
  EXPECT_EQ(lt::kEpilogueBias, CUBLASLT_EPILOGUE_BIAS);
  EXPECT_EQ(lt::kEpilogueBias | lt::kEpilogueRelu, CUBLASLT_EPILOGUE_RELU_BIAS);
}

TEST(VendorAbiTest, LtAlgorithms) {
  EXPECT_EQ(lt::kCapSplitK, CUBLASLT_ALGO_CAP_SPLITK_SUPPORT);
  EXPECT_EQ(lt::kCapReductionMask, CUBLASLT_ALGO_CAP_REDUCTION_SCHEME_MASK);
  EXPECT_EQ(lt::kCapSwizzle, CUBLASLT_ALGO_CAP_CTA_SWIZZLING_SUPPORT);
  EXPECT_EQ(lt::kCapStridedBatch, CUBLASLT_ALGO_CAP_STRIDED_BATCH_SUPPORT);
  EXPECT_EQ(lt::kCapTileIds, CUBLASLT_ALGO_CAP_TILE_IDS);
  EXPECT_EQ(lt::kCapCustomMax, CUBLASLT_ALGO_CAP_CUSTOM_OPTION_MAX);
  EXPECT_EQ(lt::kCapEpilogueMask, CUBLASLT_ALGO_CAP_EPILOGUE_MASK);
  EXPECT_EQ(lt::kCapStageIds, CUBLASLT_ALGO_CAP_STAGES_IDS);
  EXPECT_EQ(lt::kCapNumericalFlags, CUBLASLT_ALGO_CAP_NUMERICAL_IMPL_FLAGS);
  EXPECT_EQ(lt::kCapAlignmentA, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_A_BYTES);
  EXPECT_EQ(lt::kCapAlignmentD, CUBLASLT_ALGO_CAP_MIN_ALIGNMENT_D_BYTES);
  EXPECT_EQ(lt::kConfigId, CUBLASLT_ALGO_CONFIG_ID);
  EXPECT_EQ(lt::kConfigTile, CUBLASLT_ALGO_CONFIG_TILE_ID);
  EXPECT_EQ(lt::kConfigSplitK, CUBLASLT_ALGO_CONFIG_SPLITK_NUM);
  EXPECT_EQ(lt::kConfigReduction, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME);
  EXPECT_EQ(lt::kConfigSwizzle, CUBLASLT_ALGO_CONFIG_CTA_SWIZZLING);
  EXPECT_EQ(lt::kConfigCustom, CUBLASLT_ALGO_CONFIG_CUSTOM_OPTION);
  EXPECT_EQ(lt::kConfigStages, CUBLASLT_ALGO_CONFIG_STAGES_ID);
  EXPECT_EQ(lt::kConfigInnerShape, CUBLASLT_ALGO_CONFIG_INNER_SHAPE_ID);
  EXPECT_EQ(lt::kConfigCluster, CUBLASLT_ALGO_CONFIG_CLUSTER_SHAPE_ID);
  EXPECT_EQ(lt::kAccumulates16F, CUBLASLT_NUMERICAL_IMPL_FLAGS_ACCUMULATOR_16F);
  EXPECT_EQ(lt::kRoundsToTf32, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_TF32);
  EXPECT_EQ(lt::kRoundsTo16F, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16F);
  EXPECT_EQ(lt::kRoundsTo16BF, CUBLASLT_NUMERICAL_IMPL_FLAGS_INPUT_16BF);
  EXPECT_EQ(lt::kGaussian, CUBLASLT_NUMERICAL_IMPL_FLAGS_GAUSSIAN);
  EXPECT_EQ(kLtReduceInPlace, CUBLASLT_REDUCTION_SCHEME_INPLACE);
  EXPECT_EQ(kLtReduceComputeType, CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
  EXPECT_EQ(kLtReduceOutputType, CUBLASLT_REDUCTION_SCHEME_OUTPUT_TYPE);
}

TEST(VendorAbiTest, LtShapes) {
  using Shape = std::array<int, 2>;
  EXPECT_EQ(LtTileShape(CUBLASLT_MATMUL_TILE_8x8), (Shape{8, 8}));
  EXPECT_EQ(LtTileShape(CUBLASLT_MATMUL_TILE_192x128), (Shape{192, 128}));
  EXPECT_EQ(LtTileShape(CUBLASLT_MATMUL_TILE_704x88), (Shape{704, 88}));
  EXPECT_FALSE(LtTileShape(CUBLASLT_MATMUL_TILE_UNDEFINED));
  EXPECT_EQ(LtClusterShape(CUBLASLT_CLUSTER_SHAPE_2x1x1), (Shape{2, 1}));
  EXPECT_EQ(LtClusterShape(CUBLASLT_CLUSTER_SHAPE_4x3x1), (Shape{4, 3}));
  EXPECT_FALSE(LtClusterShape(CUBLASLT_CLUSTER_SHAPE_AUTO));
  EXPECT_EQ(LtStageShape(CUBLASLT_MATMUL_STAGES_64x6), (Shape{64, 6}));
  EXPECT_EQ(LtStageShape(CUBLASLT_MATMUL_STAGES_128xAUTO), (Shape{128, 0}));
}

#if HIERA_HAVE_CUDNN_HEADERS
EXPECT_SAME(cudnn, version, cudnnGetVersion);
EXPECT_SAME(cudnn, create, cudnnCreate);
EXPECT_SAME(cudnn, set_stream, cudnnSetStream);
EXPECT_SAME(cudnn, create_descriptor, cudnnBackendCreateDescriptor);
EXPECT_SAME(cudnn, finalize, cudnnBackendFinalize);
EXPECT_SAME(cudnn, set, cudnnBackendSetAttribute);
EXPECT_SAME(cudnn, get, cudnnBackendGetAttribute);
EXPECT_SAME(cudnn, execute, cudnnBackendExecute);

TEST(VendorAbiTest, CudnnTypes) {
  EXPECT_EQ(cudnn::kBFloat16, CUDNN_DATA_BFLOAT16);
  EXPECT_EQ(cudnn::kHalf, CUDNN_DATA_HALF);
  EXPECT_EQ(cudnn::kPointwise, CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  EXPECT_EQ(cudnn::kConvolution, CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  EXPECT_EQ(cudnn::kEngine, CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  EXPECT_EQ(cudnn::kEngineConfig, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  EXPECT_EQ(cudnn::kEngineHeuristic, CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
  EXPECT_EQ(cudnn::kExecutionPlan, CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
  EXPECT_EQ(cudnn::kKnobChoice, CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
  EXPECT_EQ(cudnn::kKnobInfo, CUDNN_BACKEND_KNOB_INFO_DESCRIPTOR);
  EXPECT_EQ(cudnn::kConvolutionForward, CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR);
  EXPECT_EQ(cudnn::kPointwiseOperation, CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  EXPECT_EQ(cudnn::kOperationGraph, CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  EXPECT_EQ(cudnn::kVariantPack, CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
  EXPECT_EQ(cudnn::kTensor, CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  EXPECT_EQ(cudnn::kTypeHandle, CUDNN_TYPE_HANDLE);
  EXPECT_EQ(cudnn::kTypeDataType, CUDNN_TYPE_DATA_TYPE);
  EXPECT_EQ(cudnn::kTypeBoolean, CUDNN_TYPE_BOOLEAN);
  EXPECT_EQ(cudnn::kTypeInt64, CUDNN_TYPE_INT64);
  EXPECT_EQ(cudnn::kTypeFloat, CUDNN_TYPE_FLOAT);
  EXPECT_EQ(cudnn::kTypeDouble, CUDNN_TYPE_DOUBLE);
  EXPECT_EQ(cudnn::kTypeVoidPtr, CUDNN_TYPE_VOID_PTR);
  EXPECT_EQ(cudnn::kTypeConvolutionMode, CUDNN_TYPE_CONVOLUTION_MODE);
  EXPECT_EQ(cudnn::kTypeHeuristicMode, CUDNN_TYPE_HEUR_MODE);
  EXPECT_EQ(cudnn::kTypeKnobType, CUDNN_TYPE_KNOB_TYPE);
  EXPECT_EQ(cudnn::kTypeNumericalNote, CUDNN_TYPE_NUMERICAL_NOTE);
  EXPECT_EQ(cudnn::kTypePointwiseMode, CUDNN_TYPE_POINTWISE_MODE);
  EXPECT_EQ(cudnn::kTypeDescriptor, CUDNN_TYPE_BACKEND_DESCRIPTOR);
  EXPECT_EQ(cudnn::kTypeBehaviorNote, CUDNN_TYPE_BEHAVIOR_NOTE);
}

TEST(VendorAbiTest, CudnnAttributes) {
  EXPECT_EQ(cudnn::kPointwiseMode, CUDNN_ATTR_POINTWISE_MODE);
  EXPECT_EQ(cudnn::kPointwisePrecision, CUDNN_ATTR_POINTWISE_MATH_PREC);
  EXPECT_EQ(cudnn::kConvComputeType, CUDNN_ATTR_CONVOLUTION_COMP_TYPE);
  EXPECT_EQ(cudnn::kConvMode, CUDNN_ATTR_CONVOLUTION_CONV_MODE);
  EXPECT_EQ(cudnn::kConvDilations, CUDNN_ATTR_CONVOLUTION_DILATIONS);
  EXPECT_EQ(cudnn::kConvStrides, CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES);
  EXPECT_EQ(cudnn::kConvPostPaddings, CUDNN_ATTR_CONVOLUTION_POST_PADDINGS);
  EXPECT_EQ(cudnn::kConvPrePaddings, CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS);
  EXPECT_EQ(cudnn::kConvSpatialDims, CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS);
  EXPECT_EQ(cudnn::kHeuristicMode, CUDNN_ATTR_ENGINEHEUR_MODE);
  EXPECT_EQ(cudnn::kHeuristicGraph, CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH);
  EXPECT_EQ(cudnn::kHeuristicResults, CUDNN_ATTR_ENGINEHEUR_RESULTS);
  EXPECT_EQ(cudnn::kConfigEngine, CUDNN_ATTR_ENGINECFG_ENGINE);
  EXPECT_EQ(cudnn::kConfigKnobChoices, CUDNN_ATTR_ENGINECFG_KNOB_CHOICES);
  EXPECT_EQ(cudnn::kPlanConfig, CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG);
  EXPECT_EQ(cudnn::kPlanWorkspace, CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE);
  EXPECT_EQ(cudnn::kChoiceType, CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE);
  EXPECT_EQ(cudnn::kChoiceValue, CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE);
  EXPECT_EQ(cudnn::kForwardAlpha, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA);
  EXPECT_EQ(cudnn::kForwardBeta, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA);
  EXPECT_EQ(cudnn::kForwardConv, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC);
  EXPECT_EQ(cudnn::kForwardW, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W);
  EXPECT_EQ(cudnn::kForwardX, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X);
  EXPECT_EQ(cudnn::kForwardY, CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y);
  EXPECT_EQ(cudnn::kPointwiseDescriptor, CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR);
  EXPECT_EQ(cudnn::kPointwiseX, CUDNN_ATTR_OPERATION_POINTWISE_XDESC);
  EXPECT_EQ(cudnn::kPointwiseB, CUDNN_ATTR_OPERATION_POINTWISE_BDESC);
  EXPECT_EQ(cudnn::kPointwiseY, CUDNN_ATTR_OPERATION_POINTWISE_YDESC);
  EXPECT_EQ(cudnn::kGraphOperations, CUDNN_ATTR_OPERATIONGRAPH_OPS);
  EXPECT_EQ(cudnn::kGraphEngineCount, CUDNN_ATTR_OPERATIONGRAPH_ENGINE_GLOBAL_COUNT);
  EXPECT_EQ(cudnn::kTensorAlignment, CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT);
  EXPECT_EQ(cudnn::kTensorDataType, CUDNN_ATTR_TENSOR_DATA_TYPE);
  EXPECT_EQ(cudnn::kTensorDimensions, CUDNN_ATTR_TENSOR_DIMENSIONS);
  EXPECT_EQ(cudnn::kTensorStrides, CUDNN_ATTR_TENSOR_STRIDES);
  EXPECT_EQ(cudnn::kTensorUniqueId, CUDNN_ATTR_TENSOR_UNIQUE_ID);
  EXPECT_EQ(cudnn::kTensorIsVirtual, CUDNN_ATTR_TENSOR_IS_VIRTUAL);
  EXPECT_EQ(cudnn::kPackUniqueIds, CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS);
  EXPECT_EQ(cudnn::kPackPointers, CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS);
  EXPECT_EQ(cudnn::kPackWorkspace, CUDNN_ATTR_VARIANT_PACK_WORKSPACE);
  EXPECT_EQ(cudnn::kInfoType, CUDNN_ATTR_KNOB_INFO_TYPE);
  EXPECT_EQ(cudnn::kInfoMaximum, CUDNN_ATTR_KNOB_INFO_MAXIMUM_VALUE);
  EXPECT_EQ(cudnn::kInfoMinimum, CUDNN_ATTR_KNOB_INFO_MINIMUM_VALUE);
  EXPECT_EQ(cudnn::kInfoStride, CUDNN_ATTR_KNOB_INFO_STRIDE);
  EXPECT_EQ(cudnn::kEngineGraph, CUDNN_ATTR_ENGINE_OPERATION_GRAPH);
  EXPECT_EQ(cudnn::kEngineIndex, CUDNN_ATTR_ENGINE_GLOBAL_INDEX);
  EXPECT_EQ(cudnn::kEngineKnobs, CUDNN_ATTR_ENGINE_KNOB_INFO);
  EXPECT_EQ(cudnn::kEngineNumericalNotes, CUDNN_ATTR_ENGINE_NUMERICAL_NOTE);
  EXPECT_EQ(cudnn::kEngineBehaviorNotes, CUDNN_ATTR_ENGINE_BEHAVIOR_NOTE);
}

TEST(VendorAbiTest, CudnnValues) {
  EXPECT_EQ(cudnn::kModeA, CUDNN_HEUR_MODE_A);
  EXPECT_EQ(cudnn::kModeB, CUDNN_HEUR_MODE_B);
  EXPECT_EQ(cudnn::kModeFallback, CUDNN_HEUR_MODE_FALLBACK);
  EXPECT_EQ(cudnn::kCrossCorrelation, CUDNN_CROSS_CORRELATION);
  EXPECT_EQ(cudnn::kAdd, CUDNN_POINTWISE_ADD);
  EXPECT_EQ(cudnn::kReluForward, CUDNN_POINTWISE_RELU_FWD);
  EXPECT_EQ(cudnn::kTanhForward, CUDNN_POINTWISE_TANH_FWD);
  EXPECT_EQ(cudnn::kSigmoidForward, CUDNN_POINTWISE_SIGMOID_FWD);
  EXPECT_EQ(cudnn::kGeluForward, CUDNN_POINTWISE_GELU_FWD);
  EXPECT_EQ(cudnn::kSwishForward, CUDNN_POINTWISE_SWISH_FWD);
  EXPECT_EQ(cudnn::kNoteTensorCore, CUDNN_NUMERICAL_NOTE_TENSOR_CORE);
  EXPECT_EQ(cudnn::kNoteDownConverts, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS);
  EXPECT_EQ(cudnn::kNoteReducedSums, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION);
  EXPECT_EQ(cudnn::kNoteNondeterministic, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC);
  EXPECT_EQ(cudnn::kNoteCompilesAtRunTime, CUDNN_BEHAVIOR_NOTE_RUNTIME_COMPILATION);
  EXPECT_EQ(cudnn::kNotSupportedFirst, CUDNN_STATUS_NOT_SUPPORTED);
}
#endif

}  // namespace
}  // namespace hiera
