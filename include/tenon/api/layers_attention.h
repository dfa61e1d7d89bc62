// Attention, experts and collective layers.
#ifndef TENON_API_LAYERS_ATTENTION_H
#define TENON_API_LAYERS_ATTENTION_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

enum class AttentionNormalizationOp : int32_t {
  kNONE = 0,
  kSOFTMAX = 1,
};

template <> struct impl::EnumMaxImpl<AttentionNormalizationOp> {
  static constexpr int32_t kVALUE = 2;
};

class IAttentionBoundaryLayer : public ILayer {
 public:
  IAttention* getAttention() const noexcept { return mBoundary->getAttention(); }

 protected:
  ~IAttentionBoundaryLayer() noexcept override = default;
  apiv::VAttentionBoundaryLayer* mBoundary;
};

class IAttentionInputLayer : public IAttentionBoundaryLayer {
 protected:
  ~IAttentionInputLayer() noexcept override = default;
  apiv::VAttentionInputLayer* mImpl;
};

class IAttentionOutputLayer : public IAttentionBoundaryLayer {
 protected:
  ~IAttentionOutputLayer() noexcept override = default;
  apiv::VAttentionOutputLayer* mImpl;
};

class IAttention : public INoCopy {
 public:
  bool setNormalizationOperation(AttentionNormalizationOp operation) noexcept {
    return mImpl->setNormalizationOperation(operation);
  }
  AttentionNormalizationOp getNormalizationOperation() const noexcept {
    return mImpl->getNormalizationOperation();
  }
  bool setMask(ITensor& mask) noexcept { return mImpl->setMask(mask); }
  ITensor* getMask() noexcept { return mImpl->getMask(); }
  bool setCausal(bool isCausal) noexcept { return mImpl->setCausal(isCausal); }
  bool getCausal() const noexcept { return mImpl->getCausal(); }
  bool setDecomposable(bool decomposable) noexcept { return mImpl->setDecomposable(decomposable); }
  bool getDecomposable() const noexcept { return mImpl->getDecomposable(); }
  bool setInput(int32_t index, ITensor& input) noexcept { return mImpl->setInput(index, input); }
  int32_t getNbInputs() const noexcept { return mImpl->getNbInputs(); }
  ITensor* getInput(int32_t index) const noexcept { return mImpl->getInput(index); }
  int32_t getNbOutputs() const noexcept { return mImpl->getNbOutputs(); }
  ITensor* getOutput(int32_t index) const noexcept { return mImpl->getOutput(index); }
  bool setName(const char* name) noexcept { return mImpl->setName(name); }
  const char* getName() const noexcept { return mImpl->getName(); }
  bool setNormalizationQuantizeScale(ITensor& tensor) noexcept {
    return mImpl->setNormalizationQuantizeScale(tensor);
  }
  ITensor* getNormalizationQuantizeScale() const noexcept {
    return mImpl->getNormalizationQuantizeScale();
  }
  bool setNormalizationQuantizeToType(DataType type) noexcept {
    return mImpl->setNormalizationQuantizeToType(type);
  }
  DataType getNormalizationQuantizeToType() const noexcept {
    return mImpl->getNormalizationQuantizeToType();
  }
  bool setMetadata(const char* metadata) noexcept { return mImpl->setMetadata(metadata); }
  const char* getMetadata() const noexcept { return mImpl->getMetadata(); }
  bool setNbRanks(int32_t nbRanks) noexcept { return mImpl->setNbRanks(nbRanks); }
  int32_t getNbRanks() const noexcept { return mImpl->getNbRanks(); }

 protected:
  ~IAttention() noexcept override = default;
  apiv::VAttention* mImpl;
};

class IRotaryEmbeddingLayer : public ILayer {
 public:
  void setInterleaved(bool interleaved) noexcept { mImpl->setInterleaved(interleaved); }
  bool getInterleaved() const noexcept { return mImpl->getInterleaved(); }
  bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept {
    return mImpl->setRotaryEmbeddingDim(rotaryEmbeddingDim);
  }
  int32_t getRotaryEmbeddingDim() const noexcept { return mImpl->getRotaryEmbeddingDim(); }

 protected:
  ~IRotaryEmbeddingLayer() noexcept override = default;
  apiv::VRotaryEmbeddingLayer* mImpl;
};

enum class KVCacheMode : int32_t {
  kLINEAR = 0,
};

template <> struct impl::EnumMaxImpl<KVCacheMode> {
  static constexpr int32_t kVALUE = 1;
};

class IKVCacheUpdateLayer : public ILayer {
 public:
  bool setCacheMode(KVCacheMode cacheMode) noexcept { return mImpl->setCacheMode(cacheMode); }
  KVCacheMode getCacheMode() const noexcept { return mImpl->getCacheMode(); }

 protected:
  ~IKVCacheUpdateLayer() noexcept override = default;
  apiv::VKVCacheUpdateLayer* mImpl;
};

enum class MoEActType : int32_t {
  kNONE = 0,
  kSILU = 1,
};

template <> struct impl::EnumMaxImpl<MoEActType> {
  static constexpr int32_t kVALUE = 2;
};

class IMoELayer : public ILayer {
 public:
  void setGatedWeights(ITensor& gateWeights, ITensor& upWeights, ITensor& downWeights,
                       MoEActType activationType) noexcept {
    mImpl->setGatedWeights(gateWeights, upWeights, downWeights, activationType);
  }
  void setGatedBiases(ITensor& gateBiases, ITensor& upBiases, ITensor& downBiases) noexcept {
    mImpl->setGatedBiases(gateBiases, upBiases, downBiases);
  }
  void setActivationType(MoEActType activationType) noexcept {
    mImpl->setActivationType(activationType);
  }
  MoEActType getActivationType() const noexcept { return mImpl->getActivationType(); }
  void setQuantizationStatic(ITensor& downActivationScale, DataType dataType) noexcept {
    mImpl->setQuantizationStatic(downActivationScale, dataType);
  }
  void setQuantizationDynamicDblQ(ITensor& downActivationScale, DataType dataType,
                                  const Dims& blockShape, DataType dynQOutputScaleType) noexcept {
    mImpl->setQuantizationDynamicDblQ(downActivationScale, dataType, blockShape,
                                      dynQOutputScaleType);
  }
  void setQuantizationToType(DataType type) noexcept { mImpl->setQuantizationToType(type); }
  DataType getQuantizationToType() const noexcept { return mImpl->getQuantizationToType(); }
  void setQuantizationBlockShape(const Dims& blockShape) noexcept {
    mImpl->setQuantizationBlockShape(blockShape);
  }
  Dims getQuantizationBlockShape() const noexcept { return mImpl->getQuantizationBlockShape(); }
  void setDynQOutputScaleType(DataType type) noexcept { mImpl->setDynQOutputScaleType(type); }
  DataType getDynQOutputScaleType() const noexcept { return mImpl->getDynQOutputScaleType(); }
  void setSwigluParams(float limit, float alpha, float beta) noexcept {
    mImpl->setSwigluParams(limit, alpha, beta);
  }
  void setSwigluParamLimit(float limit) noexcept { mImpl->setSwigluParamLimit(limit); }
  float getSwigluParamLimit() const noexcept { return mImpl->getSwigluParamLimit(); }
  void setSwigluParamAlpha(float alpha) noexcept { mImpl->setSwigluParamAlpha(alpha); }
  float getSwigluParamAlpha() const noexcept { return mImpl->getSwigluParamAlpha(); }
  void setSwigluParamBeta(float beta) noexcept { mImpl->setSwigluParamBeta(beta); }
  float getSwigluParamBeta() const noexcept { return mImpl->getSwigluParamBeta(); }
  void setInput(int32_t index, ITensor& tensor) noexcept { mImpl->setInput(index, tensor); }

 protected:
  ~IMoELayer() noexcept override = default;
  apiv::VMoELayer* mImpl;
};

enum class CollectiveOperation : int32_t {
  kALL_REDUCE = 0,
  kALL_GATHER = 1,
  kBROADCAST = 2,
  kREDUCE = 3,
  kREDUCE_SCATTER = 4,
};

template <> struct impl::EnumMaxImpl<CollectiveOperation> {
  static constexpr int32_t kVALUE = 5;
};

class IDistCollectiveLayer : public ILayer {
 protected:
  ~IDistCollectiveLayer() noexcept override = default;
  apiv::VDistCollectiveLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_ATTENTION_H
