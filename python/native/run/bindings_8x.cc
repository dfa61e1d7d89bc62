#include "run/bindings_8x.h"

#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>

#include "engine_call.h"
#include "member.h"

namespace tenon::python {
namespace {

using nvinfer1::Dims;
using nvinfer1::ICudaEngine;
using nvinfer1::IExecutionContext;
using Selector = nvinfer1::OptProfileSelector;

int32_t checked(const ICudaEngine& engine, int32_t index) {
  const int32_t count = engine.getNbBindings();
  if (index < 0 || index >= count)
    throw nb::index_error(("binding " + std::to_string(index) + " does not exist: the engine has "
                           + std::to_string(count))
                              .c_str());
  return index;
}

int32_t index_of(const ICudaEngine& engine, const char* name) {
  const int32_t index = engine.getBindingIndex(name);
  if (index < 0)
    throw nb::value_error(("the engine has no binding named '" + std::string(name) + "'").c_str());
  return index;
}

// A method that takes a binding by its index or by its name.
template <class Method>
void def(nb::class_<ICudaEngine>& engine, const char* name, const char* doc, Method method) {
  engine
      .def(
          name,
          [method](const ICudaEngine& self, int32_t index) {
            return into_engine([&] { return (self.*method)(checked(self, index)); });
          },
          nb::arg("index"), doc)
      .def(
          name,
          [method](const ICudaEngine& self, const char* tensor) {
            return into_engine([&] { return (self.*method)(index_of(self, tensor)); });
          },
          nb::arg("name"));
}

std::vector<Dims> binding_profile_shape(const ICudaEngine& engine, int32_t profile,
                                        int32_t binding) {
  std::vector<Dims> shapes;
  for (const Selector selector : {Selector::kMIN, Selector::kOPT, Selector::kMAX})
    shapes.push_back(engine.getProfileDimensions(checked(engine, binding), profile, selector));
  return shapes;
}

int64_t volume(const Dims& shape) {
  int64_t count = 1;
  for (int32_t i = 0; i < shape.nbDims; ++i) count *= shape.d[i];
  return shape.nbDims < 0 ? -1 : count;
}

std::vector<std::vector<int64_t>> profile_shape_input(const ICudaEngine& engine, int32_t profile,
                                                      int32_t binding) {
  const char* const name = engine.getBindingName(checked(engine, binding));
  const int64_t count = volume(engine.getTensorShape(name));
  std::vector<std::vector<int64_t>> result;
  for (const Selector selector : {Selector::kMIN, Selector::kOPT, Selector::kMAX}) {
    const int64_t* const values = engine.getProfileTensorValuesV2(name, profile, selector);
    if (values == nullptr || count < 0) return {};
    result.emplace_back(values, values + count);
  }
  return result;
}

bool set_binding_shape_input(IExecutionContext& context, int32_t binding,
                             const Given<ShapeValues>& given) {
  std::vector<int32_t> values;
  for (const int64_t value : given.get()) {
    values.push_back(static_cast<int32_t>(value));
    if (values.back() != value)
      throw nb::value_error((std::to_string(value)
                             + " is no int32, which 8.x has for values of "
                               "shape inputs")
                                .c_str());
  }
  const int64_t count = volume(context.getBindingDimensions(binding));
  if (count != static_cast<int64_t>(values.size()))
    throw nb::value_error(("shape input " + std::to_string(binding) + " has "
                           + std::to_string(count) + " values, not "
                           + std::to_string(values.size()))
                              .c_str());
  return context.setInputShapeBinding(binding, values.data());
}

std::vector<int32_t> binding_shape(const IExecutionContext& context, int32_t binding) {
  const int64_t count = volume(context.getBindingDimensions(binding));
  std::vector<int32_t> values(static_cast<size_t>(std::max<int64_t>(count, 0)));
  if (!context.getShapeBinding(binding, values.data()))
    throw std::runtime_error("the values of binding " + std::to_string(binding)
                             + " are not known: it is no shape tensor, or lacks an address");
  return values;
}

bool run(IExecutionContext& context, std::optional<int32_t> batch,
         const std::vector<Address>& addresses, std::optional<Address> stream, Address consumed) {
  const Bindings bindings = bindings_of(context, addresses);
  cudaEvent_t event = consumed.as<CUevent_st>();
  return into_engine([&] {
    if (!stream) return context.execute(*batch, bindings.all.data());
    const cudaStream_t handle = stream->as<CUstream_st>();
    cudaEvent_t* const given = event != nullptr ? &event : nullptr;
    return batch ? context.enqueue(*batch, bindings.all.data(), handle, given)
                 : context.enqueueV2(bindings.all.data(), handle, given);
  });
}

}  // namespace

Bindings bindings_of(const IExecutionContext& context, const std::vector<Address>& addresses) {
  const nvinfer1::ICudaEngine& engine = context.getEngine();
  const auto tensors = static_cast<size_t>(engine.getNbIOTensors());
  const auto count = static_cast<size_t>(engine.getNbBindings());
  Bindings bindings{std::vector<void*>(count), 0};
  bindings.first = tensors * static_cast<size_t>(std::max(context.getOptimizationProfile(), 0));
  if (addresses.size() != tensors && addresses.size() != count)
    throw nb::value_error(("bindings must have an address for each of the engine's "
                           + std::to_string(tensors) + " inputs and outputs, not "
                           + std::to_string(addresses.size()))
                              .c_str());
  const size_t begin = addresses.size() == count ? 0 : bindings.first;
  for (size_t i = 0; i < addresses.size(); ++i) bindings.all[begin + i] = addresses[i].as();
  return bindings;
}

void bind_engine_8x(nb::class_<ICudaEngine>& engine) {
  using E = ICudaEngine;
  engine.def_prop_ro("num_bindings", &E::getNbBindings, "One per input, output and profile.")
      .def_prop_ro("max_batch_size", &E::getMaxBatchSize,
                   "The largest batch of an engine with an implicit batch; 1 for others.")
      .def("__len__", &E::getNbIOTensors)
      .def("__getitem__", &index_of, nb::arg("name"))
      .def("get_binding_index", engine_call(&E::getBindingIndex), nb::arg("name"),
           "The index of a binding; -1 if there is none of this name.")
      .def("get_binding_name", engine_call(&E::getBindingName), nb::arg("index"),
           "The name of a binding; None if out of range.")
      .def("get_profile_shape", &binding_profile_shape, nb::arg("profile_index"),
           nb::arg("binding"))
      .def(
          "get_profile_shape",
          [](const E& self, int32_t profile, const char* name) {
            return binding_profile_shape(self, profile, index_of(self, name));
          },
          nb::arg("profile_index"), nb::arg("binding"))
      .def("get_profile_shape_input", &profile_shape_input, nb::arg("profile_index"),
           nb::arg("binding"))
      .def(
          "get_profile_shape_input",
          [](const E& self, int32_t profile, const char* name) {
            return profile_shape_input(self, profile, index_of(self, name));
          },
          nb::arg("profile_index"), nb::arg("binding"));
  def(engine, "binding_is_input", "Whether the binding is an input.", &E::bindingIsInput);
  def(engine, "get_binding_shape", "The shape, with -1 for what varies.", &E::getBindingDimensions);
  def(engine, "get_binding_dtype", "The type of the elements.", &E::getBindingDataType);
  def(engine, "get_location", "Where the buffer must lie.", &E::getLocation);
  def(engine, "get_binding_bytes_per_component", "See get_tensor_bytes_per_component().",
      &E::getBindingBytesPerComponent);
  def(engine, "get_binding_components_per_element", "See get_tensor_components_per_element().",
      &E::getBindingComponentsPerElement);
  def(engine, "get_binding_format", "How the elements lie in memory.", &E::getBindingFormat);
  def(engine, "get_binding_format_desc", "The format in words.", &E::getBindingFormatDesc);
  def(engine, "get_binding_vectorized_dim", "See get_tensor_vectorized_dim().",
      &E::getBindingVectorizedDim);
  def(engine, "is_shape_binding", "Whether the values decide shapes.", &E::isShapeBinding);
  def(engine, "is_execution_binding", "Whether the tensor is data for the kernels.",
      &E::isExecutionBinding);
}

void bind_context_8x(nb::class_<IExecutionContext>& context) {
  using C = IExecutionContext;
  const auto bindings = nb::arg("bindings");
  const auto batch = nb::arg("batch_size") = 1;
  const auto consumed = nb::arg("input_consumed") = Address();
  context
      .def(
          "execute",
          [](C& self, int32_t size, const std::vector<Address>& addresses) {
            return run(self, size, addresses, std::nullopt, {});
          },
          batch, bindings,
          nb::sig("def execute(self, batch_size: int = 1, "
                  "bindings: collections.abc.Sequence[int] = ...) -> bool"),
          "Runs `batch_size` items and waits; False on failure.")
      .def(
          "execute_async",
          [](C& self, int32_t size, const std::vector<Address>& addresses, Address stream,
             Address event) { return run(self, size, addresses, stream, event); },
          batch, bindings, nb::arg("stream_handle"), consumed,
          nb::sig("def execute_async(self, batch_size: int = 1, "
                  "bindings: collections.abc.Sequence[int] = ..., stream_handle: int = ..., "
                  "input_consumed: int = 0) -> bool"),
          "Runs `batch_size` items on a stream; False on failure.")
      .def(
          "execute_async_v2",
          [](C& self, const std::vector<Address>& addresses, Address stream, Address event) {
            return run(self, std::nullopt, addresses, stream, event);
          },
          bindings, nb::arg("stream_handle"), consumed, "Runs on a stream; False on failure.")
      .def("set_binding_shape", member(&C::setBindingDimensions), nb::arg("binding"),
           nb::arg("shape"),
           "Sets the shape of an input of the selected profile; False if it does not fit.")
      .def("get_binding_shape", engine_call(&C::getBindingDimensions), nb::arg("binding"))
      .def("get_strides", engine_call(&C::getStrides), nb::arg("binding"),
           "The strides in elements.")
      .def("set_shape_input", &set_binding_shape_input, nb::arg("binding"), nb::arg("shape"),
           "Sets the values of a shape input, copied; False if it is not one.")
      .def("get_shape", &binding_shape, nb::arg("binding"), "The values of a shape tensor.");
}

}  // namespace tenon::python
