#include "tests/unit/library/fictional_cudnn.h"

#include <cstring>
#include <string>

namespace hiera {
namespace {

constexpr int kBadParameter = 2000;
constexpr int kNotSupported = 3000;
constexpr int64_t kEngines = 4;

struct Descriptor {
  int kind = 0;
  bool final = false;
  std::map<int, std::string> values;  // attribute -> bytes
  CudnnEngine engine;                 // of an engine, a configuration or a plan
  int mode = 0;                       // of a heuristic
  int64_t knob[4] = {0, 0, 0, 1};     // of a choice: type, value; of an info: type, low, high, step

  template <typename T>
  T Value(int attribute) const {
    T value{};
    const auto at = values.find(attribute);
    if (at != values.end() && at->second.size() >= sizeof value) {
      std::memcpy(&value, at->second.data(), sizeof value);
    }
    return value;
  }
  std::vector<Descriptor*> List(int attribute) const {
    std::vector<Descriptor*> list;
    const auto at = values.find(attribute);
    if (at == values.end()) return list;
    list.resize(at->second.size() / sizeof(void*));
    std::memcpy(list.data(), at->second.data(), at->second.size());
    return list;
  }
};

Descriptor& Of(void* descriptor) { return *static_cast<Descriptor*>(descriptor); }

size_t SizeOfType(int type) {
  switch (type) {
    case cudnn::kTypeBoolean:
      return 1;
    case cudnn::kTypeInt64:
    case cudnn::kTypeDouble:
    case cudnn::kTypeHandle:
    case cudnn::kTypeVoidPtr:
    case cudnn::kTypeDescriptor:
      return 8;
    default:
      return 4;
  }
}

int FinalizeConfig(Descriptor& d) {
  d.engine = d.Value<Descriptor*>(cudnn::kConfigEngine)->engine;
  for (const Descriptor* choice : d.List(cudnn::kConfigKnobChoices)) {
    if (d.engine.id != 0 || choice->knob[0] != 2) return kNotSupported;
    d.engine.knobs.emplace_back(choice->knob[0], choice->knob[1]);
  }
  return 0;
}

int Finalize(void* descriptor) {
  Descriptor& d = Of(descriptor);
  if (d.final) return kBadParameter;
  d.final = true;
  switch (d.kind) {
    case cudnn::kEngine:
      d.engine.id = d.Value<int64_t>(cudnn::kEngineIndex);
      return d.engine.id == 1 || d.engine.id >= kEngines ? kNotSupported : 0;
    case cudnn::kKnobChoice:
      d.knob[0] = d.Value<int>(cudnn::kChoiceType);
      d.knob[1] = d.Value<int64_t>(cudnn::kChoiceValue);
      return 0;
    case cudnn::kEngineConfig:
      return FinalizeConfig(d);
    case cudnn::kExecutionPlan:
      d.engine = d.Value<Descriptor*>(cudnn::kPlanConfig)->engine;
      for (const auto& [knob, value] : d.engine.knobs) {
        if (value == 2) return kNotSupported;
      }
      return 0;
    case cudnn::kEngineHeuristic:
      d.mode = d.Value<int>(cudnn::kHeuristicMode);
      return 0;
    case cudnn::kPointwise:
      FictionalCudnn::last().functions.push_back(d.Value<int>(cudnn::kPointwiseMode));
      return 0;
    case cudnn::kTensor:
      if (d.Value<bool>(cudnn::kTensorIsVirtual)) ++FictionalCudnn::last().virtual_tensors;
      return 0;
    case cudnn::kVariantPack:
      ++FictionalCudnn::last().packs;
      return 0;
    default:
      return 0;
  }
}

std::vector<CudnnEngine> Ranking(int mode) {
  if (mode == cudnn::kModeA) return {{0, {{2, 1}}}, {2, {}}};
  if (mode == cudnn::kModeB) return {{3, {}}, {0, {{2, 1}}}};
  return {{0, {}}};
}

template <typename T>
int Give(const std::vector<T>& values, int64_t requested, int64_t* count, void* out) {
  *count = static_cast<int64_t>(values.size());
  if (requested == 0) return 0;
  for (int64_t i = 0; i < std::min(requested, *count); ++i) static_cast<T*>(out)[i] = values[i];
  return 0;
}

int GetDescriptors(const Descriptor& d, int attribute, int64_t requested, int64_t* count,
                   void** out) {
  std::vector<CudnnEngine> engines;
  if (attribute == cudnn::kHeuristicResults) engines = Ranking(d.mode);
  if (attribute == cudnn::kConfigEngine) engines = {{d.engine.id, {}}};
  if (attribute == cudnn::kConfigKnobChoices) {
    *count = static_cast<int64_t>(d.engine.knobs.size());
    for (int64_t i = 0; i < std::min(requested, *count); ++i) {
      Of(out[i]).knob[0] = d.engine.knobs[i].first;
      Of(out[i]).knob[1] = d.engine.knobs[i].second;
    }
    return 0;
  }
  if (attribute == cudnn::kEngineKnobs) {
    *count = d.engine.id == 0 ? 1 : 0;
    if (*count == 1 && requested > 0) {
      const int64_t info[] = {2, 0, 2, 1};
      std::memcpy(Of(out[0]).knob, info, sizeof info);
    }
    return 0;
  }
  *count = static_cast<int64_t>(engines.size());
  for (int64_t i = 0; i < std::min(requested, *count); ++i) Of(out[i]).engine = engines[i];
  return 0;
}

int Get(const void* descriptor, int attribute, int type, int64_t requested, int64_t* count,
        void* out) {
  const auto& d = *static_cast<const Descriptor*>(descriptor);
  if (type == cudnn::kTypeDescriptor) {
    return GetDescriptors(d, attribute, requested, count, static_cast<void**>(out));
  }
  const auto int64 = [&](int64_t value) {
    return Give(std::vector<int64_t>{value}, requested, count, out);
  };
  switch (attribute) {
    case cudnn::kGraphEngineCount:
      return int64(kEngines);
    case cudnn::kEngineIndex:
      return int64(d.engine.id);
    case cudnn::kPlanWorkspace:
      return int64(d.engine.id == 3 ? 1 << 20 : 0);
    case cudnn::kChoiceType:
    case cudnn::kInfoType:
      return Give(std::vector<int>{static_cast<int>(d.knob[0])}, requested, count, out);
    case cudnn::kChoiceValue:
    case cudnn::kInfoMinimum:
      return int64(d.knob[1]);
    case cudnn::kInfoMaximum:
      return int64(d.knob[2]);
    case cudnn::kInfoStride:
      return int64(d.knob[3]);
    case cudnn::kEngineNumericalNotes: {
      std::vector<int> notes;
      if (d.engine.id == 2) notes = {cudnn::kNoteTensorCore};
      if (d.engine.id == 3) notes = {cudnn::kNoteNondeterministic};
      return Give(notes, requested, count, out);
    }
    case cudnn::kEngineBehaviorNotes:
      return Give(
          d.engine.id == 3 ? std::vector<int>{cudnn::kNoteCompilesAtRunTime} : std::vector<int>{},
          requested, count, out);
    default:
      return kBadParameter;
  }
}

int Execute(void* handle, void* plan, void* pack) {
  FictionalCudnn::Last& last = FictionalCudnn::last();
  const Descriptor& p = Of(pack);
  if (!Of(plan).final || !p.final) return kBadParameter;
  last.engine = Of(plan).engine;
  last.stream = Of(handle).Value<void*>(-1);
  last.workspace = p.Value<void*>(cudnn::kPackWorkspace);
  last.pointers.clear();
  const std::string& ids = p.values.at(cudnn::kPackUniqueIds);
  const std::string& pointers = p.values.at(cudnn::kPackPointers);
  for (size_t i = 0; i < ids.size(); i += 8) {
    int64_t id = 0;
    void* pointer = nullptr;
    std::memcpy(&id, &ids[i], 8);
    std::memcpy(&pointer, &pointers[i], 8);
    last.pointers[id] = pointer;
  }
  ++last.runs;
  return 0;
}

cudnn::Functions MakeFunctions() {
  cudnn::Functions f;
  f.version = [] { return size_t{91400}; };
  f.create = [](void** handle) {
    *handle = new Descriptor;
    ++FictionalCudnn::objects();
    return 0;
  };
  f.create_descriptor = [](int kind, void** descriptor) {
    auto* made = new Descriptor;
    made->kind = kind;
    if (kind == cudnn::kExecutionPlan) FictionalCudnn::newest_plan() = made;
    *descriptor = made;
    ++FictionalCudnn::objects();
    return 0;
  };
  f.destroy = f.destroy_descriptor = [](void* descriptor) {
    delete static_cast<Descriptor*>(descriptor);
    --FictionalCudnn::objects();
    return 0;
  };
  f.set_stream = [](void* handle, void* stream) {
    Of(handle).values[-1].assign(reinterpret_cast<const char*>(&stream), sizeof stream);
    return 0;
  };
  f.finalize = Finalize;
  f.set = [](void* descriptor, int attribute, int type, int64_t count, const void* values) {
    if (Of(descriptor).final) return kBadParameter;
    Of(descriptor)
        .values[attribute]
        .assign(static_cast<const char*>(values), static_cast<size_t>(count) * SizeOfType(type));
    return 0;
  };
  f.get = Get;
  f.execute = Execute;
  return f;
}

}  // namespace

const cudnn::Functions& FictionalCudnn::Functions() {
  static const cudnn::Functions functions = MakeFunctions();
  return functions;
}
FictionalCudnn::Last& FictionalCudnn::last() {
  static Last last;
  return last;
}
void*& FictionalCudnn::newest_plan() {
  static void* plan = nullptr;
  return plan;
}
int& FictionalCudnn::objects() {
  static int count = 0;
  return count;
}

}  // namespace hiera
