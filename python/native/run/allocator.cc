// Allocators that users write in Python.
#include <NvInferRuntime.h>

#include "bind.h"
#include "callback.h"

namespace tenon::python {
namespace {

using nvinfer1::AllocatorFlags;
using nvinfer1::APILanguage;
using nvinfer1::Dims;
using nvinfer1::v_1_0::IGpuAllocator;
using nvinfer1::v_1_0::IGpuAsyncAllocator;
using nvinfer1::v_1_0::IOutputAllocator;

template <class Base> class PythonAllocator : public Base {
 public:
  NB_TRAMPOLINE(Base);

  void* allocate(uint64_t size, uint64_t alignment, AllocatorFlags flags) noexcept override {
    return into_python<void*>(nullptr, "allocate", [&] {
      if (is_async() && !is_overridden(nb_trampoline, "allocate"))
        return pointer(call("allocate_async", size, alignment, flags, Address()));
      return pointer(call("allocate", size, alignment, flags));
    });
  }
  void* reallocate(void* memory, uint64_t alignment, uint64_t size) noexcept override {
    return into_python<void*>(nullptr, "reallocate", [&]() -> void* {
      if (!is_overridden(nb_trampoline, "reallocate")) return nullptr;
      return pointer(call("reallocate", Address::of(memory), alignment, size));
    });
  }
  bool deallocate(void* memory) noexcept override {
    return into_python(false, "deallocate", [&] {
      if (is_async() && !is_overridden(nb_trampoline, "deallocate"))
        return truth(call("deallocate_async", Address::of(memory), Address()));
      return truth(call("deallocate", Address::of(memory)));
    });
  }
  void* allocateAsync(uint64_t size, uint64_t alignment, AllocatorFlags flags,
                      cudaStream_t stream) noexcept override {
    return into_python<void*>(nullptr, "allocate_async", [&] {
      if (!is_async() && !is_overridden(nb_trampoline, "allocate_async"))
        return pointer(call("allocate", size, alignment, flags));
      return pointer(call("allocate_async", size, alignment, flags, Address::of(stream)));
    });
  }
  bool deallocateAsync(void* memory, cudaStream_t stream) noexcept override {
    return into_python(false, "deallocate_async", [&] {
      if (!is_async() && !is_overridden(nb_trampoline, "deallocate_async"))
        return truth(call("deallocate", Address::of(memory)));
      return truth(call("deallocate_async", Address::of(memory), Address::of(stream)));
    });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }

 private:
  static constexpr bool is_async() { return std::is_same_v<Base, IGpuAsyncAllocator>; }
  template <class... Args> nb::object call(const char* name, Args... args) {
    return call_override(nb_trampoline, name, args...);
  }
};

class PythonOutputAllocator : public IOutputAllocator {
 public:
  NB_TRAMPOLINE(IOutputAllocator);

  void* reallocateOutput(const char* name, void* memory, uint64_t size,
                         uint64_t alignment) noexcept override {
    return into_python<void*>(nullptr, "reallocate_output", [&] {
      return pointer(call_override(nb_trampoline, "reallocate_output", name, Address::of(memory),
                                   size, alignment));
    });
  }
  void* reallocateOutputAsync(const char* name, void* memory, uint64_t size, uint64_t alignment,
                              cudaStream_t stream) override {
    return into_python<void*>(nullptr, "reallocate_output_async", [&] {
      if (!is_overridden(nb_trampoline, "reallocate_output_async"))
        return pointer(call_override(nb_trampoline, "reallocate_output", name, Address::of(memory),
                                     size, alignment));
      return pointer(call_override(nb_trampoline, "reallocate_output_async", name,
                                   Address::of(memory), size, alignment, Address::of(stream)));
    });
  }
  void notifyShape(const char* name, const Dims& shape) noexcept override {
    into_python("notify_shape",
                [&] { call_override(nb_trampoline, "notify_shape", name, Dims(shape)); });
  }
  APILanguage getAPILanguage() const noexcept override { return APILanguage::kPYTHON; }
};

void bind_output_allocator(nb::module_& m) {
  nb::class_<IOutputAllocator, PythonOutputAllocator>(
      m, "IOutputAllocator",
      "Gives memory to outputs while the engine runs. Derive from it and define "
      "reallocate_output() or reallocate_output_async(), and notify_shape().")
      .def(nb::init<>())
      .def("reallocate_output", &required,
           nb::sig("def reallocate_output(self, tensor_name: str, memory: int, size: int, "
                   "alignment: int) -> int"),
           "The address of at least `size` bytes for the output; may be `memory`, the address of "
           "before. 0 makes the run fail.")
      .def("reallocate_output_async", &required,
           nb::sig("def reallocate_output_async(self, tensor_name: str, memory: int, size: int, "
                   "alignment: int, stream: int) -> int"),
           "As reallocate_output(), for use on `stream`.")
      .def("notify_shape", &required,
           nb::sig("def notify_shape(self, tensor_name: str, shape: Dims) -> None"),
           "Takes the shape of the output once it is known.");
}

}  // namespace

void bind_allocators(nb::module_& m) {
  nb::class_<IGpuAllocator, PythonAllocator<IGpuAllocator>>(
      m, "IGpuAllocator",
      "Allocates device memory. Derive from it and define allocate() and deallocate(). Called from "
      "several threads.")
      .def(nb::init<>())
      .def_prop_ro("api_language", &IGpuAllocator::getAPILanguage)
      .def_prop_ro("interface_info",
                   [](const IGpuAllocator& self) -> Any {
                     const nvinfer1::InterfaceInfo info = self.getInterfaceInfo();
                     return nb::module_::import_("tenon.tensorrt")
                         .attr("InterfaceInfo")(info.kind, info.major, info.minor);
                   })
      .def("allocate", &required,
           nb::sig("def allocate(self, size: int, alignment: int, flags: int) -> int"),
           "The address of `size` bytes aligned to `alignment`, or 0.")
      .def("reallocate", &required,
           nb::sig("def reallocate(self, address: int, alignment: int, new_size: int) -> int"),
           "Grows a block; 0 if that is not possible, which is the default.")
      .def("deallocate", &required, nb::sig("def deallocate(self, memory: int) -> bool"),
           "Frees a block; False on failure.")
      .def("allocate_async", &required,
           nb::sig("def allocate_async(self, size: int, alignment: int, flags: int, stream: int) "
                   "-> int"),
           "As allocate(), for use on `stream`; by default allocate().")
      .def("deallocate_async", &required,
           nb::sig("def deallocate_async(self, memory: int, stream: int) -> bool"),
           "As deallocate(), once the work on `stream` is done; by default deallocate().");
  nb::class_<IGpuAsyncAllocator, IGpuAllocator, PythonAllocator<IGpuAsyncAllocator>>(
      m, "IGpuAsyncAllocator",
      "Allocates device memory in the order of streams. Derive from it and define allocate_async() "
      "and deallocate_async().")
      .def(nb::init<>());
  bind_output_allocator(m);
}

}  // namespace tenon::python
