// EngineInspector: what an engine consists of, as text.
#include <NvInferRuntime.h>

#include "bind.h"
#include "engine_call.h"
#include "handle.h"
#include "keep.h"

namespace tenon::python {

void bind_inspector(nb::module_& m) {
  using Inspector = nvinfer1::IEngineInspector;
  handle_class<Inspector>(m, "EngineInspector",
                          "Tells what an engine consists of, as far as its profiling verbosity "
                          "allows. Keeps its engine.")
      .def("get_layer_information", engine_call(&Inspector::getLayerInformation),
           nb::arg("layer_index"), nb::arg("format"),
           "Describes one layer; None, with the reason logged, if there is no such layer.")
      .def("get_engine_information", engine_call(&Inspector::getEngineInformation),
           nb::arg("format"), "Describes all layers.")
      .def_prop_rw(
          "execution_context", engine_call(&Inspector::getExecutionContext),
          [](Inspector& self, const nvinfer1::IExecutionContext* context) {
            if (!self.setExecutionContext(context))
              throw std::runtime_error("execution_context is of another engine");
          },
          nb::rv_policy::reference_internal, nb::for_setter(nb::arg("context").none()),
          nb::for_setter(keeps_as<"execution_context">()), "A context whose shapes are shown.")
      .def_prop_rw("error_recorder", engine_call(&Inspector::getErrorRecorder),
                   engine_call(&Inspector::setErrorRecorder), nb::rv_policy::reference_internal,
                   nb::for_setter(nb::arg("recorder").none()),
                   nb::for_setter(keeps_as<"error_recorder">()), "Where errors are recorded.");
}

}  // namespace tenon::python
