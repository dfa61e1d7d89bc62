// ITensor and ILayer, the base of all layers.
#include <string>

#include "bind.h"
#include "network/network_parts.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

nb::object dynamic_range(const ITensor& tensor) {
  if (!tensor.dynamicRangeIsSet()) return nb::none();
  return nb::make_tuple(tensor.getDynamicRangeMin(), tensor.getDynamicRangeMax());
}

void set_dynamic_range(ITensor& tensor, nb::sequence range) {
  if (nb::len(range) != 2) throw nb::value_error("Dynamic range must contain exactly 2 elements");
  const auto low = nb::cast<float>(nb::object(range[0]));
  const auto high = nb::cast<float>(nb::object(range[1]));
  if (!into_engine([&] { return tensor.setDynamicRange(low, high); }))
    throw nb::value_error("Dynamic range must be two finite numbers, the smaller one first");
}

/// Programs cast layers by assigning to __class__. Layers have their own classes from the start, so
/// that only the right ones are allowed, and nothing changes.
int set_class(PyObject* self, PyObject* wanted, void*) {
  const bool is_class = wanted != nullptr && PyType_Check(wanted);
  const int is_own = is_class ? PyObject_IsInstance(self, wanted) : 0;
  if (is_own == 0)
    PyErr_Format(PyExc_TypeError, "the layer is a %S, not a %R",
                 nb::type_name(nb::handle(self).type()).ptr(),
                 wanted != nullptr ? wanted : Py_None);
  return is_own == 1 ? 0 : -1;
}

PyObject* get_class(PyObject* self, void*) {
  return nb::borrow(nb::handle(self).type()).release().ptr();
}

PyGetSetDef kGuardedClass[] = {{"__class__", get_class, set_class, nullptr, nullptr}, {}};

PyType_Slot kLayer[] = {kPart[0], {Py_tp_getset, kGuardedClass}, {0, nullptr}};

void bind_itensor(nb::module_& m) {
  nb::class_<ITensor> tensor(
      m, "ITensor", nb::type_slots(kPart),
      "An input of a network or an output of a layer. It keeps its network.");
  property(tensor, "name", &ITensor::getName, &ITensor::setName,
           "The name; the engine's inputs and outputs keep it.");
  property(tensor, "shape", &ITensor::getDimensions, &ITensor::setDimensions,
           "The shape, -1 for dimensions that vary; can be set for inputs.");
  property(tensor, "dtype", &ITensor::getType, &ITensor::setType, "The type of the elements.");
  property(tensor, "broadcast_across_batch", &ITensor::getBroadcastAcrossBatch,
           &ITensor::setBroadcastAcrossBatch, "Whether all items of an implicit batch share it.");
  property(tensor, "location", &ITensor::getLocation, &ITensor::setLocation,
           "Where the buffer lies; only shape inputs may lie on the host.");
  property(tensor, "allowed_formats", &ITensor::getAllowedFormats, &ITensor::setAllowedFormats,
           "The formats it may have, bit n for value n of TensorFormat.");
  property(tensor, "is_network_input", &ITensor::isNetworkInput,
           "Whether it is an input of the network.");
  property(tensor, "is_network_output", &ITensor::isNetworkOutput,
           "Whether it is marked as an output of the network.");
  property(tensor, "is_shape_tensor", &ITensor::isShapeTensor,
           "Whether its values decide shapes; known for sure when the network is complete.");
  property(tensor, "is_execution_tensor", &ITensor::isExecutionTensor,
           "Whether it is data for the kernels.");
  tensor.def_prop_rw(
      "dynamic_range", dynamic_range, set_dynamic_range,
      nb::for_getter(nb::sig("def dynamic_range(self) -> tuple[float, float] | None")),
      "The range (min, max) of values for INT8; None if none is set.");
  tensor
      .def("set_dynamic_range", member(&ITensor::setDynamicRange), nb::arg("min"), nb::arg("max"),
           "Sets the range for INT8; False if an end is not finite or min is above max.")
      .def("reset_dynamic_range", member(&ITensor::resetDynamicRange), "Forgets the range.")
      .def("set_dimension_name", member(&ITensor::setDimensionName), nb::arg("index"),
           nb::arg("name"),
           "Names a dimension of an input; dimensions of one name are equal at run time.")
      .def("get_dimension_name", member(&ITensor::getDimensionName), nb::arg("index"),
           "The name of a dimension of an input; None if it has none.");
}

void bind_ilayer(nb::module_& m) {
  nb::class_<ILayer> layer(m, "ILayer", nb::type_slots(kLayer),
                           "A layer of a network, which it keeps.");
  property(layer, "name", &ILayer::getName, &ILayer::setName,
           "The name, used in messages and by refitters.");
  property(layer, "metadata", &ILayer::getMetadata, &ILayer::setMetadata,
           "A text that the engine inspector shows.");
  property(layer, "num_ranks", &ILayer::getNbRanks, &ILayer::setNbRanks,
           "How many devices share the layer; 1 unless set.");
  property(layer, "type", &ILayer::getType, "The type of the layer.");
  property(layer, "num_inputs", &ILayer::getNbInputs, "The number of inputs.");
  property(layer, "num_outputs", &ILayer::getNbOutputs, "The number of outputs.");
  property(layer, "precision", &ILayer::getPrecision, &ILayer::setPrecision,
           "The type that the layer is asked to compute in; FLOAT if it is not asked.");
  property(layer, "precision_is_set", &ILayer::precisionIsSet,
           "Whether the layer is asked to compute in a type.");
  layer
      .def("set_input", member(&ILayer::setInput), nb::arg("index"), nb::arg("tensor"),
           "Replaces an input, or gives the layer one of its optional inputs.")
      .def("get_input", member(&ILayer::getInput), nb::arg("index"), nb::rv_policy::reference,
           in_network(), "An input; None if there is none of this index.")
      .def("get_output", member(&ILayer::getOutput), nb::arg("index"), nb::rv_policy::reference,
           in_network(), "An output; None if there is none of this index.")
      .def("reset_precision", member(&ILayer::resetPrecision),
           "Forgets the type that the layer was asked to compute in.")
      .def("set_output_type", member(&ILayer::setOutputType), nb::arg("index"), nb::arg("dtype"),
           "Asks that an output has a type.")
      .def("get_output_type", member(&ILayer::getOutputType), nb::arg("index"),
           "The type of an output.")
      .def("output_type_is_set", member(&ILayer::outputTypeIsSet), nb::arg("index"),
           "Whether a type is asked for an output.")
      .def("reset_output_type", member(&ILayer::resetOutputType), nb::arg("index"),
           "Forgets the type that was asked for an output.");
}

}  // namespace

void bind_tensors(nb::module_& m) {
  bind_itensor(m);
  bind_ilayer(m);
}

}  // namespace tenon::python
