#include "base/current_logger.h"

#include <gtest/gtest.h>

#include <string>

namespace tenon {
namespace {

using Severity = nvinfer1::ILogger::Severity;

class Recorder final : public nvinfer1::ILogger {
 public:
  void log(Severity, const char* message) noexcept override { text += message; }
  std::string text;
};

TEST(CurrentLogger, IsThatOfTheOldestLivingObject) {
  Recorder first, second;
  hold_logger(&first);
  hold_logger(nullptr);
  hold_logger(&second);
  hold_logger(&first);  // a second object with the logger
  write_message(Severity::kINFO, "a");
  EXPECT_EQ(first.text, "a");
  release_logger(&first);
  write_message(Severity::kINFO, "b");
  EXPECT_EQ(second.text, "b");
  release_logger(&second);
  release_logger(nullptr);
  EXPECT_EQ(current_logger(), &first);
  release_logger(&first);
  EXPECT_EQ(current_logger(), nullptr);
}

TEST(CurrentLogger, ErrorsWithoutOneGoToStandardError) {
  ::testing::internal::CaptureStderr();
  write_message(Severity::kERROR, "trouble");
  write_message(Severity::kWARNING, "a warning");
  EXPECT_EQ(::testing::internal::GetCapturedStderr(), "tenon: trouble\n");
}

}  // namespace
}  // namespace tenon
