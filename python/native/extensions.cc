// What Tenon offers beyond TensorRT: plans and networks as text, limits, plan files opened in
// place.
#include <NvInfer.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <tenon/build.h>
#include <tenon/describe.h>
#include <tenon/limits.h>

#include <cstdint>
#include <optional>
#include <string>

#include "bind.h"
#include "engine_call.h"

namespace tenon::python {
namespace {

// Text of the library; None if it could not be made.
nb::object to_str(const Text& text) {
  if (text == nullptr) return nb::none();
  return nb::str(static_cast<const char*>(text->data()), text->size());
}

DumpFormat format_of(bool json) {
  return json ? DumpFormat::kJSON : DumpFormat::kTEXT;
}

DumpStage stage_of(const std::string& name) {
  if (name == "import") return DumpStage::kIMPORT;
  if (name == "optimize") return DumpStage::kOPTIMIZE;
  if (name == "plan") return DumpStage::kPLAN;
  throw nb::value_error(
      ("stage must be 'import', 'optimize' or 'plan', not '" + name + "'").c_str());
}

CalibrationSearch search_of(const std::string& name) {
  if (name == "percentile") return CalibrationSearch::kPercentile;
  if (name == "mse") return CalibrationSearch::kMeanSquaredError;
  if (name == "calibrator") return CalibrationSearch::kOfCalibrator;
  throw nb::value_error(
      ("name must be 'percentile', 'mse' or 'calibrator', not '" + name + "'").c_str());
}

}  // namespace

void bind_extensions(nb::module_& m) {
  m.def("set_threads", &set_threads, nb::arg("threads"),
        "Sets how many threads engines compute with, at most 1024; 0 means as many as the machine "
        "has. Call it while nothing runs.");
  m.def("threads", &threads, "How many threads engines compute with.");
  m.def("set_import_limit", &set_import_limit, nb::arg("bytes"),
        "Limits the memory of constants that an ONNX model computes; 0 brings back the default.");
  m.def("import_limit", &import_limit, "The limit set by set_import_limit(), in bytes.");
  m.def("set_import_node_limit", &set_import_node_limit, nb::arg("nodes"),
        "Limits the nodes of an ONNX model; 0 brings back the default.");
  m.def("import_node_limit", &import_node_limit, "The limit set by set_import_node_limit().");
  m.def(
      "set_target",
      [](nvinfer1::IBuilderConfig& config, const std::string& name) {
        return set_target(config, name.c_str());
      },
      nb::arg("config"), nb::arg("name"),
      "Builds for the target of that name; '' is the default. False, with the reason logged, when "
      "this machine does not have it.");
  m.def("set_deterministic", &set_deterministic, nb::arg("config"), nb::arg("deterministic"),
        "Whether builds measure nothing, so that the same network and timing cache give the same "
        "plan: the cache decides, or else the order of kernels.");
  m.def(
      "set_calibration_search",
      [](nvinfer1::IBuilderConfig& config, const std::string& name) {
        return set_calibration_search(config, search_of(name));
      },
      nb::arg("config"), nb::arg("name"),
      "How a calibrator's batches give ranges of INT8: 'percentile', 'mse', or 'calibrator' for "
      "the "
      "calibrator's own algorithm, the default.");
  m.def("set_portable", &set_portable, nb::arg("config"), nb::arg("portable"),
        "Whether plans keep the network, so that other machines build it again.");
  m.def(
      "set_weight_growth_limits",
      [](nvinfer1::IBuilderConfig& config, std::optional<size_t> layer,
         std::optional<size_t> plan) {
        return set_weight_growth_limits(config, layer.value_or(SIZE_MAX), plan.value_or(SIZE_MAX));
      },
      nb::arg("config"), nb::arg("layer") = nb::none(), nb::arg("plan") = nb::none(),
      "Limits how many bytes more than in the network weights take in the forms that kernels hold "
      "them in: those of any one layer, and those of a plan. None is no limit.");
  m.def(
      "dump",
      [](nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig& config,
         const std::string& stage, bool json) {
        const DumpStage at = stage_of(stage);
        return to_str(into_engine([&] { return dump(network, config, at, format_of(json)); }));
      },
      nb::arg("network"), nb::arg("config"), nb::arg("stage") = "optimize", nb::arg("json") = false,
      nb::sig("def dump(network: INetworkDefinition, config: IBuilderConfig, stage: str = "
              "'optimize', json: bool = False) -> str | None"),
      "Describes a network as imported ('import'), after the optimizer ('optimize'), or compiled "
      "('plan'); None, with the reason logged, if that stage fails.");
  m.def(
      "describe_machine", [] { return to_str(into_engine(&describe_machine)); },
      nb::sig("def describe_machine() -> str"), "What this process runs on, as JSON.");
  m.def(
      "describe_operators", [] { return to_str(into_engine(&describe_operators)); },
      nb::sig("def describe_operators() -> str"),
      "The ONNX operators that the parser knows, as JSON.");
}

}  // namespace tenon::python
