// Memory of a GPU, which other frameworks take by DLPack: plugins' tensors, and results.
#include <cuda_runtime_api.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>
#include <tenon/cudart/engine.h>
#include <tenon/gpu.h>

#include <optional>

#include "array.h"
#include "bind.h"
#include "dlpack_types.h"
#include "handle.h"
#include "run/memory_pool.h"

namespace tenon::python {
namespace {

// The number of the GPU whose memory it is.
std::optional<int> gpu_of(Address address) {
  if (!cudart::on_gpu()) return std::nullopt;
  cudaPointerAttributes attributes = {};
  if (cudaPointerGetAttributes(&attributes, address.as<const void>()) != cudaSuccess) {
    cudaGetLastError();
    return std::nullopt;
  }
  const bool on_device =
      attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged;
  return on_device ? std::optional(attributes.device) : std::nullopt;
}

}  // namespace

void bind_gpu_memory(nb::module_& m) {
  m.def("gpu_of", &gpu_of, nb::arg("address"),
        "The number of the GPU whose memory an address is of; None for memory of the host.");
  m.def("on_gpu", &cudart::on_gpu,
        "Whether device memory and streams of this process are a GPU's, not the host's.");
  m.def(
      "gpu_array",
      [](Address address, const std::vector<size_t>& shape, nvinfer1::DataType type, int gpu,
         nb::handle owner) -> Any {
        const nb::ndarray<nb::array_api> array(address.as<void>(), shape.size(), shape.data(),
                                               owner, nullptr, dlpack_type(type),
                                               nb::device::cuda::value, gpu);
        return nb::cast(array, nb::rv_policy::reference);
      },
      nb::arg("address"), nb::arg("shape"), nb::arg("type"), nb::arg("gpu"),
      nb::arg("owner") = nb::none(),
      "Memory of a GPU as an object with DLPack's methods, which keeps `owner`.");
  m.def(
      "order_streams",
      [](Address earlier, Address later, int gpu) {
        const OnGpu current(gpu);
        order(earlier.as<CUstream_st>(), later.as<CUstream_st>());
      },
      nb::arg("earlier"), nb::arg("later"), nb::arg("gpu"),
      "What is put into the stream `later` of a GPU from now on begins when all in `earlier` is "
      "done.");
  m.def(
      "gpu_of_engine",
      [](const nvinfer1::ICudaEngine& engine) {
        const int gpu = tenon::gpu_of(engine);
        return gpu == kHost ? std::nullopt : std::optional(gpu);
      },
      nb::arg("engine"), "The number of the GPU that an engine runs on; None for the CPU.");
}

}  // namespace tenon::python
