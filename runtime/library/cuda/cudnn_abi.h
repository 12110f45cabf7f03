// What cuDNN 9 fixes of its binary interface, as far as its backend is called: functions as a table
// that the library or a test fills, and the numbers of its enumerations. Declared here and not
// taken from NVIDIA's headers, so that every build can call the library wherever it is; a test
// compares the numbers with the headers where there are some.
#ifndef HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_ABI_H_
#define HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_ABI_H_

#include <cstddef>
#include <cstdint>

namespace hiera::cudnn {

enum DataType : int { kFloat = 0, kDouble = 1, kHalf = 2, kBFloat16 = 9 };
enum Kind : int {  // cudnnBackendDescriptorType_t
  kPointwise = 0,
  kConvolution = 1,
  kEngine = 2,
  kEngineConfig = 3,
  kEngineHeuristic = 4,
  kExecutionPlan = 5,
  kKnobChoice = 7,
  kKnobInfo = 8,
  kConvolutionForward = 10,
  kPointwiseOperation = 13,
  kOperationGraph = 15,
  kVariantPack = 16,
  kTensor = 17,
};
enum Type : int {  // cudnnBackendAttributeType_t
  kTypeHandle = 0,
  kTypeDataType = 1,
  kTypeBoolean = 2,
  kTypeInt64 = 3,
  kTypeFloat = 4,
  kTypeDouble = 5,
  kTypeVoidPtr = 6,
  kTypeConvolutionMode = 7,
  kTypeHeuristicMode = 8,
  kTypeKnobType = 9,
  kTypeNumericalNote = 11,
  kTypePointwiseMode = 14,
  kTypeDescriptor = 15,
  kTypeBehaviorNote = 19,
};
enum Attribute : int {  // cudnnBackendAttributeName_t
  kPointwiseMode = 0,
  kPointwisePrecision = 1,
  kConvComputeType = 100,
  kConvMode = 101,
  kConvDilations = 102,
  kConvStrides = 103,
  kConvPostPaddings = 104,
  kConvPrePaddings = 105,
  kConvSpatialDims = 106,
  kHeuristicMode = 200,
  kHeuristicGraph = 201,
  kHeuristicResults = 202,
  kConfigEngine = 300,
  kConfigKnobChoices = 302,
  kPlanHandle = 400,
  kPlanConfig = 401,
  kPlanWorkspace = 402,
  kChoiceType = 600,
  kChoiceValue = 601,
  kForwardAlpha = 700,
  kForwardBeta = 701,
  kForwardConv = 702,
  kForwardW = 703,
  kForwardX = 704,
  kForwardY = 705,
  kPointwiseDescriptor = 750,
  kPointwiseX = 751,
  kPointwiseB = 752,
  kPointwiseY = 753,
  kGraphHandle = 800,
  kGraphOperations = 801,
  kGraphEngineCount = 802,
  kTensorAlignment = 900,
  kTensorDataType = 901,
  kTensorDimensions = 902,
  kTensorStrides = 903,
  kTensorUniqueId = 906,
  kTensorIsVirtual = 907,
  kPackUniqueIds = 1000,
  kPackPointers = 1001,
  kPackWorkspace = 1003,
  kInfoType = 1200,
  kInfoMaximum = 1201,
  kInfoMinimum = 1202,
  kInfoStride = 1203,
  kEngineGraph = 1300,
  kEngineIndex = 1301,
  kEngineKnobs = 1302,
  kEngineNumericalNotes = 1303,
  kEngineBehaviorNotes = 1305,
};
enum HeuristicMode : int { kModeB = 1, kModeFallback = 2, kModeA = 3 };
inline constexpr int kCrossCorrelation = 1;
enum PointwiseFunction : int {
  kAdd = 0,
  kReluForward = 100,
  kTanhForward = 101,
  kSigmoidForward = 102,
  kGeluForward = 104,
  kSwishForward = 106,
};
enum NumericalNote : int {
  kNoteTensorCore = 0,
  kNoteDownConverts = 1,
  kNoteReducedSums = 2,
  kNoteNondeterministic = 4,
};
inline constexpr int kNoteCompilesAtRunTime = 0;  // cudnnBackendBehaviorNote_t
inline constexpr int kNotSupportedFirst = 3000;   // CUDNN_STATUS_NOT_SUPPORTED and its kinds
inline constexpr int kNotSupportedLast = 3999;

struct Functions {
  size_t (*version)() = nullptr;
  int (*create)(void** handle) = nullptr;
  int (*destroy)(void* handle) = nullptr;
  int (*set_stream)(void* handle, void* stream) = nullptr;
  int (*create_descriptor)(int kind, void** descriptor) = nullptr;
  int (*destroy_descriptor)(void* descriptor) = nullptr;
  int (*finalize)(void* descriptor) = nullptr;
  int (*set)(void* descriptor, int attribute, int type, int64_t count,
             const void* values) = nullptr;
  int (*get)(const void* descriptor, int attribute, int type, int64_t requested, int64_t* count,
             void* values) = nullptr;
  int (*execute)(void* handle, void* plan, void* pack) = nullptr;
};

}  // namespace hiera::cudnn

#endif  // HIERA_RUNTIME_LIBRARY_CUDA_CUDNN_ABI_H_
