// Version numbers that programs compare, and that plugins tell the library.
#include <gtest/gtest.h>

#include "NvInfer.h"

namespace nvinfer1 {
namespace {

static_assert(NV_TENSORRT_MAJOR == 10 && NV_TENSORRT_MINOR == 16);
static_assert(NV_TENSORRT_VERSION == 101600);

class Plugin : public IPluginV2DynamicExt {
 public:
  const AsciiChar* getPluginType() const noexcept override { return "Plugin"; }
  const AsciiChar* getPluginVersion() const noexcept override { return "1"; }
  int32_t getNbOutputs() const noexcept override { return 1; }
  int32_t initialize() noexcept override { return 0; }
  void terminate() noexcept override {}
  size_t getSerializationSize() const noexcept override { return 0; }
  void serialize(void*) const noexcept override {}
  void destroy() noexcept override { delete this; }
  void setPluginNamespace(const AsciiChar*) noexcept override {}
  const AsciiChar* getPluginNamespace() const noexcept override { return ""; }
  DataType getOutputDataType(int32_t, const DataType*, int32_t) const noexcept override {
    return DataType::kFLOAT;
  }
  IPluginV2DynamicExt* clone() const noexcept override { return new Plugin(*this); }
  DimsExprs getOutputDimensions(int32_t, const DimsExprs* inputs, int32_t,
                                IExprBuilder&) noexcept override {
    return inputs[0];
  }
  bool supportsFormatCombination(int32_t, const PluginTensorDesc*, int32_t,
                                 int32_t) noexcept override {
    return true;
  }
  void configurePlugin(const DynamicPluginTensorDesc*, int32_t, const DynamicPluginTensorDesc*,
                       int32_t) noexcept override {}
  size_t getWorkspaceSize(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                          int32_t) const noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc*, const PluginTensorDesc*, const void* const*,
                  void* const*, void*, cudaStream_t) noexcept override {
    return 0;
  }
};

TEST(Version, PluginTellsItsKindInTheTopByte) {
  Plugin plugin;
  const IPluginV2& seen_by_library = plugin;
  const int32_t version = seen_by_library.getTensorRTVersion();
  EXPECT_EQ(version >> 24, static_cast<int32_t>(PluginVersion::kV2_DYNAMICEXT));
  EXPECT_EQ(version & 0xFFFFFF, 101600);
}

TEST(Version, ObsoleteMethodsOfDynamicPluginsAnswerFailure) {
  Plugin plugin;
  IPluginV2Ext& seen_by_library = plugin;
  EXPECT_FALSE(seen_by_library.supportsFormat(DataType::kFLOAT, TensorFormat::kLINEAR));
  EXPECT_EQ(seen_by_library.getOutputDimensions(0, nullptr, 0).nbDims, -1);
  EXPECT_NE(seen_by_library.enqueue(1, nullptr, nullptr, nullptr, nullptr), 0);
}

}  // namespace
}  // namespace nvinfer1
