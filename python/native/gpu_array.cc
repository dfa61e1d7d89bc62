// Arrays in the memory of a GPU: CUDA's array interface and DLPack, in and out.
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "array.h"
#include "dlpack_types.h"
#include "handle.h"

namespace tenon::python {
namespace {

using nvinfer1::Dims;

[[noreturn]] void refuse(PyObject* type, const std::string& text) {
  PyErr_SetString(type, text.c_str());
  throw nb::python_error();
}

constexpr const char* kGaps =
    "the array is not C-contiguous, and lies on a GPU: give a copy that is";

// The type of a "typestr": the order of bytes, a letter, the size.
const ElementType* type_of_typestr(const std::string& text) {
  constexpr std::pair<const char*, const char*> kNames[] = {
      {"f4", "float32"}, {"f2", "float16"}, {"i1", "int8"}, {"i4", "int32"},
      {"i8", "int64"},   {"u1", "uint8"},   {"b1", "bool"}};
  if (text.size() == 3 && text[0] != '>')
    for (const auto& [letters, name] : kNames)
      if (text.compare(1, 2, letters) == 0) return type_of_name(name);
  return nullptr;
}

const ElementType* type_of_dlpack(nb::dlpack::dtype found) {
  for (const char* name :
       {"float32", "float16", "bfloat16", "int8", "int32", "int64", "uint8", "bool"})
    if (const ElementType* type = type_of_name(name); dlpack_type(type->type) == found) return type;
  return nullptr;
}

// The number of a tuple's or an attribute's.
template <class T> T number(nb::handle object, const char* what) {
  T value = 0;
  if (!nb::try_cast(object, value))
    refuse(PyExc_TypeError, std::string("its ") + what + " is no number");
  return value;
}

// Of __cuda_array_interface__: the stream that consumers have to wait for. Without one the array is
// ready, and the default stream comes after most of what its maker goes on to do.
cudaStream_t stream_of(const nb::dict& interface) {
  if (!interface.contains("stream") || nb::object(interface["stream"]).is_none())
    return cudaStreamLegacy;
  const auto stream = number<uintptr_t>(interface["stream"], "stream");
  if (stream == 0)
    refuse(PyExc_ValueError,
           "its __cuda_array_interface__ has stream 0, which means nothing: 1 is "
           "the default stream, 2 that of the thread");
  return reinterpret_cast<cudaStream_t>(stream);
}

}  // namespace

// Whether the memory is what the engine's GPU may use.
void ArrayView::check_gpu(int gpu) const {
  if (bytes_ == 0) return;
  cudaPointerAttributes attributes = {};
  if (cudaPointerGetAttributes(&attributes, data_) != cudaSuccess
      || attributes.type == cudaMemoryTypeUnregistered) {
    cudaGetLastError();
    refuse(PyExc_ValueError, "its address is in no memory of a GPU");
  }
  if (attributes.type == cudaMemoryTypeDevice && attributes.device != gpu)
    refuse(PyExc_TypeError, "the array is in the memory of GPU " + std::to_string(attributes.device)
                                + "; the engine runs on GPU " + std::to_string(gpu));
}

bool ArrayView::open_interface(bool writable, int gpu) {
  const nb::object given = nb::getattr(owner_, "__cuda_array_interface__", nb::none());
  if (given.is_none()) return false;
  nb::dict interface;
  nb::tuple shape, data;
  std::string typestr;
  if (!nb::try_cast(given, interface) || !interface.contains("shape") || !interface.contains("data")
      || !interface.contains("typestr") || !nb::try_cast(interface["shape"], shape)
      || !nb::try_cast(interface["data"], data) || !nb::try_cast(interface["typestr"], typestr)
      || data.size() != 2)
    refuse(PyExc_TypeError,
           "its __cuda_array_interface__ has no 'shape', 'typestr' and 'data' as version 3 wants "
           "them");
  type_ = type_of_typestr(typestr);
  // NumPy's letters have no bfloat16; DLPack has.
  if (type_ == nullptr && nb::hasattr(owner_, "__dlpack__")) return false;
  if (interface.contains("mask") && !nb::object(interface["mask"]).is_none())
    refuse(PyExc_TypeError, "the array has a mask, which the engine does not know");
  if (writable && nb::cast<bool>(nb::bool_(data[1])))
    refuse(PyExc_ValueError, "the array cannot be written to");
  data_ = reinterpret_cast<void*>(data[0].is_none() ? 0 : number<uintptr_t>(data[0], "address"));
  rank_ = static_cast<int>(shape.size());
  shape_.nbDims = std::min<int>(rank_, Dims::MAX_DIMS);
  bytes_ = type_ == nullptr ? 0 : type_->bytes;
  for (int i = 0; i < shape_.nbDims; ++i) {
    shape_.d[i] = number<int64_t>(shape[static_cast<size_t>(i)], "shape");
    bytes_ *= static_cast<size_t>(shape_.d[i]);
  }
  nb::tuple strides;
  if (bytes_ > 0 && interface.contains("strides") && nb::try_cast(interface["strides"], strides)) {
    int64_t expected = type_->bytes;
    for (int i = shape_.nbDims - 1; i >= 0; expected *= shape_.d[i--])
      if (shape_.d[i] != 1
          && number<int64_t>(strides[static_cast<size_t>(i)], "strides") != expected)
        refuse(PyExc_ValueError, kGaps);
  }
  check_gpu(gpu);
  stream_ = stream_of(interface);
  return on_gpu_ = true;
}

bool ArrayView::open_dlpack(bool writable, int gpu) {
  constexpr int kCuda = 2, kManaged = 13;
  if (!nb::hasattr(owner_, "__dlpack_device__")) return false;
  const auto device = nb::cast<nb::tuple>(owner_.attr("__dlpack_device__")());
  const int kind = number<int>(nb::int_(device[0]), "DLPack device");
  if (kind != kCuda && kind != kManaged) return false;
  // Its maker lets the default stream wait for the elements.
  constexpr int kDefaultStream = 1;
  const nb::object capsule = owner_.attr("__dlpack__")(nb::arg("stream") = kDefaultStream);
  const auto open = [&](const auto& array) {
    type_ = type_of_dlpack(array.dtype());
    data_ = const_cast<void*>(static_cast<const void*>(array.data()));
    rank_ = static_cast<int>(array.ndim());
    shape_.nbDims = std::min<int>(rank_, Dims::MAX_DIMS);
    bytes_ = type_ == nullptr ? 0 : type_->bytes;
    for (int i = 0; i < shape_.nbDims; ++i) {
      shape_.d[i] = static_cast<int64_t>(array.shape(static_cast<size_t>(i)));
      bytes_ *= static_cast<size_t>(shape_.d[i]);
    }
    int64_t expected = 1;
    for (int i = shape_.nbDims - 1; bytes_ > 0 && i >= 0; expected *= shape_.d[i--])
      if (shape_.d[i] != 1 && array.stride(static_cast<size_t>(i)) != expected)
        refuse(PyExc_ValueError, kGaps);
    // What was exported may be the one that holds the memory.
    using Array = std::decay_t<decltype(array)>;
    const nb::capsule exported(new Array(array),
                               [](void* p) noexcept { delete static_cast<Array*>(p); });
    owner_ = nb::make_tuple(owner_, exported);
  };
  if (writable)
    open(nb::cast<nb::ndarray<>>(capsule));
  else
    open(nb::cast<nb::ndarray<nb::ro>>(capsule));
  check_gpu(gpu);
  stream_ = cudaStreamLegacy;
  return on_gpu_ = true;
}

GpuResult make_tensor(const Dims& shape, const ElementType& type, int gpu) {
  static auto& make = *new nb::object(helper("new_tensor"));
  nb::list extents;
  for (int i = 0; i < shape.nbDims; ++i) extents.append(shape.d[i]);
  const auto made = nb::cast<nb::tuple>(make(extents, type.name, gpu));
  return {made[0], reinterpret_cast<void*>(nb::cast<uintptr_t>(made[1]))};
}

GpuResult make_gpu_array(Memory memory, const Dims& shape, const ElementType& type, int gpu,
                         cudaStream_t stream) {
  void* const data = memory.get();
  nb::list extents;
  for (int i = 0; i < shape.nbDims; ++i) extents.append(shape.d[i]);
  return {helper("gpu_array")(Address::of(data), nb::tuple(extents), type.type, gpu,
                              Address::of(stream), owner_of(std::move(memory))),
          data};
}

}  // namespace tenon::python
