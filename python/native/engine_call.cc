#include "engine_call.h"

#include <unistd.h>

#include <string>

// One name until Python 3.12 and the other since 3.13: a module for several versions takes the one
// that is there.
extern "C" {
[[gnu::weak]] int Py_IsFinalizing();
[[gnu::weak]] int _Py_IsFinalizing();
}

namespace tenon::python {

Raised*& Raised::current() {
  thread_local Raised* innermost = nullptr;
  return innermost;
}

void sleep_for_ever() noexcept {
  while (true) pause();
}

Released::~Released() {
  unless_python_ends([&] { PyEval_RestoreThread(state_); });
}

Held::Held() : state_(unless_python_ends([] { return PyGILState_Ensure(); })) {}

bool python_lives() noexcept {
  const auto is_finalizing = Py_IsFinalizing != nullptr ? Py_IsFinalizing : _Py_IsFinalizing;
  return Py_IsInitialized() != 0 && is_finalizing() == 0;
}

nb::object class_name(nb::handle object) {
  return object.type().attr("__name__");
}

namespace {

void report_unraisable(std::exception_ptr exception, const char* where) {
  try {
    std::rethrow_exception(std::move(exception));
  } catch (nb::python_error& error) {
    error.restore();
  } catch (const std::exception& error) {
    PyErr_SetString(PyExc_RuntimeError, error.what());
  } catch (...) {
    PyErr_SetString(PyExc_RuntimeError, "an unknown exception");
  }
  PyObject* const text = PyUnicode_FromString(where);
  PyErr_WriteUnraisable(text);
  Py_XDECREF(text);
}

}  // namespace

void keep_or_report(const char* where) noexcept {
  std::exception_ptr exception = std::current_exception();
  try {
    throw;
  } catch (const nb::cast_error&) {
    const std::string text = std::string(where) + "() gave a value of the wrong type";
    exception = std::make_exception_ptr(nb::type_error(text.c_str()));
  } catch (...) {}
  if (Raised* const raised = Raised::current())
    raised->keep(std::move(exception));
  else
    report_unraisable(std::move(exception), where);
}

void raise_undefined(nb::handle self, const char* method) {
  PyErr_Format(PyExc_NotImplementedError, "%S does not define %s()", class_name(self).ptr(),
               method);
  throw nb::python_error();
}

}  // namespace tenon::python
