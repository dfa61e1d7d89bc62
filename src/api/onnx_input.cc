#include "api/onnx_input.h"

namespace tenon {
namespace {

class ParserError final : public nvonnxparser::IParserError {
 public:
  explicit ParserError(ImportProblem problem) : problem_(std::move(problem)) {
    problem_.text = with_code(problem_.text, problem_.error_class);
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

}  // namespace

const nvonnxparser::IParserError* OnnxInput::error(int index) const {
  const bool exists = index >= 0 && index < error_count();
  return exists ? errors_[static_cast<size_t>(index)].get() : nullptr;
}

void OnnxInput::add_error(const ImportProblem& problem) {
  errors_.push_back(std::make_shared<const ParserError>(problem));
  reporter_.log().error("{}", errors_.back()->desc());
}

OnnxInput::Bytes OnnxInput::bytes_of(const void* model, size_t size) {
  require(model != nullptr, "the model is null");
  return {static_cast<const std::byte*>(model), size};
}

bool OnnxInput::import(Bytes model, const std::string& path, bool prefer_plugins, Network& network,
                       ImportReport& report) {
  ImportOptions options;
  options.model_path = path;
  options.log = reporter_.log();
  options.prefer_plugins = prefer_plugins;
  options.initializers = initializers_;
  try {
    import_onnx(model, options, network, report);
    return true;
  } catch (const Error&) {  // it repeats the first problem
    for (const ImportProblem& problem : report.problems) add_error(problem);
    return false;
  }
}

bool OnnxInput::load_model(const void* model, size_t size, const char* path) {
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
}

void OnnxInput::load_initializer(const char* name, const void* data, size_t size) {
  require(name != nullptr && (data != nullptr || size == 0), "the name or the data is null");
  require(!loaded_model_.empty(), "call loadModelProto first");
  require(loadable_.contains(name), "the model has no initializer '{}'", name);
  initializers_[name] = {static_cast<const std::byte*>(data), size};
}

}  // namespace tenon
