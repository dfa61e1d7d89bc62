// How parts of a network (layers, tensors, loops) and their members are bound.
#pragma once

#include <NvInfer.h>
#include <nanobind/nanobind.h>

#include "member.h"
#include "weights.h"

namespace tenon::python {

/// The network that a part belongs to: the network itself, or a part that joined it.
nb::handle network_of(nb::handle part);

/// Makes `part`, the result of a call to `owner`, keep the network of `owner` alive. None is left
/// alone.
void join_network(nb::handle part, nb::handle owner);

/// A layer as an object of its own class; None for null. `owner` is its network or another part.
nb::object layer_object(nvinfer1::ILayer* layer, nb::handle owner);

/// Shows the garbage collector the network of a part.
int visit_network(PyObject* part, visitproc visit, void* arg);

/// For nb::type_slots of parts.
inline PyType_Slot kPart[] = {{Py_tp_traverse, reinterpret_cast<void*>(&visit_network)},
                              {0, nullptr}};

/// The call policy of all members of networks and their parts: what they give keeps the network
/// alive.
struct InNetwork {
  static void precall(PyObject**, size_t, nb::detail::cleanup_list*) {}
  static void postcall(PyObject** arguments, size_t, nb::handle result) {
    join_network(result, arguments[0]);
  }
};
using in_network = nb::call_policy<InNetwork>;

/// A property of weights, which Python sees as a NumPy array.
template <class Class, class Bound>
void weights_property(Bound& bound, const char* name,
                      nvinfer1::Weights (Class::*get)() const noexcept,
                      void (Class::*set)(nvinfer1::Weights) noexcept, const char* doc) {
  bound.def_prop_rw(
      name,
      [get](nb::handle self) {
        return weights_to_numpy((nb::cast<const Class&>(self).*get)(), self);
      },
      member(set), nb::for_setter(nb::arg("weights").none()), nb::for_setter(in_network()), doc);
}

/// A class of layers.
template <class Layer, class Base = nvinfer1::ILayer>
nb::class_<Layer, Base> layer_class(nb::module_& m, const char* name, const char* doc) {
  return nb::class_<Layer, Base>(m, name, doc);
}

}  // namespace tenon::python
