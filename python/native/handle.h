// Objects of the library that Python owns, and how addresses and bytes cross over.
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <memory>
#include <typeinfo>
#include <utility>

#include "engine_call.h"
#include "keep.h"

namespace tenon::python {

/// An object that the library made and that its caller deletes: as a result it becomes a Python
/// object that owns it, null becomes None. It is deleted without the GIL, as it may have to wait
/// for threads that call Python, and before what it keeps.
template <class T> struct Owned {
  std::unique_ptr<T> handle;

  Owned() = default;
  explicit Owned(T* pointer) : handle(pointer) {}
  Owned(std::unique_ptr<T> given) : handle(std::move(given)) {}
};

/// An address or a handle such as a stream: an int in Python, or anything that int() takes other
/// than text and floats.
struct Address {
  uintptr_t value = 0;

  template <class T = void> T* as() const { return reinterpret_cast<T*>(value); }
  static Address of(const void* pointer) { return {reinterpret_cast<uintptr_t>(pointer)}; }
};

/// The bytes of an object with a contiguous buffer: bytes, memoryview, a plan, an array. Valid for
/// as long as this exists; the object cannot shrink meanwhile.
class Bytes {
 public:
  Bytes() = default;
  Bytes(Bytes&& other) noexcept : view_(std::exchange(other.view_, {})) {}
  Bytes& operator=(Bytes&& other) noexcept {
    std::swap(view_, other.view_);
    return *this;
  }
  ~Bytes() { PyBuffer_Release(&view_); }

  /// False if the object has no such buffer.
  bool open(nanobind::handle object) noexcept {
    if (PyObject_GetBuffer(object.ptr(), &view_, PyBUF_SIMPLE) == 0) return true;
    PyErr_Clear();
    view_ = {};
    return false;
  }
  const void* data() const { return view_.buf; }
  size_t size() const { return static_cast<size_t>(view_.len); }

 private:
  Py_buffer view_{};
};

/// Lets objects be used in `with` statements, as 8.x programs do. Leaving one does nothing: an
/// object goes with its last reference.
template <class Class> Class& usable_in_with(Class& bound) {
  namespace nb = nanobind;
  bound
      .def(
          "__enter__", [](nb::handle self) { return nb::borrow(self); },
          nb::sig("def __enter__(self) -> typing.Self"))
      .def(
          "__exit__", [](nb::handle, const nb::args&) {},
          "Does nothing: the object goes with its last reference.");
  return bound;
}

/// Raises RuntimeError for `what`, which the library refused to make.
[[noreturn]] inline void not_made(const char* what) {
  PyErr_Format(PyExc_RuntimeError, "%s was not made: the logger was told why", what);
  throw nanobind::python_error();
}

/// A class of Owned<> objects. 8.x programs call `__del__`, which does nothing either.
template <class T, class... Extra>
nanobind::class_<T> handle_class(nanobind::module_& m, const char* name, const char* doc,
                                 const Extra&... extra) {
  namespace nb = nanobind;
  nb::class_<T> bound(m, name, nb::is_weak_referenceable(), nb::type_slots(kKeeper), doc, extra...);
  return usable_in_with(bound).def("__del__", [](nb::handle) {});
}

}  // namespace tenon::python

namespace nanobind::detail {

template <class T> struct type_caster<tenon::python::Owned<T>> {
  using Value = tenon::python::Owned<T>;
  static constexpr auto Name = make_caster<T>::Name;

  static handle from_cpp(Value&& value, rv_policy, cleanup_list*) {
    if (value.handle == nullptr) return none().release();
    const handle of_type = type<T>();
    if (!of_type.is_valid()) {
      PyErr_Format(PyExc_TypeError, "%s has no Python class", typeid(T).name());
      return handle();
    }
    object result = inst_reference(of_type, value.handle.get());
    keep_alive_cb(result, value.handle.release(), [](void* pointer) noexcept {
      const tenon::python::Released released;
      delete static_cast<T*>(pointer);
    });
    return result.release();
  }
};

template <> struct type_caster<tenon::python::Address> {
  NB_TYPE_CASTER(tenon::python::Address, const_name("int"))

  bool from_python(handle src, uint32_t, cleanup_list*) noexcept {
    if (!PyLong_Check(src.ptr())) {
      if (PyType_GetSlot(Py_TYPE(src.ptr()), Py_nb_int) == nullptr || PyFloat_Check(src.ptr()))
        return false;
    }
    PyObject* const number = PyNumber_Long(src.ptr());
    if (number != nullptr) {
      value.value = PyLong_AsUnsignedLongLong(number);
      Py_DECREF(number);
    }
    if (PyErr_Occurred() == nullptr) return true;
    PyErr_Clear();
    return false;
  }
  static handle from_cpp(tenon::python::Address address, rv_policy, cleanup_list*) noexcept {
    return PyLong_FromUnsignedLongLong(address.value);
  }
};

template <> struct type_caster<tenon::python::Bytes> {
  NB_TYPE_CASTER(tenon::python::Bytes, const_name("typing_extensions.Buffer"))

  bool from_python(handle src, uint32_t, cleanup_list*) noexcept { return value.open(src); }
};

}  // namespace nanobind::detail
