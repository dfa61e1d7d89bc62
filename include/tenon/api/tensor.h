// Tensors of a network, and what all layers share.
#ifndef TENON_API_TENSOR_H
#define TENON_API_TENSOR_H

#include "NvInferLegacyDims.h"
#include "NvInferRuntime.h"

namespace nvinfer1 {

enum class LayerType : int32_t {
  kCONVOLUTION = 0,
  kCAST = 1,
  kACTIVATION = 2,
  kPOOLING = 3,
  kLRN = 4,
  kSCALE = 5,
  kSOFTMAX = 6,
  kDECONVOLUTION = 7,
  kCONCATENATION = 8,
  kELEMENTWISE = 9,
  kPLUGIN = 10,
  kUNARY = 11,
  kPADDING = 12,
  kSHUFFLE = 13,
  kREDUCE = 14,
  kTOPK = 15,
  kGATHER = 16,
  kMATRIX_MULTIPLY = 17,
  kRAGGED_SOFTMAX = 18,
  kCONSTANT = 19,
  kIDENTITY = 20,
  kPLUGIN_V2 = 21,
  kSLICE = 22,
  kSHAPE = 23,
  kPARAMETRIC_RELU = 24,
  kRESIZE = 25,
  kTRIP_LIMIT = 26,
  kRECURRENCE = 27,
  kITERATOR = 28,
  kLOOP_OUTPUT = 29,
  kSELECT = 30,
  kFILL = 31,
  kQUANTIZE = 32,
  kDEQUANTIZE = 33,
  kCONDITION = 34,
  kCONDITIONAL_INPUT = 35,
  kCONDITIONAL_OUTPUT = 36,
  kSCATTER = 37,
  kEINSUM = 38,
  kASSERTION = 39,
  kONE_HOT = 40,
  kNON_ZERO = 41,
  kGRID_SAMPLE = 42,
  kNMS = 43,
  kREVERSE_SEQUENCE = 44,
  kNORMALIZATION = 45,
  kPLUGIN_V3 = 46,
  kSQUEEZE = 47,
  kUNSQUEEZE = 48,
  kCUMULATIVE = 49,
  kDYNAMIC_QUANTIZE = 50,
  kATTENTION_INPUT = 51,
  kATTENTION_OUTPUT = 52,
  kROTARY_EMBEDDING = 53,
  kKVCACHE_UPDATE = 54,
  kMOE = 55,
  kDIST_COLLECTIVE = 56,

  // 8.x names, outside EnumMax and outside the range of 10.x values.
  kFULLY_CONNECTED = 10001,
  kRNN_V2 = 10002,
};

template <> struct impl::EnumMaxImpl<LayerType> {
  static constexpr int32_t kVALUE = 57;
};

class ITensor : public INoCopy {
 public:
  void setName(const char* name) noexcept { mImpl->setName(name); }
  const char* getName() const noexcept { return mImpl->getName(); }
  void setDimensions(const Dims& dimensions) noexcept { mImpl->setDimensions(dimensions); }
  Dims getDimensions() const noexcept { return mImpl->getDimensions(); }
  void setType(DataType type) noexcept { mImpl->setType(type); }
  DataType getType() const noexcept { return mImpl->getType(); }
  bool setDynamicRange(float min, float max) noexcept { return mImpl->setDynamicRange(min, max); }
  bool isNetworkInput() const noexcept { return mImpl->isNetworkInput(); }
  bool isNetworkOutput() const noexcept { return mImpl->isNetworkOutput(); }
  void setBroadcastAcrossBatch(bool broadcastAcrossBatch) noexcept {
    mImpl->setBroadcastAcrossBatch(broadcastAcrossBatch);
  }
  bool getBroadcastAcrossBatch() const noexcept { return mImpl->getBroadcastAcrossBatch(); }
  TensorLocation getLocation() const noexcept { return mImpl->getLocation(); }
  void setLocation(TensorLocation location) noexcept { mImpl->setLocation(location); }
  bool dynamicRangeIsSet() const noexcept { return mImpl->dynamicRangeIsSet(); }
  void resetDynamicRange() noexcept { mImpl->resetDynamicRange(); }
  float getDynamicRangeMin() const noexcept { return mImpl->getDynamicRangeMin(); }
  float getDynamicRangeMax() const noexcept { return mImpl->getDynamicRangeMax(); }
  void setAllowedFormats(TensorFormats formats) noexcept { mImpl->setAllowedFormats(formats); }
  TensorFormats getAllowedFormats() const noexcept { return mImpl->getAllowedFormats(); }
  bool isShapeTensor() const noexcept { return mImpl->isShapeTensor(); }
  bool isExecutionTensor() const noexcept { return mImpl->isExecutionTensor(); }
  void setDimensionName(int32_t index, const char* name) noexcept {
    mImpl->setDimensionName(index, name);
  }
  const char* getDimensionName(int32_t index) const noexcept {
    return mImpl->getDimensionName(index);
  }

 protected:
  ~ITensor() noexcept override = default;
  apiv::VTensor* mImpl;
};

class ILayer : public INoCopy {
 public:
  LayerType getType() const noexcept { return mLayer->getType(); }
  void setName(const char* name) noexcept { mLayer->setName(name); }
  const char* getName() const noexcept { return mLayer->getName(); }
  int32_t getNbInputs() const noexcept { return mLayer->getNbInputs(); }
  ITensor* getInput(int32_t index) const noexcept { return mLayer->getInput(index); }
  int32_t getNbOutputs() const noexcept { return mLayer->getNbOutputs(); }
  ITensor* getOutput(int32_t index) const noexcept { return mLayer->getOutput(index); }
  void setInput(int32_t index, ITensor& tensor) noexcept { mLayer->setInput(index, tensor); }
  void setPrecision(DataType dataType) noexcept { mLayer->setPrecision(dataType); }
  DataType getPrecision() const noexcept { return mLayer->getPrecision(); }
  bool precisionIsSet() const noexcept { return mLayer->precisionIsSet(); }
  void resetPrecision() noexcept { mLayer->resetPrecision(); }
  void setOutputType(int32_t index, DataType dataType) noexcept {
    mLayer->setOutputType(index, dataType);
  }
  DataType getOutputType(int32_t index) const noexcept { return mLayer->getOutputType(index); }
  bool outputTypeIsSet(int32_t index) const noexcept { return mLayer->outputTypeIsSet(index); }
  void resetOutputType(int32_t index) noexcept { mLayer->resetOutputType(index); }
  void setMetadata(const char* metadata) noexcept { mLayer->setMetadata(metadata); }
  const char* getMetadata() const noexcept { return mLayer->getMetadata(); }
  bool setNbRanks(int32_t nbRanks) noexcept { return mLayer->setNbRanks(nbRanks); }
  int32_t getNbRanks() const noexcept { return mLayer->getNbRanks(); }

 protected:
  ~ILayer() noexcept override = default;
  apiv::VLayer* mLayer;
};

}  // namespace nvinfer1

#endif  // TENON_API_TENSOR_H
