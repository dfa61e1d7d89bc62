// Version numbers that programs compare, and that plugins tell the library.
#include <gtest/gtest.h>

#include "NvInfer.h"
#include "plugin_layers/idle_plugin_test.h"

namespace nvinfer1 {
namespace {

static_assert(NV_TENSORRT_MAJOR == 10 && NV_TENSORRT_MINOR == 16);
static_assert(NV_TENSORRT_VERSION == 101600);

TEST(Version, PluginTellsItsKindInTheTopByte) {
  tenon::testing::IdlePlugin plugin;
  const IPluginV2& seen_by_library = plugin;
  const int32_t version = seen_by_library.getTensorRTVersion();
  EXPECT_EQ(version >> 24, static_cast<int32_t>(PluginVersion::kV2_DYNAMICEXT));
  EXPECT_EQ(version & 0xFFFFFF, 101600);
}

TEST(Version, ObsoleteMethodsOfDynamicPluginsAnswerFailure) {
  tenon::testing::IdlePlugin plugin;
  IPluginV2Ext& seen_by_library = plugin;
  EXPECT_FALSE(seen_by_library.supportsFormat(DataType::kFLOAT, TensorFormat::kLINEAR));
  EXPECT_EQ(seen_by_library.getOutputDimensions(0, nullptr, 0).nbDims, -1);
  EXPECT_NE(seen_by_library.enqueue(1, nullptr, nullptr, nullptr, nullptr), 0);
}

}  // namespace
}  // namespace nvinfer1
