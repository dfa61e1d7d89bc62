// Attention, the layers around it, and Einsum.
#pragma once

#include "api/layer.h"
#include "ops/attention.h"
#include "ops/cache_update.h"
#include "ops/einsum.h"
#include "ops/rotary_embedding.h"

namespace tenon {

class EinsumView final
    : public LayerOf<nvinfer1::IEinsumLayer, nvinfer1::apiv::VEinsumLayer, Einsum> {
 public:
  using LayerOf::LayerOf;
  bool setEquation(const char* equation) noexcept override {
    return reporter().run([&] {
      require(equation != nullptr, "the equation is null");
      change([&] { op().equation = equation; }, "setEquation");
    });
  }
  const char* getEquation() const noexcept override { return op().equation.c_str(); }
};
TENON_VIEW(Einsum, EinsumView);

class RotaryEmbeddingView final
    : public LayerOf<nvinfer1::IRotaryEmbeddingLayer, nvinfer1::apiv::VRotaryEmbeddingLayer,
                     RotaryEmbedding> {
 public:
  using LayerOf::LayerOf;
  void setInterleaved(bool interleaved) noexcept override {
    set(&RotaryEmbedding::interleaved, interleaved);
  }
  bool getInterleaved() const noexcept override { return op().interleaved; }
  bool setRotaryEmbeddingDim(int32_t dimension) noexcept override {
    return reporter().run([&] {
      require(dimension >= 0 && dimension % 2 == 0, "{} elements cannot be rotated in pairs",
              dimension);
      change([&] { op().dimension = dimension; }, "setRotaryEmbeddingDim");
    });
  }
  int32_t getRotaryEmbeddingDim() const noexcept override { return op().dimension; }
  /// The positions, input 3, may be set later.
  void setInput(int32_t index, nvinfer1::ITensor& tensor) noexcept override {
    LayerView::setInput(index, tensor);
  }

 protected:
  bool takes_input(int32_t index) const override { return index >= 0 && index < 4; }
};
TENON_VIEW(RotaryEmbedding, RotaryEmbeddingView);

class CacheUpdateView final : public LayerOf<nvinfer1::IKVCacheUpdateLayer,
                                             nvinfer1::apiv::VKVCacheUpdateLayer, CacheUpdate> {
 public:
  using LayerOf::LayerOf;
  bool setCacheMode(nvinfer1::KVCacheMode mode) noexcept override {
    return reporter().run([&] { checked(mode); });  // there is one mode
  }
  nvinfer1::KVCacheMode getCacheMode() const noexcept override {
    return nvinfer1::KVCacheMode::kLINEAR;
  }
};
TENON_VIEW(CacheUpdate, CacheUpdateView);

/// TensorRT shows layers on both sides of an attention; here it is one layer with its facade.
class AttentionView final : public LayerView,
                            public nvinfer1::IAttentionOutputLayer,
                            public nvinfer1::apiv::VAttentionOutputLayer,
                            public nvinfer1::apiv::VAttentionBoundaryLayer {
 public:
  AttentionView(NetworkDefinition& owner, Node& node) : LayerView(owner, node), facade_(*this) {
    mLayer = this;
    mBoundary = this;
    nvinfer1::IAttentionOutputLayer::mImpl = this;
  }
  nvinfer1::ILayer& handle() override { return *this; }
  nvinfer1::IAttention* getAttention() const noexcept override { return &facade_; }

 protected:
  bool takes_input(int32_t index) const override {
    return index >= Attention::kQuery && index <= Attention::kMask;
  }

 private:
  class Facade final : public nvinfer1::IAttention, public nvinfer1::apiv::VAttention {
   public:
    explicit Facade(AttentionView& view) : view_(view) { mImpl = this; }
    bool setInput(int32_t index, nvinfer1::ITensor& input) noexcept override;
    int32_t getNbInputs() const noexcept override { return 3; }
    nvinfer1::ITensor* getInput(int32_t index) const noexcept override;
    int32_t getNbOutputs() const noexcept override { return 1; }
    nvinfer1::ITensor* getOutput(int32_t index) const noexcept override {
      return view_.LayerView::getOutput(index);
    }
    bool setName(const char* name) noexcept override;
    const char* getName() const noexcept override { return view_.LayerView::getName(); }
    bool setNormalizationOperation(nvinfer1::AttentionNormalizationOp operation) noexcept override;
    nvinfer1::AttentionNormalizationOp getNormalizationOperation() const noexcept override {
      return view_.op().normalization;
    }
    bool setCausal(bool causal) noexcept override;
    bool getCausal() const noexcept override { return view_.op().causal; }
    bool setMask(nvinfer1::ITensor& mask) noexcept override;
    nvinfer1::ITensor* getMask() const noexcept override;
    bool setDecomposable(bool decomposable) noexcept override;
    bool getDecomposable() const noexcept override { return view_.op().decomposable; }
    bool setNormalizationQuantizeScale(nvinfer1::ITensor& tensor) noexcept override;
    nvinfer1::ITensor* getNormalizationQuantizeScale() const noexcept override { return nullptr; }
    bool setNormalizationQuantizeToType(DataType type) noexcept override;
    DataType getNormalizationQuantizeToType() const noexcept override { return DataType::kFLOAT; }
    bool setMetadata(const char* metadata) noexcept override;
    const char* getMetadata() const noexcept override { return view_.LayerView::getMetadata(); }
    bool setNbRanks(int32_t ranks) noexcept override { return view_.LayerView::setNbRanks(ranks); }
    int32_t getNbRanks() const noexcept override { return 1; }

   private:
    AttentionView& view_;
  };

  Attention& op() const { return static_cast<Attention&>(*node_.op); }
  mutable Facade facade_;
};
TENON_VIEW(Attention, AttentionView);

}  // namespace tenon
