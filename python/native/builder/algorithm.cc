// IAlgorithmSelector, which users write in Python, and what it is told.
#include <NvInfer.h>
#include <nanobind/stl/vector.h>

#include <vector>

#include "bind.h"
#include "callback.h"

namespace tenon::python {
namespace {

using namespace nvinfer1;
using v_1_0::IAlgorithmSelector;

// The objects of the builder that a callback sees, as a list; they go with the build.
template <class T> nb::list list_of(const T* const* objects, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(nb::cast(objects[i], nb::rv_policy::reference));
  return list;
}

class PythonSelector : public IAlgorithmSelector {
 public:
  NB_TRAMPOLINE(IAlgorithmSelector);

  int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices,
                           int32_t count, int32_t* selection) noexcept override {
    return into_python(0, "select_algorithms", [&] {
      const auto selected = nb::cast<std::vector<int32_t>>(
          call_override(nb_trampoline, "select_algorithms",
                        nb::cast(&context, nb::rv_policy::reference), list_of(choices, count)));
      if (selected.size() > static_cast<size_t>(count))
        throw nb::value_error("select_algorithms() gave more indices than there are choices");
      std::copy(selected.begin(), selected.end(), selection);
      return static_cast<int32_t>(selected.size());
    });
  }
  void reportAlgorithms(const IAlgorithmContext* const* contexts, const IAlgorithm* const* choices,
                        int32_t count) noexcept override {
    into_python("report_algorithms", [&] {
      call_override(nb_trampoline, "report_algorithms", list_of(contexts, count),
                    list_of(choices, count));
    });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

std::vector<Dims> algorithm_shapes(const IAlgorithmContext& context, int32_t index) {
  std::vector<Dims> shapes;
  for (const auto selector :
       {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    shapes.push_back(context.getDimensions(index, selector));
  return shapes;
}

}  // namespace

void bind_algorithms(nb::module_& m) {
  nb::class_<IAlgorithmIOInfo>(m, "IAlgorithmIOInfo", "How one tensor of a kernel lies in memory.")
      .def_prop_ro("dtype", &IAlgorithmIOInfo::getDataType)
      .def_prop_ro("strides", &IAlgorithmIOInfo::getStrides)
      .def_prop_ro("vectorized_dim", &IAlgorithmIOInfo::getVectorizedDim)
      .def_prop_ro("components_per_element", &IAlgorithmIOInfo::getComponentsPerElement);
  nb::class_<IAlgorithmVariant>(m, "IAlgorithmVariant", "A kernel and its variant, as numbers.")
      .def_prop_ro("implementation", &IAlgorithmVariant::getImplementation)
      .def_prop_ro("tactic", &IAlgorithmVariant::getTactic);
  nb::class_<IAlgorithmContext>(m, "IAlgorithmContext", "The layer that a kernel is chosen for.")
      .def_prop_ro("name", &IAlgorithmContext::getName)
      .def("get_shape", &algorithm_shapes, nb::arg("index"),
           "The smallest, usual and largest shape of an input or output, inputs first.")
      .def_prop_ro("num_inputs", &IAlgorithmContext::getNbInputs)
      .def_prop_ro("num_outputs", &IAlgorithmContext::getNbOutputs);
  nb::class_<IAlgorithm>(m, "IAlgorithm", "A kernel that could run a layer.")
      .def("get_algorithm_io_info", &IAlgorithm::getAlgorithmIOInfoByIndex, nb::arg("index"),
           nb::rv_policy::reference_internal)
      .def_prop_ro("algorithm_variant", &IAlgorithm::getAlgorithmVariant,
                   nb::rv_policy::reference_internal)
      .def_prop_ro("timing_msec", &IAlgorithm::getTimingMSec)
      .def_prop_ro("workspace_size", &IAlgorithm::getWorkspaceSize);
  nb::class_<IAlgorithmSelector, PythonSelector>(
      m, "IAlgorithmSelector",
      "Chooses kernels. Building with one is not supported yet. Derive from it and define both "
      "methods; what they are given is valid during the call only.")
      .def(nb::init<>())
      .def("select_algorithms", &required,
           nb::sig("def select_algorithms(self, context: IAlgorithmContext, choices: "
                   "collections.abc.Sequence[IAlgorithm]) -> list[int]"),
           "Which of the choices the builder may take; an empty list leaves it to the builder.")
      .def("report_algorithms", &required,
           nb::sig("def report_algorithms(self, contexts: "
                   "collections.abc.Sequence[IAlgorithmContext], choices: "
                   "collections.abc.Sequence[IAlgorithm]) -> None"),
           "Takes what was chosen for each layer.");
}

}  // namespace tenon::python
