#include "engine_call.h"

#include <cxxabi.h>
#include <unistd.h>

namespace tenon::python {

Raised*& Raised::current() {
  thread_local Raised* innermost = nullptr;
  return innermost;
}

namespace {

// Runs `take`, which takes the GIL or, at the interpreter's end, would unwind the thread.
template <class Take> auto take_gil(Take&& take) noexcept {
  try {
    return take();
  } catch (abi::__forced_unwind&) {
    while (true) pause();
  }
}

}  // namespace

Released::~Released() {
  take_gil([&] {
    PyEval_RestoreThread(state_);
    return 0;
  });
}

Held::Held() : state_(take_gil([] { return PyGILState_Ensure(); })) {}

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
