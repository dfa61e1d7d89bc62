#include "backend/targets.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "base/error.h"
#include "cpu/cpu_target.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

std::string refusal(std::string_view name) {
  try {
    target_named(name);
  } catch (const Error& e) {
    return e.what();
  }
  return "";
}

TEST(TargetsTest, AreFoundByName) {
  EXPECT_EQ(&target_named("cpu"), &cpu_target());
  EXPECT_THAT(refusal("tpu"), HasSubstr("there is no target \"tpu\"; expected cpu"));
}

TEST(TargetsTest, TheEnvironmentNamesTheDefault) {
  ::setenv("TENON_TARGET", "cpu", 1);
  EXPECT_EQ(&default_target(), &cpu_target());
  ::setenv("TENON_TARGET", "npu", 1);
  EXPECT_THROW(default_target(), Error);
  ::unsetenv("TENON_TARGET");
}

}  // namespace
}  // namespace tenon
