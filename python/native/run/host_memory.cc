// Memory of the library: plans and timing caches as bytes.
#include <NvInferRuntime.h>

#include "bind.h"
#include "handle.h"

namespace tenon::python {
namespace {

using nvinfer1::IHostMemory;

// A plan's memory does not move, so that views need no counting; they keep the plan.
int get_buffer(PyObject* self, Py_buffer* view, int flags) noexcept {
  IHostMemory* const memory = nb::inst_ptr<IHostMemory>(self);
  return PyBuffer_FillInfo(view, self, memory->data(), static_cast<Py_ssize_t>(memory->size()),
                           /*readonly=*/0, flags);
}

PyType_Slot kBuffer[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)}, {0, nullptr}};

}  // namespace

void bind_host_memory(nb::module_& m) {
  handle_class<IHostMemory>(m, "IHostMemory",
                            "Memory of the library, such as a plan. bytes(), memoryview(), "
                            "numpy.frombuffer() and file.write() take it; only bytes() copies.",
                            nb::type_slots(kBuffer))
      .def_prop_ro("dtype", &IHostMemory::type, "What the memory holds: INT8 for plans.")
      .def_prop_ro("nbytes", &IHostMemory::size, "The size in bytes.")
      .def("__len__", &IHostMemory::size);
}

}  // namespace tenon::python
