// Member functions of TensorRT's classes as bindings, and what may stand for their parameters.
#pragma once

#include <NvInfer.h>
#include <nanobind/nanobind.h>

#include "dims.h"
#include "engine_call.h"
#include "weights.h"

namespace tenon::python {

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
    return PyType_GetSlot(Py_TYPE(source.ptr()), Py_nb_bool) != nullptr
           && !PyFloat_Check(source.ptr());
  }
};

}  // namespace nanobind::detail
