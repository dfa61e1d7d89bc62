// Plugins that are written in Python.
#ifndef TRT_PYTHON_IMPL_PLUGIN_H
#define TRT_PYTHON_IMPL_PLUGIN_H

#include "NvInferRuntime.h"

namespace nvinfer1 {

/// What kind of argument a kernel takes.
enum class PluginArgType : int32_t {
  kINT = 0,
};

template <> struct impl::EnumMaxImpl<PluginArgType> {
  static constexpr int32_t kVALUE = 1;
};

/// The type of an argument of a kernel.
enum class PluginArgDataType : int32_t {
  kINT8 = 0,
  kINT16 = 1,
  kINT32 = 2,
};

template <> struct impl::EnumMaxImpl<PluginArgDataType> {
  static constexpr int32_t kVALUE = 3;
};

/// An argument of a kernel as a formula over dimensions.
class ISymExpr {
 public:
  /// What kind of argument it is.
  virtual PluginArgType getType() const noexcept = 0;

  /// The type of the argument.
  virtual PluginArgDataType getDataType() const noexcept = 0;

  /// The formula, a const IDimensionExpr*.
  virtual void* getExpr() noexcept = 0;
};

/// The virtual table behind ISymExprs.
class ISymExprsImpl {
 public:
  virtual ISymExpr* getSymExpr(int32_t index) const noexcept = 0;
  virtual bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept = 0;
  virtual int32_t getNbSymExprs() const noexcept = 0;
  virtual bool setNbSymExprs(int32_t count) noexcept = 0;
  virtual ~ISymExprsImpl() noexcept = default;
};

/// The arguments of a kernel after its tensors.
class ISymExprs {
 public:
  /// Argument `index`; null if it is out of range.
  ISymExpr* getSymExpr(int32_t index) const noexcept { return mImpl->getSymExpr(index); }

  /// Sets argument `index`; false if it is out of range.
  bool setSymExpr(int32_t index, ISymExpr* symExpr) noexcept {
    return mImpl->setSymExpr(index, symExpr);
  }

  /// The number of arguments.
  int32_t getNbSymExprs() const noexcept { return mImpl->getNbSymExprs(); }

  /// Sets the number of arguments; false on failure.
  bool setNbSymExprs(int32_t count) noexcept { return mImpl->setNbSymExprs(count); }

 protected:
  virtual ~ISymExprs() noexcept = default;
  ISymExprsImpl* mImpl;
};

/// The virtual table behind IKernelLaunchParams.
class IKernelLaunchParamsImpl {
 public:
  virtual ISymExpr* getGridX() noexcept = 0;
  virtual bool setGridX(ISymExpr* gridX) noexcept = 0;
  virtual ISymExpr* getGridY() noexcept = 0;
  virtual bool setGridY(ISymExpr* gridY) noexcept = 0;
  virtual ISymExpr* getGridZ() noexcept = 0;
  virtual bool setGridZ(ISymExpr* gridZ) noexcept = 0;
  virtual ISymExpr* getBlockX() noexcept = 0;
  virtual bool setBlockX(ISymExpr* blockX) noexcept = 0;
  virtual ISymExpr* getBlockY() noexcept = 0;
  virtual bool setBlockY(ISymExpr* blockY) noexcept = 0;
  virtual ISymExpr* getBlockZ() noexcept = 0;
  virtual bool setBlockZ(ISymExpr* blockZ) noexcept = 0;
  virtual ISymExpr* getSharedMem() noexcept = 0;
  virtual bool setSharedMem(ISymExpr* sharedMem) noexcept = 0;
  virtual ~IKernelLaunchParamsImpl() noexcept = default;
};

/// The grid, block and shared memory that a kernel is launched with.
class IKernelLaunchParams {
 public:
  ISymExpr* getGridX() noexcept { return mImpl->getGridX(); }
  bool setGridX(ISymExpr* gridX) noexcept { return mImpl->setGridX(gridX); }
  ISymExpr* getGridY() noexcept { return mImpl->getGridY(); }
  bool setGridY(ISymExpr* gridY) noexcept { return mImpl->setGridY(gridY); }
  ISymExpr* getGridZ() noexcept { return mImpl->getGridZ(); }
  bool setGridZ(ISymExpr* gridZ) noexcept { return mImpl->setGridZ(gridZ); }
  ISymExpr* getBlockX() noexcept { return mImpl->getBlockX(); }
  bool setBlockX(ISymExpr* blockX) noexcept { return mImpl->setBlockX(blockX); }
  ISymExpr* getBlockY() noexcept { return mImpl->getBlockY(); }
  bool setBlockY(ISymExpr* blockY) noexcept { return mImpl->setBlockY(blockY); }
  ISymExpr* getBlockZ() noexcept { return mImpl->getBlockZ(); }
  bool setBlockZ(ISymExpr* blockZ) noexcept { return mImpl->setBlockZ(blockZ); }
  ISymExpr* getSharedMem() noexcept { return mImpl->getSharedMem(); }
  bool setSharedMem(ISymExpr* sharedMem) noexcept { return mImpl->setSharedMem(sharedMem); }

 protected:
  virtual ~IKernelLaunchParams() noexcept = default;
  IKernelLaunchParamsImpl* mImpl;
};

namespace v_1_0 {
/// The side of a Python plugin that names it.
class IPluginV3QuickCore : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"PLUGIN_V3QUICK_CORE", 1, 0}; }
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
};
}  // namespace v_1_0
using IPluginV3QuickCore = v_1_0::IPluginV3QuickCore;

namespace v_1_0 {
/// The side of a Python plugin that an engine is built with.
class IPluginV3QuickBuild : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"PLUGIN_V3QUICK_BUILD", 1, 0};
  }

  /// Writes the types of the outputs for inputs of these types and ranks; 0 on success.
  virtual int32_t getOutputDataTypes(DataType* outputTypes, int32_t nbOutputs,
                                     const DataType* inputTypes, const int32_t* inputRanks,
                                     int32_t nbInputs) const noexcept = 0;

  /// Writes the shapes of the outputs as formulas; 0 on success.
  virtual int32_t getOutputShapes(const DimsExprs* inputs, int32_t nbInputs,
                                  const DimsExprs* shapeInputs, int32_t nbShapeInputs,
                                  DimsExprs* outputs, int32_t nbOutputs,
                                  IExprBuilder& exprBuilder) noexcept = 0;

  /// Tells types, formats and ranges of shapes; 0 on success.
  virtual int32_t configurePlugin(const DynamicPluginTensorDesc* inputs, int32_t nbInputs,
                                  const DynamicPluginTensorDesc* outputs,
                                  int32_t nbOutputs) noexcept = 0;

  /// How many combinations of formats there are.
  virtual int32_t getNbSupportedFormatCombinations(const DynamicPluginTensorDesc* inOut,
                                                   int32_t nbInputs,
                                                   int32_t nbOutputs) noexcept = 0;

  /// Writes the combinations of formats, one after the other; 0 on success.
  virtual int32_t getSupportedFormatCombinations(const DynamicPluginTensorDesc* inOut,
                                                 int32_t nbInputs, int32_t nbOutputs,
                                                 PluginTensorDesc* supportedCombinations,
                                                 int32_t nbFormatCombinations) noexcept = 0;

  /// The number of outputs.
  virtual int32_t getNbOutputs() const noexcept = 0;

  /// The input whose memory output `outputIndex` shares; -1 for none.
  virtual int32_t getAliasedInput(int32_t /*outputIndex*/) noexcept { return -1; }

  /// Writes the tactics to choose from; 0 on success.
  virtual int32_t getValidTactics(int32_t* /*tactics*/, int32_t /*nbTactics*/) noexcept {
    return 0;
  }

  /// How many tactics getValidTactics() writes.
  virtual int32_t getNbTactics() noexcept { return 0; }

  /// A text that names the timings of this plugin in the timing cache; null for none.
  virtual const char* getTimingCacheID() noexcept { return nullptr; }

  /// A text that the engine inspector shows; null for none.
  virtual const char* getMetadataString() noexcept { return nullptr; }
};
}  // namespace v_1_0
using IPluginV3QuickBuild = v_1_0::IPluginV3QuickBuild;

namespace v_1_0 {
/// The side of a Python plugin whose kernel is compiled at build time.
class IPluginV3QuickAOTBuild : public IPluginV3QuickBuild {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"PLUGIN_V3QUICKAOT_BUILD", 1, 0};
  }

  /// Writes how the kernel is launched and its arguments after the tensors; 0 on success.
  virtual int32_t getLaunchParams(const DimsExprs* inputs, const DynamicPluginTensorDesc* inOut,
                                  int32_t nbInputs, int32_t nbOutputs,
                                  IKernelLaunchParams* launchParams, ISymExprs* extraArgs,
                                  IExprBuilder& exprBuilder) noexcept = 0;

  /// Gives the name and the compiled code of the kernel and its size in bytes; 0 on success.
  virtual int32_t getKernel(const PluginTensorDesc* inputs, int32_t nbInputs,
                            const PluginTensorDesc* outputs, int32_t nbOutputs,
                            const char** kernelName, char** compiledKernel,
                            int32_t* compiledKernelSize) noexcept = 0;

  /// Tells which tactic was chosen; 0 on success.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }
};
}  // namespace v_1_0
using IPluginV3QuickAOTBuild = v_1_0::IPluginV3QuickAOTBuild;

namespace v_1_0 {
/// The side of a Python plugin that runs.
class IPluginV3QuickRuntime : public IPluginCapability {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"PLUGIN_V3QUICK_RUNTIME", 1, 0};
  }

  /// Tells which tactic was chosen; 0 on success.
  virtual int32_t setTactic(int32_t /*tactic*/) noexcept { return 0; }

  /// Runs the plugin on `stream` with tensors as described; 0 on success.
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, const Dims* inputStrides,
                          const Dims* outputStrides, int32_t nbInputs, int32_t nbOutputs,
                          cudaStream_t stream) noexcept = 0;

  /// The state that goes into the plan, owned by the plugin.
  virtual const PluginFieldCollection* getFieldsToSerialize() noexcept = 0;
};
}  // namespace v_1_0
using IPluginV3QuickRuntime = v_1_0::IPluginV3QuickRuntime;

/// Which of its two forms a Python plugin is wanted in.
enum class QuickPluginCreationRequest : int32_t {
  kUNKNOWN = 0,
  kPREFER_JIT = 1,
  kPREFER_AOT = 2,
  kSTRICT_JIT = 3,
  kSTRICT_AOT = 4,
};

template <> struct impl::EnumMaxImpl<QuickPluginCreationRequest> {
  static constexpr int32_t kVALUE = 5;
};

namespace v_1_0 {
/// Creates Python plugins.
class IPluginCreatorV3Quick : public IPluginCreatorInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override {
    return {"PLUGIN CREATOR_V3QUICK", 1, 0};
  }

  /// Makes a plugin named `name` in a namespace; null on failure. The caller deletes it.
  virtual IPluginV3* createPlugin(const AsciiChar* name, const AsciiChar* pluginNamespace,
                                  const PluginFieldCollection* fields, TensorRTPhase phase,
                                  QuickPluginCreationRequest request) noexcept = 0;

  /// The attributes it takes, owned by the creator.
  virtual const PluginFieldCollection* getFieldNames() noexcept = 0;
  virtual const AsciiChar* getPluginName() const noexcept = 0;
  virtual const AsciiChar* getPluginVersion() const noexcept = 0;
  virtual const AsciiChar* getPluginNamespace() const noexcept = 0;
  ~IPluginCreatorV3Quick() noexcept override = default;
};
}  // namespace v_1_0
using IPluginCreatorV3Quick = v_1_0::IPluginCreatorV3Quick;

}  // namespace nvinfer1

#endif  // TRT_PYTHON_IMPL_PLUGIN_H
