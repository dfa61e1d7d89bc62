// Shape expressions, and plugins of version 2 with dynamic shapes.
#ifndef TENON_API_PLUGIN_DYNAMIC_H
#define TENON_API_PLUGIN_DYNAMIC_H

#include "tenon/api/memory.h"

namespace nvinfer1 {

/// An operation on two dimensions.
enum class DimensionOperation : int32_t {
  kSUM = 0,        ///< first + second
  kPROD = 1,       ///< first * second
  kMAX = 2,        ///< The larger one.
  kMIN = 3,        ///< The smaller one.
  kSUB = 4,        ///< first - second
  kEQUAL = 5,      ///< 1 if they are equal, 0 otherwise.
  kLESS = 6,       ///< 1 if the first is smaller, 0 otherwise.
  kFLOOR_DIV = 7,  ///< first / second, rounded down.
  kCEIL_DIV = 8,   ///< first / second, rounded up.
};

template <> struct impl::EnumMaxImpl<DimensionOperation> {
  static constexpr int32_t kVALUE = 9;
};

/// A dimension as a formula over the dimensions of the inputs. The expression builder owns it.
class IDimensionExpr : public INoCopy {
 public:
  /// Whether the value is known already.
  bool isConstant() const noexcept { return mImpl->isConstant(); }

  /// The value, if it is known; the smallest int64_t otherwise.
  int64_t getConstantValue() const noexcept { return mImpl->getConstantValue(); }

 protected:
  ~IDimensionExpr() noexcept override = default;

 public:
  /// Whether the dimension is known only once the plugin has run.
  bool isSizeTensor() const noexcept { return mImpl->isSizeTensor(); }

 protected:
  apiv::VDimensionExpr* mImpl;
};

/// Makes dimension formulas; given to plugins and valid during the call.
class IExprBuilder : public INoCopy {
 public:
  /// A dimension of a fixed value.
  const IDimensionExpr* constant(int64_t value) noexcept { return mImpl->constant(value); }

  /// The result of an operation on two dimensions; null if it is not valid.
  const IDimensionExpr* operation(DimensionOperation operation, const IDimensionExpr& first,
                                  const IDimensionExpr& second) noexcept {
    return mImpl->operation(operation, first, second);
  }

 protected:
  ~IExprBuilder() noexcept override = default;

 public:
  /// A dimension that the plugin finds out while it runs and writes to its output `outputIndex`, a
  /// scalar; `opt` is its usual and `upper` its largest value. Only valid in getOutputShapes().
  const IDimensionExpr* declareSizeTensor(int32_t outputIndex, const IDimensionExpr& opt,
                                          const IDimensionExpr& upper) {
    return mImpl->declareSizeTensor(outputIndex, opt, upper);
  }

 protected:
  apiv::VExprBuilder* mImpl;
};

/// A shape made of formulas.
class DimsExprs {
 public:
  int32_t nbDims;                           ///< The number of dimensions.
  const IDimensionExpr* d[Dims::MAX_DIMS];  ///< The dimensions, of which the first nbDims count.
};

/// A tensor of a plugin and the range of its shapes in the profile.
class DynamicPluginTensorDesc {
 public:
  PluginTensorDesc desc;  ///< Type and format; -1 stands for dimensions that vary.
  Dims min;               ///< The smallest shape.
  Dims max;               ///< The largest shape.
  Dims opt;               ///< The usual shape.
};

/// A plugin of version 2 whose shapes are known at run time. The library calls it from one thread
/// at a time; each context has its own clone.
class IPluginV2DynamicExt : public IPluginV2Ext {
 public:
  /// How many combinations of formats are tried at most.
  static constexpr int32_t kFORMAT_COMBINATION_LIMIT = 100;

  /// A copy with all its state, which the caller destroys; null on failure.
  IPluginV2DynamicExt* clone() const noexcept override = 0;

  /// The shape of output `outputIndex` as formulas over the shapes of the inputs.
  virtual DimsExprs getOutputDimensions(int32_t outputIndex, const DimsExprs* inputs,
                                        int32_t nbInputs, IExprBuilder& exprBuilder) noexcept = 0;

  /// Whether tensor `position`, counting inputs then outputs, may have its type and format, given
  /// those of the tensors before it.
  virtual bool supportsFormatCombination(int32_t position, const PluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) noexcept = 0;

  /// Tells types, formats and ranges of shapes when the engine is built, and shapes when they
  /// change.
  virtual void configurePlugin(const DynamicPluginTensorDesc* inputs, int32_t nbInputs,
                               const DynamicPluginTensorDesc* outputs,
                               int32_t nbOutputs) noexcept = 0;

  /// The scratch memory in bytes that enqueue() needs for these shapes.
  virtual size_t getWorkspaceSize(const PluginTensorDesc* inputs, int32_t nbInputs,
                                  const PluginTensorDesc* outputs,
                                  int32_t nbOutputs) const noexcept = 0;

  /// Runs the plugin on `stream` with dense tensors as described; 0 on success. `workspace` is as
  /// large as getWorkspaceSize() asked.
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;

 protected:
  int32_t getTensorRTVersion() const noexcept override {
    return impl::pluginVersion(PluginVersion::kV2_DYNAMICEXT);
  }
  ~IPluginV2DynamicExt() noexcept override = default;

  // The questions of the base classes, which the methods above have replaced.
  void configurePlugin(const Dims*, int32_t, const Dims*, int32_t, const DataType*, const DataType*,
                       const bool*, const bool*, PluginFormat, int32_t) noexcept override {}
  bool supportsFormat(DataType, PluginFormat) const noexcept override { return false; }
  Dims getOutputDimensions(int32_t, const Dims*, int32_t) noexcept override { return Dims{-1, {}}; }
  bool isOutputBroadcastAcrossBatch(int32_t, const bool*, int32_t) const noexcept override {
    return false;
  }
  bool canBroadcastInputAcrossBatch(int32_t) const noexcept override { return true; }
  size_t getWorkspaceSize(int32_t) const noexcept override { return 0; }
  int32_t enqueue(int32_t, const void* const*, void* const*, void*,
                  cudaStream_t /*stream*/) noexcept override {
    return 1;
  }
};

}  // namespace nvinfer1

#endif  // TENON_API_PLUGIN_DYNAMIC_H
