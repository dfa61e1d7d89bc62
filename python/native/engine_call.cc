#include "engine_call.h"

#include <unistd.h>

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
#if PY_VERSION_HEX >= 0x030d0000
  return Py_IsInitialized() != 0 && Py_IsFinalizing() == 0;
#else
  return Py_IsInitialized() != 0 && _Py_IsFinalizing() == 0;
#endif
}

void report_unraisable(const char* where) noexcept {
  try {
    throw;
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

}  // namespace tenon::python
