#include <NvInferVersion.h>

#include "bind.h"

NB_MODULE(_native, m) {
  using namespace tenon::python;
  m.doc() = "TensorRT's classes over Tenon's library. `tenon.tensorrt` shows them.";
  // Objects that the interpreter does not collect at its end are no fault of the user's.
  nb::set_leak_warnings(false);
  // A TypeError says it.
  nb::set_implicit_cast_warnings(false);
  m.attr("_tenon_version") = TENON_VERSION;
  m.attr("_has_cuda_target") = TENON_HAS_CUDA_TARGET != 0;
  m.attr("_version") =
      nb::make_tuple(NV_TENSORRT_MAJOR, NV_TENSORRT_MINOR, NV_TENSORRT_PATCH, NV_TENSORRT_BUILD);
  bind_logger(m);
  bind_enums(m);
  bind_layer_enums(m);
  bind_dims(m);
  bind_weights(m);
  bind_plugin_descs(m);
  bind_gpu_memory(m);
  bind_cpp_plugins(m);
  bind_plugin_registry(m);
  bind_tensors(m);
  bind_pointwise_layers(m);
  bind_window_layers(m);
  bind_reduce_layers(m);
  bind_shape_layers(m);
  bind_control_layers(m);
  bind_attention_layers(m);
  bind_network(m);
  bind_allocators(m);
  bind_callbacks(m);
  bind_streams(m);
  bind_calibrators(m);
  bind_algorithms(m);
  bind_host_memory(m);
  bind_profile(m);
  bind_builder(m);
  bind_builder_config(m);
  bind_parser(m);
  bind_runtime(m);
  bind_engine(m);
  bind_context(m);
  bind_inspector(m);
  bind_timing_cache(m);
  bind_plugin_layers(m);
  bind_plugin_libraries(m);
  bind_plugin_checks(m);
  bind_session(m);
  bind_pipeline(m);
  bind_plan_file(m);
  bind_refitter(m);
  bind_extensions(m);
  bind_cudart(m);
  bind_onnx(m);
}
