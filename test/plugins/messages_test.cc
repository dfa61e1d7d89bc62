// What a program hears from the registry and from plugins outside of any engine: through the logger
// that it gave to its builder.
#include <NvInfer.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/plugin_runner.h>

#include <memory>
#include <string>

namespace {

using namespace nvinfer1;  // NOLINT: a client of TensorRT
using ::testing::HasSubstr;

class Recorder final : public ILogger {
 public:
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) text += std::string(message) + "\n";
  }
  std::string text;
};

class PluginMessages : public ::testing::Test {
 protected:
  Recorder logger_;
  std::unique_ptr<IBuilder> builder_{createInferBuilder(logger_)};
};

TEST_F(PluginMessages, OfTheRegistryReachTheLogger) {
  EXPECT_EQ(getPluginRegistry()->loadLibrary("/nowhere/plugins.so"), nullptr);
  EXPECT_THAT(logger_.text, HasSubstr("/nowhere/plugins.so: no such file"));
}

TEST_F(PluginMessages, OfACreatorReachTheLogger) {
  auto* const creator =
      static_cast<IPluginCreatorV3One*>(getPluginRegistry()->getCreator("ScatterElements", "2"));
  ASSERT_NE(creator, nullptr);
  const PluginField field("axis", "1", PluginFieldType::kCHAR, 1);
  const PluginFieldCollection fields{1, &field};
  EXPECT_EQ(creator->createPlugin("scatter", &fields, TensorRTPhase::kBUILD), nullptr);
  EXPECT_THAT(logger_.text, HasSubstr("axis"));
  // Programs without an engine ask for them.
  EXPECT_THAT(tenonTakePluginError(), HasSubstr("axis"));
  EXPECT_STREQ(tenonTakePluginError(), "");
}

}  // namespace
