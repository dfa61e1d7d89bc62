// Tensors of a network, and what all layers share.
#ifndef TENON_API_TENSOR_H
#define TENON_API_TENSOR_H

#include "NvInferLegacyDims.h"
#include "NvInferRuntime.h"

namespace nvinfer1 {

/// The type of a layer, which says what class it can be cast to.
enum class LayerType : int32_t {
  kCONVOLUTION = 0,          ///< IConvolutionLayer
  kCAST = 1,                 ///< ICastLayer
  kACTIVATION = 2,           ///< IActivationLayer
  kPOOLING = 3,              ///< IPoolingLayer
  kLRN = 4,                  ///< ILRNLayer
  kSCALE = 5,                ///< IScaleLayer
  kSOFTMAX = 6,              ///< ISoftMaxLayer
  kDECONVOLUTION = 7,        ///< IDeconvolutionLayer
  kCONCATENATION = 8,        ///< IConcatenationLayer
  kELEMENTWISE = 9,          ///< IElementWiseLayer
  kPLUGIN = 10,              ///< A plugin of before 8.x, which is not supported.
  kUNARY = 11,               ///< IUnaryLayer
  kPADDING = 12,             ///< IPaddingLayer
  kSHUFFLE = 13,             ///< IShuffleLayer
  kREDUCE = 14,              ///< IReduceLayer
  kTOPK = 15,                ///< ITopKLayer
  kGATHER = 16,              ///< IGatherLayer
  kMATRIX_MULTIPLY = 17,     ///< IMatrixMultiplyLayer
  kRAGGED_SOFTMAX = 18,      ///< IRaggedSoftMaxLayer
  kCONSTANT = 19,            ///< IConstantLayer
  kIDENTITY = 20,            ///< IIdentityLayer
  kPLUGIN_V2 = 21,           ///< IPluginV2Layer
  kSLICE = 22,               ///< ISliceLayer
  kSHAPE = 23,               ///< IShapeLayer
  kPARAMETRIC_RELU = 24,     ///< IParametricReLULayer
  kRESIZE = 25,              ///< IResizeLayer
  kTRIP_LIMIT = 26,          ///< ITripLimitLayer
  kRECURRENCE = 27,          ///< IRecurrenceLayer
  kITERATOR = 28,            ///< IIteratorLayer
  kLOOP_OUTPUT = 29,         ///< ILoopOutputLayer
  kSELECT = 30,              ///< ISelectLayer
  kFILL = 31,                ///< IFillLayer
  kQUANTIZE = 32,            ///< IQuantizeLayer
  kDEQUANTIZE = 33,          ///< IDequantizeLayer
  kCONDITION = 34,           ///< IConditionLayer
  kCONDITIONAL_INPUT = 35,   ///< IIfConditionalInputLayer
  kCONDITIONAL_OUTPUT = 36,  ///< IIfConditionalOutputLayer
  kSCATTER = 37,             ///< IScatterLayer
  kEINSUM = 38,              ///< IEinsumLayer
  kASSERTION = 39,           ///< IAssertionLayer
  kONE_HOT = 40,             ///< IOneHotLayer
  kNON_ZERO = 41,            ///< INonZeroLayer
  kGRID_SAMPLE = 42,         ///< IGridSampleLayer
  kNMS = 43,                 ///< INMSLayer
  kREVERSE_SEQUENCE = 44,    ///< IReverseSequenceLayer
  kNORMALIZATION = 45,       ///< INormalizationLayer
  kPLUGIN_V3 = 46,           ///< IPluginV3Layer
  kSQUEEZE = 47,             ///< ISqueezeLayer
  kUNSQUEEZE = 48,           ///< IUnsqueezeLayer
  kCUMULATIVE = 49,          ///< ICumulativeLayer
  kDYNAMIC_QUANTIZE = 50,    ///< IDynamicQuantizeLayer
  kATTENTION_INPUT = 51,     ///< IAttentionInputLayer
  kATTENTION_OUTPUT = 52,    ///< IAttentionOutputLayer
  kROTARY_EMBEDDING = 53,    ///< IRotaryEmbeddingLayer
  kKVCACHE_UPDATE = 54,      ///< IKVCacheUpdateLayer
  kMOE = 55,                 ///< IMoELayer
  kDIST_COLLECTIVE = 56,     ///< IDistCollectiveLayer

  // 8.x names, outside EnumMax and outside the range of 10.x values.
  kFULLY_CONNECTED = 10001,
  kRNN_V2 = 10002,
};

template <> struct impl::EnumMaxImpl<LayerType> {
  static constexpr int32_t kVALUE = 57;
};

/// An input of the network or an output of a layer. The network owns it.
class ITensor : public INoCopy {
 public:
  /// Sets the name, which the engine's inputs and outputs keep; the text is copied.
  void setName(const char* name) noexcept { mImpl->setName(name); }

  /// The name, owned by the tensor; never null.
  const char* getName() const noexcept { return mImpl->getName(); }

  /// Sets the shape of an input of the network, -1 for dimensions that vary; ignored for others.
  void setDimensions(const Dims& dimensions) noexcept { mImpl->setDimensions(dimensions); }

  /// The shape, -1 for dimensions that vary; nbDims is -1 if it cannot be computed.
  Dims getDimensions() const noexcept { return mImpl->getDimensions(); }

  /// Asks for a type of the elements of an input or output of the network. In one that is not
  /// strongly typed layers read an input of FP32 as before: one of kINT8 has its numbers divided by
  /// the larger end of the dynamic range / 127, which the build asks for.
  TENON_REMOVED_IN_11 void setType(DataType type) noexcept { mImpl->setType(type); }

  /// The type of the elements as far as it is known.
  DataType getType() const noexcept { return mImpl->getType(); }

  /// Sets the range of values for INT8, of which the larger absolute value counts; false if an
  /// end is not finite or `min` is above `max`.
  TENON_REMOVED_IN_11 bool setDynamicRange(float min, float max) noexcept {
    return mImpl->setDynamicRange(min, max);
  }

  /// Whether it is an input of the network.
  bool isNetworkInput() const noexcept { return mImpl->isNetworkInput(); }

  /// Whether it is marked as an output of the network.
  bool isNetworkOutput() const noexcept { return mImpl->isNetworkOutput(); }

  /// Sets whether all items of an implicit batch share an input.
  void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept {
    mImpl->setBroadcastAcrossBatch(broadcastAcrossBatch);
  }

  /// Whether all items of an implicit batch share it.
  bool getBroadcastAcrossBatch() const noexcept { return mImpl->getBroadcastAcrossBatch(); }

  /// Where the buffer lies.
  TensorLocation getLocation() const noexcept { return mImpl->getLocation(); }

  /// Sets where the buffer of an input lies; only shape inputs may lie on the host.
  void setLocation(TensorLocation location) noexcept { mImpl->setLocation(location); }

  /// Whether a range of values is set.
  TENON_REMOVED_IN_11 bool dynamicRangeIsSet() const noexcept { return mImpl->dynamicRangeIsSet(); }

  /// Forgets the range of values.
  TENON_REMOVED_IN_11 void resetDynamicRange() noexcept { mImpl->resetDynamicRange(); }

  /// The lower end of the range; NaN if none is set.
  TENON_REMOVED_IN_11 float getDynamicRangeMin() const noexcept {
    return mImpl->getDynamicRangeMin();
  }

  /// The upper end of the range; NaN if none is set.
  TENON_REMOVED_IN_11 float getDynamicRangeMax() const noexcept {
    return mImpl->getDynamicRangeMax();
  }

  /// Sets which formats an input or output of the network may have, bit n for value n of
  /// TensorFormat.
  void setAllowedFormats(TensorFormats formats) noexcept { mImpl->setAllowedFormats(formats); }

  /// Which formats it may have; all unless set.
  TensorFormats getAllowedFormats() const noexcept { return mImpl->getAllowedFormats(); }

  /// Whether its values decide shapes, and it is therefore computed on the host. Known for sure
  /// once the network is complete.
  bool isShapeTensor() const noexcept { return mImpl->isShapeTensor(); }

  /// Whether it is data for the kernels.
  bool isExecutionTensor() const noexcept { return mImpl->isExecutionTensor(); }

  /// Names a dimension of an input; dimensions of one name are equal at run time. The text is
  /// copied.
  void setDimensionName(int32_t index, const char* name) noexcept {
    mImpl->setDimensionName(index, name);
  }

  /// The name of a dimension of an input; null if it has none.
  const char* getDimensionName(int32_t index) const noexcept {
    return mImpl->getDimensionName(index);
  }

 protected:
  ~ITensor() noexcept override = default;
  apiv::VTensor* mImpl;
};

/// A layer of a network, which owns it. Its setters may be called until the engine is built.
class ILayer : public INoCopy {
 public:
  /// The type of the layer.
  LayerType getType() const noexcept { return mLayer->getType(); }

  /// Sets the name, used in messages and by refitters; the text is copied.
  void setName(const char* name) noexcept { mLayer->setName(name); }

  /// The name, owned by the layer; never null.
  const char* getName() const noexcept { return mLayer->getName(); }

  /// The number of inputs.
  int32_t getNbInputs() const noexcept { return mLayer->getNbInputs(); }

  /// Input `index`; null if it is out of range or not set.
  ITensor* getInput(int32_t index) const noexcept { return mLayer->getInput(index); }

  /// The number of outputs.
  int32_t getNbOutputs() const noexcept { return mLayer->getNbOutputs(); }

  /// Output `index`; null if it is out of range.
  ITensor* getOutput(int32_t index) const noexcept { return mLayer->getOutput(index); }

  /// Replaces input `index`; what other indices mean is said at each layer.
  void setInput(int32_t index, ITensor& tensor) noexcept { mLayer->setInput(index, tensor); }

  /// Asks that the layer computes in a type.
  TENON_REMOVED_IN_11 void setPrecision(DataType dataType) noexcept {
    mLayer->setPrecision(dataType);
  }

  /// The type it was asked to compute in; kFLOAT if it was not asked.
  TENON_REMOVED_IN_11 DataType getPrecision() const noexcept { return mLayer->getPrecision(); }

  /// Whether it was asked to compute in a type.
  TENON_REMOVED_IN_11 bool precisionIsSet() const noexcept { return mLayer->precisionIsSet(); }

  /// Forgets the type it was asked to compute in.
  TENON_REMOVED_IN_11 void resetPrecision() noexcept { mLayer->resetPrecision(); }

  /// Asks that output `index` has a type.
  TENON_REMOVED_IN_11 void setOutputType(int32_t index, DataType dataType) noexcept {
    mLayer->setOutputType(index, dataType);
  }

  /// The type of output `index`.
  DataType getOutputType(int32_t index) const noexcept { return mLayer->getOutputType(index); }

  /// Whether a type was asked for output `index`.
  TENON_REMOVED_IN_11 bool outputTypeIsSet(int32_t index) const noexcept {
    return mLayer->outputTypeIsSet(index);
  }

  /// Forgets the type asked for output `index`.
  TENON_REMOVED_IN_11 void resetOutputType(int32_t index) noexcept {
    mLayer->resetOutputType(index);
  }

  /// Sets a text that the engine inspector shows; it is copied.
  void setMetadata(const char* metadata) noexcept { mLayer->setMetadata(metadata); }

  /// The text set by setMetadata(); empty at first.
  const char* getMetadata() const noexcept { return mLayer->getMetadata(); }

  /// Sets how many devices share the layer; false if it is less than 1.
  bool setNbRanks(int32_t nbRanks) noexcept { return mLayer->setNbRanks(nbRanks); }

  /// How many devices share the layer; 1 unless set.
  int32_t getNbRanks() const noexcept { return mLayer->getNbRanks(); }

 protected:
  ~ILayer() noexcept override = default;
  apiv::VLayer* mLayer;
};

}  // namespace nvinfer1

#endif  // TENON_API_TENSOR_H
