// How parts of a network (layers, tensors, loops) and their members are bound.
#pragma once

#include <NvInfer.h>
#include <nanobind/nanobind.h>

#include "dims.h"
#include "engine_call.h"
#include "weights.h"

namespace tenon::python {

/// The network that a part belongs to: the network itself, or a part that joined it.
nb::handle network_of(nb::handle part);

/// Makes `part`, the result of a call to `owner`, keep the network of `owner` alive. None is left
/// alone.
void join_network(nb::handle part, nb::handle owner);

/// A layer as an object of its own class; None for null. `owner` is its network or another part.
nb::object layer_object(nvinfer1::ILayer* layer, nb::handle owner);

/// Makes the network of `part` keep `weights` alive, unless they are None.
void keep_weights(nb::handle part, nb::handle weights);

/// The call policy of all members of networks and their parts: what they give keeps the network
/// alive, and the network keeps the weights that they are given.
struct InNetwork {
  static void precall(PyObject**, size_t, nb::detail::cleanup_list*) {}
  static void postcall(PyObject** arguments, size_t count, nb::handle result) {
    for (size_t i = 1; i < count; ++i) keep_weights(arguments[0], arguments[i]);
    join_network(result, arguments[0]);
  }
};
using in_network = nb::call_policy<InNetwork>;

/// A bool that may come as NumPy's or as an int, as TensorRT takes them.
struct Truth {
  bool value = false;
};

/// What stands for a parameter of a TensorRT function in its binding.
template <class T> struct Parameter {
  using Type = T;
  static T give(T value) { return std::forward<T>(value); }
};
template <> struct Parameter<bool> {
  using Type = Truth;
  static bool give(Truth value) { return value.value; }
};
template <> struct Parameter<nvinfer1::Weights> {
  using Type = const GivenWeights&;
  static nvinfer1::Weights give(const GivenWeights& given) { return given.weights(); }
};
/// Parameters that may come as sequences of integers.
template <class T> struct SequenceParameter {
  using Type = const Given<T>&;
  static const T& give(const Given<T>& given) { return given.get(); }
};
template <> struct Parameter<nvinfer1::Dims> : SequenceParameter<nvinfer1::Dims> {};
template <> struct Parameter<const nvinfer1::Dims&> : SequenceParameter<nvinfer1::Dims> {};
template <> struct Parameter<nvinfer1::DimsHW> : SequenceParameter<nvinfer1::DimsHW> {};
template <> struct Parameter<nvinfer1::Permutation> : SequenceParameter<nvinfer1::Permutation> {};
template <class T> using ParameterType = typename Parameter<T>::Type;

/// A member function of TensorRT as a binding: see engine_call.h and Parameter.
template <class Class, class R, class... P> auto member(R (Class::*function)(P...) noexcept) {
  return [function](Class& self, ParameterType<P>... values) -> R {
    return into_engine([&]() -> R { return (self.*function)(Parameter<P>::give(values)...); });
  };
}
template <class Class, class R, class... P> auto member(R (Class::*function)(P...) const noexcept) {
  return [function](const Class& self, ParameterType<P>... values) -> R {
    return into_engine([&]() -> R { return (self.*function)(Parameter<P>::give(values)...); });
  };
}

/// A property with TensorRT's getter and setter.
template <class Bound, class Get, class Set>
void property(Bound& bound, const char* name, Get get, Set set, const char* doc) {
  bound.def_prop_rw(name, member(get), member(set), nb::for_setter(nb::name(name)), doc);
}
template <class Bound, class Get>
void property(Bound& bound, const char* name, Get get, const char* doc) {
  bound.def_prop_ro(name, member(get), doc);
}

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

namespace nanobind::detail {

template <> struct type_caster<tenon::python::Truth> {
  NB_TYPE_CASTER(tenon::python::Truth, const_name("bool"))
  bool from_python(handle source, uint32_t flags, cleanup_list*) noexcept {
    const bool exact = PyBool_Check(source.ptr());
    if (!exact && ((flags & cast_flags::convert) == 0 || !is_number(source))) return false;
    const int truth = PyObject_IsTrue(source.ptr());
    if (truth < 0) PyErr_Clear();
    value.value = truth == 1;
    return truth >= 0;
  }

 private:
  static bool is_number(handle source) {
    const PyNumberMethods* const number = Py_TYPE(source.ptr())->tp_as_number;
    return number != nullptr && number->nb_bool != nullptr && !PyFloat_Check(source.ptr());
  }
};

}  // namespace nanobind::detail
