// Asking a child what the device's libraries offer: whatever goes wrong there is a refusal.
#include "runtime/evaluator/enumerator.h"

#include <gtest/gtest.h>

namespace hiera {
namespace {

EnumerateRequest Request(const std::string& canonical) {
  EnumerateRequest request;
  request.id = 77;
  request.canonical = canonical;
  request.workspace_bytes = 1 << 20;
  return request;
}

const char kProduct[] =
    "tensor A: f32[8,4]; tensor B: f32[4,6]; tensor C: f32[8,6]\n"
    "C[i,j] = sum(k: A[i,k]*B[k,j])";

TEST(EnumeratorTest, AnswersOrSaysWhyNot) {
  const EnumerateReport report = EnumerateInChild(Request(kProduct), HIERA_EVALUATOR_PROGRAM);
  EXPECT_EQ(report.id, 77U);
  // Without a GPU there is a reason; with one, every library has its say.
  if (report.refusal.empty()) {
    EXPECT_EQ(report.offers.size(), 3U);
  } else {
    EXPECT_TRUE(report.offers.empty());
    EXPECT_NE(report.refusal.find("libcuda"), std::string::npos) << report.refusal;
  }
}

TEST(EnumeratorTest, ATaskThatDoesNotParseIsRefusedByTheChild) {
  const EnumerateReport report = EnumerateInChild(Request("C[i] ="), HIERA_EVALUATOR_PROGRAM);
  EXPECT_NE(report.refusal, "");
  EXPECT_EQ(report.refusal.find("enumeration"), std::string::npos) << report.refusal;
}

TEST(EnumeratorTest, AChildThatEndsIsARefusal) {
  const EnumerateReport report = EnumerateInChild(Request(kProduct), "/bin/false");
  EXPECT_EQ(report.id, 77U);
  EXPECT_NE(report.refusal.find("the enumeration"), std::string::npos) << report.refusal;
}

TEST(EnumeratorTest, AProgramThatIsNotThereIsARefusal) {
  const EnumerateReport report = EnumerateInChild(Request(kProduct), "/nowhere/evaluator");
  EXPECT_NE(report.refusal, "");
  EXPECT_TRUE(report.offers.empty());
}

}  // namespace
}  // namespace hiera
