// Runtime, which opens plans.
#include <NvInferRuntime.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bind.h"
#include "engine_call.h"
#include "handle.h"
#include "keep.h"

namespace tenon::python {
namespace {

using nvinfer1::ICudaEngine;
using nvinfer1::IRuntime;

template <class Reader> Owned<ICudaEngine> open_stream(IRuntime& runtime, Reader& reader) {
  return into_engine([&] { return Owned(runtime.deserializeCudaEngine(reader)); });
}

}  // namespace

void bind_runtime(nb::module_& m) {
  handle_class<IRuntime>(m, "Runtime", "Opens plans. Keeps its logger.")
      .def(nb::new_([](nvinfer1::ILogger& logger) {
             return into_engine([&] { return Owned(nvinfer1::createInferRuntime(logger)); });
           }),
           nb::arg("logger"), keeps<0, 2>())
      .def(
          "deserialize_cuda_engine",
          [](IRuntime& self, const Bytes& plan) {
            return into_engine(
                [&] { return Owned(self.deserializeCudaEngine(plan.data(), plan.size())); });
          },
          nb::arg("serialized_engine"), of_parent(),
          "Opens a plan; None, with the reason logged, if it is damaged, of another version, or "
          "needs a plugin that is not there.")
      .def("deserialize_cuda_engine", &open_stream<nvinfer1::IStreamReader>,
           nb::arg("stream_reader"), of_parent(),
           "Opens a plan that is read front to back; None on failure.")
      .def("deserialize_cuda_engine", &open_stream<nvinfer1::IStreamReaderV2>,
           nb::arg("stream_reader_v2"), of_parent(),
           "Opens a plan that is read in any order; None on failure.")
      .def(
          "load_runtime",
          [](IRuntime& self, const char* path) {
            return into_engine([&] { return Owned(self.loadRuntime(path)); });
          },
          nb::arg("path"), of_parent(), "Loads another runtime library; None on failure.")
      .def_prop_rw("DLA_core", engine_call(&IRuntime::getDLACore),
                   engine_call(&IRuntime::setDLACore), "The DLA core; -1 if none was chosen.")
      .def_prop_ro("num_DLA_cores", engine_call(&IRuntime::getNbDLACores), "0: there is no DLA.")
      .def_prop_ro("logger", engine_call(&IRuntime::getLogger), nb::rv_policy::reference_internal,
                   "The logger that the runtime was made with.")
      .def_prop_rw("max_threads", engine_call(&IRuntime::getMaxThreads),
                   engine_call(&IRuntime::setMaxThreads),
                   "The limit of threads, the calling one included.")
      .def_prop_rw(
          "temporary_directory", engine_call(&IRuntime::getTemporaryDirectory),
          [](IRuntime& self, const std::optional<std::string>& path) {
            self.setTemporaryDirectory(path ? path->c_str() : nullptr);
          },
          "Where temporary files go; None for the system's choice.")
      .def_prop_rw("tempfile_control_flags", engine_call(&IRuntime::getTempfileControlFlags),
                   engine_call(&IRuntime::setTempfileControlFlags),
                   "Bit n stands for value n of TempfileControlFlag.")
      .def_prop_rw("engine_host_code_allowed", engine_call(&IRuntime::getEngineHostCodeAllowed),
                   engine_call(&IRuntime::setEngineHostCodeAllowed),
                   "Whether plans may contain code that runs on the host.")
      .def_prop_rw("error_recorder", engine_call(&IRuntime::getErrorRecorder),
                   engine_call(&IRuntime::setErrorRecorder), nb::rv_policy::reference_internal,
                   nb::for_setter(nb::arg("recorder").none()),
                   nb::for_setter(keeps_as<"error_recorder">()), "Where errors are recorded.")
      .def_prop_rw("gpu_allocator", nullptr, engine_call(&IRuntime::setGpuAllocator),
                   nb::for_setter(nb::arg("allocator").none()),
                   nb::for_setter(keeps_as<"gpu_allocator">()),
                   "Allocates the device memory of engines opened from now on; can be set only.");
}

}  // namespace tenon::python
