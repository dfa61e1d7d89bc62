// Builder, which makes networks, configurations and plans.
#include <NvInfer.h>

#include <cstdlib>
#include <cstring>

#include "bind.h"
#include "builder/build_monitor.h"
#include "handle.h"
#include "keep.h"

namespace tenon::python {
namespace {

using nvinfer1::IBuilder;
using nvinfer1::IBuilderConfig;
using nvinfer1::ICudaEngine;
using nvinfer1::IHostMemory;
using nvinfer1::INetworkDefinition;

// In programs for TensorRT 8.x, which say so, the batch is not a dimension unless a flag is set.
Owned<INetworkDefinition> create_network(IBuilder& builder, uint32_t flags) {
  constexpr uint32_t kExplicit =
      1U << static_cast<uint32_t>(nvinfer1::NetworkDefinitionCreationFlag::kEXPLICIT_BATCH);
  const char* const api = std::getenv("TENON_TRT_API");
  if (api != nullptr && std::strcmp(api, "8") == 0 && (flags & kExplicit) == 0)
    flags |= kImplicitBatchFlag;
  return into_engine([&] { return Owned(builder.createNetworkV2(flags)); });
}

// Runs `build`, which Ctrl-C and the user's monitor can stop.
template <class Build> auto monitored(IBuilderConfig& config, Build&& build) {
  BuildMonitor monitor(config);
  return into_engine(build);
}

Owned<IHostMemory> build_serialized_network(IBuilder& builder, INetworkDefinition& network,
                                            IBuilderConfig& config) {
  return monitored(config, [&] { return Owned(builder.buildSerializedNetwork(network, config)); });
}

bool build_serialized_network_to_stream(IBuilder& builder, INetworkDefinition& network,
                                        IBuilderConfig& config, nvinfer1::IStreamWriter& writer) {
  return monitored(config,
                   [&] { return builder.buildSerializedNetworkToStream(network, config, writer); });
}

Owned<ICudaEngine> build_engine(IBuilder& builder, INetworkDefinition& network,
                                IBuilderConfig& config) {
  return monitored(config, [&] { return Owned(builder.buildEngineWithConfig(network, config)); });
}

}  // namespace

void bind_builder(nb::module_& m) {
  auto builder = handle_class<IBuilder>(
      m, "Builder", "Makes networks, configurations and engines. Keeps its logger.");
  builder
      .def(nb::new_([](nvinfer1::ILogger& logger) {
             return into_engine([&] { return Owned(nvinfer1::createInferBuilder(logger)); });
           }),
           nb::arg("logger"), keeps<0, 2>())
      .def("create_network", &create_network, nb::arg("flags") = 0, of_parent(),
           "A new, empty network. `flags` has bit n for value n of NetworkDefinitionCreationFlag. "
           "While the environment variable TENON_TRT_API is 8, its batch is implicit without the "
           "bit of EXPLICIT_BATCH, as in TensorRT 8.x.")
      .def(
          "create_builder_config",
          [](IBuilder& self) {
            return into_engine([&] { return Owned(self.createBuilderConfig()); });
          },
          of_parent(), "A new configuration.")
      .def("create_optimization_profile", engine_call(&IBuilder::createOptimizationProfile),
           nb::rv_policy::reference, of_parent(), "A new, empty profile.")
      .def("build_serialized_network", &build_serialized_network, nb::arg("network"),
           nb::arg("config"),
           "Builds a plan; None, with the reason logged, on failure. Ctrl-C stops it.")
      .def("build_serialized_network_to_stream", &build_serialized_network_to_stream,
           nb::arg("network"), nb::arg("config"), nb::arg("writer"),
           "Builds a plan and writes it piece by piece; False on failure.")
      .def("build_engine_with_config", &build_engine, nb::arg("network"), nb::arg("config"),
           of_parent(), "Builds an engine; None on failure.")
      .def("is_network_supported", engine_call(&IBuilder::isNetworkSupported), nb::arg("network"),
           nb::arg("config"), "Whether the network could be built.")
      .def("reset", engine_call(&IBuilder::reset), "Puts everything back to how it was at first.")
      .def_prop_ro("platform_has_tf32", engine_call(&IBuilder::platformHasTf32),
                   "Whether the device has kernels for TF32.")
      .def_prop_ro("platform_has_fast_fp16", engine_call(&IBuilder::platformHasFastFp16),
                   "Whether the device computes in HALF fast.")
      .def_prop_ro("platform_has_fast_int8", engine_call(&IBuilder::platformHasFastInt8),
                   "Whether the device computes in INT8 fast.")
      .def_prop_ro("max_DLA_batch_size", engine_call(&IBuilder::getMaxDLABatchSize),
                   "0: there is no DLA.")
      .def_prop_ro("num_DLA_cores", engine_call(&IBuilder::getNbDLACores), "0: there is no DLA.")
      .def_prop_ro("logger", engine_call(&IBuilder::getLogger), nb::rv_policy::reference_internal,
                   "The logger that the builder was made with.")
      .def_prop_rw("max_threads", engine_call(&IBuilder::getMaxThreads),
                   engine_call(&IBuilder::setMaxThreads),
                   "The limit of threads, the calling one included.")
      .def_prop_rw("error_recorder", engine_call(&IBuilder::getErrorRecorder),
                   engine_call(&IBuilder::setErrorRecorder), nb::rv_policy::reference_internal,
                   nb::for_setter(nb::arg("recorder").none()),
                   nb::for_setter(keeps_as<"error_recorder">()), "Where errors are recorded.")
      .def_prop_rw("gpu_allocator", nullptr, engine_call(&IBuilder::setGpuAllocator),
                   nb::for_setter(nb::arg("allocator").none()),
                   nb::for_setter(keeps_as<"gpu_allocator">()),
                   "Allocates the device memory of builds; can be set only.");
  // 8.x names.
  builder
      .def("build_engine", &build_engine, nb::arg("network"), nb::arg("config"), of_parent(),
           "The 8.x name of build_engine_with_config().")
      .def(
          "build_cuda_engine",
          [](IBuilder& self, INetworkDefinition& network) {
            const std::unique_ptr<IBuilderConfig> config(self.createBuilderConfig());
            return build_engine(self, network, *config);
          },
          nb::arg("network"), of_parent(),
          "Builds an engine as configured by default; None on failure.")
      .def_prop_rw("max_batch_size", engine_call(&IBuilder::getMaxBatchSize),
                   engine_call(&IBuilder::setMaxBatchSize),
                   "The largest batch that networks with an implicit batch are built for.");
}

}  // namespace tenon::python
