// Layers and enumerations that 8.x had and 10.16 has not.
#ifndef TENON_COMPAT8_LAYERS_H
#define TENON_COMPAT8_LAYERS_H

#include "tenon/api/layers_resize.h"
#include "tenon/extensions.h"

#if TENON_TRT_OLDER_NAMES
namespace nvinfer1 {

using ResizeMode = InterpolationMode;
using SliceMode = SampleMode;

enum class RNNOperation : int32_t {
  kRELU = 0,
  kTANH = 1,
  kLSTM = 2,
  kGRU = 3,
};

enum class RNNDirection : int32_t {
  kUNIDIRECTION = 0,
  kBIDIRECTION = 1,
};

enum class RNNInputMode : int32_t {
  kLINEAR = 0,
  kSKIP = 1,
};

enum class RNNGateType : int32_t {
  kINPUT = 0,
  kOUTPUT = 1,
  kFORGET = 2,
  kUPDATE = 3,
  kRESET = 4,
  kCELL = 5,
  kHIDDEN = 6,
};

/// A product of the last three dimensions, taken as one, with weights. On libraries without this
/// layer the attributes cannot be read (they show as 0) or changed.
class IFullyConnectedLayer : public ILayer {
 public:
  /// Sets the number of outputs; the weights must be set to fit.
  void setNbOutputChannels(int32_t nbOutputs) noexcept {
    Attributes attributes = read();
    attributes.nbOutputs = nbOutputs;
    write(attributes);
  }
  int32_t getNbOutputChannels() const noexcept { return read().nbOutputs; }

  /// Sets the weights, (nbOutputs, C*H*W) in row-major order; they are not copied.
  void setKernelWeights(Weights weights) noexcept {
    Attributes attributes = read();
    attributes.kernel = weights;
    write(attributes);
  }
  Weights getKernelWeights() const noexcept { return read().kernel; }

  /// Sets the values added to the outputs, one each, or none; they are not copied.
  void setBiasWeights(Weights weights) noexcept {
    Attributes attributes = read();
    attributes.bias = weights;
    write(attributes);
  }
  Weights getBiasWeights() const noexcept { return read().bias; }

 protected:
  ~IFullyConnectedLayer() noexcept override = default;

 private:
  struct Attributes {
    int32_t nbOutputs;
    Weights kernel;
    Weights bias;
  };

  Attributes read() const noexcept {
    Attributes attributes{};
    if (tenonGetFullyConnected != nullptr) {
      tenonGetFullyConnected(this, &attributes.nbOutputs, &attributes.kernel, &attributes.bias);
    }
    return attributes;
  }

  void write(const Attributes& attributes) noexcept {
    if (tenonSetFullyConnected != nullptr) {
      tenonSetFullyConnected(this, attributes.nbOutputs, &attributes.kernel, &attributes.bias);
    }
  }
};

/// Named so that 8.x programs compile; addRNNv2 makes none.
class IRNNv2Layer : public ILayer {
 public:
  int32_t getLayerCount() const noexcept { return 0; }
  int32_t getHiddenSize() const noexcept { return 0; }
  int32_t getMaxSeqLength() const noexcept { return 0; }
  int32_t getDataLength() const noexcept { return 0; }
  void setSequenceLengths(ITensor&) noexcept {}
  ITensor* getSequenceLengths() const noexcept { return nullptr; }
  void setOperation(RNNOperation) noexcept {}
  RNNOperation getOperation() const noexcept { return RNNOperation::kRELU; }
  void setInputMode(RNNInputMode) noexcept {}
  RNNInputMode getInputMode() const noexcept { return RNNInputMode::kLINEAR; }
  void setDirection(RNNDirection) noexcept {}
  RNNDirection getDirection() const noexcept { return RNNDirection::kUNIDIRECTION; }
  void setWeightsForGate(int32_t, RNNGateType, bool, Weights) noexcept {}
  Weights getWeightsForGate(int32_t, RNNGateType, bool) const noexcept { return Weights{}; }
  void setBiasForGate(int32_t, RNNGateType, bool, Weights) noexcept {}
  Weights getBiasForGate(int32_t, RNNGateType, bool) const noexcept { return Weights{}; }
  void setHiddenState(ITensor&) noexcept {}
  ITensor* getHiddenState() const noexcept { return nullptr; }
  void setCellState(ITensor&) noexcept {}
  ITensor* getCellState() const noexcept { return nullptr; }

 protected:
  ~IRNNv2Layer() noexcept override = default;
};

}  // namespace nvinfer1
#endif  // TENON_TRT_OLDER_NAMES

#endif  // TENON_COMPAT8_LAYERS_H
