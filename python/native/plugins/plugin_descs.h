// What plugins are told about their tensors, as Python objects.
#pragma once

#include <NvInferRuntime.h>

#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "plugins/python_object.h"

namespace tenon::python {

/// Whether the engine's objects that a callback was given are still there. Python may keep what it
/// was given for longer.
class Lent {
 public:
  Lent() : live_(std::make_shared<bool>(true)) {}
  Lent(const Lent&) = delete;
  Lent& operator=(const Lent&) = delete;
  ~Lent() { *live_ = false; }
  std::shared_ptr<const bool> live() const { return live_; }

 private:
  std::shared_ptr<bool> live_;
};

/// An object of the engine that Python may use until a callback returns.
template <class T> class Borrowed {
 public:
  Borrowed() = default;
  Borrowed(T* object, std::shared_ptr<const bool> live) : object_(object), live_(std::move(live)) {}
  T& get() const {
    if (live_ == nullptr || !*live_)
      throw std::runtime_error(
          "this object belonged to a call of the plugin that is over; use it only during the call");
    return *object_;
  }
  /// The same for an object that lives as long.
  template <class U> Borrowed<U> with(U* object) const { return {object, live_}; }

 private:
  T* object_ = nullptr;
  std::shared_ptr<const bool> live_;
};
using Expression = Borrowed<const nvinfer1::IDimensionExpr>;
using ExpressionBuilder = Borrowed<nvinfer1::IExprBuilder>;
using ResourceContext = Borrowed<nvinfer1::IPluginResourceContext>;

/// A DimsExprs of Python; dimensions that nobody has set yet are empty.
struct Extents {
  std::vector<std::optional<Expression>> d;
};

nb::list extents_list(const nvinfer1::DimsExprs* shapes, int32_t count, const Lent& lent);

/// The engine's form; throws a ValueError that names the dimension that is not set.
nvinfer1::DimsExprs engine_extents(const Extents& extents, const std::string& what);

/// Copies of `count` values, as a list.
template <class T> nb::list list_of(const T* values, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(nb::cast(values[i]));
  return list;
}

/// Addresses of `count` tensors, as a list of int.
template <class T> nb::list addresses_of(T* const* pointers, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(reinterpret_cast<uintptr_t>(pointers[i]));
  return list;
}

/// The arguments of a plugin's enqueue(), which does not tell how many tensors there are.
struct EnqueueCall {
  const nvinfer1::PluginTensorDesc* input_descs;
  const nvinfer1::PluginTensorDesc* output_descs;
  const void* const* inputs;
  void* const* outputs;
  void* workspace;
  cudaStream_t stream;

  /// Calls enqueue() of the Python object `plugin`.
  nb::object operator()(const nb::object& plugin, int32_t input_count, int32_t output_count) const;
};

}  // namespace tenon::python
