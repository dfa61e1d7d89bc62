// What the classes have in common that users derive from in Python.
#pragma once

#include "engine_call.h"
#include "handle.h"

namespace tenon::python {

/// The body of a method that the user's class has to define.
inline void required(nb::handle self, const nb::args&) {
  PyErr_Format(PyExc_NotImplementedError, "%S does not define this method", class_name(self).ptr());
  throw nb::python_error();
}

/// The result of an override as TensorRT reads it: None is false.
inline bool truth(const nb::object& result) {
  const int value = PyObject_IsTrue(result.ptr());
  if (value < 0) throw nb::python_error();
  return value != 0;
}

/// The result of an override as an address; None is null.
inline void* pointer(const nb::object& result) {
  return result.is_none() ? nullptr : nb::cast<Address>(result).as();
}

}  // namespace tenon::python
