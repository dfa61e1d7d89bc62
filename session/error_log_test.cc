#include "tenon/session/error_log.h"

#include <gtest/gtest.h>

namespace tenon::session {
namespace {

using Severity = nvinfer1::ILogger::Severity;

TEST(ErrorLog, KeepsTheFirstErrorUntilItIsTaken) {
  ErrorLog log;
  log.log(Severity::kWARNING, "a warning");
  EXPECT_EQ(log.take_error(), "");
  log.log(Severity::kERROR, "first");
  log.log(Severity::kINTERNAL_ERROR, "second");
  EXPECT_EQ(log.take_error(), "first");
  EXPECT_EQ(log.take_error(), "");
}

TEST(ErrorLog, AFailureSaysWhatWasLogged) {
  ErrorLog log;
  EXPECT_EQ(log.failure("it failed").text, "it failed");
  log.log(Severity::kERROR, "why");
  EXPECT_EQ(log.failure("it failed").text, "why");
}

}  // namespace
}  // namespace tenon::session
