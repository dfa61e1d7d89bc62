// IBuilderConfig: how an engine is built.
#include <NvInfer.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bind.h"
#include "build_monitor.h"
#include "handle.h"

namespace tenon::python {
namespace {

using nvinfer1::IBuilderConfig;
using nvinfer1::ITimingCache;

using Config = IBuilderConfig;

void bind_flags(nb::class_<Config>& config) {
  config
      .def_prop_rw("flags", &Config::getFlags, &Config::setFlags,
                   "Bit n stands for value n of BuilderFlag.")
      .def("clear_flag", &Config::clearFlag, nb::arg("flag"))
      .def("set_flag", &Config::setFlag, nb::arg("flag"))
      .def("get_flag", &Config::getFlag, nb::arg("flag"), "Whether the flag is set.")
      .def_prop_rw("quantization_flags", &Config::getQuantizationFlags,
                   &Config::setQuantizationFlags, "Bit n stands for value n of QuantizationFlag.")
      .def("clear_quantization_flag", &Config::clearQuantizationFlag, nb::arg("flag"))
      .def("set_quantization_flag", &Config::setQuantizationFlag, nb::arg("flag"))
      .def("get_quantization_flag", &Config::getQuantizationFlag, nb::arg("flag"),
           "Whether the flag is set.")
      .def("set_preview_feature", &Config::setPreviewFeature, nb::arg("feature"), nb::arg("enable"))
      .def("get_preview_feature", &Config::getPreviewFeature, nb::arg("feature"),
           "Whether the feature is on.")
      .def("set_tactic_sources", &Config::setTacticSources, nb::arg("tactic_sources"),
           "Sets where kernels may come from: bit n for value n of TacticSource.")
      .def("get_tactic_sources", &Config::getTacticSources);
}

void bind_devices(nb::class_<Config>& config) {
  config
      .def_prop_rw("default_device_type", &Config::getDefaultDeviceType,
                   &Config::setDefaultDeviceType, "What runs layers for which nothing is said.")
      .def_prop_rw("DLA_core", &Config::getDLACore, &Config::setDLACore,
                   "The DLA core; -1 if none was chosen.")
      .def("set_device_type", &Config::setDeviceType, nb::arg("layer"), nb::arg("device_type"),
           "Sets what runs a layer.")
      .def("get_device_type", &Config::getDeviceType, nb::arg("layer"))
      .def("is_device_type_set", &Config::isDeviceTypeSet, nb::arg("layer"))
      .def("reset_device_type", &Config::resetDeviceType, nb::arg("layer"))
      .def("can_run_on_DLA", &Config::canRunOnDLA, nb::arg("layer"))
      .def_prop_rw(
          "profile_stream", [](const Config& self) { return Address::of(self.getProfileStream()); },
          [](Config& self, Address stream) { self.setProfileStream(stream.as<CUstream_st>()); },
          "The stream, as an int, that kernels are timed on.");
}

void bind_effort(nb::class_<Config>& config) {
  config
      .def_prop_rw("avg_timing_iterations", &Config::getAvgTimingIterations,
                   &Config::setAvgTimingIterations, "How often each kernel is timed.")
      .def_prop_rw("builder_optimization_level", &Config::getBuilderOptimizationLevel,
                   &Config::setBuilderOptimizationLevel,
                   "How much time is spent for a faster engine, from 0 to 5.")
      .def_prop_rw("max_num_tactics", &Config::getMaxNbTactics, &Config::setMaxNbTactics,
                   "How many kernels are timed per layer; -1 for the builder's choice.")
      .def_prop_rw("max_aux_streams", &Config::getMaxAuxStreams, &Config::setMaxAuxStreams,
                   "Streams that a run uses besides the one it is given; -1 for the builder's "
                   "choice.")
      .def_prop_rw("tiling_optimization_level", &Config::getTilingOptimizationLevel,
                   [](Config& self, nvinfer1::TilingOptimizationLevel level) {
                     self.setTilingOptimizationLevel(level);
                   })
      .def_prop_rw("l2_limit_for_tiling", &Config::getL2LimitForTiling,
                   [](Config& self, int64_t bytes) { self.setL2LimitForTiling(bytes); })
      .def_prop_rw(
          "remote_auto_tuning_config",
          [](const Config& self) {
            const char* const text = self.getRemoteAutoTuningConfig();
            return text != nullptr ? text : "";
          },
          [](Config& self, const char* text) { self.setRemoteAutoTuningConfig(text); })
      .def("set_memory_pool_limit", &Config::setMemoryPoolLimit, nb::arg("pool"),
           nb::arg("pool_size"), "Limits a kind of memory, in bytes.")
      .def("get_memory_pool_limit", &Config::getMemoryPoolLimit, nb::arg("pool"));
}

void bind_engine(nb::class_<Config>& config) {
  config
      .def_prop_rw("engine_capability", &Config::getEngineCapability, &Config::setEngineCapability)
      .def_prop_rw("profiling_verbosity", &Config::getProfilingVerbosity,
                   &Config::setProfilingVerbosity, "How much the engine tells about its layers.")
      .def_prop_rw("hardware_compatibility_level", &Config::getHardwareCompatibilityLevel,
                   &Config::setHardwareCompatibilityLevel, "Which devices the engine runs on.")
      .def_prop_rw("runtime_platform", &Config::getRuntimePlatform, &Config::setRuntimePlatform)
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
      .def("add_optimization_profile", &Config::addOptimizationProfile, nb::arg("profile"),
           nb::keep_alive<1, 2>(), "Adds a profile and gives its index; -1 if it is not valid.")
      .def_prop_ro("num_optimization_profiles", &Config::getNbOptimizationProfiles)
      .def("set_calibration_profile", &Config::setCalibrationProfile, nb::arg("profile"),
           nb::keep_alive<1, 2>(), "Sets the shapes of calibration; False if not valid.")
      .def("get_calibration_profile", &Config::getCalibrationProfile,
           nb::rv_policy::reference_internal)
      .def(
          "reset", [](Config& self) { self.reset(); },
          "Puts everything back to how it was at first.");
}

void bind_callbacks(nb::class_<Config>& config) {
  config
      .def_prop_rw("progress_monitor", &BuildMonitor::users, &Config::setProgressMonitor,
                   nb::rv_policy::reference_internal, nb::for_setter(nb::arg("monitor").none()),
                   nb::for_setter(nb::keep_alive<1, 2>()), "Who follows the build.")
      .def_prop_rw("int8_calibrator", &Config::getInt8Calibrator, &Config::setInt8Calibrator,
                   nb::rv_policy::reference_internal, nb::for_setter(nb::arg("calibrator").none()),
                   nb::for_setter(nb::keep_alive<1, 2>()), "Feeds inputs for calibration.")
      .def_prop_rw("algorithm_selector", &Config::getAlgorithmSelector,
                   &Config::setAlgorithmSelector, nb::rv_policy::reference_internal,
                   nb::for_setter(nb::arg("selector").none()),
                   nb::for_setter(nb::keep_alive<1, 2>()), "Chooses kernels.");
}

void bind_caches(nb::class_<Config>& config) {
  config
      .def(
          "create_timing_cache",
          [](const Config& self, const Bytes& bytes) {
            return Owned(self.createTimingCache(bytes.data(), bytes.size()));
          },
          nb::arg("serialized_timing_cache"),
          "A timing cache from bytes of its serialize(), or an empty one from b''; None if they "
          "are damaged.")
      .def("set_timing_cache", &Config::setTimingCache, nb::arg("cache"),
           nb::arg("ignore_mismatch"), nb::keep_alive<1, 2>(),
           "Sets the cache that builds read and add to; False if it is of another device or "
           "version and `ignore_mismatch` is False.")
      .def("get_timing_cache", &Config::getTimingCache, nb::rv_policy::reference_internal,
           "The cache that was set, or the one of the last build; None if there is none.");
}

void bind_8x_names(nb::class_<Config>& config) {
  config
      .def_prop_rw("max_workspace_size", &Config::getMaxWorkspaceSize, &Config::setMaxWorkspaceSize,
                   "The 8.x name of the limit of MemoryPoolType.WORKSPACE, in bytes.")
      .def_prop_rw("min_timing_iterations", &Config::getMinTimingIterations,
                   &Config::setMinTimingIterations, "How often each kernel is timed at least.");
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
