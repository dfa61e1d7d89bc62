#include "server_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tenon::server {
namespace {

using ::testing::HasSubstr;

std::string written(ServerLog& log, Severity severity) {
  ::testing::internal::CaptureStderr();
  log.write(severity, "a line");
  return ::testing::internal::GetCapturedStderr();
}

TEST(ServerLog, SeveritiesAreSwitchedOffAndOn) {
  ServerLog log;
  EXPECT_EQ(written(log, Severity::kInfo), "a line\n");
  EXPECT_FALSE(log.change({{"log_info", false}}));
  EXPECT_EQ(log.settings().at("log_info"), SettingValue(false));
  EXPECT_EQ(written(log, Severity::kInfo), "");
  EXPECT_EQ(written(log, Severity::kError), "a line\n");
  EXPECT_FALSE(log.change({{"log_info", std::nullopt}}));
  EXPECT_EQ(written(log, Severity::kInfo), "a line\n");
}

TEST(ServerLog, WhatCannotBeIsNamedAndNothingChanges) {
  ServerLog log;
  const auto text = [&](const SettingChanges& wanted) {
    const auto error = log.change(wanted);
    return error ? error->text : "none";
  };
  EXPECT_EQ(text({{"log_verbose_level", uint32_t{0}}, {"log_format", std::string("default")}}),
            "none");
  EXPECT_THAT(text({{"log_error", false}, {"log_file", std::string("/etc/passwd")}}),
              HasSubstr("setting 'log_file': another value than the server's"));
  EXPECT_THAT(text({{"log_info", uint32_t{1}}}), HasSubstr("expected true or false"));
  EXPECT_THAT(text({{"log_\n", true}}), HasSubstr("'log_\\n': there is none"));
  EXPECT_EQ(log.settings().at("log_error"), SettingValue(true));
}

}  // namespace
}  // namespace tenon::server
