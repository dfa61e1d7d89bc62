#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "test_host.h"

namespace tenon::triton {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Initialize, RefusesServersThatLackFunctions) {
  for (const auto& [major, minor] : {std::pair{1, 16}, {2, 19}, {0, 17}}) {
    const Host host({}, major, minor);
    EXPECT_EQ(host.error(),
              "Tenon's backend needs the backend interface 1.17, of Triton 23.12, or a later one "
              "of version 1; found "
                  + std::to_string(major) + "." + std::to_string(minor));
  }
  EXPECT_EQ(Host({}, 1, 17).error(), "");
}

TEST(Initialize, ReadsItsOptions) {
  Host::take_log();
  EXPECT_EQ(
      Host(Host::Options{{"threads", "2"}, {"backend-directory", "/"}, {"speed", "9"}}).error(),
      "");
  EXPECT_THAT(Host::take_log(), ElementsAre("--backend-config=tenon,speed has no effect"));
  EXPECT_EQ(Host(Host::Options{{"threads", "many"}}).error(),
            "threads: expected 0 to 1024, found 'many'");
  EXPECT_EQ(Host(Host::Options{{"precision", "fp8"}}).error(),
            "precision: expected fp32, fp16 or int8, found 'fp8'");
  EXPECT_THAT(Host(Host::Options{{"plugins", ";none.so"}}).error(),
              HasSubstr("cannot load none.so: expected a library of plugins"));
}

TEST(Initialize, PrefersTheCpuWithoutAGpu) {
  Host host;
  EXPECT_THAT(host.preferred_kinds(), ElementsAre(TRITONSERVER_INSTANCEGROUPKIND_CPU));
}

}  // namespace
}  // namespace tenon::triton
