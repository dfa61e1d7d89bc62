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

/// Nodes of a model that belong together, by index, and whether all are supported.
using SubGraph_t = std::pair<std::vector<size_t>, bool>;
using SubGraphCollection_t = std::vector<SubGraph_t>;

namespace nvonnxparser {

template <typename T> constexpr int32_t EnumMax() noexcept;

/// What is wrong with a model.
enum class ErrorCode : int {
  kSUCCESS = 0,                     ///< Nothing.
  kINTERNAL_ERROR = 1,              ///< The parser broke a promise to itself; please report it.
  kMEM_ALLOC_FAILED = 2,            ///< Memory could not be had.
  kMODEL_DESERIALIZE_FAILED = 3,    ///< The bytes are not a model.
  kINVALID_VALUE = 4,               ///< An argument or a value is out of range.
  kINVALID_GRAPH = 5,               ///< The graph contradicts itself.
  kINVALID_NODE = 6,                ///< A node contradicts its operator.
  kUNSUPPORTED_GRAPH = 7,           ///< The graph uses something that is not supported.
  kUNSUPPORTED_NODE = 8,            ///< The operator is not supported and no plugin has its name.
  kUNSUPPORTED_NODE_ATTR = 9,       ///< An attribute is not supported.
  kUNSUPPORTED_NODE_INPUT = 10,     ///< An input is not supported.
  kUNSUPPORTED_NODE_DATATYPE = 11,  ///< A type of elements is not supported.
  kUNSUPPORTED_NODE_DYNAMIC = 12,   ///< Something must be known at build time that is not.
  kUNSUPPORTED_NODE_SHAPE = 13,     ///< A shape is not supported.
  kREFIT_FAILED = 14,               ///< The weights could not be put into the engine.
};

template <> constexpr int32_t EnumMax<ErrorCode>() noexcept {
  return 15;
}

/// How models are read, one bit each.
enum class OnnxParserFlag : int32_t {
  kNATIVE_INSTANCENORM = 0,  ///< InstanceNormalization becomes a layer rather than a plugin.
  kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA = 1,  ///< Allows what only DLA can run.
  kREPORT_CAPABILITY_DLA = 2,                         ///< Asks what DLA can run.
  kENABLE_PLUGIN_OVERRIDE = 3,  ///< Plugins take the place of operators of their name.
  kADJUST_FOR_DLA = 4,          ///< Changes the network to what DLA can run.
};

template <> constexpr int32_t EnumMax<OnnxParserFlag>() noexcept {
  return 5;
}

/// Flags of a parser: bit n stands for value n of OnnxParserFlag.
using OnnxParserFlags = uint32_t;

/// One error of a parser, which owns it.
class IParserError {
 public:
  /// What is wrong.
  virtual ErrorCode code() const = 0;

  /// The text; it says where, why and what to do.
  virtual const char* desc() const = 0;

  /// The source file of the library that found it.
  virtual const char* file() const = 0;

  /// The line in that file.
  virtual int line() const = 0;

  /// The function in that file.
  virtual const char* func() const = 0;

  /// The index of the node in the model; -1 if it is not about a node.
  virtual int node() const = 0;

  /// The name of the node; empty if it has none.
  virtual const char* nodeName() const = 0;

  /// The operator of the node.
  virtual const char* nodeOperator() const = 0;

  /// The model's functions that the node lies in, outermost first.
  virtual const char* const* localFunctionStack() const = 0;

  /// How many functions the node lies in.
  virtual int32_t localFunctionStackSize() const = 0;

 protected:
  virtual ~IParserError() noexcept = default;
};

/// Adds the layers of ONNX models to a network. The caller deletes it; the network uses weights
/// that it owns, so delete it after building.
class IParser {
 public:
  /// Reads a model of so many bytes; `modelPath`, which may be null, is where its external data
  /// lie. False on failure, with the errors kept.
  virtual bool parse(const void* serializedModel, size_t serializedModelSize,
                     const char* modelPath = nullptr) noexcept = 0;

  /// Reads a model from a file, logging messages up to this ILogger::Severity. False on failure,
  /// with the errors kept.
  virtual bool parseFromFile(const char* fileName, int verbosity) noexcept = 0;

  /// Whether a model could be read; adds the groups of its nodes that could, each as large as it
  /// goes, in an order in which inputs come first.
  TENON_REMOVED_IN_11 virtual bool supportsModel(const void* serializedModel,
                                                 size_t serializedModelSize,
                                                 SubGraphCollection_t& subgraphs,
                                                 const char* modelPath = nullptr) noexcept = 0;

  /// As parse() without a path. Deprecated: loadInitializer() takes weights from the program.
  TENON_REMOVED_IN_11 virtual bool parseWithWeightDescriptors(
      const void* serializedModel, size_t serializedModelSize) noexcept = 0;

  /// Whether an operator is supported by the parser itself.
  virtual bool supportsOperator(const char* operatorName) const noexcept = 0;

  /// The number of errors kept.
  virtual int getNbErrors() const noexcept = 0;

  /// Error `index`; null if it is out of range.
  virtual const IParserError* getError(int index) const noexcept = 0;

  /// Forgets all errors.
  virtual void clearErrors() noexcept = 0;
  virtual ~IParser() noexcept = default;

  /// The plugin libraries that the network needs where it runs, and their number; valid until the
  /// next model is read.
  virtual const char* const* getUsedVCPluginLibraries(int64_t& nbLibraries) const noexcept = 0;

  /// Sets all bits of OnnxParserFlag.
  virtual void setFlags(OnnxParserFlags flags) noexcept = 0;

  /// The bits of OnnxParserFlag.
  virtual OnnxParserFlags getFlags() const noexcept = 0;

  /// Clears one flag.
  virtual void clearFlag(OnnxParserFlag flag) noexcept = 0;

  /// Sets one flag.
  virtual void setFlag(OnnxParserFlag flag) noexcept = 0;

  /// Whether one flag is set.
  virtual bool getFlag(OnnxParserFlag flag) const noexcept = 0;

  /// Output `index` of the layer that node `name` became; null if there is none.
  virtual const nvinfer1::ITensor* getLayerOutputTensor(const char* name,
                                                        int64_t index) noexcept = 0;

  /// Whether a model could be read; the methods below tell which parts of it could, each as large
  /// as it goes, in an order in which inputs come first.
  virtual bool supportsModelV2(const void* serializedModel, size_t serializedModelSize,
                               const char* modelPath = nullptr) noexcept = 0;

  /// How many parts of the model could be read.
  virtual int64_t getNbSubgraphs() noexcept = 0;

  /// Whether there is a part `index`, which could be read then.
  virtual bool isSubgraphSupported(int64_t index) noexcept = 0;

  /// The nodes of part `index` and their number, valid until the next model is read; null if there
  /// is no such part.
  virtual int64_t* getSubgraphNodes(int64_t index, int64_t& subgraphLength) noexcept = 0;

  /// Takes a model, copied, without reading its weights yet; false on failure.
  virtual bool loadModelProto(const void* serializedModel, size_t serializedModelSize,
                              const char* modelPath = nullptr) noexcept = 0;

  /// Gives the weights of an initializer, not copied, in place of the model's; false if there is
  /// none of this name or size.
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;

  /// Reads the model taken before; false on failure, with the errors kept.
  virtual bool parseModelProto() noexcept = 0;

  /// Tells the configuration that the network will be built with, which only flags for DLA ask;
  /// false if it is null.
  virtual bool setBuilderConfig(const nvinfer1::IBuilderConfig* builderConfig) noexcept = 0;

#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IParser.inl"
#endif
};

/// Changes the weights of an engine to those of an ONNX model. The caller deletes it.
class IParserRefitter {
 public:
  /// Takes the weights of a model of so many bytes; false on failure, with the errors kept.
  virtual bool refitFromBytes(const void* serializedModel, size_t serializedModelSize,
                              const char* modelPath = nullptr) noexcept = 0;

  /// Takes the weights of a model in a file; false on failure, with the errors kept.
  virtual bool refitFromFile(const char* fileName) noexcept = 0;

  /// The number of errors kept.
  virtual int32_t getNbErrors() const noexcept = 0;

  /// Error `index`; null if it is out of range.
  virtual const IParserError* getError(int32_t index) const noexcept = 0;

  /// Forgets all errors.
  virtual void clearErrors() = 0;
  virtual ~IParserRefitter() noexcept = default;

  /// Takes a model, copied, without reading its weights yet; false on failure.
  virtual bool loadModelProto(const void* serializedModel, size_t serializedModelSize,
                              const char* modelPath = nullptr) noexcept = 0;

  /// Gives the weights of an initializer, not copied, in place of the model's; false if there is
  /// none of this name or size.
  virtual bool loadInitializer(const char* name, const void* data, size_t size) noexcept = 0;

  /// Takes the weights of the model taken before; false on failure, with the errors kept.
  virtual bool refitModelProto() noexcept = 0;
};

}  // namespace nvonnxparser

extern "C" TENSORRTAPI void* createNvOnnxParser_INTERNAL(void* network, void* logger,
                                                         int version) noexcept;
extern "C" TENSORRTAPI void* createNvOnnxParserRefitter_INTERNAL(void* refitter, void* logger,
                                                                 int32_t version) noexcept;
extern "C" TENSORRTAPI int getNvOnnxParserVersion() noexcept;

namespace nvonnxparser {

/// Makes a parser that adds to `network`; null on failure, or if the network is not one of this
/// library. Both arguments outlive it.
inline IParser* createParser(nvinfer1::INetworkDefinition& network,
                             nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParser*>(
      createNvOnnxParser_INTERNAL(&network, &logger, NV_ONNX_PARSER_VERSION));
}

/// Makes a parser that refits the engine of `refitter`; null on failure. Both arguments outlive it.
inline IParserRefitter* createParserRefitter(nvinfer1::IRefitter& refitter,
                                             nvinfer1::ILogger& logger) noexcept {
  return static_cast<IParserRefitter*>(
      createNvOnnxParserRefitter_INTERNAL(&refitter, &logger, NV_ONNX_PARSER_VERSION));
}

}  // namespace nvonnxparser

#endif  // NV_ONNX_PARSER_H
