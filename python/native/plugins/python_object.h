// Objects of the user's Python classes as the engine holds them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine_call.h"

namespace tenon::python {

/// A class of tenon.tensorrt that is written in Python; needs the GIL.
nb::object python_class(const char* module, const char* name);

/// A reference to a Python object that may be dropped without the GIL, and at exit.
class PythonObject {
 public:
  explicit PythonObject(nb::object object) : object_(object.release()) {}
  PythonObject(const PythonObject&) = delete;
  PythonObject& operator=(const PythonObject&) = delete;
  ~PythonObject();
  nb::handle get() const { return object_; }

 private:
  nb::handle object_;
};

/// Base of the C++ objects that stand for a Python object towards the engine. `interface` is the
/// address the engine knows it by.
class Adapter {
 public:
  Adapter(nb::object self, const void* interface);
  Adapter(const Adapter&) = delete;
  Adapter& operator=(const Adapter&) = delete;
  nb::object self() const { return nb::borrow(self_.get()); }
  UserMethod user_method(const char* name) const { return UserMethod(self_.get().attr(name)); }

 protected:
  ~Adapter();

  /// Runs `body`, which calls `method` of the Python object. What it raises goes into the engine's
  /// own error, too. Gives `failure` then.
  template <class R, class Body> R call(R failure, const char* method, Body&& body) const noexcept {
    return into_python(failure, method, [&]() -> R {
      try {
        return body();
      } catch (const std::exception& error) {
        report(method, error);
        throw;
      }
    });
  }
  /// The status of a method that says nothing on success; a number is its own status.
  template <class Body> int32_t status(const char* method, Body&& body) const noexcept {
    return call<int32_t>(kFailed, method, [&] { return status_of(nb::object(body()), method); });
  }
  /// The attribute or result `value` as a T; throws a TypeError that names the method.
  template <class T> T taken(nb::handle value, const char* method, const char* expected) const {
    T result{};
    if (!nb::try_cast(value, result)) refuse(value, method, expected);
    return result;
  }
  /// The truth of a result, as `if` takes it.
  static bool truth(nb::handle value) {
    const int result = PyObject_IsTrue(value.ptr());
    if (result < 0) throw nb::python_error();
    return result == 1;
  }
  [[noreturn]] void refuse(nb::handle value, const char* method, const char* expected) const;
  /// The text of an attribute, kept in `kept`; null if it cannot be had.
  const char* text(const char* attribute, std::string& kept) const noexcept;
  std::string class_name() const;

  static constexpr int32_t kFailed = 1;

 private:
  int32_t status_of(nb::handle result, const char* method) const;
  void report(const char* method, const std::exception& error) const;

  const PythonObject self_;
  const void* const interface_;
};

/// The Python object behind an object of the engine; null if it is written in C++. Needs the GIL.
nb::object python_of(const void* interface);

/// What the engine gets for a user's object: a clone of one that was made in C++ (a Cpp), or a
/// Python, the adapter of one of a Python class. Throws a TypeError that names `expected` when it
/// is neither.
template <class Cpp, class Python>
auto adapt(nb::handle object, const std::string& what, const char* expected, bool owned)
    -> decltype(nb::cast<Cpp&>(object).get().clone()) {
  if (nb::isinstance<Cpp>(object)) return nb::cast<Cpp&>(object).get().clone();
  if (!Python::is_one(object)) {
    const std::string message =
        what + " is " + nb::repr(object).c_str() + "; expected an " + expected;
    throw nb::type_error(message.c_str());
  }
  return new Python(nb::borrow(object), owned);
}

}  // namespace tenon::python
