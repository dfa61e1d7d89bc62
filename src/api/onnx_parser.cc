// nvonnxparser: the importer behind IParser.
#include <NvOnnxParser.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <set>

#include "api/network_definition.h"
#include "base/file.h"
#include "import/import.h"
#include "registry/registry.h"

namespace tenon {
namespace {

using nvonnxparser::OnnxParserFlag;
using nvonnxparser::OnnxParserFlags;

class ParserError final : public nvonnxparser::IParserError {
 public:
  explicit ParserError(ImportProblem problem) : problem_(std::move(problem)) {
    for (const std::string& name : problem_.functions) functions_.push_back(name.c_str());
  }
  ParserError(const ParserError&) = delete;
  ParserError& operator=(const ParserError&) = delete;

  nvonnxparser::ErrorCode code() const override { return problem_.code; }
  const char* desc() const override { return problem_.text.c_str(); }
  // Places in our source tell an application nothing.
  const char* file() const override { return ""; }
  int line() const override { return 0; }
  const char* func() const override { return ""; }
  int node() const override { return problem_.node; }
  const char* nodeName() const override { return problem_.node_name.c_str(); }
  const char* nodeOperator() const override { return problem_.node_operator.c_str(); }
  const char* const* localFunctionStack() const override { return functions_.data(); }
  int32_t localFunctionStackSize() const override {
    return static_cast<int32_t>(functions_.size());
  }

 private:
  ImportProblem problem_;
  std::vector<const char*> functions_;
};

class OnnxParser final : public nvonnxparser::IParser {
 public:
  OnnxParser(nvinfer1::INetworkDefinition& definition, nvinfer1::ILogger& logger)
      : definition_(&definition), reporter_(&logger) {}

  bool parse(const void* model, size_t size, const char* path) noexcept override {
    return reporter_.guard(
        false, [&] { return parse_bytes(bytes_of(model, size), text_of(path)); }, "parse");
  }

  bool parseFromFile(const char* file, int /*verbosity*/) noexcept override {
    return reporter_.guard(
        false,
        [&] {
          require(file != nullptr, "fileName is null");
          return with_file(file, [&](auto bytes) { return parse_bytes(bytes, file); });
        },
        "parseFromFile");
  }

  bool supportsModel(const void* model, size_t size, SubGraphCollection_t& collection,
                     const char* path) noexcept override {
    return reporter_.guard(
        false,
        [&] {
          const bool fine = check_model(bytes_of(model, size), text_of(path));
          for (const auto& nodes : subgraphs_)
            collection.emplace_back(std::vector<size_t>(nodes.begin(), nodes.end()), true);
          return fine;
        },
        "supportsModel");
  }

  bool supportsModelV2(const void* model, size_t size, const char* path) noexcept override {
    return reporter_.guard(
        false, [&] { return check_model(bytes_of(model, size), text_of(path)); },
        "supportsModelV2");
  }

  // As in TensorRT's open parser, it is parse() for models without files beside them.
  bool parseWithWeightDescriptors(const void* model, size_t size) noexcept override {
    return reporter_.guard(
        false, [&] { return parse_bytes(bytes_of(model, size), ""); },
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

  int getNbErrors() const noexcept override { return static_cast<int>(errors_.size()); }
  const nvonnxparser::IParserError* getError(int index) const noexcept override {
    const bool exists = index >= 0 && index < getNbErrors();
    return exists ? errors_[static_cast<size_t>(index)].get() : nullptr;
  }
  void clearErrors() noexcept override { errors_.clear(); }

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
        false,
        [&] {
          const auto bytes = bytes_of(model, size);
          loaded_model_.clear();
          return with_errors([&] {
            loadable_.clear();
            for (std::string& name : initializer_names(bytes, text_of(path)))
              loadable_.insert(std::move(name));
            loaded_model_.assign(bytes.begin(), bytes.end());
            loaded_path_ = text_of(path);
            initializers_.clear();
          });
        },
        "loadModelProto");
  }

  // The application keeps the data until parseModelProto() returns.
  bool loadInitializer(const char* name, const void* data, size_t size) noexcept override {
    return reporter_.guard(
        false,
        [&] {
          require(name != nullptr && (data != nullptr || size == 0),
                  "the name or the data is null");
          require(!loaded_model_.empty(), "call loadModelProto first");
          require(loadable_.contains(name), "the model has no initializer '{}'", name);
          initializers_[name] = {static_cast<const std::byte*>(data), size};
          return true;
        },
        "loadInitializer");
  }

  bool parseModelProto() noexcept override {
    return reporter_.guard(
        false,
        [&] {
          require(!loaded_model_.empty(), "call loadModelProto first");
          const bool fine = parse_bytes(loaded_model_, loaded_path_);
          loaded_model_ = {};
          initializers_.clear();
          return fine;
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
  using Bytes = std::span<const std::byte>;
  static constexpr OnnxParserFlag kFlagsOfDla[] = {
      OnnxParserFlag::kENABLE_UINT8_AND_ASYMMETRIC_QUANTIZATION_DLA,
      OnnxParserFlag::kREPORT_CAPABILITY_DLA, OnnxParserFlag::kADJUST_FOR_DLA};

  static OnnxParserFlags bit(OnnxParserFlag flag) {
    return OnnxParserFlags{1} << static_cast<uint32_t>(flag);
  }
  static std::string text_of(const char* text) { return text != nullptr ? text : ""; }
  static Bytes bytes_of(const void* model, size_t size) {
    require(model != nullptr, "the model is null");
    return {static_cast<const std::byte*>(model), size};
  }
  bool has_subgraph(int64_t index) const {
    return index >= 0 && index < static_cast<int64_t>(subgraphs_.size());
  }
  NetworkDefinition& definition() const {
    NetworkDefinition* ours = NetworkDefinition::find(definition_);
    require(ours != nullptr, "the network of this parser has been deleted");
    return *ours;
  }

  // A file that cannot be read is a parser error too, which applications print.
  template <class Body> bool with_file(const char* file, Body&& body) {
    std::shared_ptr<const MappedFile> mapped;
    return with_errors([&] { mapped = MappedFile::open(file); }) && body(mapped->bytes());
  }
  template <class Body> bool with_errors(Body&& body) {
    try {
      body();
      return true;
    } catch (const Error& e) {
      ImportReport report;
      report.problems.push_back(
          {nvonnxparser::ErrorCode::kMODEL_DESERIALIZE_FAILED, e.what(), -1, "", "", {}});
      add_errors(report);
      return false;
    }
  }

  ImportOptions options(const std::string& path) const {
    ImportOptions options;
    options.model_path = path;
    options.log = reporter_.log();
    options.prefer_plugins = getFlag(OnnxParserFlag::kENABLE_PLUGIN_OVERRIDE);
    options.initializers = initializers_;
    return options;
  }

  bool import_into(Network& network, Bytes model, const std::string& path, ImportReport& report) {
    const ImportOptions chosen = options(path);
    try {
      import_onnx(model, chosen, network, report);
      return true;
    } catch (const Error&) {
      add_errors(report);  // the exception repeats the first of these
      return false;
    }
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

  void add_errors(const ImportReport& report) {
    for (const ImportProblem& problem : report.problems) {
      errors_.push_back(std::make_unique<ParserError>(problem));
      reporter_.log().error("{}", problem.text);
    }
  }

  const nvinfer1::INetworkDefinition* definition_;
  Reporter reporter_;
  ImportReport report_;
  std::vector<std::unique_ptr<ParserError>> errors_;
  std::vector<std::vector<int64_t>> subgraphs_;  // nodes of each part that is supported
  OnnxParserFlags flags_ = bit(OnnxParserFlag::kNATIVE_INSTANCENORM);
  std::vector<std::byte> loaded_model_;
  std::set<std::string> loadable_;  // its initializers
  std::string loaded_path_;
  std::map<std::string, Bytes> initializers_;
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

void* createNvOnnxParserRefitter_INTERNAL(void*, void* logger, int32_t) noexcept {
  if (logger != nullptr)
    tenon::Reporter(static_cast<nvinfer1::ILogger*>(logger))
        .run(tenon::not_supported, "createParserRefitter");
  return nullptr;
}

int getNvOnnxParserVersion() noexcept {
  return NV_ONNX_PARSER_VERSION;
}

}  // extern "C"
