#include "base/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;

constexpr const char* kVariable = "TENON_ENVIRONMENT_TEST";

std::optional<size_t> number_in(const char* text) {
  ::setenv(kVariable, text, 1);
  return environment_number(kVariable, 2, 1000, "MiB");
}

TEST(EnvironmentNumber, IsReadWhole) {
  ::unsetenv(kVariable);
  EXPECT_EQ(environment_number(kVariable, 2, 1000), std::nullopt);
  EXPECT_EQ(number_in("2"), 2u);
  EXPECT_EQ(number_in("1000"), 1000u);
}

TEST(EnvironmentNumber, AnythingElseIsRefusedByName) {
  for (const char* text : {"", "1", "1001", "-3", "+3", " 3", "3x", "3.5", "1e2", "0x10", "nan",
                           "inf", "99999999999999999999999", "lots"})
    EXPECT_THROW(number_in(text), Error) << text;
  try {
    number_in("4\x1b[2J");
    ADD_FAILURE() << "a terminal's commands are no number";
  } catch (const Error& e) {
    EXPECT_STREQ(
        e.what(),
        "the environment variable TENON_ENVIRONMENT_TEST is '4\\x1b[2J'; expected a number "
        "of MiB from 2 to 1000");
  }
}

}  // namespace
}  // namespace tenon
