// What a parser and a refitter of ONNX models share: models as bytes or files, initializers that
// the application gives itself, and the errors that are kept for it.
#pragma once

#include <NvOnnxParser.h>

#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "api/guard.h"
#include "base/file.h"
#include "import/import.h"

namespace tenon {

class OnnxInput {
 public:
  using Bytes = std::span<const std::byte>;

  explicit OnnxInput(nvinfer1::ILogger& logger) : reporter_(&logger) {}

  const Reporter& reporter() const { return reporter_; }
  int error_count() const { return static_cast<int>(errors_.size()); }
  /// Null where there is none of that number.
  const nvonnxparser::IParserError* error(int index) const;
  void clear_errors() { errors_.clear(); }
  /// Keeps an error; the logger has it, too.
  void add_error(const ImportProblem& problem);

  /// Throws when the model is null.
  static Bytes bytes_of(const void* model, size_t size);
  static std::string text_of(const char* text) { return text != nullptr ? text : ""; }

  /// Whether the model was imported; its problems are kept as errors.
  bool import(Bytes model, const std::string& path, bool prefer_plugins, Network& network,
              ImportReport& report);
  /// The bytes of a file, to `body`; a file that cannot be read is kept as an error.
  template <class Body> bool with_file(const char* file, Body&& body) {
    require(file != nullptr, "fileName is null");
    std::shared_ptr<const MappedFile> mapped;
    return with_errors([&] { mapped = MappedFile::open(file); }) && body(mapped->bytes());
  }
  /// Keeps what `body` throws as an error; whether it ended normally.
  template <class Body> bool with_errors(Body&& body) {
    try {
      body();
      return true;
    } catch (const Error& e) {
      add_error({nvonnxparser::ErrorCode::kMODEL_DESERIALIZE_FAILED,
                 e.what(),
                 -1,
                 "",
                 "",
                 e.error_class(),
                 {}});
      return false;
    }
  }

  /// loadModelProto(): the model is copied.
  bool load_model(const void* model, size_t size, const char* path);
  /// loadInitializer(): the data stay the application's until the model is taken.
  void load_initializer(const char* name, const void* data, size_t size);
  /// The model that was loaded, and its path, to `body`; it is forgotten afterwards.
  template <class Body> bool take_model(Body&& body) {
    require(!loaded_model_.empty(), "call loadModelProto first");
    const bool fine = body(Bytes(loaded_model_), loaded_path_);
    loaded_model_ = {};
    initializers_.clear();
    return fine;
  }

 private:
  Reporter reporter_;
  std::vector<std::shared_ptr<const nvonnxparser::IParserError>> errors_;
  std::vector<std::byte> loaded_model_;
  std::set<std::string> loadable_;  // its initializers
  std::string loaded_path_;
  std::map<std::string, Bytes> initializers_;
};

}  // namespace tenon
