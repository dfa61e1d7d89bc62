// Attributes of plugins: TensorRT's C structures and the Python classes for them.
#pragma once

#include <NvInferPluginBase.h>

#include <memory>
#include <string>
#include <vector>

#include "bind.h"
#include "engine_call.h"

namespace tenon::python {

/// The fields of a Python collection as the engine reads them. Keeps the values alive. All but
/// collection() needs the GIL; the destructor takes it.
class Fields {
 public:
  Fields() = default;
  /// @param collection a sequence of PluginField, or None; `what` names it in errors.
  Fields(nb::handle collection, const std::string& what);
  Fields(const Fields&) = delete;
  Fields& operator=(const Fields&) = delete;
  ~Fields();
  const nvinfer1::PluginFieldCollection* collection() const { return &collection_; }

 private:
  void add(nb::handle field, const std::string& what);

  std::vector<Py_buffer> buffers_;
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<nvinfer1::PluginField> fields_;
  nvinfer1::PluginFieldCollection collection_{0, nullptr};
};

/// A PluginFieldCollection_ with copies of the fields, and of the values if `with_values`: what a
/// creator says of the fields it takes has none.
Any fields_to_python(const nvinfer1::PluginFieldCollection* fields, bool with_values);

}  // namespace tenon::python
