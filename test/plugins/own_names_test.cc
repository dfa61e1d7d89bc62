// A program's own plugin under the name of one that comes along.
#include <NvInfer.h>
#include <gtest/gtest.h>

namespace {

using namespace nvinfer1;  // NOLINT: a client of TensorRT

class ReflectPadCreator final : public IPluginCreatorV3One {
 public:
  ReflectPadCreator() { getPluginRegistry()->registerCreator(*this, ""); }
  IPluginV3* createPlugin(const char*, const PluginFieldCollection*,
                          TensorRTPhase) noexcept override {
    return nullptr;
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return "ReflectPad"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
};
ReflectPadCreator creator;

TEST(OwnNames, TheProgramsPluginIsFound) {
  IPluginRegistry& registry = *getPluginRegistry();
  EXPECT_EQ(registry.getCreator("ReflectPad", "1"), &creator);
  EXPECT_TRUE(registry.deregisterCreator(creator));
  IPluginCreatorInterface* const other = registry.getCreator("ReflectPad", "1");
  ASSERT_NE(other, nullptr);  // that which comes along
  EXPECT_TRUE(registry.registerCreator(creator, ""));
  EXPECT_FALSE(registry.registerCreator(creator, ""));
  EXPECT_EQ(registry.getCreator("ReflectPad", "1"), &creator);
}

}  // namespace
