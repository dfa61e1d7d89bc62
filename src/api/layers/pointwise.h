// Layers that work on each element alone, or on pairs of elements.
#pragma once

#include "api/layer.h"
#include "ops/activation.h"
#include "ops/cast.h"
#include "ops/elementwise.h"
#include "ops/identity.h"
#include "ops/scale.h"
#include "ops/select.h"
#include "ops/unary.h"

namespace tenon {

class ActivationView final
    : public LayerOf<nvinfer1::IActivationLayer, nvinfer1::apiv::VActivationLayer, Activation> {
 public:
  using LayerOf::LayerOf;
  void setActivationType(nvinfer1::ActivationType type) noexcept override {
    set(&Activation::type, type);
  }
  nvinfer1::ActivationType getActivationType() const noexcept override { return op().type; }
  void setAlpha(float alpha) noexcept override { set(&Activation::alpha, alpha); }
  void setBeta(float beta) noexcept override { set(&Activation::beta, beta); }
  float getAlpha() const noexcept override { return op().alpha; }
  float getBeta() const noexcept override { return op().beta; }
};
TENON_VIEW(Activation, ActivationView);

class ElementWiseView final
    : public LayerOf<nvinfer1::IElementWiseLayer, nvinfer1::apiv::VElementWiseLayer, ElementWise> {
 public:
  using LayerOf::LayerOf;
  void setOperation(nvinfer1::ElementWiseOperation operation) noexcept override {
    set(&ElementWise::operation, operation);
  }
  nvinfer1::ElementWiseOperation getOperation() const noexcept override { return op().operation; }
};
TENON_VIEW(ElementWise, ElementWiseView);

class UnaryView final : public LayerOf<nvinfer1::IUnaryLayer, nvinfer1::apiv::VUnaryLayer, Unary> {
 public:
  using LayerOf::LayerOf;
  void setOperation(nvinfer1::UnaryOperation operation) noexcept override {
    set(&Unary::operation, operation);
  }
  nvinfer1::UnaryOperation getOperation() const noexcept override { return op().operation; }
};
TENON_VIEW(Unary, UnaryView);

/// Inputs 1 to 3 hold shift, scale and power.
class ScaleView final : public LayerOf<nvinfer1::IScaleLayer, nvinfer1::apiv::VScaleLayer, Scale> {
 public:
  using LayerOf::LayerOf;
  void setMode(nvinfer1::ScaleMode mode) noexcept override { set(&Scale::mode, mode); }
  nvinfer1::ScaleMode getMode() const noexcept override { return op().mode; }
  void setShift(nvinfer1::Weights w) noexcept override {
    change([&] { put_weights(1, w, "the shift"); });
  }
  nvinfer1::Weights getShift() const noexcept override { return weights(1); }
  void setScale(nvinfer1::Weights w) noexcept override {
    change([&] { put_weights(2, w, "the scale"); });
  }
  nvinfer1::Weights getScale() const noexcept override { return weights(2); }
  void setPower(nvinfer1::Weights w) noexcept override {
    change([&] { put_weights(3, w, "the power"); });
  }
  nvinfer1::Weights getPower() const noexcept override { return weights(3); }
  int32_t getChannelAxis() const noexcept override { return op().channel_axis; }
  void setChannelAxis(int32_t axis) noexcept override { set(&Scale::channel_axis, axis); }

 private:
  bool takes_input(int32_t index) const override { return index == 0; }
  bool holds_weights(int32_t index) const override { return index > 0; }
};
TENON_VIEW(Scale, ScaleView);

class CastView final : public LayerOf<nvinfer1::ICastLayer, nvinfer1::apiv::VCastLayer, Cast> {
 public:
  using LayerOf::LayerOf;
  void setToType(DataType type) noexcept override { set(&Cast::to, type); }
  DataType getToType() const noexcept override { return op().to; }
};
TENON_VIEW(Cast, CastView);

class IdentityView final
    : public LayerOf<nvinfer1::IIdentityLayer, nvinfer1::apiv::VIdentityLayer, Identity> {
 public:
  using LayerOf::LayerOf;
};
TENON_VIEW(Identity, IdentityView);

class SelectView final
    : public LayerOf<nvinfer1::ISelectLayer, nvinfer1::apiv::VSelectLayer, Select> {
 public:
  using LayerOf::LayerOf;
};
TENON_VIEW(Select, SelectView);

}  // namespace tenon
