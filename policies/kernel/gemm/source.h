// The C++ text of one instantiation of the GEMM templates. Pure functions.
#ifndef HIERA_POLICIES_KERNEL_GEMM_SOURCE_H_
#define HIERA_POLICIES_KERNEL_GEMM_SOURCE_H_

#include <string>
#include <string_view>

#include "policies/kernel/gemm/problem.h"
#include "policies/kernel/gemm/tuning.h"

namespace hiera::gemm {

// The templates that every instantiation needs, in order; with the activations where asked for.
std::string TemplateSource(bool activations);

// A struct `plan` for the templates, and the function `entry` that runs it. Several such texts with
// different names may follow one TemplateSource.
std::string InstantiationSource(const Problem& problem, const Tuning& tuning,
                                std::string_view plan = "Plan",
                                std::string_view entry = "hiera_variant");

// The whole candidate: what abi.h's text is put before.
std::string CandidateSource(const Problem& problem, const Tuning& tuning);

// The template's name of a unary operation; empty where it has none.
std::string_view ActivationFunction(Op op);

}  // namespace hiera::gemm

#endif  // HIERA_POLICIES_KERNEL_GEMM_SOURCE_H_
