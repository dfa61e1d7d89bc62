// The host CUDA runtime in the style of cuda-python's `cudart`: each function gives a tuple of the
// error and its results. `tenon.cudart` shows it.
#include <cuda_runtime_api.h>
#include <nanobind/stl/string.h>

#include <string>

#include "bind.h"
#include "engine_call.h"
#include "enums.h"
#include "handle.h"

namespace tenon::python {

/// Memory as cuda-python's functions take it: an address, or an object with a buffer.
struct Memory {
  void* pointer = nullptr;
  Bytes bytes;
};

}  // namespace tenon::python

namespace nanobind::detail {

template <> struct type_caster<tenon::python::Memory> {
  NB_TYPE_CASTER(tenon::python::Memory, const_name("int | typing_extensions.Buffer"))

  bool from_python(handle src, uint32_t flags, cleanup_list* cleanup) noexcept {
    make_caster<tenon::python::Address> address;
    if (value.bytes.open(src)) {
      value.pointer = const_cast<void*>(value.bytes.data());
      return true;
    }
    if (!address.from_python(src, flags, cleanup)) return false;
    value.pointer = address.value.as();
    return true;
  }
};

}  // namespace nanobind::detail

namespace tenon::python {
namespace {

using Stream = Address;
using Event = Address;

cudaStream_t stream_of(Stream stream) {
  return stream.as<CUstream_st>();
}

cudaEvent_t event_of(Event event) {
  return event.as<CUevent_st>();
}

// The error alone, from a call that has no result.
template <class Call> nb::tuple status(Call&& call) {
  return nb::make_tuple(into_engine(call));
}

// The error and a result, which `call` writes; None if it failed.
template <class Result, class Call> nb::tuple result(Call&& call) {
  Result value{};
  const cudaError_t error = into_engine([&] { return call(&value); });
  if (error != cudaSuccess) return nb::make_tuple(error, nb::none());
  if constexpr (std::is_pointer_v<Result>)
    return nb::make_tuple(error, Address::of(value));
  else
    return nb::make_tuple(error, value);
}

nb::tuple name_of(cudaError_t error) {
  return nb::make_tuple(cudaSuccess, nb::bytes(cudaGetErrorName(error)));
}

nb::tuple text_of(cudaError_t error) {
  return nb::make_tuple(cudaSuccess, nb::bytes(cudaGetErrorString(error)));
}

nb::tuple memory_info() {
  size_t free = 0, total = 0;
  const cudaError_t error = into_engine([&] { return cudaMemGetInfo(&free, &total); });
  return nb::make_tuple(error, free, total);
}

// All errors that the runtime has a name for; TensorRT's samples compare with cudaSuccess.
void bind_errors(nb::module_& m) {
  nb::enum_<cudaError_t> errors(m, "cudaError_t", "What went wrong.");
  constexpr int kMaxCodes = 1000;
  const std::string unknown = cudaGetErrorName(static_cast<cudaError_t>(kMaxCodes));
  for (int code = 0; code < kMaxCodes; ++code) {
    const auto error = static_cast<cudaError_t>(code);
    const char* const name = cudaGetErrorName(error);
    if (name != unknown) errors.value(name, error);
  }
  give_manners(errors);
  bind_enum<cudaMemcpyKind>(m, "cudaMemcpyKind", "Between which memories a copy goes.",
                            {{"cudaMemcpyHostToHost", cudaMemcpyHostToHost},
                             {"cudaMemcpyHostToDevice", cudaMemcpyHostToDevice},
                             {"cudaMemcpyDeviceToHost", cudaMemcpyDeviceToHost},
                             {"cudaMemcpyDeviceToDevice", cudaMemcpyDeviceToDevice},
                             {"cudaMemcpyDefault", cudaMemcpyDefault}});
}

void bind_device(nb::module_& m) {
  m.def("cudaGetErrorName", &name_of, nb::arg("error"));
  m.def("cudaGetErrorString", &text_of, nb::arg("error"));
  m.def("cudaGetLastError", [] { return status(&cudaGetLastError); });
  m.def("cudaPeekAtLastError", [] { return status(&cudaPeekAtLastError); });
  m.def("cudaRuntimeGetVersion", [] { return result<int>(&cudaRuntimeGetVersion); });
  m.def("cudaDriverGetVersion", [] { return result<int>(&cudaDriverGetVersion); });
  m.def("cudaGetDeviceCount", [] { return result<int>(&cudaGetDeviceCount); });
  m.def("cudaGetDevice", [] { return result<int>(&cudaGetDevice); });
  m.def(
      "cudaSetDevice", [](int device) { return status([&] { return cudaSetDevice(device); }); },
      nb::arg("device"));
  m.def("cudaDeviceSynchronize", [] { return status(&cudaDeviceSynchronize); });
  m.def("cudaMemGetInfo", &memory_info, "The error, and the free and the total memory in bytes.");
}

void bind_allocation(nb::module_& m) {
  const auto size = nb::arg("size");
  m.def(
      "cudaMalloc",
      [](size_t bytes) { return result<void*>([&](void** p) { return cudaMalloc(p, bytes); }); },
      size, "The error and the address of `size` bytes.");
  m.def(
      "cudaMallocAsync",
      [](size_t bytes, Stream stream) {
        return result<void*>(
            [&](void** p) { return cudaMallocAsync(p, bytes, stream_of(stream)); });
      },
      size, nb::arg("hStream"));
  m.def(
      "cudaMallocHost",
      [](size_t bytes) {
        return result<void*>([&](void** p) { return cudaMallocHost(p, bytes); });
      },
      size);
  m.def(
      "cudaHostAlloc",
      [](size_t bytes, unsigned flags) {
        return result<void*>([&](void** p) { return cudaHostAlloc(p, bytes, flags); });
      },
      size, nb::arg("flags"));
  m.def(
      "cudaMallocManaged",
      [](size_t bytes, unsigned flags) {
        return result<void*>([&](void** p) { return cudaMallocManaged(p, bytes, flags); });
      },
      size, nb::arg("flags") = cudaMemAttachGlobal);
  m.def(
      "cudaFree", [](Address p) { return status([&] { return cudaFree(p.as()); }); },
      nb::arg("devPtr"));
  m.def(
      "cudaFreeAsync",
      [](Address p, Stream stream) {
        return status([&] { return cudaFreeAsync(p.as(), stream_of(stream)); });
      },
      nb::arg("devPtr"), nb::arg("hStream"));
  m.def(
      "cudaFreeHost", [](Address p) { return status([&] { return cudaFreeHost(p.as()); }); },
      nb::arg("ptr"));
}

void bind_copies(nb::module_& m) {
  const auto to = nb::arg("dst");
  const auto from = nb::arg("src");
  const auto count = nb::arg("count");
  m.def(
      "cudaMemcpy",
      [](const Memory& dst, const Memory& src, size_t bytes, cudaMemcpyKind kind) {
        return status([&] { return cudaMemcpy(dst.pointer, src.pointer, bytes, kind); });
      },
      to, from, count, nb::arg("kind"), "Copies `count` bytes and waits.");
  m.def(
      "cudaMemcpyAsync",
      [](const Memory& dst, const Memory& src, size_t bytes, cudaMemcpyKind kind, Stream stream) {
        return status([&] {
          return cudaMemcpyAsync(dst.pointer, src.pointer, bytes, kind, stream_of(stream));
        });
      },
      to, from, count, nb::arg("kind"), nb::arg("stream"),
      "Copies `count` bytes on a stream; both memories must stay until it is done.");
  m.def(
      "cudaMemset",
      [](const Memory& p, int value, size_t bytes) {
        return status([&] { return cudaMemset(p.pointer, value, bytes); });
      },
      nb::arg("devPtr"), nb::arg("value"), count);
  m.def(
      "cudaMemsetAsync",
      [](const Memory& p, int value, size_t bytes, Stream stream) {
        return status([&] { return cudaMemsetAsync(p.pointer, value, bytes, stream_of(stream)); });
      },
      nb::arg("devPtr"), nb::arg("value"), count, nb::arg("stream"));
}

void bind_streams_of_cuda(nb::module_& m) {
  const auto stream = nb::arg("stream");
  m.def(
      "cudaStreamCreate", [] { return result<cudaStream_t>(&cudaStreamCreate); },
      "The error and a stream, an int.");
  m.def(
      "cudaStreamCreateWithFlags",
      [](unsigned flags) {
        return result<cudaStream_t>(
            [&](cudaStream_t* s) { return cudaStreamCreateWithFlags(s, flags); });
      },
      nb::arg("flags"));
  m.def(
      "cudaStreamSynchronize",
      [](Stream s) { return status([&] { return cudaStreamSynchronize(stream_of(s)); }); }, stream);
  m.def(
      "cudaStreamQuery",
      [](Stream s) { return status([&] { return cudaStreamQuery(stream_of(s)); }); }, stream);
  m.def(
      "cudaStreamWaitEvent",
      [](Stream s, Event e, unsigned flags) {
        return status([&] { return cudaStreamWaitEvent(stream_of(s), event_of(e), flags); });
      },
      stream, nb::arg("event"), nb::arg("flags") = 0);
  m.def(
      "cudaStreamDestroy",
      [](Stream s) { return status([&] { return cudaStreamDestroy(stream_of(s)); }); }, stream);
}

void bind_events(nb::module_& m) {
  const auto event = nb::arg("event");
  m.def(
      "cudaEventCreate", [] { return result<cudaEvent_t>(&cudaEventCreate); },
      "The error and an event, an int.");
  m.def(
      "cudaEventCreateWithFlags",
      [](unsigned flags) {
        return result<cudaEvent_t>(
            [&](cudaEvent_t* e) { return cudaEventCreateWithFlags(e, flags); });
      },
      nb::arg("flags"));
  m.def(
      "cudaEventRecord",
      [](Event e, Stream s) {
        return status([&] { return cudaEventRecord(event_of(e), stream_of(s)); });
      },
      event, nb::arg("stream"));
  m.def(
      "cudaEventSynchronize",
      [](Event e) { return status([&] { return cudaEventSynchronize(event_of(e)); }); }, event);
  m.def(
      "cudaEventQuery", [](Event e) { return status([&] { return cudaEventQuery(event_of(e)); }); },
      event);
  m.def(
      "cudaEventElapsedTime",
      [](Event start, Event end) {
        return result<float>(
            [&](float* ms) { return cudaEventElapsedTime(ms, event_of(start), event_of(end)); });
      },
      nb::arg("start"), nb::arg("end"), "The error and the time between two events, in ms.");
  m.def(
      "cudaEventDestroy",
      [](Event e) { return status([&] { return cudaEventDestroy(event_of(e)); }); }, event);
}

}  // namespace

void bind_cudart(nb::module_& package) {
  nb::module_ m = package.def_submodule("cudart", "The host CUDA runtime.");
  bind_errors(m);
  bind_device(m);
  bind_allocation(m);
  bind_copies(m);
  bind_streams_of_cuda(m);
  bind_events(m);
}

}  // namespace tenon::python
