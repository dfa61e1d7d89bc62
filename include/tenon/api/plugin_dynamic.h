// Shape expressions, and plugins of version 2 with dynamic shapes.
#ifndef TENON_API_PLUGIN_DYNAMIC_H
#define TENON_API_PLUGIN_DYNAMIC_H

#include "tenon/api/memory.h"

namespace nvinfer1 {

enum class DimensionOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kSUB = 4,
  kEQUAL = 5,
  kLESS = 6,
  kFLOOR_DIV = 7,
  kCEIL_DIV = 8,
};

template <>
struct impl::EnumMaxImpl<DimensionOperation> {
  static constexpr int32_t kVALUE = 9;
};

class IDimensionExpr : public INoCopy {
 public:
  bool isConstant() const noexcept { return mImpl->isConstant(); }
  int64_t getConstantValue() const noexcept { return mImpl->getConstantValue(); }

 protected:
  ~IDimensionExpr() noexcept override = default;

 public:
  bool isSizeTensor() const noexcept { return mImpl->isSizeTensor(); }

 protected:
  apiv::VDimensionExpr* mImpl;
};

class IExprBuilder : public INoCopy {
 public:
  const IDimensionExpr* constant(int64_t value) noexcept { return mImpl->constant(value); }
  const IDimensionExpr* operation(DimensionOperation operation, const IDimensionExpr& first,
                                  const IDimensionExpr& second) noexcept {
    return mImpl->operation(operation, first, second);
  }

 protected:
  ~IExprBuilder() noexcept override = default;

 public:
  const IDimensionExpr* declareSizeTensor(int32_t outputIndex, const IDimensionExpr& opt,
                                          const IDimensionExpr& upper) {
    return mImpl->declareSizeTensor(outputIndex, opt, upper);
  }

 protected:
  apiv::VExprBuilder* mImpl;
};

class DimsExprs {
 public:
  int32_t nbDims;
  const IDimensionExpr* d[Dims::MAX_DIMS];
};

class DynamicPluginTensorDesc {
 public:
  PluginTensorDesc desc;
  Dims min;
  Dims max;
  Dims opt;
};

class IPluginV2DynamicExt : public IPluginV2Ext {
 public:
  static constexpr int32_t kFORMAT_COMBINATION_LIMIT = 100;
  IPluginV2DynamicExt* clone() const noexcept override = 0;
  virtual DimsExprs getOutputDimensions(int32_t outputIndex, const DimsExprs* inputs,
                                        int32_t nbInputs, IExprBuilder& exprBuilder) noexcept = 0;
  virtual bool supportsFormatCombination(int32_t position, const PluginTensorDesc* inOut,
                                         int32_t nbInputs, int32_t nbOutputs) noexcept = 0;
  virtual void configurePlugin(const DynamicPluginTensorDesc* inputs, int32_t nbInputs,
                               const DynamicPluginTensorDesc* outputs,
                               int32_t nbOutputs) noexcept = 0;
  virtual size_t getWorkspaceSize(const PluginTensorDesc* inputs, int32_t nbInputs,
                                  const PluginTensorDesc* outputs,
                                  int32_t nbOutputs) const noexcept = 0;
  virtual int32_t enqueue(const PluginTensorDesc* inputDesc, const PluginTensorDesc* outputDesc,
                          const void* const* inputs, void* const* outputs, void* workspace,
                          cudaStream_t stream) noexcept = 0;

 protected:
  int32_t getTensorRTVersion() const noexcept override {
    return impl::pluginVersion(PluginVersion::kV2_DYNAMICEXT);
  }
  ~IPluginV2DynamicExt() noexcept override = default;
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
