// Turns ONNX models into networks.
#ifndef NV_ONNX_PARSER_H
#define NV_ONNX_PARSER_H

#include <cstddef>
#include <utility>
#include <vector>

#include "NvInfer.h"

#define NV_ONNX_PARSER_MAJOR 0
#define NV_ONNX_PARSER_MINOR 1
#define NV_ONNX_PARSER_PATCH 0

static constexpr int NV_ONNX_PARSER_VERSION =
    NV_ONNX_PARSER_MAJOR * 10000 + NV_ONNX_PARSER_MINOR * 100 + NV_ONNX_PARSER_PATCH;

using SubGraph_t = std::pair<std::vector<size_t>, bool>;
using SubGraphCollection_t = std::vector<SubGraph_t>;

namespace nvonnxparser {

template <typename T> constexpr int32_t EnumMax() noexcept;

enum class ErrorCode : int {
  kSUCCESS = 0,
  kINTERNAL_ERROR = 1,
  kMEM_ALLOC_FAILED = 2,
  kMODEL_DESERIALIZE_FAILED = 3,
  kINVALID_VALUE = 4,
  kINVALID_GRAPH = 5,
  kINVALID_NODE = 6,
  kUNSUPPORTED_GRAPH = 7,
  kUNSUPPORTED_NODE = 8,
  kUNSUPPORTED_NODE_ATTR = 9,
  kUNSUPPORTED_NODE_INPUT = 10,
  kUNSUPPORTED_NODE_DATATYPE = 11,
  kUNSUPPORTED_NODE_DYNAMIC = 12,
  kUNSUPPORTED_NODE_SHAPE = 13,
  kREFIT_FAILED = 14,
};

template <> constexpr int32_t EnumMax<ErrorCode>() noexcept {
  return 15;
}

enum class OnnxParserFlag : int32_t {
  kNATIVE_INSTANCENORM = 0,
  kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA = 1,
  kREPORT_CAPABILITY_DLA = 2,
  kENABLE_PLUGIN_OVERRIDE = 3,
  kADJUST_FOR_DLA = 4,
};

template <> constexpr int32_t EnumMax<OnnxParserFlag>() noexcept {
  return 5;
}

using OnnxParserFlags = uint32_t;

class IParserError {
 public:
  virtual ErrorCode code() const = 0;
  virtual const char* desc() const = 0;
  virtual const char* file() const = 0;
  virtual int line() const = 0;
  virtual const char* func() const = 0;
  virtual int node() const = 0;
  virtual const char* nodeName() const = 0;
  virtual const char* nodeOperator() const = 0;
  virtual const char* const* localFunctionStack() const = 0;
  virtual int32_t localFunctionStackSize() const = 0;

 protected:
  virtual ~IParserError() noexcept = default;
};

class IParser {
 public:
  virtual bool parse(const void* serializedModel, size_t serializedModelSize,
                     const char* modelPath = nullptr) noexcept = 0;
  virtual bool parseFromFile(const char* fileName, int verbosity) noexcept = 0;
  virtual bool supportsModel(const void* serializedModel, size_t serializedModelSize,
                             SubGraphCollection_t& subgraphs,
                             const char* modelPath = nullptr) noexcept = 0;
  virtual bool parseWithWeightDescriptors(const void* serializedModel,
                                          size_t serializedModelSize) noexcept = 0;
  virtual bool supportsOperator(const char* operatorName) const noexcept = 0;
  virtual int getNbErrors() const noexcept = 0;
  virtual const IParserError* getError(int index) const noexcept = 0;
  virtual void clearErrors() noexcept = 0;
  virtual ~IParser() noexcept = default;
  virtual const char* const* getUsedVCPluginLibraries(int64_t& nbLibraries) const noexcept = 0;
  virtual void setFlags(OnnxParserFlags flags) noexcept = 0;
  virtual OnnxParserFlags getFlags() const noexcept = 0;
  virtual void clearFlag(OnnxParserFlag flag) noexcept = 0;
  virtual void setFlag(OnnxParserFlag flag) noexcept = 0;
  virtual bool getFlag(OnnxParserFlag flag) const noexcept = 0;
  virtual const nvinfer1::ITensor* getLayerOutputTensor(const char* name,
                                                        int64_t index) noexcept = 0;
  virtual bool supportsModelV2(const void* serializedModel, size_t serializedModelSize,
                               const char* modelPath = nullptr) noexcept = 0;
  virtual int64_t getNbSubgraphs() noexcept = 0;
  virtual bool isSubgraphSupported(int64_t index) noexcept = 0;
  virtual int64_t* getSubgraphNodes(int64_t index, int64_t& subgraphLength) noexcept = 0;
  virtual bool loadModelProto(const void* serializedModel, size_t serializedModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;
  virtual bool parseModelProto() noexcept = 0;
  virtual bool setBuilderConfig(const nvinfer1::IBuilderConfig* builderConfig) noexcept = 0;

#include "tenon/compat8/IParser.inl"
};

class IParserRefitter {
 public:
  virtual bool refitFromBytes(const void* serializedModel, size_t serializedModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool refitFromFile(const char* fileName) noexcept = 0;
  virtual int32_t getNbErrors() const noexcept = 0;
  virtual const IParserError* getError(int32_t index) const noexcept = 0;
  virtual void clearErrors() = 0;
  virtual ~IParserRefitter() noexcept = default;
  virtual bool loadModelProto(const void* serializedModel, size_t serializedModelSize,
                              const char* modelPath = nullptr) noexcept = 0;
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;
  virtual bool refitModelProto() noexcept = 0;
};

}  // namespace nvonnxparser

extern "C" TENSORRTAPI void* createNvOnnxParser_INTERNAL(void* network, void* logger,
                                                         int version) noexcept;
extern "C" TENSORRTAPI void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger,
                                                                 int32_t version) noexcept;
extern "C" TENSORRTAPI int getNvOnnxParserVersion() noexcept;

namespace nvonnxparser {

inline IParser* createParser(nvinfer1::INetworkDefinition& network,
                             nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParser*>(
      createNvOnnxParser_INTERNAL(&network, &logger, NV_ONNX_PARSER_VERSION));
}

inline IParserRefitter* createParserRefitter(nvinfer1::IRefitter& refitter,
                                             nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParserRefitter*>(
      createNvOnnxParserRefitter_INTERNAL(&refitter, &logger, NV_ONNX_PARSER_VERSION));
}

}  // namespace nvonnxparser

#endif  // NV_ONNX_PARSER_H
