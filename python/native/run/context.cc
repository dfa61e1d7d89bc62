// IExecutionContext: one use of an engine.
#include <NvInferRuntime.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string>

#include "bind.h"
#include "engine_call.h"
#include "handle.h"
#include "keep.h"
#include "member.h"
#include "run/bindings_8x.h"

namespace tenon::python {
namespace {

using nvinfer1::IExecutionContext;
using Context = IExecutionContext;

bool execute_v2(Context& context, const std::vector<Address>& bindings) {
  const Bindings given = bindings_of(context, bindings);
  return into_engine([&] { return context.executeV2(given.all.data() + given.first); });
}

// The names of what is missing; TensorRT gives an empty list also when the engine fails.
std::vector<const char*> infer_shapes(Context& context) {
  std::vector<const char*> names(static_cast<size_t>(context.getEngine().getNbIOTensors()));
  const int32_t missing = into_engine(
      [&] { return context.inferShapes(static_cast<int32_t>(names.size()), names.data()); });
  names.resize(missing > 0 ? std::min(static_cast<size_t>(missing), names.size()) : 0);
  return names;
}

void bind_tensors(nb::class_<Context>& context) {
  const auto name = nb::arg("name");
  context
      .def("set_input_shape", member(&Context::setInputShape), name, nb::arg("shape"),
           "Sets the shape of an input; False if it is not in the range of the profile.")
      .def("get_tensor_shape", engine_call(&Context::getTensorShape), name,
           "The shape of an input or output, with -1 for what is not known yet.")
      .def("get_tensor_strides", engine_call(&Context::getTensorStrides), name,
           "The strides in elements.")
      .def(
          "set_tensor_address",
          [](Context& self, const char* tensor, Address memory) {
            return into_engine([&] { return self.setTensorAddress(tensor, memory.as()); });
          },
          name, nb::arg("memory"),
          "Sets the buffer of an input or output by its address; False if there is no such "
          "tensor. The buffer must stay while the context runs.")
      .def(
          "get_tensor_address",
          [](const Context& self, const char* tensor) {
            return into_engine([&] { return Address::of(self.getTensorAddress(tensor)); });
          },
          name, "The address that was set; 0 if none.")
      .def("get_max_output_size", engine_call(&Context::getMaxOutputSize), name,
           "The largest size of an output in bytes for the shapes set; -1 if not known.")
      .def("set_output_allocator", engine_call(&Context::setOutputAllocator), name,
           nb::arg("output_allocator").none(), keeps_as<"output_allocator", 3, 2>(),
           "Sets who gives memory to an output; False if there is no such output.")
      .def("get_output_allocator", engine_call(&Context::getOutputAllocator), name,
           nb::rv_policy::reference_internal)
      .def("infer_shapes", &infer_shapes,
           "Computes the outputs' shapes; the names of inputs that lack a shape, value or address.")
      .def_prop_ro("all_binding_shapes_specified",
                   engine_call(&Context::allInputDimensionsSpecified))
      .def_prop_ro("all_shape_inputs_specified", engine_call(&Context::allInputShapesSpecified));
}

void bind_runs(nb::class_<Context>& context) {
  context
      .def("execute_v2", &execute_v2, nb::arg("bindings"),
           "Runs and waits. `bindings` are the addresses of all inputs and outputs in the order of "
           "get_tensor_name(). False on failure.")
      .def(
          "execute_async_v3",
          [](Context& self, Address stream) {
            return into_engine([&] { return self.enqueueV3(stream.as<CUstream_st>()); });
          },
          nb::arg("stream_handle"),
          "Puts a run into a stream; waits only for runs that call plugins or "
          "callbacks of the application on the CPU. False on failure.")
      .def(
          "set_optimization_profile_async",
          [](Context& self, int32_t profile, Address stream) {
            return into_engine([&] {
              return self.setOptimizationProfileAsync(profile, stream.as<CUstream_st>());
            });
          },
          nb::arg("profile_index"), nb::arg("stream_handle"),
          "Selects a profile, which forgets all shapes; False if there is no such profile.")
      .def(
          "set_input_consumed_event",
          [](Context& self, Address event) {
            return into_engine([&] { return self.setInputConsumedEvent(event.as<CUevent_st>()); });
          },
          nb::arg("event"), "Sets an event recorded once the inputs may be overwritten.")
      .def("get_input_consumed_event",
           [](const Context& self) { return Address::of(self.getInputConsumedEvent()); })
      .def(
          "set_aux_streams",
          [](Context& self, const std::vector<Address>& streams) {
            std::vector<cudaStream_t> handles;
            for (const Address stream : streams) handles.push_back(stream.as<CUstream_st>());
            into_engine(
                [&] { self.setAuxStreams(handles.data(), static_cast<int32_t>(handles.size())); });
          },
          nb::arg("aux_streams"))
      .def_prop_rw("profiler", engine_call(&Context::getProfiler),
                   engine_call(&Context::setProfiler), nb::rv_policy::reference_internal,
                   nb::for_setter(nb::arg("profiler").none()),
                   nb::for_setter(keeps_as<"profiler">()), "Is told the time of each layer.")
      .def_prop_rw("enqueue_emits_profile", engine_call(&Context::getEnqueueEmitsProfile),
                   engine_call(&Context::setEnqueueEmitsProfile),
                   "Whether execute_async_v3() tells the profiler at once.")
      .def("report_to_profiler", engine_call(&Context::reportToProfiler),
           "Tells the profiler about the last run; False if there was none.");
}

void bind_settings(nb::class_<Context>& context) {
  context.def_prop_ro("engine", &Context::getEngine, nb::rv_policy::reference_internal)
      .def_prop_rw("name", engine_call(&Context::getName), engine_call(&Context::setName),
                   "A name for messages.")
      .def_prop_rw(
          "active_optimization_profile", engine_call(&Context::getOptimizationProfile),
          [](Context& self, int32_t profile) {
            if (!into_engine([&] { return self.setOptimizationProfile(profile); }))
              throw nb::value_error(
                  ("profile " + std::to_string(profile) + " cannot be selected; the log says why")
                      .c_str());
          },
          "The profile selected; -1 if none. Setting it is 8.x's way to select one.")
      .def_prop_rw("debug_sync", engine_call(&Context::getDebugSync),
                   engine_call(&Context::setDebugSync), "Whether each kernel is waited for.")
      .def_prop_rw(
          "device_memory", nullptr,
          [](Context& self, Address memory) {
            into_engine([&] { self.setDeviceMemory(memory.as()); });
          },
          "The scratch memory, by its address; can be set only.")
      .def(
          "set_device_memory",
          [](Context& self, Address memory, int64_t size) {
            into_engine([&] { self.setDeviceMemoryV2(memory.as(), size); });
          },
          nb::arg("memory"), nb::arg("size"), "Sets the scratch memory and its size in bytes.")
      .def("update_device_memory_size_for_shapes",
           engine_call(&Context::updateDeviceMemorySizeForShapes),
           "The scratch memory in bytes that the shapes set need; 0 on failure.")
      .def_prop_rw("temporary_allocator", engine_call(&Context::getTemporaryStorageAllocator),
                   engine_call(&Context::setTemporaryStorageAllocator),
                   nb::rv_policy::reference_internal, nb::for_setter(nb::arg("allocator").none()),
                   nb::for_setter(keeps_as<"temporary_allocator">()),
                   "Allocates memory needed for a while.")
      .def_prop_rw("error_recorder", engine_call(&Context::getErrorRecorder),
                   engine_call(&Context::setErrorRecorder), nb::rv_policy::reference_internal,
                   nb::for_setter(nb::arg("recorder").none()),
                   nb::for_setter(keeps_as<"error_recorder">()), "Where errors are recorded.")
      .def_prop_rw("persistent_cache_limit", engine_call(&Context::getPersistentCacheLimit),
                   engine_call(&Context::setPersistentCacheLimit))
      .def_prop_rw("nvtx_verbosity", engine_call(&Context::getNvtxVerbosity),
                   engine_call(&Context::setNvtxVerbosity))
      .def("get_runtime_config", engine_call(&Context::getRuntimeConfig),
           nb::rv_policy::reference_internal,
           "The configuration that the context was made with; None if none.")
      .def(
          "set_communicator",
          [](Context& self, const nb::capsule& communicator) {
            return into_engine(
                [&, pointer = communicator.data()] { return self.setCommunicator(pointer); });
          },
          nb::arg("communicator"));
}

void bind_debugging(nb::class_<Context>& context) {
  context
      .def("set_debug_listener", engine_call(&Context::setDebugListener),
           nb::arg("listener").none(), keeps_as<"debug_listener">(),
           "Sets who is given the tensors marked for debugging.")
      .def("get_debug_listener", engine_call(&Context::getDebugListener),
           nb::rv_policy::reference_internal)
      .def("set_tensor_debug_state", engine_call(&Context::setTensorDebugState), nb::arg("name"),
           nb::arg("flag"), "False if the tensor is not marked for debugging.")
      .def("get_debug_state", engine_call(&Context::getDebugState), nb::arg("name"))
      .def("set_all_tensors_debug_state", engine_call(&Context::setAllTensorsDebugState),
           nb::arg("flag"))
      .def_prop_rw("unfused_tensors_debug_state",
                   engine_call(&Context::getUnfusedTensorsDebugState),
                   engine_call(&Context::setUnfusedTensorsDebugState));
}

}  // namespace

void bind_context(nb::module_& m) {
  auto context = handle_class<Context>(
      m, "IExecutionContext", "One use of an engine, by one thread at a time. Keeps its engine.");
  bind_tensors(context);
  bind_runs(context);
  bind_settings(context);
  bind_debugging(context);
  bind_context_8x(context);
}

}  // namespace tenon::python
