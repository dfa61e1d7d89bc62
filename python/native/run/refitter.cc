// Refitter, which changes an engine's weights.
#include <NvInfer.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "bind.h"
#include "engine_call.h"
#include "handle.h"
#include "keep.h"
#include "weights.h"

namespace tenon::python {
namespace {

using nvinfer1::IRefitter;
using nvinfer1::TensorLocation;
using nvinfer1::WeightsRole;

using Names = std::vector<std::string>;

// The names that `list`, a method that takes an array, has to tell.
template <class List> Names names_of(List&& list) {
  return into_engine([&] {
    std::vector<const char*> names(static_cast<size_t>(std::max(list(0, nullptr), 0)));
    list(static_cast<int32_t>(names.size()), names.data());
    return Names(names.begin(), names.end());
  });
}

std::pair<Names, std::vector<WeightsRole>> layers_of(
    IRefitter& self, int32_t (IRefitter::*list)(int32_t, const char**, WeightsRole*) noexcept) {
  std::vector<WeightsRole> roles;
  Names names = names_of([&](int32_t count, const char** texts) {
    roles.resize(static_cast<size_t>(count));
    return (self.*list)(count, texts, roles.data());
  });
  return {std::move(names), std::move(roles)};
}

void bind_weights_of(nb::class_<IRefitter>& refitter) {
  refitter
      .def(
          "set_weights",
          [](IRefitter& self, const char* layer, WeightsRole role, const GivenWeights& given) {
            const nvinfer1::Weights weights = given.weights();
            return into_engine([&] { return self.setWeights(layer, role, weights); });
          },
          nb::arg("layer_name"), nb::arg("role"), nb::arg("weights"), keeps<1, 4>(),
          "Sets the weights of a layer, not copied; False if they do not fit.")
      .def(
          "set_named_weights",
          [](IRefitter& self, const char* name, const GivenWeights& given,
             TensorLocation location) {
            const nvinfer1::Weights weights = given.weights();
            return into_engine([&] { return self.setNamedWeights(name, weights, location); });
          },
          nb::arg("name"), nb::arg("weights"), nb::arg("location") = TensorLocation::kHOST,
          keeps<1, 3>(), "Sets weights by name, not copied; False if they do not fit.")
      .def(
          "get_named_weights",
          [](const IRefitter& self, const char* name) {
            return PythonWeights{into_engine([&] { return self.getNamedWeights(name); }), {}};
          },
          nb::arg("weights_name"))
      .def(
          "get_weights_prototype",
          [](const IRefitter& self, const char* name) {
            return PythonWeights{into_engine([&] { return self.getWeightsPrototype(name); }), {}};
          },
          nb::arg("weights_name"), "The type and count that weights of this name must have.")
      .def("get_weights_location", engine_call(&IRefitter::getWeightsLocation),
           nb::arg("weights_name"))
      .def("unset_named_weights", engine_call(&IRefitter::unsetNamedWeights),
           nb::arg("weights_name"))
      .def(
          "get_missing", [](IRefitter& self) { return layers_of(self, &IRefitter::getMissing); },
          "The layers and roles of weights that are still needed.")
      .def(
          "get_all", [](IRefitter& self) { return layers_of(self, &IRefitter::getAll); },
          "The layers and roles of weights that can be changed.")
      .def("get_missing_weights",
           [](IRefitter& self) {
             return names_of(
                 [&](int32_t n, const char** p) { return self.getMissingWeights(n, p); });
           })
      .def("get_all_weights", [](IRefitter& self) {
        return names_of([&](int32_t n, const char** p) { return self.getAllWeights(n, p); });
      });
}

void bind_ranges(nb::class_<IRefitter>& refitter) {
  refitter
      .def(
          "get_dynamic_range",
          [](const IRefitter& self, const char* tensor) {
            return nb::make_tuple(self.getDynamicRangeMin(tensor), self.getDynamicRangeMax(tensor));
          },
          nb::arg("tensor_name"))
      .def(
          "set_dynamic_range",
          [](IRefitter& self, const char* tensor, std::pair<float, float> range) {
            return into_engine(
                [&] { return self.setDynamicRange(tensor, range.first, range.second); });
          },
          nb::arg("tensor_name"), nb::arg("range"))
      .def("get_tensors_with_dynamic_range", [](IRefitter& self) {
        return names_of(
            [&](int32_t n, const char** p) { return self.getTensorsWithDynamicRange(n, p); });
      });
}

}  // namespace

void bind_refitter(nb::module_& m) {
  auto refitter =
      handle_class<IRefitter>(m, "Refitter",
                              "Changes weights of an engine that was built with "
                              "BuilderFlag.REFIT; of others making one raises RuntimeError.");
  refitter
      .def(nb::new_([](nvinfer1::ICudaEngine& engine, nvinfer1::ILogger& logger) {
             auto made =
                 into_engine([&] { return Owned(nvinfer1::createInferRefitter(engine, logger)); });
             if (made.handle == nullptr) not_made("Refitter");
             return made;
           }),
           nb::arg("engine"), nb::arg("logger"), keeps<0, 2>(), keeps<0, 3>())
      .def("refit_cuda_engine", engine_call(&IRefitter::refitCudaEngine),
           "Puts the new weights into the engine; False if some are missing.")
      .def(
          "refit_cuda_engine_async",
          [](IRefitter& self, Address stream) {
            return into_engine([&] { return self.refitCudaEngineAsync(stream.as<CUstream_st>()); });
          },
          nb::arg("stream_handle"))
      .def_prop_ro("logger", &IRefitter::getLogger, nb::rv_policy::reference_internal)
      .def_prop_rw("max_threads", &IRefitter::getMaxThreads, engine_call(&IRefitter::setMaxThreads))
      .def_prop_rw("weights_validation", &IRefitter::getWeightsValidation,
                   engine_call(&IRefitter::setWeightsValidation))
      .def_prop_rw("error_recorder", &IRefitter::getErrorRecorder,
                   engine_call(&IRefitter::setErrorRecorder), nb::rv_policy::reference_internal,
                   nb::for_setter(nb::arg("recorder").none()),
                   nb::for_setter(keeps_as<"error_recorder">()));
  bind_weights_of(refitter);
  bind_ranges(refitter);
}

}  // namespace tenon::python
