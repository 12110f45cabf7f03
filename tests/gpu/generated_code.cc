#include "tests/gpu/generated_code.h"

#include <unistd.h>

#include <algorithm>

#include "policies/kernel/cuda_stencil.h"
#include "policies/kernel/fused/cuda_row_writer.h"
#include "runtime/device/cuda/facts.h"
#include "runtime/evaluator/device_compiler.h"
#include "runtime/evaluator/digest.h"

namespace hiera::gpu {
namespace {

// "sm_90a" and the like, of the first GPU.
Result<std::string> Architecture() {
  const auto driver = cuda::MachineDriver();
  if (!driver.ok()) return driver.status();
  const auto facts = cuda::ChooseDevice(**driver, "cuda:0");
  if (!facts.ok()) return facts.status();
  return "sm_" + std::to_string(facts->major) + std::to_string(facts->minor) +
         (facts->major >= 9 ? "a" : "");
}

// What the model rests on. The copy rate, which only scales it, is that of an H200.
MachineFacts ModelFacts() {
  MachineFacts machine;
  machine.copy_gbps = 4200;
  const auto driver = cuda::MachineDriver();
  if (!driver.ok()) return machine;
  const auto facts = cuda::ChooseDevice(**driver, "cuda:0");
  if (!facts.ok()) return machine;
  machine.threads = facts->multiprocessors;
  machine.l3_bytes = facts->l2_bytes;
  return machine;
}

constexpr CudaSweepOptions kFlatSweeps[] = {
    {4, 128, 1, 16, 1, true}, {4, 256, 1, 8, 1, true},   {4, 64, 4, 1, 0, true},
    {4, 64, 4, 4, 2, true},   {4, 128, 1, 16, 1, false}, {4, 256, 1, 30, 2, true},
    {1, 128, 1, 14, 4, true},
};
constexpr CudaSweepOptions kDeepSweeps[] = {
    {4, 32, 8, 16, 1, true}, {4, 64, 8, 32, 1, true},  {4, 128, 4, 32, 1, true},
    {4, 32, 8, 60, 2, true}, {4, 64, 4, 16, 1, false}, {4, 128, 2, 15, 2, true},
    {1, 32, 8, 21, 4, true},
};

}  // namespace

std::vector<GeneratedForm> SweepForms(const Task& task, size_t most) {
  const Result<StencilTask> stencil = MapStencil(task);
  if (!stencil.ok()) return {};
  std::vector<CudaSweepOptions> all = EnumerateSweeps(*stencil, ModelFacts());
  all.resize(std::min<size_t>(all.size(), 1));
  const bool flat = stencil->extent[1] == 1;
  for (CudaSweepOptions options : flat ? kFlatSweeps : kDeepSweeps) {
    options.neighbours = std::min(options.neighbours, WidestSweep(*stencil));
    if (std::find(all.begin(), all.end(), options) == all.end()) all.push_back(options);
  }
  std::vector<GeneratedForm> forms;
  for (const CudaSweepOptions& options : all) {
    if (forms.size() == most) break;
    Result<CudaSource> source = WriteCudaSweep(*stencil, options);
    if (source.ok()) forms.push_back({"sweep " + PlanName(options), std::move(source)});
  }
  return forms;
}

std::vector<GeneratedForm> GeneratedForms(const Task& task) {
  std::vector<GeneratedForm> forms;
  const auto add = [&](const std::string& name, Result<CudaSource> source) {
    if (source.ok()) forms.push_back({name, std::move(source)});
  };
  add("loops 256", WriteCudaLoops(task, {}));
  add("loops tile 32x8", WriteCudaLoops(task, {.threads = 256, .tile = 32}));
  add("loops tile 64x4 of 4", WriteCudaLoops(task, {.threads = 256, .tile = 64, .rows = 4}));
  if (task.contract.arithmetic != Arithmetic::kExact) {
    add("loops together 128", WriteCudaLoops(task, {.threads = 128, .together = true}));
    add("loops together 32", WriteCudaLoops(task, {.threads = 32, .together = true}));
    const auto program = MakeRowProgram(task);
    if (program.ok()) {
      const int widest = WidestNeighbours(task, *program);
      const std::string by = " by " + std::to_string(widest);
      for (const int threads : {128, 256, 512}) {
        add("rows " + std::to_string(threads) + by,
            WriteCudaRows(task, *program, {threads, 1, widest}));
      }
      add("rows 8 warps" + by, WriteCudaRows(task, *program, {32, 8, widest}));
      add("rows 256 by 1", WriteCudaRows(task, *program, {256, 1, 1}));
    }
  }
  for (GeneratedForm& sweep : SweepForms(task, 4)) forms.push_back(std::move(sweep));
  return forms;
}

Result<std::unique_ptr<Executable>> MakeGenerated(Device& device, const Task& task,
                                                  const CudaSource& source, bool optimised) {
  const auto compiler = DeviceCompiler::Open();
  if (!compiler.ok()) return compiler.status();
  const auto architecture = Architecture();
  if (!architecture.ok()) return architecture.status();
  const std::vector<std::string> options =
      optimised ? std::vector<std::string>{} : std::vector<std::string>{"--Ofast-compile=max"};
  const auto cubin = (*compiler)->Compile(source.text, *architecture, options);
  if (!cubin.ok()) return cubin.status();
  const std::string path = "/tmp/hiera-generated-" + std::to_string(getpid()) + ".cubin";
  HIERA_RETURN_IF_ERROR(WriteFile(path, *cubin));
  auto loaded = device.Load(task, {CudaPlanText(source.plan), source.workspace_bytes, 0}, path);
  unlink(path.c_str());
  return loaded;
}

}  // namespace hiera::gpu
