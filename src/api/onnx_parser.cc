// nvonnxparser: the importer behind IParser.
#include <NvOnnxParser.h>

#include <algorithm>
#include <vector>

#include "api/network_definition.h"
#include "api/onnx_input.h"
#include "registry/registry.h"

namespace tenon {
namespace {

using nvonnxparser::OnnxParserFlag;
using nvonnxparser::OnnxParserFlags;

class OnnxParser final : public nvonnxparser::IParser {
 public:
  OnnxParser(nvinfer1::INetworkDefinition& definition, nvinfer1::ILogger& logger)
      : definition_(&definition), input_(logger) {}

  bool parse(const void* model, size_t size, const char* path) noexcept override {
    return reporter_.guard(
        false,
        [&] { return parse_bytes(OnnxInput::bytes_of(model, size), OnnxInput::text_of(path)); },
        "parse");
  }

  bool parseFromFile(const char* file, int /*verbosity*/) noexcept override {
    return reporter_.guard(
        false,
        [&] {
          return input_.with_file(file, [&](auto bytes) { return parse_bytes(bytes, file); });
        },
        "parseFromFile");
  }

  bool supportsModel(const void* model, size_t size, SubGraphCollection_t& collection,
                     const char* path) noexcept override {
    return reporter_.guard(
        false,
        [&] {
          const bool fine = check_model(OnnxInput::bytes_of(model, size), OnnxInput::text_of(path));
          for (const auto& nodes : subgraphs_)
            collection.emplace_back(std::vector<size_t>(nodes.begin(), nodes.end()), true);
          return fine;
        },
        "supportsModel");
  }

  bool supportsModelV2(const void* model, size_t size, const char* path) noexcept override {
    return reporter_.guard(
        false,
        [&] { return check_model(OnnxInput::bytes_of(model, size), OnnxInput::text_of(path)); },
        "supportsModelV2");
  }

  // As in TensorRT's open parser, it is parse() for models without files beside them.
  bool parseWithWeightDescriptors(const void* model, size_t size) noexcept override {
    return reporter_.guard(
        false, [&] { return parse_bytes(OnnxInput::bytes_of(model, size), ""); },
        "parseWithWeightDescriptors");
  }

  bool supportsOperator(const char* name) const noexcept override {
    return reporter_.guard(
        false,
        [&] {
          return name != nullptr
                 && (operator_is_known(name) || find_creator(name, "1", "") != nullptr);
        },
        "supportsOperator");
  }

  int getNbErrors() const noexcept override { return input_.error_count(); }
  const nvonnxparser::IParserError* getError(int index) const noexcept override {
    return input_.error(index);
  }
  void clearErrors() noexcept override { input_.clear_errors(); }

  // Version-compatible plans need libraries beside the plan; none of ours do.
  const char* const* getUsedVCPluginLibraries(int64_t& count) const noexcept override {
    count = 0;
    return nullptr;
  }

  void setFlags(OnnxParserFlags flags) noexcept override {
    reporter_.run(
        [&] {
          for (OnnxParserFlag flag : kFlagsOfDla)
            if ((flags & bit(flag)) != 0)
              reporter_.log().warning("parser flag {} has no effect: there is no DLA",
                                      static_cast<int>(flag));
          flags_ = flags;
        },
        "setFlags");
  }
  OnnxParserFlags getFlags() const noexcept override { return flags_; }
  void clearFlag(OnnxParserFlag flag) noexcept override { flags_ &= ~bit(flag); }
  void setFlag(OnnxParserFlag flag) noexcept override { setFlags(flags_ | bit(flag)); }
  bool getFlag(OnnxParserFlag flag) const noexcept override { return (flags_ & bit(flag)) != 0; }

  const nvinfer1::ITensor* getLayerOutputTensor(const char* name, int64_t index) noexcept override {
    return reporter_.guard<const nvinfer1::ITensor*>(
        nullptr,
        [&]() -> const nvinfer1::ITensor* {
          require(name != nullptr, "the name is null");
          const auto found = report_.node_outputs.find(name);
          if (found == report_.node_outputs.end() || index < 0
              || index >= static_cast<int64_t>(found->second.size()))
            return nullptr;
          Value* value = found->second[static_cast<size_t>(index)];
          return value != nullptr ? &definition().tensor_view(*value) : nullptr;
        },
        "getLayerOutputTensor");
  }

  int64_t getNbSubgraphs() noexcept override { return static_cast<int64_t>(subgraphs_.size()); }
  // Programs divide parts that are not supported again, and again: all that are named are.
  bool isSubgraphSupported(int64_t index) noexcept override { return has_subgraph(index); }
  int64_t* getSubgraphNodes(int64_t index, int64_t& length) noexcept override {
    length = 0;
    if (!has_subgraph(index)) return nullptr;
    auto& nodes = subgraphs_[static_cast<size_t>(index)];
    length = static_cast<int64_t>(nodes.size());
    return nodes.data();
  }

  bool loadModelProto(const void* model, size_t size, const char* path) noexcept override {
    return reporter_.guard(
        false, [&] { return input_.load_model(model, size, path); }, "loadModelProto");
  }

  // The application keeps the data until parseModelProto() returns.
  bool loadInitializer(const char* name, const void* data, size_t size) noexcept override {
    return reporter_.run([&] { input_.load_initializer(name, data, size); }, "loadInitializer");
  }

  bool parseModelProto() noexcept override {
    return reporter_.guard(
        false,
        [&] {
          return input_.take_model(
              [&](Bytes model, const std::string& path) { return parse_bytes(model, path); });
        },
        "parseModelProto");
  }

  // TensorRT asks the configuration what DLA can run; nothing that is read here depends on it.
  bool setBuilderConfig(const nvinfer1::IBuilderConfig* config) noexcept override {
    return reporter_.guard(
        false,
        [&] {
          require(config != nullptr, "the configuration is null");
          return true;
        },
        "setBuilderConfig");
  }

 private:
  using Bytes = OnnxInput::Bytes;
  static constexpr OnnxParserFlag kFlagsOfDla[] = {
      OnnxParserFlag::kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA,
      OnnxParserFlag::kREPORT_CAPABILITY_DLA, OnnxParserFlag::kADJUST_FOR_DLA};

  static OnnxParserFlags bit(OnnxParserFlag flag) {
    return OnnxParserFlags{1} << static_cast<uint32_t>(flag);
  }
  bool has_subgraph(int64_t index) const {
    return index >= 0 && index < static_cast<int64_t>(subgraphs_.size());
  }
  NetworkDefinition& definition() const {
    NetworkDefinition* ours = NetworkDefinition::find(definition_);
    require(ours != nullptr, "the network of this parser has been deleted");
    return *ours;
  }

  bool import_into(Network& network, Bytes model, const std::string& path, ImportReport& report) {
    const bool prefer_plugins = getFlag(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE);
    return input_.import(model, path, prefer_plugins, network, report);
  }

  bool parse_bytes(Bytes model, const std::string& path) {
    report_ = {};
    NetworkDefinition& ours = definition();
    require(!ours.hasImplicitBatchDimension(),
            "ONNX models need the batch as a dimension: create the network with kEXPLICIT_BATCH");
    const bool fine = import_into(ours.network(), model, path, report_);
    if (!fine) report_.node_outputs.clear();
    return fine;
  }

  bool check_model(Bytes model, const std::string& path) {
    Network scratch;
    ImportReport report;
    const bool fine = import_into(scratch, model, path, report);
    subgraphs_ = std::move(report.supported_nodes);
    return fine;
  }

  const nvinfer1::INetworkDefinition* definition_;
  OnnxInput input_;
  const Reporter& reporter_ = input_.reporter();
  ImportReport report_;
  std::vector<std::vector<int64_t>> subgraphs_;  // nodes of each part that is supported
  OnnxParserFlags flags_ = bit(OnnxParserFlag::kNATIVE_INSTANCENORM);
};

}  // namespace
}  // namespace tenon

extern "C" {

void* createNvOnnxParser_INTERNAL(void* network, void* logger, int version) noexcept {
  auto* ours = static_cast<nvinfer1::ILogger*>(logger);
  if (ours == nullptr) return nullptr;
  return tenon::Reporter(ours).guard<void*>(
      nullptr,
      [&]() -> void* {
        tenon::require(network != nullptr, "the network is null");
        auto& definition = *static_cast<nvinfer1::INetworkDefinition*>(network);
        tenon::require(
            tenon::network_of(definition) != nullptr,
            "the network was not made by this library's builder: Tenon's parser can only "
            "fill Tenon's networks");
        tenon::require(version == NV_ONNX_PARSER_VERSION,
                       "the program was compiled with version {} of NvOnnxParser.h; this is {}",
                       version, NV_ONNX_PARSER_VERSION);
        return static_cast<nvonnxparser::IParser*>(new tenon::OnnxParser(definition, *ours));
      },
      "createParser");
}

int getNvOnnxParserVersion() noexcept {
  return NV_ONNX_PARSER_VERSION;
}

}  // extern "C"
