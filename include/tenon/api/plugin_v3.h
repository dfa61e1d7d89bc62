// Plugins of version 3: one plugin, three capabilities.
#ifndef TENON_API_PLUGIN_V3_H
#define TENON_API_PLUGIN_V3_H

#include "tenon/api/plugin_dynamic.h"

namespace nvinfer1 {

/// What a context offers to its plugins.
class IPluginResourceContext {
 public:
  /// The allocator of the engine; null if none was set.
  virtual IGpuAllocator* getGpuAllocator() const noexcept = 0;

  /// The recorder of the context; null if none was set.
  virtual IErrorRecorder* getErrorRecorder() const noexcept = 0;
  virtual ~IPluginResourceContext() noexcept = default;
};

namespace v_1_0 {
/// The side of a plugin that names it.
class IPluginV3OneCore : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN_V3ONE_CORE", 1, 0}; }

  /// The name, equal to its creator's.
  virtual const AsciiChar* getPluginName() const noexcept = 0;

  /// The version, equal to its creator's.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  /// The namespace, equal to its creator's.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};

/// The side of a plugin that an engine is built with.
class IPluginV3OneBuild : public IPluginCapability {
 public:
  /// How many combinations of formats are tried at most, unless the plugin says otherwise.
  static constexpr int32_t kDEFAULT_FORMAT_COMBINATION_LIMIT = 100;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN_V3ONE_BUILD", 1, 0}; }

  /// Tells types, formats and ranges of shapes; 0 on success.
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* inputs, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* outputs,
                                  int32_t nbOutputs) noexcept = 0;

  /// Writes the types of the outputs for inputs of these types; 0 on success.
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs,
                                     const DataType* inputTypes,
                                     int32_t nbInputs) const noexcept = 0;

  /// Writes the shapes of the outputs as formulas over the shapes of the inputs and the values of
  /// the shape inputs; 0 on success.
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs,
                                  const DimsExprs* shapeInputs, int32_t nbShapeInputs,
                                  DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;

  /// Whether tensor `position`, counting inputs then outputs, may have its type and format, given
  /// those of the tensors before it.
  virtual bool supportsFormatCombination(int32_t position, const DynamicPluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) noexcept = 0;

  /// The number of outputs.
  virtual int32_t getNbOutputs() const noexcept = 0;

  /// The scratch memory in bytes that enqueue() needs for the largest shapes.
  virtual size_t getWorkspaceSize(const DynamicPluginTensorDesc* /*inputs*/, int32_t /*nbInputs*/,
                                  const DynamicPluginTensorDesc* /*outputs*/,
                                  int32_t /*nbOutputs*/) const noexcept {
    return 0;
  }

  /// Writes the tactics to choose from, each a positive number; 0 on success.
  virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept {
    return 0;
  }

  /// How many tactics getValidTactics() writes; 0 if there is nothing to choose.
  virtual int32_t getNbTactics() noexcept { return 0; }

  /// A text that, with shapes and formats, names the timings of this plugin in the timing cache;

  /// null for none.
  virtual const char* getTimingCacheID() noexcept { return nullptr; }

  /// How many combinations of formats are tried at most.
  virtual int32_t getFormatCombinationLimit() noexcept { return kDEFAULT_FORMAT_COMBINATION_LIMIT; }

  /// A text that the engine inspector shows; null for none.
  virtual const char* getMetadataString() noexcept { return nullptr; }
};
}  // namespace v_1_0

namespace v_2_0 {
/// The same, for plugins that write results into their inputs.
class IPluginV3OneBuild : public v_1_0::IPluginV3OneBuild {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN_V3ONE_BUILD", 2, 0}; }

  /// The input whose memory output `outputIndex` shares; -1 for none.
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }
};
}  // namespace v_2_0
using IPluginV3OneBuildV2 = v_2_0::IPluginV3OneBuild;

namespace v_1_0 {
/// The side of a plugin that runs.
class IPluginV3OneRuntime : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"PLUGIN_V3ONE_RUNTIME", 1, 0};
  }

  /// Tells which of getValidTactics() was chosen; 0 on success.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }

  /// Tells the shapes of the coming runs; 0 on success.
  virtual int32_t onShapeChange(const PluginTensorDesc* inputs, int32_t nbInputs,
                                const PluginTensorDesc* outputs, int32_t nbOutputs) noexcept = 0;

  /// Runs the plugin on `stream` with dense tensors as described; 0 on success.
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;

  /// A copy of the plugin for one context, which the library deletes; null on failure.
  virtual IPluginV3* attachToContext(IPluginResourceContext* context) noexcept = 0;

  /// The state that goes into the plan, owned by the plugin; createPlugin() gets it back when the
  /// plan is opened.
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;
};

/// Creates plugins of version 3. The registry points at it: it lives as long as the process or
/// until it is deregistered.
class IPluginCreatorV3One : public IPluginCreatorInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"PLUGIN CREATOR_V3ONE", 1, 0};
  }

  /// Makes a plugin named `name`, from a model's attributes (kBUILD) or from a plan (kRUNTIME);

  /// null on failure. The caller deletes it.
  virtual IPluginV3* createPlugin(const AsciiChar* name, const PluginFieldCollection* fields,
                                  TensorRTPhase phase) noexcept = 0;

  /// The attributes it takes, owned by the creator.
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;

  /// The name of the plugins it makes.
  virtual const AsciiChar* getPluginName() const noexcept = 0;

  /// The version of the plugins it makes.
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;

  /// The namespace of the plugins it makes.
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  ~IPluginCreatorV3One() noexcept override = default;
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // TENON_API_PLUGIN_V3_H
