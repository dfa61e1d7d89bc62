// The virtual tables behind loops, conditionals, attention and collective layers.
#ifndef TENON_API_IMPL_CONTROL_H
#define TENON_API_IMPL_CONTROL_H

#include "tenon/api/impl_runtime.h"

namespace nvinfer1 {
namespace apiv {

class VLoopBoundaryLayer : public VRoot {
 public:
  virtual ILoop* getLoop() const noexcept = 0;
};

class VRecurrenceLayer : public VRoot {};

class VLoopOutputLayer : public VRoot {
 public:
  virtual LoopOutput getLoopOutput() const noexcept = 0;
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
};

class VTripLimitLayer : public VRoot {
 public:
  virtual TripLimit getTripLimit() const noexcept = 0;
};

class VIteratorLayer : public VRoot {
 public:
  virtual void setAxis(int32_t axis) noexcept = 0;
  virtual int32_t getAxis() const noexcept = 0;
  virtual void setReverse(bool reverse) noexcept = 0;
  virtual bool getReverse() const noexcept = 0;
};

class VLoop : public VRoot {
 public:
  virtual IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept = 0;
  virtual ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept = 0;
  virtual IIteratorLayer* addIterator(ITensor& tensor, int32_t axis = 0,
                                      bool reverse = false) noexcept = 0;
  virtual ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind,
                                          int32_t axis = 0) noexcept = 0;
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;
};

class VConditionalBoundaryLayer : public VRoot {
 public:
  virtual IIfConditional* getConditional() const noexcept = 0;
};

class VConditionLayer : public VRoot {};

class VConditionalInputLayer : public VRoot {};

class VConditionalOutputLayer : public VRoot {};

class VIfConditional : public VRoot {
 public:
  virtual IConditionLayer* setCondition(ITensor& tensor) noexcept = 0;
  virtual IIfConditionalInputLayer* addInput(ITensor& tensor) noexcept = 0;
  virtual IIfConditionalOutputLayer* addOutput(ITensor& trueTensor,
                                               ITensor& falseTensor) noexcept = 0;
  virtual void setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;
};

class VAttentionBoundaryLayer : public VRoot {
 public:
  virtual IAttention* getAttention() const noexcept = 0;
};

class VAttentionInputLayer : public VRoot {};

class VAttentionOutputLayer : public VRoot {};

class VAttention : public VRoot {
 public:
  virtual bool setInput(int32_t index, ITensor& input) noexcept = 0;
  virtual int32_t getNbInputs() const noexcept = 0;
  virtual ITensor* getInput(int32_t index) const noexcept = 0;
  virtual int32_t getNbOutputs() const noexcept = 0;
  virtual ITensor* getOutput(int32_t index) const noexcept = 0;
  virtual bool setName(const char* name) noexcept = 0;
  virtual const char* getName() const noexcept = 0;
  virtual bool setNormalizationOperation(AttentionNormalizationOp operation) noexcept = 0;
  virtual AttentionNormalizationOp getNormalizationOperation() const noexcept = 0;
  virtual bool setCausal(bool isCausal) noexcept = 0;
  virtual bool getCausal() const noexcept = 0;
  virtual bool setMask(ITensor& mask) noexcept = 0;
  virtual ITensor* getMask() const noexcept = 0;
  virtual bool setDecomposable(bool decomposable) noexcept = 0;
  virtual bool getDecomposable() const noexcept = 0;
  virtual bool setNormalizationQuantizeScale(ITensor& tensor) noexcept = 0;
  virtual ITensor* getNormalizationQuantizeScale() const noexcept = 0;
  virtual bool setNormalizationQuantizeToType(DataType type) noexcept = 0;
  virtual DataType getNormalizationQuantizeToType() const noexcept = 0;
  virtual bool setMetadata(const char* metadata) noexcept = 0;
  virtual const char* getMetadata() const noexcept = 0;
  virtual bool setNbRanks(int32_t nbRanks) noexcept = 0;
  virtual int32_t getNbRanks() const noexcept = 0;
};

class VRotaryEmbeddingLayer : public VRoot {
 public:
  virtual void setInterleaved(bool interleaved) noexcept = 0;
  virtual bool getInterleaved() const noexcept = 0;
  virtual bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept = 0;
  virtual int32_t getRotaryEmbeddingDim() const noexcept = 0;
  virtual void setInput(int32_t index, ITensor& input) noexcept = 0;
};

class VKVCacheUpdateLayer : public VRoot {
 public:
  virtual bool setCacheMode(KVCacheMode cacheMode) noexcept = 0;
  virtual KVCacheMode getCacheMode() const noexcept = 0;
};

class VMoELayer : public VRoot {
 public:
  virtual void setGatedWeights(ITensor& gateWeights, ITensor& upWeights, ITensor& downWeights,
                               MoEActType activationType) noexcept = 0;
  virtual void setGatedBiases(ITensor& gateBiases, ITensor& upBiases,
                              ITensor& downBiases) noexcept = 0;
  virtual void setActivationType(MoEActType activationType) noexcept = 0;
  virtual MoEActType getActivationType() const noexcept = 0;
  virtual void setQuantizationStatic(ITensor& downActivationScale, DataType dataType) noexcept = 0;
  virtual void setQuantizationDynamicDblQ(ITensor& downActivationScale, DataType dataType,
                                          const Dims& blockShape,
                                          DataType dynQOutputScaleType) noexcept = 0;
  virtual void setQuantizationToType(DataType type) noexcept = 0;
  virtual DataType getQuantizationToType() const noexcept = 0;
  virtual void setQuantizationBlockShape(const Dims& blockShape) noexcept = 0;
  virtual Dims getQuantizationBlockShape() const noexcept = 0;
  virtual void setDynQOutputScaleType(DataType type) noexcept = 0;
  virtual DataType getDynQOutputScaleType() const noexcept = 0;
  virtual void setSwigluParams(float limit, float alpha, float beta) noexcept = 0;
  virtual void setSwigluParamLimit(float limit) noexcept = 0;
  virtual float getSwigluParamLimit() const noexcept = 0;
  virtual void setSwigluParamAlpha(float alpha) noexcept = 0;
  virtual float getSwigluParamAlpha() const noexcept = 0;
  virtual void setSwigluParamBeta(float beta) noexcept = 0;
  virtual float getSwigluParamBeta() const noexcept = 0;
  virtual void setInput(int32_t index, ITensor& tensor) noexcept = 0;
};

class VDistCollectiveLayer : public VRoot {};

}  // namespace apiv
}  // namespace nvinfer1

#endif  // TENON_API_IMPL_CONTROL_H
