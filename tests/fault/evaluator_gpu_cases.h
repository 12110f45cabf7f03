// What the cases of evaluator_gpu_cases.cc run on: the program that carries them says it.
#ifndef HIERA_TESTS_FAULT_EVALUATOR_GPU_CASES_H_
#define HIERA_TESTS_FAULT_EVALUATOR_GPU_CASES_H_

#include <string>
#include <vector>

namespace hiera {

// "" where there is a GPU, else why not.
std::string WhyNoGpu();
// Variables of the evaluator's environment ("NAME=value") that make it find the GPU.
std::vector<std::string> GpuVariables();

}  // namespace hiera

#endif  // HIERA_TESTS_FAULT_EVALUATOR_GPU_CASES_H_
