// The file that HIERA_CUDA_DRIVER names is the driver, and no other is looked for.
#include "runtime/device/cuda/driver.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "runtime/library/cuda/gpu_entries.h"

namespace hiera {
namespace {

// One test: the environment is read once in a process.
TEST(CudaDriverTest, IsTheFileThatTheUserNames) {
  ASSERT_EQ(setenv("HIERA_CUDA_DRIVER", SAMPLE_VARIANT, 1), 0);
  const auto driver = cuda::MachineDriver();
  ASSERT_FALSE(driver.ok());
  EXPECT_EQ(driver.status().code(), Code::kUnsupported);
  EXPECT_NE(driver.status().message().find(SAMPLE_VARIANT " is too old"), std::string::npos)
      << driver.status().message();
  const auto entries = MachineGpuEntries();
  ASSERT_FALSE(entries.ok());
  EXPECT_NE(entries.status().message().find(SAMPLE_VARIANT " has no function cu"),
            std::string::npos)
      << entries.status().message();
}

}  // namespace
}  // namespace hiera
