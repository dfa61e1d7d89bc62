#include "settings.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::server {
namespace {

using ::testing::HasSubstr;

TEST(Settings, WhatIsSoAlreadyIsTaken) {
  EXPECT_FALSE(check_settings({}, log_settings()));
  EXPECT_FALSE(
      check_settings({{"log_info", true}, {"log_verbose_level", uint32_t{0}}}, log_settings()));
  EXPECT_FALSE(
      check_settings({{"trace_level", std::vector<std::string>{"OFF"}}}, trace_settings()));
}

TEST(Settings, WhatCannotBeIsNamed) {
  const auto text = [](const Settings& wanted, const Settings& current) {
    const auto error = check_settings(wanted, current);
    return error ? error->text : "none";
  };
  EXPECT_THAT(text({{"log_file", std::string("/etc/passwd")}}, log_settings()),
              HasSubstr("setting 'log_file'"));
  EXPECT_THAT(text({{"log_info", false}}, log_settings()), HasSubstr("not supported yet"));
  EXPECT_THAT(text({{"log_info", uint32_t{1}}}, log_settings()), HasSubstr("not supported yet"));
  EXPECT_THAT(text({{"trace_rate\n", std::vector<std::string>{"1"}}}, trace_settings()),
              HasSubstr("'trace_rate\\n' is not supported yet"));
}

}  // namespace
}  // namespace tenon::server
