// ILogger, which users derive from, and Logger, which writes to standard error.
#include <NvInfer.h>

#include <cstdio>

#include "bind.h"
#include "engine_call.h"
#include "handle.h"

namespace tenon::python {
namespace {

using nvinfer1::ILogger;
using Severity = ILogger::Severity;

class PythonLogger : public ILogger {
 public:
  NB_TRAMPOLINE(ILogger);
  void log(Severity severity, const char* message) noexcept override {
    into_python("log", [&] { call_override(nb_trampoline, "log", severity, message); });
  }
};

class Logger final : public ILogger {
 public:
  explicit Logger(Severity severity) : min_severity(severity) {}

  void log(Severity severity, const char* message) noexcept override {
    if (severity > min_severity) return;
    static constexpr char kLetters[] = {'F', 'E', 'W', 'I', 'V'};
    std::fprintf(stderr, "[Tenon] [%c] %s\n", kLetters[static_cast<int>(severity)], message);
  }

  Severity min_severity;
};

}  // namespace

void bind_logger(nb::module_& m) {
  auto base = nb::class_<ILogger, PythonLogger>(
      m, "ILogger", "Receives messages. Derive from it and define log(severity, msg).");
  nb::enum_<Severity>(base, "Severity", nb::is_arithmetic(), "How grave a message is.")
      .value("INTERNAL_ERROR", Severity::kINTERNAL_ERROR)
      .value("ERROR", Severity::kERROR)
      .value("WARNING", Severity::kWARNING)
      .value("INFO", Severity::kINFO)
      .value("VERBOSE", Severity::kVERBOSE)
      .export_values();
  base.def(nb::init<>())
      .def("log", &ILogger::log, nb::arg("severity"), nb::arg("msg"),
           "Takes one message. Called from several threads.");
  usable_in_with(base);

  auto logger = nb::class_<Logger, ILogger>(
      m, "Logger", "Writes messages to standard error, from `min_severity` upwards.");
  logger.attr("Severity") = base.attr("Severity");
  logger.def(nb::init<Severity>(), nb::arg("min_severity") = Severity::kWARNING)
      .def_rw("min_severity", &Logger::min_severity, "The least grave severity that is written.");
}

}  // namespace tenon::python
