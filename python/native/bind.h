// The parts of the module _native, and what several of them need. Each part binds some of
// TensorRT's classes under TensorRT's own Python names; classes that others derive from come first.
#pragma once

#include <nanobind/nanobind.h>

#include "enum_caster.h"

namespace nb = nanobind;

namespace tenon::python {

/// A result whose class depends on the call: type checkers take it for anything.
using Any = nb::typed<nb::object, nb::any>;

/// Lets objects that have an index be iterated; `signature` says over what. Python would do so by
/// itself, but type checkers would not know.
template <class Class> void make_iterable(Class& bound, const char* signature) {
  bound.def(
      "__iter__", [](nb::handle self) { return nb::steal(PySeqIter_New(self.ptr())); },
      nb::sig(signature));
}
constexpr const char* kOverIntegers = "def __iter__(self) -> collections.abc.Iterator[int]";

void bind_logger(nb::module_& m);
void bind_enums(nb::module_& m);
void bind_layer_enums(nb::module_& m);
void bind_dims(nb::module_& m);
void bind_weights(nb::module_& m);
void bind_plugin_descs(nb::module_& m);
void bind_gpu_memory(nb::module_& m);
void bind_cpp_plugins(nb::module_& m);
void bind_plugin_registry(nb::module_& m);
void bind_plugin_layers(nb::module_& m);
void bind_plugin_libraries(nb::module_& m);
void bind_plugin_checks(nb::module_& m);
void bind_tensors(nb::module_& m);
void bind_pointwise_layers(nb::module_& m);
void bind_window_layers(nb::module_& m);
void bind_reduce_layers(nb::module_& m);
void bind_shape_layers(nb::module_& m);
void bind_control_layers(nb::module_& m);
void bind_attention_layers(nb::module_& m);
void bind_network(nb::module_& m);
void bind_allocators(nb::module_& m);
void bind_callbacks(nb::module_& m);
void bind_streams(nb::module_& m);
void bind_calibrators(nb::module_& m);
void bind_algorithms(nb::module_& m);
void bind_host_memory(nb::module_& m);
void bind_profile(nb::module_& m);
void bind_builder(nb::module_& m);
void bind_builder_config(nb::module_& m);
void bind_parser(nb::module_& m);
void bind_runtime(nb::module_& m);
void bind_engine(nb::module_& m);
void bind_context(nb::module_& m);
void bind_inspector(nb::module_& m);
void bind_timing_cache(nb::module_& m);
void bind_session(nb::module_& m);
void bind_pipeline(nb::module_& m);
void bind_plan_file(nb::module_& m);
void bind_refitter(nb::module_& m);
void bind_extensions(nb::module_& m);
void bind_cudart(nb::module_& package);
void bind_onnx(nb::module_& package);

}  // namespace tenon::python
