// INetworkDefinition: inputs, outputs and layers; network_layers.cc adds layers.
#include "bind.h"
#include "handle.h"
#include "keep.h"
#include "network/network_layers.h"
#include "network/network_parts.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

nb::object layer_at(nb::handle self, int64_t index) {
  const auto& network = nb::cast<const INetworkDefinition&>(self);
  const int64_t count = network.getNbLayers();
  if (index < 0) index += count;
  if (index < 0 || index >= count) throw nb::index_error("Out of bounds");
  return layer_object(network.getLayer(static_cast<int32_t>(index)), self);
}

nb::object get_layer(nb::handle self, int32_t index) {
  return layer_object(nb::cast<const INetworkDefinition&>(self).getLayer(index), self);
}

void bind_marks(nb::class_<INetworkDefinition>& network) {
  using N = INetworkDefinition;
  const auto marks = [&](const char* name, auto function, const char* doc) {
    network.def(name, member(function), nb::arg("tensor"), doc);
  };
  marks("mark_output", &N::markOutput, "Makes a tensor an output.");
  marks("unmark_output", &N::unmarkOutput, "Makes a tensor no longer an output.");
  marks("mark_output_for_shapes", &N::markOutputForShapes,
        "Makes the value of a shape tensor an output on the host; False on failure.");
  marks("unmark_output_for_shapes", &N::unmarkOutputForShapes,
        "Undoes mark_output_for_shapes(); False on failure.");
  marks("mark_debug", &N::markDebug, "Gives a tensor to debug listeners; False on failure.");
  marks("unmark_debug", &N::unmarkDebug, "Undoes mark_debug(); False on failure.");
  marks("is_debug_tensor", &N::isDebugTensor, "Whether debug listeners get a tensor.");
  marks("remove_tensor", &N::removeTensor,
        "Takes a tensor out of the inputs and outputs of the network.");
  network
      .def("mark_unfused_tensors_as_debug_tensors", member(&N::markUnfusedTensorsAsDebugTensors),
           "Gives all tensors that are left after optimization to debug listeners.")
      .def("unmark_unfused_tensors_as_debug_tensors",
           member(&N::unmarkUnfusedTensorsAsDebugTensors), "Undoes that.");

  const auto weights = [&](const char* name, auto function, const char* doc) {
    network.def(name, member(function), nb::arg("name"), doc);
  };
  weights("mark_weights_refittable", &N::markWeightsRefittable,
          "Makes weights of a name refittable; False if there are none.");
  weights("unmark_weights_refittable", &N::unmarkWeightsRefittable,
          "Undoes mark_weights_refittable(); False if there are none.");
  weights("are_weights_marked_refittable", &N::areWeightsMarkedRefittable,
          "Whether weights of a name were made refittable.");
  network.def("set_weights_name", member(&N::setWeightsName), nb::arg("weights"), nb::arg("name"),
              "Names weights that the network uses, by their memory; False if it does not.");
}

}  // namespace

void bind_network(nb::module_& m) {
  using N = INetworkDefinition;
  auto network = handle_class<N>(
      m, "INetworkDefinition",
      "A network: inputs, layers, outputs. It keeps its builder; weights are copied. "
      "Methods that add a part give None, with the reason logged, if the arguments do not fit.");
  property(network, "name", &N::getName, &N::setName, "The name, which the engine keeps.");
  property(network, "num_layers", &N::getNbLayers, "The number of layers.");
  property(network, "num_inputs", &N::getNbInputs, "The number of inputs.");
  property(network, "num_outputs", &N::getNbOutputs, "The number of outputs.");
  property(network, "has_implicit_batch_dimension", &N::hasImplicitBatchDimension,
           "Whether the batch is not a dimension of the tensors, as in TensorRT 8.x.");
  property(network, "has_explicit_precision", &N::hasExplicitPrecision, "Of 8.x; always False.");
  property(network, "flags", &N::getFlags,
           "What the network was made with, bit n for value n of NetworkDefinitionCreationFlag.");
  network.def_prop_ro("builder", &N::getBuilder, nb::rv_policy::reference,
                      "The builder that made the network.");
  network.def_prop_rw("error_recorder", &N::getErrorRecorder, &N::setErrorRecorder,
                      nb::rv_policy::reference, nb::for_setter(nb::arg("recorder").none()),
                      nb::for_setter(keeps_as<"error_recorder">()),
                      "Where errors are recorded; None for nowhere.");
  network
      .def("get_flag", member(&N::getFlag), nb::arg("flag"),
           "Whether the network was made with a flag.")
      .def("add_input", member(&N::addInput), nb::arg("name"), nb::arg("dtype"), nb::arg("shape"),
           nb::rv_policy::reference, in_network(),
           "Adds an input; -1 stands for dimensions that vary. The name must be new.")
      .def("get_input", member(&N::getInput), nb::arg("index"), nb::rv_policy::reference,
           in_network(), "An input; None if there is none of this index.")
      .def("get_output", member(&N::getOutput), nb::arg("index"), nb::rv_policy::reference,
           in_network(), "An output; None if there is none of this index.")
      .def("get_layer", get_layer, nb::arg("index"),
           nb::sig("def get_layer(self, index: int) -> ILayer | None"),
           "A layer, as an object of its own class; None if there is none of this index.")
      .def("__len__", &N::getNbLayers)
      .def("__getitem__", layer_at, nb::sig("def __getitem__(self, index: int) -> ILayer"))
      .def("destroy", [](N&) {}, "Of 8.x. Does nothing: the network goes with its last reference.");
  make_iterable(network, "def __iter__(self) -> collections.abc.Iterator[ILayer]");
  bind_marks(network);
  bind_network_layers(network);
}

}  // namespace tenon::python
