// Layers that work on each element alone, or on pairs of elements.
#ifndef TENON_API_LAYERS_POINTWISE_H
#define TENON_API_LAYERS_POINTWISE_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

enum class ActivationType : int32_t {
  kRELU = 0,
  kSIGMOID = 1,
  kTANH = 2,
  kLEAKY_RELU = 3,
  kELU = 4,
  kSELU = 5,
  kSOFTSIGN = 6,
  kSOFTPLUS = 7,
  kCLIP = 8,
  kHARD_SIGMOID = 9,
  kSCALED_TANH = 10,
  kTHRESHOLDED_RELU = 11,
  kGELU_ERF = 12,
  kGELU_TANH = 13,
};

template <> struct impl::EnumMaxImpl<ActivationType> {
  static constexpr int32_t kVALUE = 14;
};

class IActivationLayer : public ILayer {
 public:
  void setActivationType(ActivationType type) noexcept { mImpl->setActivationType(type); }
  ActivationType getActivationType() const noexcept { return mImpl->getActivationType(); }
  void setAlpha(float alpha) noexcept { mImpl->setAlpha(alpha); }
  void setBeta(float beta) noexcept { mImpl->setBeta(beta); }
  float getAlpha() const noexcept { return mImpl->getAlpha(); }
  float getBeta() const noexcept { return mImpl->getBeta(); }

 protected:
  ~IActivationLayer() noexcept override = default;
  apiv::VActivationLayer* mImpl;
};

class IParametricReLULayer : public ILayer {
 protected:
  ~IParametricReLULayer() noexcept override = default;
  apiv::VParametricReLULayer* mImpl;
};

enum class ScaleMode : int32_t {
  kUNIFORM = 0,
  kCHANNEL = 1,
  kELEMENTWISE = 2,
};

template <> struct impl::EnumMaxImpl<ScaleMode> {
  static constexpr int32_t kVALUE = 3;
};

class IScaleLayer : public ILayer {
 public:
  void setMode(ScaleMode mode) noexcept { mImpl->setMode(mode); }
  ScaleMode getMode() const noexcept { return mImpl->getMode(); }
  void setShift(Weights shift) noexcept { mImpl->setShift(shift); }
  Weights getShift() const noexcept { return mImpl->getShift(); }
  void setScale(Weights scale) noexcept { mImpl->setScale(scale); }
  Weights getScale() const noexcept { return mImpl->getScale(); }
  void setPower(Weights power) noexcept { mImpl->setPower(power); }
  Weights getPower() const noexcept { return mImpl->getPower(); }
  int32_t getChannelAxis() const noexcept { return mImpl->getChannelAxis(); }
  void setChannelAxis(int32_t channelAxis) noexcept { mImpl->setChannelAxis(channelAxis); }

 protected:
  ~IScaleLayer() noexcept override = default;
  apiv::VScaleLayer* mImpl;
};

enum class ElementWiseOperation : int32_t {
  kSUM = 0,
  kPROD = 1,
  kMAX = 2,
  kMIN = 3,
  kSUB = 4,
  kDIV = 5,
  kPOW = 6,
  kFLOOR_DIV = 7,
  kAND = 8,
  kOR = 9,
  kXOR = 10,
  kEQUAL = 11,
  kGREATER = 12,
  kLESS = 13,
};

template <> struct impl::EnumMaxImpl<ElementWiseOperation> {
  static constexpr int32_t kVALUE = 14;
};

class IElementWiseLayer : public ILayer {
 public:
  void setOperation(ElementWiseOperation operation) noexcept { mImpl->setOperation(operation); }
  ElementWiseOperation getOperation() const noexcept { return mImpl->getOperation(); }

 protected:
  ~IElementWiseLayer() noexcept override = default;
  apiv::VElementWiseLayer* mImpl;
};

enum class UnaryOperation : int32_t {
  kEXP = 0,
  kLOG = 1,
  kSQRT = 2,
  kRECIP = 3,
  kABS = 4,
  kNEG = 5,
  kSIN = 6,
  kCOS = 7,
  kTAN = 8,
  kSINH = 9,
  kCOSH = 10,
  kASIN = 11,
  kACOS = 12,
  kATAN = 13,
  kASINH = 14,
  kACOSH = 15,
  kATANH = 16,
  kCEIL = 17,
  kFLOOR = 18,
  kERF = 19,
  kNOT = 20,
  kSIGN = 21,
  kROUND = 22,
  kISINF = 23,
  kISNAN = 24,
};

template <> struct impl::EnumMaxImpl<UnaryOperation> {
  static constexpr int32_t kVALUE = 25;
};

class IUnaryLayer : public ILayer {
 public:
  void setOperation(UnaryOperation operation) noexcept { mImpl->setOperation(operation); }
  UnaryOperation getOperation() const noexcept { return mImpl->getOperation(); }

 protected:
  ~IUnaryLayer() noexcept override = default;
  apiv::VUnaryLayer* mImpl;
};

class IIdentityLayer : public ILayer {
 protected:
  ~IIdentityLayer() noexcept override = default;
  apiv::VIdentityLayer* mImpl;
};

class ICastLayer : public ILayer {
 public:
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }
  DataType getToType() const noexcept { return mImpl->getToType(); }

 protected:
  ~ICastLayer() noexcept override = default;
  apiv::VCastLayer* mImpl;
};

class ISelectLayer : public ILayer {
 protected:
  ~ISelectLayer() noexcept override = default;
  apiv::VSelectLayer* mImpl;
};

class IAssertionLayer : public ILayer {
 public:
  void setMessage(const char* message) noexcept { mImpl->setMessage(message); }
  const char* getMessage() const noexcept { return mImpl->getMessage(); }

 protected:
  ~IAssertionLayer() noexcept override = default;
  apiv::VAssertionLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_POINTWISE_H
