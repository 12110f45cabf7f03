#include "tests/unit/library/fictional_lt.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace hiera {
namespace {

constexpr int kInvalid = 7;        // CUBLAS_STATUS_INVALID_VALUE
constexpr int kNotSupported = 15;  // CUBLAS_STATUS_NOT_SUPPORTED

struct Desc {
  int compute = 0;
  int op_a = 0, op_b = 0, epilogue = 1, bias_type = 0;
  const void* bias = nullptr;
  int64_t bias_stride = 0;
};
struct Layout {
  int type = 0;
  uint64_t rows = 0, cols = 0;
  int64_t leading = 0, stride = 0;
  int32_t batch = 1;
};
struct Preference {
  uint64_t workspace = 0;
  uint32_t alignment = 256;
};

LtAlgorithm Unpack(const lt::Algo& algo) {
  LtAlgorithm a;
  a.id = static_cast<int32_t>(algo.data[0]);
  a.tile = static_cast<uint32_t>(algo.data[1]);
  a.stages = static_cast<uint32_t>(algo.data[2]);
  a.split_k = static_cast<int32_t>(algo.data[3]);
  a.reduction = static_cast<uint32_t>(algo.data[4]);
  a.swizzle = static_cast<uint32_t>(algo.data[5]);
  a.custom = static_cast<uint32_t>(algo.data[6]);
  a.cluster = static_cast<uint16_t>(algo.data[7]);
  return a;
}

lt::Algo Pack(int id, uint32_t tile, uint32_t stages, uint16_t cluster) {
  lt::Algo algo{};
  algo.data[0] = static_cast<uint64_t>(id);
  algo.data[1] = tile;
  algo.data[2] = stages;
  algo.data[3] = 1;
  algo.data[7] = cluster;
  return algo;
}

int Judge(const Layout& c, const LtAlgorithm& a, lt::Found* found) {
  const auto in = [](auto value, std::initializer_list<int> list) {
    return std::find(list.begin(), list.end(), static_cast<int>(value)) != list.end();
  };
  const bool split = a.split_k > 1;
  bool fits = split == (a.reduction != 0);
  if (a.id == 7) {
    fits = fits && in(a.tile, {15, 20}) && a.stages == 0 && a.cluster == 0 && a.custom == 0 &&
           a.swizzle <= 1 && (a.tile != 15 || c.rows <= 1000);
  } else if (a.id == 66) {
    fits = fits && !split && in(a.tile, {18, 20}) && a.stages == 36 && in(a.cluster, {0, 3, 6}) &&
           a.custom <= 2 && a.swizzle == 0;
  } else {
    fits = fits && in(a.id, {9, 70}) && !split && a.tile == 20 && a.cluster == 0;
  }
  if (!fits) return kNotSupported;
  found->workspace_bytes = split ? static_cast<size_t>(a.split_k) << 20 : 0;
  found->waves = 0.5F;
  return 0;
}

uint32_t* Field(const lt::Algo& algo, int attribute) {
  static constexpr int kAt[] = {0, 1, 3, 4, 5, 6, 2, -1, 7};  // by lt::ConfigAttribute
  if (attribute < 0 || attribute > 8 || kAt[attribute] < 0) return nullptr;
  return reinterpret_cast<uint32_t*>(const_cast<uint64_t*>(&algo.data[kAt[attribute]]));
}

int CapGet(const lt::Algo* algo, int attribute, void* value, size_t bytes, size_t* written) {
  const int id = static_cast<int>(algo->data[0]);
  std::vector<uint32_t> values;
  switch (attribute) {
    case lt::kCapTileIds:
      values = id == 7    ? std::vector<uint32_t>{15, 20}
               : id == 66 ? std::vector<uint32_t>{18, 20}
                          : std::vector<uint32_t>{20};
      break;
    case lt::kCapStageIds:
      if (id == 66) values = {36};
      break;
    case lt::kCapSplitK:
    case lt::kCapSwizzle:
      values = {id == 7 ? 1U : 0U};
      break;
    case lt::kCapReductionMask:
      values = {7};
      break;
    case lt::kCapStridedBatch:
      values = {1};
      break;
    case lt::kCapCustomMax:
      values = {id == 66 ? 2U : 0U};
      break;
    case lt::kCapNumericalFlags: {
      const uint64_t flags = id == 9 ? lt::kRoundsToTf32 : id == 70 ? lt::kAccumulates16F : 1;
      values = {static_cast<uint32_t>(flags), static_cast<uint32_t>(flags >> 32)};
      break;
    }
    case lt::kCapAlignmentA:
    case lt::kCapAlignmentB:
    case lt::kCapAlignmentC:
    case lt::kCapAlignmentD:
      values = {id == 66 ? 16U : 4U};
      break;
    default:
      return kInvalid;
  }
  const size_t size = values.size() * sizeof(uint32_t);
  *written = size;
  if (bytes == 0) return 0;
  if (bytes != size) return kInvalid;
  std::memcpy(value, values.data(), size);
  return 0;
}

int Heuristic(void*, void*, void*, void*, void* c, void*, void* preference, int requested,
              lt::Found* found, int* count) {
  const auto& p = *static_cast<Preference*>(preference);
  std::vector<lt::Algo> ranked;
  if (p.alignment < 16 && p.workspace >= 4 << 20) {
    ranked.push_back(Pack(7, 20, 0, 0));
    ranked.back().data[3] = 4;
    ranked.back().data[4] = kLtReduceComputeType;
  }
  if (p.alignment >= 16) ranked.push_back(Pack(66, 20, 36, 3));
  ranked.push_back(Pack(9, 20, 0, 0));
  ranked.push_back(Pack(7, 20, 0, 0));
  *count = 0;
  for (const lt::Algo& algo : ranked) {
    if (*count == requested) break;
    lt::Found& f = found[*count];
    f.state = Judge(*static_cast<Layout*>(c), Unpack(algo), &f);
    f.algo = algo;
    ++*count;
  }
  return 0;
}

int Matmul(void*, void* desc, const void* alpha, const void* a, void* layout_a, const void* b,
           void* layout_b, const void* beta, const void* c, void* layout_c, void* d, void*,
           const lt::Algo* algo, void* workspace, size_t workspace_bytes, void* stream) {
  const auto& op = *static_cast<Desc*>(desc);
  const auto& la = *static_cast<Layout*>(layout_a);
  const auto& lb = *static_cast<Layout*>(layout_b);
  const auto& lc = *static_cast<Layout*>(layout_c);
  lt::Found found{};
  if (Judge(lc, Unpack(*algo), &found) != 0) return kNotSupported;
  if (found.workspace_bytes > workspace_bytes) return kInvalid;
  const uint64_t depth = op.op_a == 0 ? la.cols : la.rows;
  for (int32_t matrix = 0; matrix < lc.batch; ++matrix) {
    const float* am = static_cast<const float*>(a) + matrix * la.stride;
    const float* bm = static_cast<const float*>(b) + matrix * lb.stride;
    const float* cm = static_cast<const float*>(c) + matrix * lc.stride;
    float* dm = static_cast<float*>(d) + matrix * lc.stride;
    const auto element = [](const float* x, const Layout& l, bool transposed, uint64_t i,
                            uint64_t j) {
      return transposed ? x[j + i * static_cast<uint64_t>(l.leading)]
                        : x[i + j * static_cast<uint64_t>(l.leading)];
    };
    for (uint64_t j = 0; j < lc.cols; ++j) {
      for (uint64_t i = 0; i < lc.rows; ++i) {
        float sum = 0;
        for (uint64_t p = 0; p < depth; ++p) {
          sum += element(am, la, op.op_a != 0, i, p) * element(bm, lb, op.op_b != 0, p, j);
        }
        const uint64_t at = i + j * static_cast<uint64_t>(lc.leading);
        sum *= *static_cast<const float*>(alpha);
        const float scale = *static_cast<const float*>(beta);
        if (scale != 0) sum += scale * cm[at];
        if ((op.epilogue & lt::kEpilogueBias) != 0) {
          sum +=
              static_cast<const float*>(op.bias)[matrix * op.bias_stride + static_cast<int64_t>(i)];
        }
        if ((op.epilogue & lt::kEpilogueRelu) != 0 && sum < 0) sum = 0;
        dm[at] = sum;
      }
    }
  }
  FictionalLt::Last& last = FictionalLt::last();
  last = {Unpack(*algo), stream, workspace, last.products + 1};
  return 0;
}

template <typename T>
int DestroyObject(void* object) {
  delete static_cast<T*>(object);
  --FictionalLt::objects();
  return 0;
}

template <typename T>
T* MakeObject() {
  ++FictionalLt::objects();
  return new T;
}

int DescSet(void* desc, int attribute, const void* value, size_t bytes) {
  auto& d = *static_cast<Desc*>(desc);
  void* field = attribute == lt::kDescTransA            ? static_cast<void*>(&d.op_a)
                : attribute == lt::kDescTransB          ? static_cast<void*>(&d.op_b)
                : attribute == lt::kDescEpilogue        ? static_cast<void*>(&d.epilogue)
                : attribute == lt::kDescBiasType        ? static_cast<void*>(&d.bias_type)
                : attribute == lt::kDescBiasPointer     ? static_cast<void*>(&d.bias)
                : attribute == lt::kDescBiasBatchStride ? static_cast<void*>(&d.bias_stride)
                                                        : nullptr;
  const bool wide = attribute == lt::kDescBiasPointer || attribute == lt::kDescBiasBatchStride;
  if (field == nullptr || bytes != (wide ? 8U : 4U)) return kInvalid;
  std::memcpy(field, value, bytes);
  return 0;
}

int LayoutSet(void* layout, int attribute, const void* value, size_t bytes) {
  auto& l = *static_cast<Layout*>(layout);
  if (attribute == lt::kLayoutBatchCount && bytes == 4) {
    std::memcpy(&l.batch, value, 4);
  } else if (attribute == lt::kLayoutBatchStride && bytes == 8) {
    std::memcpy(&l.stride, value, 8);
  } else {
    return kInvalid;
  }
  return 0;
}

int PreferenceSet(void* preference, int attribute, const void* value, size_t bytes) {
  auto& p = *static_cast<Preference*>(preference);
  if (attribute == lt::kPrefMaxWorkspace && bytes == 8) std::memcpy(&p.workspace, value, 8);
  if (attribute == lt::kPrefAlignmentA && bytes == 4) std::memcpy(&p.alignment, value, 4);
  return 0;
}

void FillAlgorithms(lt::Functions* f) {
  f->heuristic = Heuristic;
  f->algo_ids = [](void*, int, int, int, int, int, int, int, int* ids, int* count) {
    *count = 4;
    for (int i = 0; i < 4; ++i) ids[i] = std::initializer_list<int>{70, 66, 9, 7}.begin()[i];
    return 0;
  };
  f->algo_init = [](void*, int, int, int, int, int, int, int id, lt::Algo* algo) {
    if (id != 7 && id != 9 && id != 66 && id != 70) return kInvalid;
    *algo = Pack(id, 0, 0, 0);
    return 0;
  };
  f->algo_check = [](void*, void*, void*, void*, void* c, void*, const lt::Algo* algo,
                     lt::Found* found) {
    return Judge(*static_cast<Layout*>(c), Unpack(*algo), found);
  };
  f->cap_get = CapGet;
  f->config_set = [](lt::Algo* algo, int attribute, const void* value, size_t bytes) {
    uint32_t* field = Field(*algo, attribute);
    if (field == nullptr || attribute == lt::kConfigId) return kInvalid;
    if (bytes != (attribute == lt::kConfigCluster ? 2U : 4U)) return kInvalid;
    std::memcpy(field, value, bytes);
    return 0;
  };
  f->config_get = [](const lt::Algo* algo, int attribute, void* value, size_t bytes, size_t* n) {
    const uint32_t* field = Field(*algo, attribute);
    if (field == nullptr) return kInvalid;
    std::memcpy(value, field, bytes);
    *n = bytes;
    return 0;
  };
  f->matmul = Matmul;
}

lt::Functions MakeFunctions() {
  lt::Functions f;
  f.create = [](void** handle) {
    *handle = &FictionalLt::handles();
    ++FictionalLt::handles();
    return 0;
  };
  f.destroy = [](void*) {
    --FictionalLt::handles();
    return 0;
  };
  f.version = [] { return size_t{130100}; };
  f.desc_create = [](void** desc, int compute, int) {
    auto* made = MakeObject<Desc>();
    made->compute = compute;
    *desc = made;
    return 0;
  };
  f.desc_destroy = DestroyObject<Desc>;
  f.desc_set = DescSet;
  f.layout_create = [](void** layout, int type, uint64_t rows, uint64_t cols, int64_t leading) {
    auto* made = MakeObject<Layout>();
    *made = {type, rows, cols, leading, 0, 1};
    *layout = made;
    return 0;
  };
  f.layout_destroy = DestroyObject<Layout>;
  f.layout_set = LayoutSet;
  f.preference_create = [](void** preference) {
    *preference = MakeObject<Preference>();
    return 0;
  };
  f.preference_destroy = DestroyObject<Preference>;
  f.preference_set = PreferenceSet;
  FillAlgorithms(&f);
  return f;
}

}  // namespace

const lt::Functions& FictionalLt::Functions() {
  static const lt::Functions functions = MakeFunctions();
  return functions;
}
FictionalLt::Last& FictionalLt::last() {
  static Last last;
  return last;
}
int& FictionalLt::handles() {
  static int count = 0;
  return count;
}
int& FictionalLt::objects() {
  static int count = 0;
  return count;
}

}  // namespace hiera
