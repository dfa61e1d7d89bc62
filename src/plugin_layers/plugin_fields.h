// A plugin's serialised fields as one string of bytes, which is how a plan keeps them.
#pragma once

#include <NvInferRuntime.h>

#include <string>
#include <string_view>
#include <vector>

namespace tenon {

/// Copies names, types and data. Throws Error when a field has no name, a negative length, or a
/// length but no data; a null collection has no fields.
std::string flatten_fields(const nvinfer1::PluginFieldCollection* fields);

/// Fields read back. Owns what its collection points to; strings are followed by a NUL.
class StoredFields {
 public:
  /// Throws Error when the bytes are not what flatten_fields() makes.
  explicit StoredFields(std::string_view bytes);
  StoredFields(const StoredFields&) = delete;
  StoredFields& operator=(const StoredFields&) = delete;
  const nvinfer1::PluginFieldCollection& collection() const { return collection_; }

 private:
  std::vector<std::string> names_;
  std::vector<std::vector<std::max_align_t>> data_;
  std::vector<nvinfer1::PluginField> fields_;
  nvinfer1::PluginFieldCollection collection_{0, nullptr};
};

}  // namespace tenon
