// Loops and conditionals.
#include "bind.h"
#include "network/network_parts.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

constexpr auto kReference = nb::rv_policy::reference;

void bind_loop(nb::module_& m) {
  nb::class_<ILoop> loop(m, "ILoop", nb::type_slots(kPart),
                         "A loop: its layers are those between its recurrences, iterators and "
                         "outputs. It keeps its network.");
  auto boundary =
      layer_class<ILoopBoundaryLayer>(m, "ILoopBoundaryLayer", "A layer at a loop's boundary.");
  boundary.def_prop_ro("loop", member(&ILoopBoundaryLayer::getLoop), kReference, in_network(),
                       "The loop.");
  layer_class<IRecurrenceLayer, ILoopBoundaryLayer>(
      m, "IRecurrenceLayer", "A value handed from pass to pass; input 1 is the next value.");
  auto output = layer_class<ILoopOutputLayer, ILoopBoundaryLayer>(
      m, "ILoopOutputLayer",
      "A value that leaves the loop; input 1 is the number of passes kept, where there is one.");
  property(output, "axis", &ILoopOutputLayer::getAxis, &ILoopOutputLayer::setAxis,
           "The dimension along which passes are joined.");
  property(output, "kind", &ILoopOutputLayer::getLoopOutput, "What leaves the loop.");
  auto limit =
      layer_class<ITripLimitLayer, ILoopBoundaryLayer>(m, "ITripLimitLayer", "What ends the loop.");
  property(limit, "kind", &ITripLimitLayer::getTripLimit, "How it does.");
  auto iterator = layer_class<IIteratorLayer, ILoopBoundaryLayer>(
      m, "IIteratorLayer", "The slices of a tensor, one per pass.");
  property(iterator, "axis", &IIteratorLayer::getAxis, &IIteratorLayer::setAxis,
           "The dimension that is sliced.");
  property(iterator, "reverse", &IIteratorLayer::getReverse, &IIteratorLayer::setReverse,
           "Whether the last slice comes first.");

  property(loop, "name", &ILoop::getName, &ILoop::setName, "The name, used in messages.");
  loop.def("add_recurrence", member(&ILoop::addRecurrence), nb::arg("initial_value"), kReference,
           in_network(),
           "Adds a value handed from pass to pass; set_input(1, ..) closes the circle.")
      .def("add_trip_limit", member(&ILoop::addTripLimit), nb::arg("tensor"), nb::arg("kind"),
           kReference, in_network(), "Adds what ends the loop.")
      .def("add_iterator", member(&ILoop::addIterator), nb::arg("tensor"), nb::arg("axis") = 0,
           nb::arg("reverse") = false, kReference, in_network(),
           "Adds the slices of a tensor, one per pass.")
      .def("add_loop_output", member(&ILoop::addLoopOutput), nb::arg("tensor"), nb::arg("kind"),
           nb::arg("axis") = 0, kReference, in_network(), "Adds a value that leaves the loop.");
}

void bind_conditional(nb::module_& m) {
  using C = IIfConditional;
  nb::class_<C> conditional(m, "IIfConditional", nb::type_slots(kPart),
                            "A choice between two sets of layers, of which one is run. It keeps "
                            "its network.");
  auto boundary = layer_class<IIfConditionalBoundaryLayer>(m, "IIfConditionalBoundaryLayer",
                                                           "A layer at a conditional's boundary.");
  boundary.def_prop_ro("conditional", member(&IIfConditionalBoundaryLayer::getConditional),
                       kReference, in_network(), "The conditional.");
  layer_class<IConditionLayer, IIfConditionalBoundaryLayer>(m, "IConditionLayer", "What decides.");
  layer_class<IIfConditionalOutputLayer, IIfConditionalBoundaryLayer>(
      m, "IIfConditionalOutputLayer", "A value of the branch that is taken.");
  layer_class<IIfConditionalInputLayer, IIfConditionalBoundaryLayer>(
      m, "IIfConditionalInputLayer", "A value that the branches use.");

  property(conditional, "name", &C::getName, &C::setName, "The name, used in messages.");
  conditional
      .def("set_condition", member(&C::setCondition), nb::arg("condition"), kReference,
           in_network(), "Sets what decides, a scalar BOOL.")
      .def("add_output", member(&C::addOutput), nb::arg("true_subgraph_output"),
           nb::arg("false_subgraph_output"), kReference, in_network(),
           "Adds a value of the branch that is taken; both have one shape and type.")
      .def("add_input", member(&C::addInput), nb::arg("input"), kReference, in_network(),
           "Adds a value that the branches use.");
}

}  // namespace

void bind_control_layers(nb::module_& m) {
  bind_loop(m);
  bind_conditional(m);
}

}  // namespace tenon::python
