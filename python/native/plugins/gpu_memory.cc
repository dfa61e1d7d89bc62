// Memory of a GPU, as plugins are given it there: other frameworks take it by DLPack.
#include <cuda_runtime_api.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/vector.h>
#include <tenon/cudart/engine.h>

#include <optional>

#include "array.h"
#include "bind.h"
#include "handle.h"

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

// Types that DLPack lacks, or frameworks do not know, show their bits.
nb::dlpack::dtype dlpack_type(nvinfer1::DataType type) {
  using nb::dlpack::dtype_code;
  const auto of = [](dtype_code code, uint8_t bits) {
    return nb::dlpack::dtype{static_cast<uint8_t>(code), bits, 1};
  };
  switch (type) {
    case nvinfer1::DataType::kFLOAT:
      return of(dtype_code::Float, 32);
    case nvinfer1::DataType::kHALF:
      return of(dtype_code::Float, 16);
    case nvinfer1::DataType::kBF16:
      return of(dtype_code::Bfloat, 16);
    case nvinfer1::DataType::kINT8:
      return of(dtype_code::Int, 8);
    case nvinfer1::DataType::kINT32:
      return of(dtype_code::Int, 32);
    case nvinfer1::DataType::kINT64:
      return of(dtype_code::Int, 64);
    case nvinfer1::DataType::kBOOL:
      return of(dtype_code::Bool, 8);
    default:
      return of(dtype_code::UInt, 8);
  }
}

}  // namespace

void bind_gpu_memory(nb::module_& m) {
  m.def("gpu_of", &gpu_of, nb::arg("address"),
        "The number of the GPU whose memory an address is of; None for memory of the host.");
  m.def(
      "gpu_array",
      [](Address address, const std::vector<size_t>& shape, nvinfer1::DataType type,
         int gpu) -> Any {
        const nb::ndarray<nb::array_api> array(address.as<void>(), shape.size(), shape.data(),
                                               nb::none(), nullptr, dlpack_type(type),
                                               nb::device::cuda::value, gpu);
        return nb::cast(array, nb::rv_policy::reference);
      },
      nb::arg("address"), nb::arg("shape"), nb::arg("type"), nb::arg("gpu"),
      "Memory of a GPU as an object with DLPack's methods. The memory is not kept.");
}

}  // namespace tenon::python
