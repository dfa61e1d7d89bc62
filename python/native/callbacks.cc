// What users write in Python to follow builds and runs: monitors, profilers, recorders, listeners.
#include <NvInfer.h>

#include <atomic>
#include <cstdio>
#include <set>
#include <string>

#include "bind.h"
#include "callback.h"

namespace tenon::python {
namespace {

using nvinfer1::APILanguage;
using nvinfer1::DataType;
using nvinfer1::Dims;
using nvinfer1::ErrorCode;
using nvinfer1::TensorLocation;
using nvinfer1::v_1_0::IDebugListener;
using nvinfer1::v_1_0::IErrorRecorder;
using nvinfer1::v_1_0::IProfiler;
using nvinfer1::v_1_0::IProgressMonitor;

class PythonProfiler : public IProfiler {
 public:
  NB_TRAMPOLINE(IProfiler);
  void reportLayerTime(const char* layer, float milliseconds) noexcept override {
    into_python("report_layer_time",
                [&] { call_override(nb_trampoline, "report_layer_time", layer, milliseconds); });
  }
};

class Profiler final : public IProfiler {
 public:
  void reportLayerTime(const char* layer, float milliseconds) noexcept override {
    std::printf("%s: %gms\n", layer, static_cast<double>(milliseconds));
  }
};

class PythonProgressMonitor : public IProgressMonitor {
 public:
  NB_TRAMPOLINE(IProgressMonitor);
  void phaseStart(const char* phase, const char* parent, int32_t steps) noexcept override {
    into_python("phase_start",
                [&] { call_override(nb_trampoline, "phase_start", phase, parent, steps); });
  }
  bool stepComplete(const char* phase, int32_t step) noexcept override {
    return into_python(false, "step_complete", [&] {
      return truth(call_override(nb_trampoline, "step_complete", phase, step));
    });
  }
  void phaseFinish(const char* phase) noexcept override {
    into_python("phase_finish", [&] { call_override(nb_trampoline, "phase_finish", phase); });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

class PythonErrorRecorder : public IErrorRecorder {
 public:
  NB_TRAMPOLINE(IErrorRecorder);
  int32_t getNbErrors() const noexcept override {
    return into_python(0, "num_errors", [&] {
      return nb::cast<int32_t>(call_override(nb_trampoline, "num_errors"));
    });
  }
  ErrorCode getErrorCode(int32_t index) const noexcept override {
    return into_python(ErrorCode::kINVALID_ARGUMENT, "get_error_code", [&] {
      return nb::cast<ErrorCode>(call_override(nb_trampoline, "get_error_code", index));
    });
  }
  ErrorDesc getErrorDesc(int32_t index) const noexcept override {
    return into_python("", "get_error_desc", [&] {
      const nb::str text(call_override(nb_trampoline, "get_error_desc", index));
      return texts_.emplace(text.c_str()).first->c_str();
    });
  }
  bool hasOverflowed() const noexcept override {
    return into_python(false, "has_overflowed",
                       [&] { return truth(call_override(nb_trampoline, "has_overflowed")); });
  }
  void clear() noexcept override {
    into_python("clear", [&] {
      call_override(nb_trampoline, "clear");
      texts_.clear();
    });
  }
  bool reportError(ErrorCode code, ErrorDesc text) noexcept override {
    return into_python(false, "report_error", [&] {
      return truth(call_override(nb_trampoline, "report_error", code, text));
    });
  }
  RefCount incRefCount() noexcept override { return ++users_; }
  RefCount decRefCount() noexcept override { return --users_; }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }

 private:
  std::atomic<RefCount> users_ = 0;
  mutable std::set<std::string> texts_;  // given out until clear(); the GIL guards them
};

class PythonDebugListener : public IDebugListener {
 public:
  NB_TRAMPOLINE(IDebugListener);
  bool processDebugTensor(const void* address, TensorLocation location, DataType type,
                          const Dims& shape, const char* name, cudaStream_t stream) override {
    return into_python(false, "process_debug_tensor", [&] {
      const nb::object result =
          call_override(nb_trampoline, "process_debug_tensor", Address::of(address), location, type,
                        Dims(shape), name, Address::of(stream));
      return result.is_none() || truth(result);  // a method without a result has seen the tensor
    });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

void bind_profilers(nb::module_& m) {
  nb::class_<IProfiler, PythonProfiler>(
      m, "IProfiler",
      "Receives the time of each layer after a run. Derive from it and define "
      "report_layer_time().")
      .def(nb::init<>())
      .def("report_layer_time", &required,
           nb::sig("def report_layer_time(self, layer_name: str, ms: float) -> None"),
           "Takes the time of one layer in milliseconds.");
  nb::class_<Profiler, IProfiler>(m, "Profiler", "Prints the time of each layer.")
      .def(nb::init<>())
      .def("report_layer_time", &Profiler::reportLayerTime, nb::arg("layer_name"), nb::arg("ms"));
}

void bind_recorder(nb::module_& m) {
  nb::class_<IErrorRecorder, PythonErrorRecorder> recorder(
      m, "IErrorRecorder",
      "Collects errors. Derive from it and define all methods. Called from several threads.");
  recorder.attr("MAX_DESC_LENGTH") = IErrorRecorder::kMAX_DESC_LENGTH;
  recorder.def(nb::init<>())
      .def("num_errors", &required, nb::sig("def num_errors(self) -> int"))
      .def("get_error_code", &required,
           nb::sig("def get_error_code(self, arg0: int) -> ErrorCodeTRT"))
      .def("get_error_desc", &required, nb::sig("def get_error_desc(self, arg0: int) -> str"))
      .def("has_overflowed", &required, nb::sig("def has_overflowed(self) -> bool"),
           "Whether errors were lost because there was no room.")
      .def("clear", &required, nb::sig("def clear(self) -> None"))
      .def("report_error", &required,
           nb::sig("def report_error(self, arg0: ErrorCodeTRT, arg1: str) -> bool"),
           "Records an error; True if it is fatal for what was going on.");
}

}  // namespace

void bind_callbacks(nb::module_& m) {
  bind_profilers(m);
  bind_recorder(m);
  nb::class_<IProgressMonitor, PythonProgressMonitor>(
      m, "IProgressMonitor",
      "Follows a build, and may stop it. Derive from it and define all methods. Called from "
      "several "
      "threads.")
      .def(nb::init<>())
      .def("phase_start", &required,
           nb::sig("def phase_start(self, phase_name: str, parent_phase: str | None, num_steps: "
                   "int) -> None"),
           "A phase of so many steps begins, as a part of another unless that is None.")
      .def("step_complete", &required,
           nb::sig("def step_complete(self, phase_name: str, step: int) -> bool"),
           "A step of a phase is done, the first being 0; False stops the build.")
      .def("phase_finish", &required, nb::sig("def phase_finish(self, phase_name: str) -> None"),
           "A phase ends.");
  nb::class_<IDebugListener, PythonDebugListener>(
      m, "IDebugListener",
      "Receives tensors marked for debugging. Derive from it and define process_debug_tensor().")
      .def(nb::init<>())
      .def("process_debug_tensor", &required,
           nb::sig("def process_debug_tensor(self, addr: int, location: TensorLocation, type: "
                   "DataType, shape: Dims, name: str, stream: int) -> bool"),
           "Takes one tensor, at address `addr`, valid during the call; False on failure.");
}

}  // namespace tenon::python
