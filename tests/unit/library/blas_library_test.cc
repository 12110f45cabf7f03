// How the CBLAS library is found and named.
#include "runtime/library/blas_library.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

namespace hiera {
namespace {

// The build-id of a file, as another program reads it.
std::string BuildIdFromReadelf(const std::string& path) {
  const std::string command = "readelf -n '" + path + "' 2>/dev/null";
  FILE* pipe = popen(command.c_str(), "r");
  if (pipe == nullptr) return "";
  std::string text;
  char buffer[256];
  while (std::fgets(buffer, sizeof buffer, pipe) != nullptr) text += buffer;
  pclose(pipe);
  const std::string label = "Build ID: ";
  const size_t at = text.find(label);
  if (at == std::string::npos) return "";
  return text.substr(at + label.size(), text.find('\n', at) - at - label.size());
}

TEST(BlasLibraryTest, BuildIdIsTheOneInTheFile) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void*>(&popen), &info), 0);
  const std::string expected = BuildIdFromReadelf(info.dli_fname);
  if (expected.empty()) GTEST_SKIP() << "readelf shows no build-id of " << info.dli_fname;
  EXPECT_EQ(BuildIdAt(reinterpret_cast<const void*>(&popen)), expected);
}

TEST(BlasLibraryTest, AddressOfNoObjectHasNoBuildId) {
  int on_the_stack = 0;
  EXPECT_EQ(BuildIdAt(&on_the_stack), "");
}

TEST(BlasLibraryTest, AFileWithoutCblasIsRefusedByName) {
  const auto library = BlasLibrary::OpenAt("libm.so.6");
  ASSERT_FALSE(library.ok());
  EXPECT_EQ(library.status().code(), Code::kUnavailable);
  EXPECT_NE(library.status().message().find("libm.so.6 has no OpenBLAS functions"),
            std::string::npos)
      << library.status().message();
}

TEST(BlasLibraryTest, AMissingFileIsRefusedWithTheRemedy) {
  const auto library = BlasLibrary::OpenAt("/nowhere/libblas.so");
  ASSERT_FALSE(library.ok());
  EXPECT_NE(library.status().message().find("/nowhere/libblas.so does not open"),
            std::string::npos);
  EXPECT_NE(library.status().message().find("HIERA_BLAS"), std::string::npos);
}

TEST(BlasLibraryTest, TheOneFoundNamesItself) {
  const Result<const BlasLibrary*> library = BlasLibrary::Open();
  if (!library.ok()) GTEST_SKIP() << library.status().message();
  const BlasLibrary& blas = **library;
  EXPECT_EQ(blas.requirement().what, "library " + blas.path().substr(blas.path().rfind('/') + 1));
  const std::string build_id = BuildIdFromReadelf(blas.path());
  if (!build_id.empty()) {
    EXPECT_EQ(blas.requirement().identity, "build-id " + build_id);
  }
  EXPECT_NE(blas.config().find("OpenBLAS"), std::string::npos);
  // Opening again gives the same object: it is opened once.
  EXPECT_EQ(*BlasLibrary::Open(), &blas);
}

TEST(BlasLibraryTest, ALibraryThatIsLoadedAlreadyComesFirst) {
  const Result<const BlasLibrary*> first = BlasLibrary::Open();
  if (!first.ok()) GTEST_SKIP() << first.status().message();
  const auto second = BlasLibrary::OpenAt("");
  ASSERT_TRUE(second.ok()) << second.status().message();
  EXPECT_EQ((*second)->functions().sgemm, (*first)->functions().sgemm);
  EXPECT_EQ((*second)->path(), (*first)->path());
}

}  // namespace
}  // namespace hiera
