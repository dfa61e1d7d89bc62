#include "plugins/plugin_fields.h"

#include <NvInferRuntime.h>
#include <nanobind/stl/string.h>

#include "plugins/python_object.h"

namespace tenon::python {
namespace {

using nvinfer1::PluginField;
using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginFieldType;

constexpr const char* kFieldsModule = "tenon.tensorrt.plugin_fields";

size_t byte_count(PluginFieldType type, int32_t length) {
  const auto count = static_cast<size_t>(length < 0 ? 0 : length);
  switch (type) {
    case PluginFieldType::kFLOAT64:
    case PluginFieldType::kINT64:
      return count * 8;
    case PluginFieldType::kFLOAT32:
    case PluginFieldType::kINT32:
      return count * 4;
    case PluginFieldType::kFLOAT16:
    case PluginFieldType::kINT16:
    case PluginFieldType::kBF16:
      return count * 2;
    case PluginFieldType::kINT4:
    case PluginFieldType::kFP4:
      return (count + 1) / 2;
    case PluginFieldType::kDIMS:
      return count * sizeof(nvinfer1::Dims);
    default:
      return count;
  }
}

}  // namespace

Fields::Fields(nb::handle collection, const std::string& what) {
  if (collection.is_none()) return;
  try {
    for (nb::handle field : collection) add(field, what);
  } catch (...) {
    for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
    buffers_.clear();
    throw;
  }
  collection_ = {static_cast<int32_t>(fields_.size()), fields_.data()};
}

void Fields::add(nb::handle field, const std::string& what) {
  if (!nb::isinstance(field, python_class(kFieldsModule, "PluginField"))) {
    const std::string message =
        what + " holds " + nb::repr(field).c_str() + "; expected PluginField objects";
    throw nb::type_error(message.c_str());
  }
  names_.push_back(std::make_unique<std::string>(nb::cast<std::string>(field.attr("name"))));
  const auto type = nb::cast<PluginFieldType>(field.attr("type"));
  const auto size = nb::cast<int32_t>(field.attr("size"));
  const void* data = nullptr;
  const nb::object bytes = field.attr("_array");
  if (!bytes.is_none()) {
    Py_buffer buffer;
    if (PyObject_GetBuffer(bytes.ptr(), &buffer, PyBUF_SIMPLE) != 0) throw nb::python_error();
    buffers_.push_back(buffer);
    data = buffer.buf;
    if (const size_t wanted = byte_count(type, size); wanted > static_cast<size_t>(buffer.len)) {
      const std::string message = "PluginField '" + *names_.back() + "' has the size "
                                  + std::to_string(size) + ", which is " + std::to_string(wanted)
                                  + " bytes; its data has " + std::to_string(buffer.len);
      throw nb::value_error(message.c_str());
    }
  }
  fields_.emplace_back(names_.back()->c_str(), data, type, size);
}

Fields::~Fields() {
  if (buffers_.empty() || !python_lives()) return;
  const nb::gil_scoped_acquire held;
  for (Py_buffer& buffer : buffers_) PyBuffer_Release(&buffer);
}

Any fields_to_python(const PluginFieldCollection* fields, bool with_values) {
  nb::list list;
  for (int32_t i = 0; fields != nullptr && fields->fields != nullptr && i < fields->nbFields; ++i) {
    const PluginField& field = fields->fields[i];
    nb::object made = python_class(kFieldsModule, "PluginField")(
        nb::str(field.name == nullptr ? "" : field.name), nb::none(), field.type);
    if (with_values && field.data != nullptr)
      made.attr("data") = nb::bytes(field.data, byte_count(field.type, field.length));
    made.attr("size") = field.length;
    list.append(made);
  }
  return python_class(kFieldsModule, "PluginFieldCollection_")(list);
}

}  // namespace tenon::python
