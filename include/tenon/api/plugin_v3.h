// Plugins of version 3: one plugin, three capabilities.
#ifndef TENON_API_PLUGIN_V3_H
#define TENON_API_PLUGIN_V3_H

#include "tenon/api/plugin_dynamic.h"

namespace nvinfer1 {

class IPluginResourceContext {
 public:
  virtual IGpuAllocator* getGpuAllocator() const noexcept = 0;
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual ~IPluginResourceContext() noexcept = default;
};

namespace v_1_0 {
class IPluginV3OneCore : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN_V3ONE_CORE", 1, 0}; }
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};
}  // namespace v_1_0

namespace v_1_0 {
class IPluginV3OneBuild : public IPluginCapability {
 public:
  static constexpr int32_t kDEFAULT_FORMAT_COMBINATION_LIMIT = 100;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN_V3ONE_BUILD", 1, 0}; }
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* inputs, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* outputs,
                                  int32_t nbOutputs) noexcept = 0;
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs,
                                     const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs,
                                  const DimsExprs* shapeInputs, int32_t nbShapeInputs,
                                  DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;
  virtual bool supportsFormatCombination(int32_t position, const DynamicPluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual size_t getWorkspaceSize(const DynamicPluginTensorDesc* /*inputs*/, int32_t /*nbInputs*/,
                                  const DynamicPluginTensorDesc* /*outputs*/,
                                  int32_t /*nbOutputs*/) const noexcept {
    return 0;
  }
  virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept {
    return 0;
  }
  virtual int32_t getNbTactics() noexcept { return 0; }
  virtual const char* getTimingCacheID() noexcept { return nullptr; }
  virtual int32_t getFormatCombinationLimit() noexcept { return kDEFAULT_FORMAT_COMBINATION_LIMIT; }
  virtual const char* getMetadataString() noexcept { return nullptr; }
};
}  // namespace v_1_0

namespace v_2_0 {
class IPluginV3OneBuild : public v_1_0::IPluginV3OneBuild {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN_V3ONE_BUILD", 2, 0}; }
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }
};
}  // namespace v_2_0
using IPluginV3OneBuildV2 = v_2_0::IPluginV3OneBuild;

namespace v_1_0 {
class IPluginV3OneRuntime : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"PLUGIN_V3ONE_RUNTIME", 1, 0};
  }
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }
  virtual int32_t onShapeChange(const PluginTensorDesc* inputs, int32_t nbInputs,
                                const PluginTensorDesc* outputs, int32_t nbOutputs) noexcept = 0;
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;
  virtual IPluginV3* attachToContext(IPluginResourceContext* context) noexcept = 0;
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;
};
}  // namespace v_1_0

namespace v_1_0 {
class IPluginCreatorV3One : public IPluginCreatorInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"PLUGIN CREATOR_V3ONE", 1, 0};
  }
  virtual IPluginV3* createPlugin(const AsciiChar* name, const PluginFieldCollection* fields,
                                  TensorRTPhase phase) noexcept = 0;
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  ~IPluginCreatorV3One() noexcept override = default;
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // TENON_API_PLUGIN_V3_H
