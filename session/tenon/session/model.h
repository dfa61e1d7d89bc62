// ONNX models, which become plans.
#ifndef TENON_SESSION_MODEL_H
#define TENON_SESSION_MODEL_H

#include <NvInfer.h>

#include <cstddef>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/session/error_log.h"
#include "tenon/session/result.h"
#include "tenon/session/shape.h"

namespace tenon::session {

/// The shapes that an input may have, or the values if it decides shapes.
struct Range {
  Shape min, opt, max;
};
/// An optimization profile: the range of each input that may vary.
using Ranges = std::map<std::string, Range>;

/// An ONNX model parsed into a network. The caller may change network and configuration before it
/// is built. `log` outlives it.
struct Model {
  std::unique_ptr<nvinfer1::IBuilder> builder;
  std::unique_ptr<nvinfer1::INetworkDefinition> network;
  std::unique_ptr<nvinfer1::IBuilderConfig> config;

  /// An error has every message of the parser.
  /// @param flags of NetworkDefinitionCreationFlag, as createNetworkV2() takes them.
  /// @param prefers_plugins a plugin with an operator's name goes before the parser's own layers.
  static Result<Model> parse_file(const std::string& path, ErrorLog& log, uint32_t flags = 0,
                                  bool prefers_plugins = false) noexcept;
  static Result<Model> parse(std::span<const std::byte> model, ErrorLog& log,
                             uint32_t flags = 0) noexcept;

  /// Inputs that need a range: those with extents known only at run time, and those that decide
  /// shapes. Throws std::bad_alloc.
  std::vector<const nvinfer1::ITensor*> varying_inputs() const;
  /// One more optimization profile. An error names all varying inputs without a range, or what does
  /// not fit. A model in which nothing varies needs none.
  Result<void> add_profile(const Ranges& ranges, ErrorLog& log) noexcept;
  /// The plan.
  Result<std::unique_ptr<nvinfer1::IHostMemory>> build(ErrorLog& log) noexcept;
};

}  // namespace tenon::session

#endif  // TENON_SESSION_MODEL_H
