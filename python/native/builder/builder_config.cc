// IBuilderConfig: how an engine is built.
#include <NvInfer.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bind.h"
#include "builder/build_monitor.h"
#include "handle.h"
#include "keep.h"

namespace tenon::python {
namespace {

using nvinfer1::IBuilderConfig;
using nvinfer1::ITimingCache;

using Config = IBuilderConfig;

void bind_flags(nb::class_<Config>& config) {
  config
      .def_prop_rw("flags", engine_call(&Config::getFlags), engine_call(&Config::setFlags),
                   "Bit n stands for value n of BuilderFlag.")
      .def("clear_flag", engine_call(&Config::clearFlag), nb::arg("flag"))
      .def("set_flag", engine_call(&Config::setFlag), nb::arg("flag"))
      .def("get_flag", engine_call(&Config::getFlag), nb::arg("flag"), "Whether the flag is set.")
      .def_prop_rw("quantization_flags", engine_call(&Config::getQuantizationFlags),
                   engine_call(&Config::setQuantizationFlags),
                   "Bit n stands for value n of QuantizationFlag.")
      .def("clear_quantization_flag", engine_call(&Config::clearQuantizationFlag), nb::arg("flag"))
      .def("set_quantization_flag", engine_call(&Config::setQuantizationFlag), nb::arg("flag"))
      .def("get_quantization_flag", engine_call(&Config::getQuantizationFlag), nb::arg("flag"),
           "Whether the flag is set.")
      .def("set_preview_feature", engine_call(&Config::setPreviewFeature), nb::arg("feature"),
           nb::arg("enable"))
      .def("get_preview_feature", engine_call(&Config::getPreviewFeature), nb::arg("feature"),
           "Whether the feature is on.")
      .def("set_tactic_sources", engine_call(&Config::setTacticSources), nb::arg("tactic_sources"),
           "Sets where kernels may come from: bit n for value n of TacticSource.")
      .def("get_tactic_sources", engine_call(&Config::getTacticSources));
}

void bind_devices(nb::class_<Config>& config) {
  config
      .def_prop_rw("default_device_type", engine_call(&Config::getDefaultDeviceType),
                   engine_call(&Config::setDefaultDeviceType),
                   "What runs layers for which nothing is said.")
      .def_prop_rw("DLA_core", engine_call(&Config::getDLACore), engine_call(&Config::setDLACore),
                   "The DLA core; -1 if none was chosen.")
      .def("set_device_type", engine_call(&Config::setDeviceType), nb::arg("layer"),
           nb::arg("device_type"), "Sets what runs a layer.")
      .def("get_device_type", engine_call(&Config::getDeviceType), nb::arg("layer"))
      .def("is_device_type_set", engine_call(&Config::isDeviceTypeSet), nb::arg("layer"))
      .def("reset_device_type", engine_call(&Config::resetDeviceType), nb::arg("layer"))
      .def("can_run_on_DLA", engine_call(&Config::canRunOnDLA), nb::arg("layer"))
      .def_prop_rw(
          "profile_stream", [](const Config& self) { return Address::of(self.getProfileStream()); },
          [](Config& self, Address stream) { self.setProfileStream(stream.as<CUstream_st>()); },
          "The stream, as an int, that kernels are timed on.");
}

void bind_effort(nb::class_<Config>& config) {
  config
      .def_prop_rw("avg_timing_iterations", engine_call(&Config::getAvgTimingIterations),
                   engine_call(&Config::setAvgTimingIterations), "How often each kernel is timed.")
      .def_prop_rw("builder_optimization_level", engine_call(&Config::getBuilderOptimizationLevel),
                   engine_call(&Config::setBuilderOptimizationLevel),
                   "How much time is spent for a faster engine, from 0 to 5.")
      .def_prop_rw("max_num_tactics", engine_call(&Config::getMaxNbTactics),
                   engine_call(&Config::setMaxNbTactics),
                   "How many kernels are timed per layer; -1 for the builder's choice.")
      .def_prop_rw("max_aux_streams", engine_call(&Config::getMaxAuxStreams),
                   engine_call(&Config::setMaxAuxStreams),
                   "Streams that a run uses besides the one it is given; -1 for the builder's "
                   "choice.")
      .def_prop_rw("tiling_optimization_level", engine_call(&Config::getTilingOptimizationLevel),
                   engine_call(&Config::setTilingOptimizationLevel))
      .def_prop_rw("l2_limit_for_tiling", engine_call(&Config::getL2LimitForTiling),
                   engine_call(&Config::setL2LimitForTiling))
      .def_prop_rw(
          "remote_auto_tuning_config",
          [](const Config& self) {
            const char* const text = self.getRemoteAutoTuningConfig();
            return text != nullptr ? text : "";
          },
          engine_call(&Config::setRemoteAutoTuningConfig))
      .def("set_memory_pool_limit", engine_call(&Config::setMemoryPoolLimit), nb::arg("pool"),
           nb::arg("pool_size"), "Limits a kind of memory, in bytes.")
      .def("get_memory_pool_limit", engine_call(&Config::getMemoryPoolLimit), nb::arg("pool"));
}

void bind_engine(nb::class_<Config>& config) {
  config
      .def_prop_rw("engine_capability", engine_call(&Config::getEngineCapability),
                   engine_call(&Config::setEngineCapability))
      .def_prop_rw("profiling_verbosity", engine_call(&Config::getProfilingVerbosity),
                   engine_call(&Config::setProfilingVerbosity),
                   "How much the engine tells about its layers.")
      .def_prop_rw(
          "hardware_compatibility_level", engine_call(&Config::getHardwareCompatibilityLevel),
          engine_call(&Config::setHardwareCompatibilityLevel), "Which devices the engine runs on.")
      .def_prop_rw("runtime_platform", engine_call(&Config::getRuntimePlatform),
                   engine_call(&Config::setRuntimePlatform))
      .def_prop_rw(
          "plugins_to_serialize",
          [](const Config& self) {
            std::vector<std::string> paths;
            for (int32_t i = 0; i < self.getNbPluginsToSerialize(); ++i)
              paths.emplace_back(self.getPluginToSerialize(i));
            return paths;
          },
          [](Config& self, const std::vector<std::string>& paths) {
            std::vector<const char*> pointers;
            for (const std::string& path : paths) pointers.push_back(path.c_str());
            self.setPluginsToSerialize(pointers.data(), static_cast<int32_t>(pointers.size()));
          },
          "Paths of the plugin libraries that the plan carries.")
      .def("add_optimization_profile", engine_call(&Config::addOptimizationProfile),
           nb::arg("profile"), keeps<1, 2>(),
           "Adds a profile and gives its index; -1 if it is not valid.")
      .def_prop_ro("num_optimization_profiles", engine_call(&Config::getNbOptimizationProfiles))
      .def("set_calibration_profile", engine_call(&Config::setCalibrationProfile),
           nb::arg("profile"), keeps_as<"calibration_profile">(),
           "Sets the shapes of calibration; False if not valid.")
      .def("get_calibration_profile", engine_call(&Config::getCalibrationProfile),
           nb::rv_policy::reference_internal)
      .def("reset", engine_call(&Config::reset), "Puts everything back to how it was at first.");
}

void bind_callbacks(nb::class_<Config>& config) {
  config
      .def_prop_rw("progress_monitor", &BuildMonitor::users, &BuildMonitor::set_users,
                   nb::rv_policy::reference_internal, nb::for_setter(nb::arg("monitor").none()),
                   nb::for_setter(keeps_as<"progress_monitor">()), "Who follows the build.")
      .def_prop_rw("int8_calibrator", engine_call(&Config::getInt8Calibrator),
                   engine_call(&Config::setInt8Calibrator), nb::rv_policy::reference_internal,
                   nb::for_setter(nb::arg("calibrator").none()),
                   nb::for_setter(keeps_as<"int8_calibrator">()), "Feeds inputs for calibration.")
      .def_prop_rw("algorithm_selector", engine_call(&Config::getAlgorithmSelector),
                   engine_call(&Config::setAlgorithmSelector), nb::rv_policy::reference_internal,
                   nb::for_setter(nb::arg("selector").none()),
                   nb::for_setter(keeps_as<"algorithm_selector">()), "Chooses kernels.");
}

void bind_caches(nb::class_<Config>& config) {
  config
      .def(
          "create_timing_cache",
          [](const Config& self, const Bytes& bytes) {
            return into_engine(
                [&] { return Owned(self.createTimingCache(bytes.data(), bytes.size())); });
          },
          nb::arg("serialized_timing_cache"),
          "A timing cache from bytes of its serialize(), or an empty one from b''; None if they "
          "are damaged.")
      .def("set_timing_cache", engine_call(&Config::setTimingCache), nb::arg("cache"),
           nb::arg("ignore_mismatch"), keeps_as<"timing_cache">(),
           "Sets the cache that builds read and add to; False if it is of another device or "
           "version and `ignore_mismatch` is False.")
      .def("get_timing_cache", engine_call(&Config::getTimingCache),
           nb::rv_policy::reference_internal,
           "The cache that was set, or the one of the last build; None if there is none.");
}

void bind_8x_names(nb::class_<Config>& config) {
  config
      .def_prop_rw("max_workspace_size", engine_call(&Config::getMaxWorkspaceSize),
                   engine_call(&Config::setMaxWorkspaceSize),
                   "The 8.x name of the limit of MemoryPoolType.WORKSPACE, in bytes.")
      .def_prop_rw("min_timing_iterations", engine_call(&Config::getMinTimingIterations),
                   engine_call(&Config::setMinTimingIterations),
                   "How often each kernel is timed at least.");
}

}  // namespace

void bind_builder_config(nb::module_& m) {
  auto config = handle_class<Config>(
      m, "IBuilderConfig", "How an engine is built; Builder.create_builder_config() makes one.");
  bind_flags(config);
  bind_devices(config);
  bind_effort(config);
  bind_engine(config);
  bind_callbacks(config);
  bind_caches(config);
  bind_8x_names(config);
}

}  // namespace tenon::python
