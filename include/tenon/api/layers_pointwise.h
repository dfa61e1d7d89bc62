// Layers that work on each element alone, or on pairs of elements.
#ifndef TENON_API_LAYERS_POINTWISE_H
#define TENON_API_LAYERS_POINTWISE_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

/// A function of one element x.
enum class ActivationType : int32_t {
  kRELU = 0,               ///< max(0, x)
  kSIGMOID = 1,            ///< 1 / (1 + exp(-x))
  kTANH = 2,               ///< tanh(x)
  kLEAKY_RELU = 3,         ///< x if x >= 0, else alpha * x
  kELU = 4,                ///< x if x >= 0, else alpha * (exp(x) - 1)
  kSELU = 5,               ///< beta * x if x > 0, else beta * (alpha * exp(x) - alpha)
  kSOFTSIGN = 6,           ///< x / (1 + |x|)
  kSOFTPLUS = 7,           ///< alpha * log(exp(beta * x) + 1)
  kCLIP = 8,               ///< max(alpha, min(beta, x))
  kHARD_SIGMOID = 9,       ///< max(0, min(1, alpha * x + beta))
  kSCALED_TANH = 10,       ///< alpha * tanh(beta * x)
  kTHRESHOLDED_RELU = 11,  ///< x if x > alpha, else 0
  kGELU_ERF = 12,          ///< 0.5 * x * (1 + erf(x / sqrt(2)))
  kGELU_TANH = 13,         ///< 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3)))
};

template <> struct impl::EnumMaxImpl<ActivationType> {
  static constexpr int32_t kVALUE = 14;
};

/// Applies a function to each element.
class IActivationLayer : public ILayer {
 public:
  /// Sets the function.
  void setActivationType(ActivationType type) noexcept { mImpl->setActivationType(type); }

  /// The function.
  ActivationType getActivationType() const noexcept { return mImpl->getActivationType(); }

  /// Sets the function's first parameter.
  void setAlpha(float alpha) noexcept { mImpl->setAlpha(alpha); }

  /// Sets the function's second parameter.
  void setBeta(float beta) noexcept { mImpl->setBeta(beta); }

  /// The function's first parameter.
  float getAlpha() const noexcept { return mImpl->getAlpha(); }

  /// The function's second parameter.
  float getBeta() const noexcept { return mImpl->getBeta(); }

 protected:
  ~IActivationLayer() noexcept override = default;
  apiv::VActivationLayer* mImpl;
};

/// x if x >= 0, else slope * x; the slopes are input 1, broadcast to the shape of input 0.
class IParametricReLULayer : public ILayer {
 protected:
  ~IParametricReLULayer() noexcept override = default;
  apiv::VParametricReLULayer* mImpl;
};

/// How many values a scale layer has.
enum class ScaleMode : int32_t {
  kUNIFORM = 0,      ///< One for all elements.
  kCHANNEL = 1,      ///< One per channel.
  kELEMENTWISE = 2,  ///< One per element of the last three dimensions.
};

template <> struct impl::EnumMaxImpl<ScaleMode> {
  static constexpr int32_t kVALUE = 3;
};

/// (x * scale + shift) ^ power. Weights that are empty stand for 1, 0 and 1.
class IScaleLayer : public ILayer {
 public:
  /// Sets how many values there are.
  void setMode(ScaleMode mode) noexcept { mImpl->setMode(mode); }

  /// How many values there are.
  ScaleMode getMode() const noexcept { return mImpl->getMode(); }

  /// Sets what is added.
  void setShift(Weights shift) noexcept { mImpl->setShift(shift); }

  /// What is added.
  Weights getShift() const noexcept { return mImpl->getShift(); }

  /// Sets the factors.
  void setScale(Weights scale) noexcept { mImpl->setScale(scale); }

  /// The factors.
  Weights getScale() const noexcept { return mImpl->getScale(); }

  /// Sets the exponents.
  void setPower(Weights power) noexcept { mImpl->setPower(power); }

  /// The exponents.
  Weights getPower() const noexcept { return mImpl->getPower(); }

  /// The dimension that holds the channels.
  int32_t getChannelAxis() const noexcept { return mImpl->getChannelAxis(); }

  /// Sets the dimension that holds the channels; 1 unless set.
  void setChannelAxis(int32_t channelAxis) noexcept { mImpl->setChannelAxis(channelAxis); }

 protected:
  ~IScaleLayer() noexcept override = default;
  apiv::VScaleLayer* mImpl;
};

/// A function of two elements x and y.
enum class ElementWiseOperation : int32_t {
  kSUM = 0,        ///< x + y
  kPROD = 1,       ///< x * y
  kMAX = 2,        ///< The larger one.
  kMIN = 3,        ///< The smaller one.
  kSUB = 4,        ///< x - y
  kDIV = 5,        ///< x / y; of integers, rounded towards zero.
  kPOW = 6,        ///< x ^ y
  kFLOOR_DIV = 7,  ///< x / y, rounded down.
  kAND = 8,        ///< x and y, both kBOOL.
  kOR = 9,         ///< x or y, both kBOOL.
  kXOR = 10,       ///< Whether x and y differ, both kBOOL.
  kEQUAL = 11,     ///< Whether x = y; the result is kBOOL.
  kGREATER = 12,   ///< Whether x > y; the result is kBOOL.
  kLESS = 13,      ///< Whether x < y; the result is kBOOL.
};

template <> struct impl::EnumMaxImpl<ElementWiseOperation> {
  static constexpr int32_t kVALUE = 14;
};

/// Applies a function to pairs of elements of two inputs of the same rank; dimensions of 1 are
/// broadcast.
class IElementWiseLayer : public ILayer {
 public:
  /// Sets the function.
  void setOperation(ElementWiseOperation operation) noexcept { mImpl->setOperation(operation); }

  /// The function.
  ElementWiseOperation getOperation() const noexcept { return mImpl->getOperation(); }

 protected:
  ~IElementWiseLayer() noexcept override = default;
  apiv::VElementWiseLayer* mImpl;
};

/// A function of one element.
enum class UnaryOperation : int32_t {
  kEXP = 0,
  kLOG = 1,
  kSQRT = 2,
  kRECIP = 3,  ///< 1 / x
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
  kNOT = 20,    ///< Not x, which is kBOOL.
  kSIGN = 21,   ///< -1, 0 or 1.
  kROUND = 22,  ///< The nearest integer, the even one of two.
  kISINF = 23,  ///< Whether x is infinite; the result is kBOOL.
  kISNAN = 24,  ///< Whether x is not a number; the result is kBOOL.
};

template <> struct impl::EnumMaxImpl<UnaryOperation> {
  static constexpr int32_t kVALUE = 25;
};

/// Applies a function without parameters to each element.
class IUnaryLayer : public ILayer {
 public:
  /// Sets the function.
  void setOperation(UnaryOperation operation) noexcept { mImpl->setOperation(operation); }

  /// The function.
  UnaryOperation getOperation() const noexcept { return mImpl->getOperation(); }

 protected:
  ~IUnaryLayer() noexcept override = default;
  apiv::VUnaryLayer* mImpl;
};

/// Passes its input on; with setOutputType() it changes the type.
class IIdentityLayer : public ILayer {
 protected:
  ~IIdentityLayer() noexcept override = default;
  apiv::VIdentityLayer* mImpl;
};

/// Changes the type of the elements.
class ICastLayer : public ILayer {
 public:
  /// Sets the type of the output.
  void setToType(DataType toType) noexcept { mImpl->setToType(toType); }

  /// The type of the output.
  DataType getToType() const noexcept { return mImpl->getToType(); }

 protected:
  ~ICastLayer() noexcept override = default;
  apiv::VCastLayer* mImpl;
};

/// Takes each element from input 1 where input 0 (kBOOL) is true and from input 2 elsewhere;

/// dimensions of 1 are broadcast.
class ISelectLayer : public ILayer {
 protected:
  ~ISelectLayer() noexcept override = default;
  apiv::VSelectLayer* mImpl;
};

/// Makes building or a run fail with a message if its input (kBOOL, computed on the host) is false.
/// It has no output.
class IAssertionLayer : public ILayer {
 public:
  /// Sets the message; the text is copied.
  void setMessage(const char* message) noexcept { mImpl->setMessage(message); }

  /// The message.
  const char* getMessage() const noexcept { return mImpl->getMessage(); }

 protected:
  ~IAssertionLayer() noexcept override = default;
  apiv::VAssertionLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_POINTWISE_H
