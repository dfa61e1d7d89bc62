// ICudaEngine, an opened plan, with what configures its contexts and its plan.
#include <NvInferRuntime.h>
#include <nanobind/stl/vector.h>

#include "bind.h"
#include "engine_call.h"
#include "handle.h"
#include "keep.h"
#include "run/bindings_8x.h"

namespace tenon::python {
namespace {

using nvinfer1::Dims;
using nvinfer1::ICudaEngine;
using nvinfer1::IExecutionContext;
using nvinfer1::IRuntimeConfig;
using nvinfer1::ISerializationConfig;
using Selector = nvinfer1::OptProfileSelector;
using Strategy = nvinfer1::ExecutionContextAllocationStrategy;

constexpr Selector kSelectors[] = {Selector::kMIN, Selector::kOPT, Selector::kMAX};

std::vector<Dims> profile_shape(const ICudaEngine& engine, const char* name, int32_t profile) {
  return into_engine([&] {
    std::vector<Dims> shapes;
    for (const Selector selector : kSelectors)
      shapes.push_back(engine.getProfileShape(name, profile, selector));
    return shapes;
  });
}

std::vector<std::vector<int64_t>> profile_values(const ICudaEngine& engine, const char* name,
                                                 int32_t profile) {
  const Dims shape = engine.getTensorShape(name);
  int64_t count = 1;
  for (int32_t i = 0; i < shape.nbDims; ++i) count *= shape.d[i];
  std::vector<std::vector<int64_t>> result;
  for (const Selector selector : kSelectors) {
    const int64_t* const values = engine.getProfileTensorValuesV2(name, profile, selector);
    if (values == nullptr) return {};
    result.emplace_back(values, values + count);
  }
  return result;
}

const char* name_at(const ICudaEngine& engine, int32_t index) {
  const int32_t count = engine.getNbIOTensors();
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw nb::index_error("Out of bounds");
  return engine.getIOTensorName(index);
}

Owned<IExecutionContext> create_context(ICudaEngine& engine, Strategy strategy) {
  return into_engine([&] { return Owned(engine.createExecutionContext(strategy)); });
}

Owned<IExecutionContext> create_context_by_config(ICudaEngine& engine, IRuntimeConfig* config) {
  return into_engine([&] { return Owned(engine.createExecutionContext(config)); });
}

// The overloads of a method for the first and for any profile.
template <class R> auto of_tensor(R (ICudaEngine::*method)(const char*) const noexcept) {
  return engine_call(method);
}
template <class R> auto of_profile(R (ICudaEngine::*method)(const char*, int32_t) const noexcept) {
  return engine_call(method);
}

void bind_tensors(nb::class_<ICudaEngine>& engine) {
  const auto name = nb::arg("name");
  const auto profile = nb::arg("profile_index");
  using E = ICudaEngine;
  engine
      .def_prop_ro("num_io_tensors", engine_call(&E::getNbIOTensors),
                   "The number of inputs and outputs.")
      .def("get_tensor_name", engine_call(&E::getIOTensorName), nb::arg("index"),
           "The name of input or output `index`; None if out of range.")
      .def("get_tensor_mode", engine_call(&E::getTensorIOMode), name,
           "Input, output, or NONE if neither.")
      .def("is_shape_inference_io", engine_call(&E::isShapeInferenceIO), name,
           "Whether the values decide shapes.")
      .def("get_tensor_shape", engine_call(&E::getTensorShape), name,
           "The shape, with -1 for dimensions that vary.")
      .def("get_tensor_dtype", engine_call(&E::getTensorDataType), name)
      .def("get_tensor_location", engine_call(&E::getTensorLocation), name,
           "Where its buffer must lie.")
      .def("get_tensor_bytes_per_component", of_tensor(&E::getTensorBytesPerComponent), name)
      .def("get_tensor_bytes_per_component", of_profile(&E::getTensorBytesPerComponent), name,
           profile, "The size of one component of a vectorised format in bytes; -1 for others.")
      .def("get_tensor_components_per_element", of_tensor(&E::getTensorComponentsPerElement), name)
      .def("get_tensor_components_per_element", of_profile(&E::getTensorComponentsPerElement), name,
           profile, "How many components an element of a vectorised format has; -1 for others.")
      .def("get_tensor_format", of_tensor(&E::getTensorFormat), name)
      .def("get_tensor_format", of_profile(&E::getTensorFormat), name, profile,
           "How the elements lie in memory.")
      .def("get_tensor_format_desc", of_tensor(&E::getTensorFormatDesc), name)
      .def("get_tensor_format_desc", of_profile(&E::getTensorFormatDesc), name, profile,
           "The format in words.")
      .def("get_tensor_vectorized_dim", of_tensor(&E::getTensorVectorizedDim), name)
      .def("get_tensor_vectorized_dim", of_profile(&E::getTensorVectorizedDim), name, profile,
           "The dimension that a vectorised format packs; -1 for others.")
      .def("get_tensor_profile_shape", &profile_shape, name, profile,
           "The smallest, usual and largest shape of an input.")
      .def("get_tensor_profile_values", &profile_values, name, profile,
           "The smallest, usual and largest values of a shape input; an empty list for others.")
      .def(
          "get_tensor_profile_values",
          [](const E& self, int32_t index, const char* tensor) {
            return profile_values(self, tensor, index);
          },
          profile, name, "TensorRT's own order.")
      .def("get_aliased_input_tensor", engine_call(&E::getAliasedInputTensor), name,
           "The input whose buffer an output must share; None if none.")
      .def("is_debug_tensor", engine_call(&E::isDebugTensor), name,
           "Whether it was marked for debugging.")
      .def("__getitem__", &name_at, nb::arg("index"));
  make_iterable(engine, "def __iter__(self) -> collections.abc.Iterator[str]");
}

void bind_plan(nb::class_<ICudaEngine>& engine) {
  using E = ICudaEngine;
  engine
      .def(
          "serialize",
          [](const E& self) { return into_engine([&] { return Owned(self.serialize()); }); },
          "The plan.")
      .def("create_serialization_config",
           [](E& self) {
             return into_engine([&] { return Owned(self.createSerializationConfig()); });
           })
      .def(
          "serialize_with_config",
          [](const E& self, ISerializationConfig& config) {
            return into_engine([&] { return Owned(self.serializeWithConfig(config)); });
          },
          nb::arg("config"), "The plan written as configured; None on failure.")
      .def_prop_ro("name", engine_call(&E::getName), "The name of the network.")
      .def_prop_ro("num_layers", engine_call(&E::getNbLayers),
                   "The number of layers after optimization.")
      .def_prop_ro("num_optimization_profiles", engine_call(&E::getNbOptimizationProfiles))
      .def_prop_ro("has_implicit_batch_dimension", engine_call(&E::hasImplicitBatchDimension))
      .def_prop_ro("refittable", engine_call(&E::isRefittable), "Whether weights can be changed.")
      .def_prop_ro("engine_capability", engine_call(&E::getEngineCapability))
      .def_prop_ro("tactic_sources", engine_call(&E::getTacticSources))
      .def_prop_ro("profiling_verbosity", engine_call(&E::getProfilingVerbosity))
      .def_prop_ro("hardware_compatibility_level", engine_call(&E::getHardwareCompatibilityLevel))
      .def_prop_ro("num_aux_streams", engine_call(&E::getNbAuxStreams),
                   "The number of streams that a run uses besides the one it is given.")
      .def("get_engine_stat", engine_call(&E::getEngineStat),
           nb::arg("stat") = nvinfer1::EngineStat::kTOTAL_WEIGHTS_SIZE,
           "One number about the engine; -1 if it is not known.")
      .def(
          "create_engine_inspector",
          [](const E& self) {
            return into_engine([&] { return Owned(self.createEngineInspector()); });
          },
          of_parent(), "An inspector of the engine's layers.")
      .def_prop_rw("error_recorder", engine_call(&E::getErrorRecorder),
                   engine_call(&E::setErrorRecorder), nb::rv_policy::reference_internal,
                   nb::for_setter(nb::arg("recorder").none()),
                   nb::for_setter(keeps_as<"error_recorder">()), "Where errors are recorded.");
}

void bind_memory(nb::class_<ICudaEngine>& engine) {
  using E = ICudaEngine;
  engine
      .def_prop_ro("device_memory_size", engine_call(&E::getDeviceMemorySize),
                   "The scratch memory of a context in bytes, for the largest profile.")
      .def_prop_ro("device_memory_size_v2", engine_call(&E::getDeviceMemorySizeV2),
                   "The scratch memory of a context in bytes, for the largest profile.")
      .def("get_device_memory_size_for_profile", engine_call(&E::getDeviceMemorySizeForProfile),
           nb::arg("profile_index"))
      .def("get_device_memory_size_for_profile_v2",
           engine_call(&E::getDeviceMemorySizeForProfileV2), nb::arg("profile_index"))
      .def_prop_rw("weight_streaming_budget", engine_call(&E::getWeightStreamingBudget),
                   engine_call(&E::setWeightStreamingBudget))
      .def_prop_rw("weight_streaming_budget_v2", engine_call(&E::getWeightStreamingBudgetV2),
                   engine_call(&E::setWeightStreamingBudgetV2))
      .def_prop_ro("minimum_weight_streaming_budget",
                   engine_call(&E::getMinimumWeightStreamingBudget))
      .def_prop_ro("streamable_weights_size", engine_call(&E::getStreamableWeightsSize))
      .def("get_weight_streaming_automatic_budget",
           engine_call(&E::getWeightStreamingAutomaticBudget))
      .def_prop_ro("weight_streaming_scratch_memory_size",
                   engine_call(&E::getWeightStreamingScratchMemorySize));
}

void bind_contexts(nb::class_<ICudaEngine>& engine) {
  engine
      .def("create_execution_context", &create_context, nb::arg("strategy") = Strategy::kSTATIC,
           of_parent(), "A context, which keeps the engine; None on failure.")
      .def("create_execution_context", &create_context_by_config,
           nb::arg("runtime_config").none() = nb::none(), of_parent(), keeps<0, 2>(),
           "A context as configured; None on failure.")
      .def(
          "create_execution_context_without_device_memory",
          [](ICudaEngine& self) {
            return into_engine(
                [&] { return Owned(self.createExecutionContextWithoutDeviceMemory()); });
          },
          of_parent(), "A context that runs in memory set as its device_memory; None on failure.")
      .def(
          "create_runtime_config",
          [](ICudaEngine& self) {
            return into_engine([&] { return Owned(self.createRuntimeConfig()); });
          },
          "A configuration of contexts.");
}

}  // namespace

void bind_engine(nb::module_& m) {
  handle_class<ISerializationConfig>(m, "ISerializationConfig", "How a plan is written.")
      .def_prop_rw("flags", engine_call(&ISerializationConfig::getFlags),
                   engine_call(&ISerializationConfig::setFlags),
                   "Bit n stands for value n of SerializationFlag.")
      .def("clear_flag", engine_call(&ISerializationConfig::clearFlag), nb::arg("flag"))
      .def("set_flag", engine_call(&ISerializationConfig::setFlag), nb::arg("flag"))
      .def("get_flag", engine_call(&ISerializationConfig::getFlag), nb::arg("flag"));
  handle_class<IRuntimeConfig>(m, "IRuntimeConfig", "How a context is made.")
      .def("set_execution_context_allocation_strategy",
           engine_call(&IRuntimeConfig::setExecutionContextAllocationStrategy),
           nb::arg("strategy") = Strategy::kSTATIC, "Sets when a context allocates its memory.")
      .def("get_execution_context_allocation_strategy",
           engine_call(&IRuntimeConfig::getExecutionContextAllocationStrategy));
  auto engine = handle_class<ICudaEngine>(
      m, "ICudaEngine", "An opened plan; several threads may use it. Keeps its runtime.");
  bind_tensors(engine);
  bind_plan(engine);
  bind_memory(engine);
  bind_contexts(engine);
  bind_engine_8x(engine);
}

}  // namespace tenon::python
