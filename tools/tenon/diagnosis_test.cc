#include "diagnosis.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>

namespace tenon::tool {
namespace {

using nlohmann::ordered_json;
using ::testing::HasSubstr;

ordered_json machine(const std::string& gpu, const std::string& cuda) {
  return {{"target", "cpu"},
          {"targets", {{"cpu", "cpu: x"}, {"cuda", cuda}}},
          {"GPU", gpu},
          {"instruction set", "avx2"}};
}

TEST(Diagnosis, AGpuThatIsNotUsedHasACauseAndAFix) {
  EXPECT_TRUE(
      findings_of_targets(machine("none found", "no: this build has no CUDA target")).empty());
  EXPECT_TRUE(findings_of_targets(machine("NVIDIA, driver 580.1", "cuda: H200")).empty());
  const struct {
    const char *why, *fix;
  } cases[] = {
      {"no: this build has no CUDA target (configure it)", "cuda-release"},
      {"no: NVIDIA's CUDA runtime is not there (libcudart.so.13: cannot open shared object file: "
       "No "
       "such file or directory); TENON_CUDART may name it",
       "pip install nvidia-cuda-runtime"},
      {"no: CUDA driver version is insufficient (the driver is one for CUDA 12.4)", "580 or newer"},
      {"no: NVIDIA's CUDA runtime sees no GPU", "--gpus=all"},
      {"no: libcublasLt.so.13: cannot open shared object file: No such file or directory",
       "nvidia-cublas"},
  };
  for (const auto& [why, fix] : cases) {
    const auto findings = findings_of_targets(machine("NVIDIA, driver 550.54.15", why));
    ASSERT_EQ(findings.size(), 1u) << why;
    EXPECT_EQ(findings[0].level, Finding::Level::kWarning);
    EXPECT_THAT(findings[0].fix, HasSubstr(fix));
  }
}

TEST(Diagnosis, ATargetThatIsNotThereIsAnError) {
  auto facts = machine("none found", "no: x");
  facts["target"] = "no: there is no target \"tpu\"";
  const auto findings = findings_of_targets(facts);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].level, Finding::Level::kError);
}

TEST(Diagnosis, VariablesThatLimitOrAreMisspeltAreFound) {
  EXPECT_TRUE(findings_of_environment({"PATH=/bin", "TENON_THREADS=2", "TENON_BUILD=/x"}).empty());
  const auto misspelt = findings_of_environment({"TENON_THREAD=2"});
  ASSERT_EQ(misspelt.size(), 1u);
  EXPECT_THAT(misspelt[0].fix, HasSubstr("TENON_THREADS"));
  EXPECT_THAT(findings_of_environment({"TENON_TRT_APIS=8"}).at(0).fix, HasSubstr("TENON_TRT_API"));
  const auto limit = findings_of_environment({"TENON_ISA=avx2"});
  ASSERT_EQ(limit.size(), 1u);
  EXPECT_THAT(limit[0].what, HasSubstr("TENON_ISA=avx2"));
  EXPECT_TRUE(
      findings_of_environment({"TENON_KERNEL_CACHE=", "TENON_KERNEL_CACHE=/tmp/a/b"}).empty());
  ASSERT_EQ(findings_of_environment({"TENON_KERNEL_CACHE=/dev/null/x"}).size(), 1u);
}

TEST(Diagnosis, VersionsMustBeTheSame) {
  EXPECT_TRUE(findings_of_versions("0.1.0", "0.1.0").empty());
  EXPECT_THAT(findings_of_versions("0.1.0", "0.2.0").at(0).what, HasSubstr("0.2.0"));
}

TEST(Diagnosis, AnotherTensorRTBeforeOursIsFound) {
  namespace fs = std::filesystem;
  const fs::path root = fs::path(::testing::TempDir()) / "search_path";
  fs::remove_all(root);
  for (const char* folder : {"ours", "theirs", "linked", "empty"})
    fs::create_directories(root / folder);
  std::ofstream(root / "ours/libnvinfer.so.10");
  std::ofstream(root / "theirs/libnvinfer.so.10");
  fs::create_symlink(root / "ours/libnvinfer.so.10", root / "linked/libnvinfer.so.10");
  const std::string ours = root / "ours";
  const auto path = [&](std::initializer_list<const char*> names) {
    std::string text;
    for (const char* name : names) text += (root / name).string() + ":";
    return text;
  };
  EXPECT_TRUE(findings_of_search_path("", ours).empty());
  EXPECT_TRUE(findings_of_search_path(path({"empty", "linked", "ours", "theirs"}), ours).empty());
  const auto findings = findings_of_search_path(path({"empty", "theirs", "ours"}), ours);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_THAT(findings[0].what, HasSubstr("theirs/libnvinfer.so.10"));
  fs::remove_all(root);
}

}  // namespace
}  // namespace tenon::tool
