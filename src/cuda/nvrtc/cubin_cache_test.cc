// Compiling, and keeping what was compiled. Needs no GPU.
#include "cuda/nvrtc/cubin_cache.h"

#include <gmock/gmock.h>

#include <cstring>
#include <filesystem>
#include <fstream>

#include "backend/code_cache_testing.h"
#include "base/error.h"
#include "cuda/nvrtc/compiler.h"
#include "cuda/nvrtc/prelude.h"

namespace tenon::cuda {
namespace {

namespace files = std::filesystem;
using ::testing::HasSubstr;

constexpr const char* kSource = "extern \"C\" __global__ void f(float* x) { *x = 1; }";

class CubinSourceTest : public testing::Test {
 protected:
  CubinSourceTest() {
    std::string name = files::temp_directory_path() / "tenon_cubins_XXXXXX";
    folder_ = mkdtemp(name.data());
  }
  ~CubinSourceTest() override { files::remove_all(folder_); }

  std::vector<files::path> kept() const {
    std::vector<files::path> all;
    for (const auto& entry : files::directory_iterator(folder_)) all.push_back(entry.path());
    return all;
  }

  std::string folder_;
};

bool are_equal(const Tensor& a, const Tensor& b) {
  return a.bytes() == b.bytes() && std::memcmp(a.data(), b.data(), a.bytes()) == 0;
}

Tensor tensor_of(std::span<const std::byte> bytes) {
  return Tensor::of(DataType::kUINT8, {static_cast<int64_t>(bytes.size())}, bytes);
}

TEST_F(CubinSourceTest, MistakesAreShownWithTheSource) {
  try {
    compile_cuda("__global__ void f() { undeclared = 1; }", "sm_90");
    FAIL() << "it compiled";
  } catch (const Error& e) {
    EXPECT_THAT(e.what(), HasSubstr("identifier \"undeclared\" is undefined"));
    EXPECT_THAT(e.what(), HasSubstr("undeclared = 1"));
  }
}

TEST_F(CubinSourceTest, ThePreludeAloneCompiles) {
  EXPECT_NO_THROW(compile_cuda(std::string(prelude()), "sm_90"));
  EXPECT_NO_THROW(compile_cuda(std::string(prelude()), "sm_75"));  // no bfloat16 instructions
}

TEST_F(CubinSourceTest, OneSourceIsOneTensor) {
  CubinCache cache("");
  const Tensor first = cache.cubin(kSource, "sm_90");
  EXPECT_EQ(cache.cubin(kSource, "sm_90").data(), first.data());
  EXPECT_NE(cache.cubin(kSource, "sm_80").data(), first.data());
}

TEST_F(CubinSourceTest, ABuildWithTheCacheOfAnotherCompilesNothing) {
  KeptCode of_build;
  const Tensor first = CubinCache("").cubin(kSource, "sm_90", &of_build);
  ASSERT_EQ(of_build.kept.size(), 1u);
  EXPECT_TRUE(are_equal(first, tensor_of(compile_cuda(kSource, "sm_90"))));
  // What knows neither memory nor files of the first would have to compile into other memory.
  EXPECT_EQ(CubinCache("").cubin(kSource, "sm_90", &of_build).data(), first.data());
  // A program with a mistake cannot be compiled, so its code can only be what was kept.
  const std::string mistake = "__global__ void f() { undeclared = 1; }";
  of_build.keep_code(code_key(mistake, "sm_90"), first);
  EXPECT_TRUE(are_equal(CubinCache("").cubin(mistake, "sm_90", &of_build), first));
  EXPECT_THROW(CubinCache("").cubin(mistake, "sm_80", &of_build), Error);
  EXPECT_EQ(of_build.kept.size(), 2u);
}

TEST_F(CubinSourceTest, TheCacheOfABuildGetsWhatWasCompiledBefore) {
  CubinCache cache(folder_);
  const Tensor first = cache.cubin(kSource, "sm_90");
  KeptCode of_build, of_another;
  cache.cubin(kSource, "sm_90", &of_build);
  CubinCache(folder_).cubin(kSource, "sm_90", &of_another);
  ASSERT_EQ(of_build.kept.size(), 1u);
  EXPECT_EQ(of_build.kept.begin()->second.data(), first.data());
  ASSERT_EQ(of_another.kept.size(), 1u);
  EXPECT_TRUE(are_equal(of_another.kept.begin()->second, first));
}

TEST_F(CubinSourceTest, TheCacheOfABuildIsAskedBeforeMemoryAndFiles) {
  CubinCache cache(folder_);
  cache.cubin(kSource, "sm_90");
  KeptCode of_build;
  const Tensor other(DataType::kUINT8, {8});
  of_build.keep_code(code_key(kSource, "sm_90"), other);
  EXPECT_EQ(cache.cubin(kSource, "sm_90", &of_build).data(), other.data());
  EXPECT_NE(cache.cubin(kSource, "sm_90").data(), other.data());
}

TEST_F(CubinSourceTest, KeysAreOfSourceAndArchitecture) {
  EXPECT_EQ(code_key(kSource, "sm_90"), code_key(kSource, "sm_90"));
  EXPECT_NE(code_key(kSource, "sm_90"), code_key(kSource, "sm_80"));
  EXPECT_NE(code_key(kSource, "sm_90"), code_key(std::string(kSource) + " ", "sm_90"));
}

TEST_F(CubinSourceTest, AnotherProcessReadsTheFile) {
  const Tensor first = CubinCache(folder_).cubin(kSource, "sm_90");
  ASSERT_EQ(kept().size(), 1u);
  const auto written = files::last_write_time(kept()[0]) - std::chrono::hours(1);
  files::last_write_time(kept()[0], written);
  EXPECT_TRUE(are_equal(CubinCache(folder_).cubin(kSource, "sm_90"), first));
  EXPECT_GT(files::last_write_time(kept()[0]), written) << "it was not marked as used";
}

TEST_F(CubinSourceTest, ADamagedFileIsMadeAnew) {
  const Tensor first = CubinCache(folder_).cubin(kSource, "sm_90");
  const files::path path = kept().at(0);
  const auto size = files::file_size(path);
  for (const int64_t at : {int64_t{0}, int64_t{9}, static_cast<int64_t>(size) / 2}) {
    std::fstream(path, std::ios::in | std::ios::out | std::ios::binary).seekp(at).put('!');
    EXPECT_TRUE(are_equal(CubinCache(folder_).cubin(kSource, "sm_90"), first)) << at;
  }
  files::resize_file(path, 10);
  EXPECT_TRUE(are_equal(CubinCache(folder_).cubin(kSource, "sm_90"), first));
  EXPECT_EQ(files::file_size(path), size) << "it was not written again";
}

TEST_F(CubinSourceTest, WhatWasNotUsedForLongIsRemoved) {
  const auto age = [&](const char* name, int hours) {
    const files::path path = files::path(folder_) / name;
    std::ofstream(path) << std::string(1000, ' ');
    files::last_write_time(path, files::file_time_type::clock::now() - std::chrono::hours(hours));
    return path;
  };
  const auto old = age("a.tenon-cubin", 3), recent = age("b.tenon-cubin", 1),
             foreign = age("c.cubin", 9);
  const size_t own = compile_cuda(kSource, "sm_90").size();
  CubinCache(folder_, own + 1500).cubin(kSource, "sm_90");
  EXPECT_FALSE(files::exists(old));
  EXPECT_TRUE(files::exists(recent));
  EXPECT_TRUE(files::exists(foreign));
}

TEST_F(CubinSourceTest, AFolderThatCannotBeMadeCostsNothing) {
  std::ofstream(folder_ + "/file") << "x";
  EXPECT_GT(CubinCache(folder_ + "/file/below").cubin(kSource, "sm_90").bytes(), 0u);
}

}  // namespace
}  // namespace tenon::cuda
