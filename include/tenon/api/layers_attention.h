// Attention, experts and collective layers.
#ifndef TENON_API_LAYERS_ATTENTION_H
#define TENON_API_LAYERS_ATTENTION_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

/// How scores become shares.
enum class AttentionNormalizationOp : int32_t {
  kNONE = 0,     ///< Not at all.
  kSOFTMAX = 1,  ///< By a softmax.
};

template <> struct impl::EnumMaxImpl<AttentionNormalizationOp> {
  static constexpr int32_t kVALUE = 2;
};

/// Which keys a query sees, an 11.x name.
enum class CausalMaskKind : int32_t {
  kNONE = 0,         ///< All.
  kUPPER_LEFT = 1,   ///< Query i sees the keys up to i.
  kLOWER_RIGHT = 2,  ///< The last query sees all keys, and the one before it one less.
};

template <> struct impl::EnumMaxImpl<CausalMaskKind> {
  static constexpr int32_t kVALUE = 3;
};

/// How items of different lengths lie in a tensor, an 11.x name.
enum class AttentionIOForm : int32_t {
  kPADDED_BHND = 0,  ///< (N, heads, length, size), filled up to the largest length.
  kPACKED_NHD = 1,   ///< (sum of lengths, heads, size).
};

template <> struct impl::EnumMaxImpl<AttentionIOForm> {
  static constexpr int32_t kVALUE = 2;
};

namespace impl {

// Whether there are as many keys as places of the query, as far as it is known.
inline bool areEquallyMany(const ITensor& query, const ITensor& key) noexcept {
  const Dims queryShape = query.getDimensions();
  const Dims keyShape = key.getDimensions();
  return queryShape.nbDims == 4 && keyShape.nbDims == 4 && queryShape.d[2] > 0
         && queryShape.d[2] == keyShape.d[2];
}

}  // namespace impl

/// Base of the layers on the border of an attention.
class IAttentionBoundaryLayer : public ILayer {
 public:
  /// The attention.
  IAttention* getAttention() const noexcept { return mBoundary->getAttention(); }

 protected:
  ~IAttentionBoundaryLayer() noexcept override = default;
  apiv::VAttentionBoundaryLayer* mBoundary;
};

/// A value that enters an attention.
class IAttentionInputLayer : public IAttentionBoundaryLayer {
 protected:
  ~IAttentionInputLayer() noexcept override = default;
  apiv::VAttentionInputLayer* mImpl;
};

/// A value that leaves an attention.
class IAttentionOutputLayer : public IAttentionBoundaryLayer {
 protected:
  ~IAttentionOutputLayer() noexcept override = default;
  apiv::VAttentionOutputLayer* mImpl;
};

/// normalization(query * key^T + mask) * value, each (N, heads, length, size). The network owns it.
class IAttention : public INoCopy {
 public:
  /// Sets how scores become shares; false if it is not known.
  bool setNormalizationOperation(AttentionNormalizationOp operation) noexcept {
    return mImpl->setNormalizationOperation(operation);
  }

  /// How scores become shares.
  AttentionNormalizationOp getNormalizationOperation() const noexcept {
    return mImpl->getNormalizationOperation();
  }

  /// Sets what is added to the scores, or, of kBOOL, which of them count; false if it does not fit.
  bool setMask(ITensor& mask) noexcept { return mImpl->setMask(mask); }

  /// The mask; null if none.
  ITensor* getMask() noexcept { return mImpl->getMask(); }

  /// Sets whether each place sees only itself and those before it; false if there is a mask.
  bool setCausal(bool isCausal) noexcept { return mImpl->setCausal(isCausal); }

  /// Whether each place sees only itself and those before it.
  bool getCausal() const noexcept { return mImpl->getCausal(); }

  /// Sets whether it may be run as separate layers; false on failure.
  bool setDecomposable(bool decomposable) noexcept { return mImpl->setDecomposable(decomposable); }

  /// Whether it may be run as separate layers.
  bool getDecomposable() const noexcept { return mImpl->getDecomposable(); }

  /// Replaces query (0), key (1) or value (2); false on failure.
  bool setInput(int32_t index, ITensor& input) noexcept { return mImpl->setInput(index, input); }

  /// The number of inputs.
  int32_t getNbInputs() const noexcept { return mImpl->getNbInputs(); }

  /// Input `index`; null if it is out of range.
  ITensor* getInput(int32_t index) const noexcept { return mImpl->getInput(index); }

  /// The number of outputs.
  int32_t getNbOutputs() const noexcept { return mImpl->getNbOutputs(); }

  /// Output `index`; null if it is out of range.
  ITensor* getOutput(int32_t index) const noexcept { return mImpl->getOutput(index); }

  /// Sets a name for messages; the text is copied.
  bool setName(const char* name) noexcept { return mImpl->setName(name); }

  /// The name; never null.
  const char* getName() const noexcept { return mImpl->getName(); }

  /// Sets the scale that the shares are quantized with; false if it does not fit.
  bool setNormalizationQuantizeScale(ITensor& tensor) noexcept {
    return mImpl->setNormalizationQuantizeScale(tensor);
  }

  /// The scale that the shares are quantized with; null if none.
  ITensor* getNormalizationQuantizeScale() const noexcept {
    return mImpl->getNormalizationQuantizeScale();
  }

  /// Sets the type that the shares are quantized to; false if it cannot be used.
  bool setNormalizationQuantizeToType(DataType type) noexcept {
    return mImpl->setNormalizationQuantizeToType(type);
  }

  /// The type that the shares are quantized to.
  DataType getNormalizationQuantizeToType() const noexcept {
    return mImpl->getNormalizationQuantizeToType();
  }

  /// Sets a text that the engine inspector shows; it is copied.
  bool setMetadata(const char* metadata) noexcept { return mImpl->setMetadata(metadata); }

  /// The text set by setMetadata().
  const char* getMetadata() const noexcept { return mImpl->getMetadata(); }

  /// Sets how many devices share it; false if it is less than 1.
  bool setNbRanks(int32_t nbRanks) noexcept { return mImpl->setNbRanks(nbRanks); }

  /// How many devices share it.
  int32_t getNbRanks() const noexcept { return mImpl->getNbRanks(); }

#include "tenon/compat11/IAttention.inl"
 protected:
  ~IAttention() noexcept override = default;
  apiv::VAttention* mImpl;
};

/// Turns pairs of elements by angles given as cosines and sines. Input 3, if set, holds positions.
class IRotaryEmbeddingLayer : public ILayer {
 public:
  /// Sets whether pairs are neighbours, rather than half the size apart.
  void setInterleaved(bool interleaved) noexcept { mImpl->setInterleaved(interleaved); }

  /// Whether pairs are neighbours.
  bool getInterleaved() const noexcept { return mImpl->getInterleaved(); }

  /// Sets how many elements are turned, 0 for all; false if it is negative.
  bool setRotaryEmbeddingDim(int32_t rotaryEmbeddingDim) noexcept {
    return mImpl->setRotaryEmbeddingDim(rotaryEmbeddingDim);
  }

  /// How many elements are turned.
  int32_t getRotaryEmbeddingDim() const noexcept { return mImpl->getRotaryEmbeddingDim(); }

 protected:
  ~IRotaryEmbeddingLayer() noexcept override = default;
  apiv::VRotaryEmbeddingLayer* mImpl;
};

/// How a cache is laid out.
enum class KVCacheMode : int32_t {
  kLINEAR = 0,  ///< One place after the other.
};

template <> struct impl::EnumMaxImpl<KVCacheMode> {
  static constexpr int32_t kVALUE = 1;
};

/// Writes new keys or values into a cache at given places; the output shares its memory.
class IKVCacheUpdateLayer : public ILayer {
 public:
  /// Sets how the cache is laid out; false if it is not known.
  bool setCacheMode(KVCacheMode cacheMode) noexcept { return mImpl->setCacheMode(cacheMode); }

  /// How the cache is laid out.
  KVCacheMode getCacheMode() const noexcept { return mImpl->getCacheMode(); }

#include "tenon/compat11/IKVCacheUpdateLayer.inl"
 protected:
  ~IKVCacheUpdateLayer() noexcept override = default;
  apiv::VKVCacheUpdateLayer* mImpl;
};

/// The function between the products of an expert.
enum class MoEActType : int32_t {
  kNONE = 0,  ///< None.
  kSILU = 1,  ///< x * sigmoid(x)
};

template <> struct impl::EnumMaxImpl<MoEActType> {
  static constexpr int32_t kVALUE = 2;
};

/// A mixture of experts, of which each token uses a few.
class IMoELayer : public ILayer {
 public:
  /// Sets the weights of all experts and the function between them.
  void setGatedWeights(ITensor& gateWeights, ITensor& upWeights, ITensor& downWeights,
                       MoEActType activationType) noexcept {
    mImpl->setGatedWeights(gateWeights, upWeights, downWeights, activationType);
  }

  /// Sets the biases of all experts.
  void setGatedBiases(ITensor& gateBiases, ITensor& upBiases, ITensor& downBiases) noexcept {
    mImpl->setGatedBiases(gateBiases, upBiases, downBiases);
  }

  /// Sets the function between the products.
  void setActivationType(MoEActType activationType) noexcept {
    mImpl->setActivationType(activationType);
  }

  /// The function between the products.
  MoEActType getActivationType() const noexcept { return mImpl->getActivationType(); }

  /// Sets a scale and a type that the input of the last product is quantized with.
  void setQuantizationStatic(ITensor& downActivationScale, DataType dataType) noexcept {
    mImpl->setQuantizationStatic(downActivationScale, dataType);
  }

  /// Sets that the input of the last product is quantized in blocks whose scales are quantized too.
  void setQuantizationDynamicDblQ(ITensor& downActivationScale, DataType dataType,
                                  const Dims& blockShape, DataType dynQOutputScaleType) noexcept {
    mImpl->setQuantizationDynamicDblQ(downActivationScale, dataType, blockShape,
                                      dynQOutputScaleType);
  }

  /// Sets the type that is quantized to.
  void setQuantizationToType(DataType type) noexcept { mImpl->setQuantizationToType(type); }

  /// The type that is quantized to.
  DataType getQuantizationToType() const noexcept { return mImpl->getQuantizationToType(); }

  /// Sets the shape of a block.
  void setQuantizationBlockShape(const Dims& blockShape) noexcept {
    mImpl->setQuantizationBlockShape(blockShape);
  }

  /// The shape of a block.
  Dims getQuantizationBlockShape() const noexcept { return mImpl->getQuantizationBlockShape(); }

  /// Sets the type of the blocks' scales.
  void setDynQOutputScaleType(DataType type) noexcept { mImpl->setDynQOutputScaleType(type); }

  /// The type of the blocks' scales.
  DataType getDynQOutputScaleType() const noexcept { return mImpl->getDynQOutputScaleType(); }

  /// Sets the three parameters of the gate.
  void setSwigluParams(float limit, float alpha, float beta) noexcept {
    mImpl->setSwigluParams(limit, alpha, beta);
  }

  /// Sets the limit of the gate's input.
  void setSwigluParamLimit(float limit) noexcept { mImpl->setSwigluParamLimit(limit); }

  /// The limit of the gate's input.
  float getSwigluParamLimit() const noexcept { return mImpl->getSwigluParamLimit(); }

  /// Sets the factor in the gate's sigmoid.
  void setSwigluParamAlpha(float alpha) noexcept { mImpl->setSwigluParamAlpha(alpha); }

  /// The factor in the gate's sigmoid.
  float getSwigluParamAlpha() const noexcept { return mImpl->getSwigluParamAlpha(); }

  /// Sets what is added in the gate.
  void setSwigluParamBeta(float beta) noexcept { mImpl->setSwigluParamBeta(beta); }

  /// What is added in the gate.
  float getSwigluParamBeta() const noexcept { return mImpl->getSwigluParamBeta(); }

  /// Replaces input `index`: hidden states, selected experts or their scores.
  void setInput(int32_t index, ITensor& tensor) noexcept { mImpl->setInput(index, tensor); }

 protected:
  ~IMoELayer() noexcept override = default;
  apiv::VMoELayer* mImpl;
};

/// What several devices do together.
enum class CollectiveOperation : int32_t {
  kALL_REDUCE = 0,      ///< All get the reduction of all.
  kALL_GATHER = 1,      ///< All get the data of all.
  kBROADCAST = 2,       ///< All get the data of one.
  kREDUCE = 3,          ///< One gets the reduction of all.
  kREDUCE_SCATTER = 4,  ///< Each gets its part of the reduction of all.

  // 11.x names, which no layer takes yet.
  kALL_TO_ALL = 5,
  kGATHER = 6,
  kSCATTER = 7,
};

template <> struct impl::EnumMaxImpl<CollectiveOperation> {
  static constexpr int32_t kVALUE = 5;
};

/// An operation of several devices together.
class IDistCollectiveLayer : public ILayer {
 protected:
  ~IDistCollectiveLayer() noexcept override = default;
  apiv::VDistCollectiveLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_ATTENTION_H
