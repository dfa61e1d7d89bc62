#include "array.h"

#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace tenon::python {
namespace {

using nvinfer1::DataType;
using nvinfer1::Dims;

constexpr ElementType kElementTypes[] = {
    {DataType::kFLOAT, "float32", 'f', 4},     {DataType::kHALF, "float16", 'e', 2},
    {DataType::kINT8, "int8", 'b', 1},         {DataType::kINT32, "int32", 'i', 4},
    {DataType::kBOOL, "bool", '?', 1},         {DataType::kUINT8, "uint8", 'B', 1},
    {DataType::kINT64, "int64", 'q', 8},       {DataType::kBF16, "bfloat16", 'H', 2},
    {DataType::kFP8, "float8_e4m3fn", 'B', 1}, {DataType::kE8M0, "float8_e8m0fnu", 'B', 1},
};

bool is_storage(const ElementType& type) {
  return type.type == DataType::kBF16 || type.type == DataType::kFP8
         || type.type == DataType::kE8M0;
}

// The type that a buffer says; C's long has two sizes.
const ElementType* type_of_format(const char* format, Py_ssize_t bytes) {
  if (format == nullptr) format = "B";
  if (*format == '@' || *format == '=' || *format == '<') ++format;
  if (*format == '\0' || format[1] != '\0') return nullptr;
  const char letter = *format == 'l' || *format == 'q' ? (bytes == 8 ? 'q' : 'i') : *format;
  for (const ElementType& type : kElementTypes)
    if (type.format == letter && !is_storage(type)) return &type;
  return nullptr;
}

// PyTorch has one object for each type.
const ElementType* type_of_torch(nb::handle dtype) {
  static auto& known = *new std::vector<std::pair<nb::object, const ElementType*>>;
  for (const auto& [object, type] : known)
    if (object.is(dtype)) return type;
  const std::string name = nb::str(dtype).c_str();  // "torch.float32"
  known.emplace_back(nb::borrow(dtype), type_of_name(name.substr(name.find('.') + 1)));
  return known.back().second;
}

constexpr const char* kNotDense =
    "the tensor's elements do not lie in memory one after the other: it is sparse, nested or of a "
    "trace; to_dense() and to_padded_tensor() make one that the engine can read";

nb::dlpack::dtype storage_type(const ElementType& type) {
  switch (type.format) {
    case 'f':
      return nb::dtype<float>();
    case 'e':
      return {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
    case 'b':
      return nb::dtype<int8_t>();
    case 'i':
      return nb::dtype<int32_t>();
    case 'q':
      return nb::dtype<int64_t>();
    case '?':
      return nb::dtype<bool>();
    case 'H':
      return nb::dtype<uint16_t>();
    default:
      return nb::dtype<uint8_t>();
  }
}

// Where new work of PyTorch goes on a GPU.
cudaStream_t stream_of_torch(int gpu) {
  static auto& current = *new nb::object(helper("torch_stream")());
  const auto stream = nb::cast<uintptr_t>(current(gpu));
  return stream == 0 ? cudaStreamLegacy : reinterpret_cast<cudaStream_t>(stream);
}

}  // namespace

nb::object helper(const char* name) {
  return nb::module_::import_("tenon._arrays").attr(name);
}

const ElementType* type_of_name(std::string_view name) {
  for (const ElementType& type : kElementTypes)
    if (name == type.name) return &type;
  return nullptr;
}

const ElementType& element_type(DataType type) {
  for (const ElementType& known : kElementTypes)
    if (known.type == type) return known;
  PyErr_SetString(PyExc_NotImplementedError,
                  "arrays of 4-bit types (INT4, FP4) are not supported yet");
  throw nb::python_error();
}

void refuse_mask(nb::handle array) {
  if (!nb::hasattr(array, "mask") || !nb::hasattr(array, "filled")) return;
  throw nb::type_error((std::string(nb::type_name(array.type()).c_str())
                        + ": the engine knows no masks; array.filled(value) gives all elements")
                           .c_str());
}

const Framework& framework_of(nb::handle array) {
  // Few types are seen; the list outlives the interpreter, as its objects cannot be freed then.
  static auto& known = *new std::vector<Framework>;
  const nb::handle type = array.type();
  for (const Framework& framework : known)
    if (framework.type.is(type)) return framework;
  refuse_mask(array);
  const auto made = nb::cast<nb::tuple>(helper("framework")(type));
  known.push_back(
      {nb::borrow(type), made[0], made[1], nb::cast<bool>(made[2]), nb::cast<bool>(made[3])});
  return known.back();
}

ArrayView::ArrayView(nb::handle array, const Framework& framework, bool writable, int gpu)
    : owner_(nb::borrow(array)), is_torch_(framework.is_torch) {
  if (!is_torch_) {
    if (gpu != kHost && framework.may_be_on_gpu
        && (open_interface(writable, gpu) || open_dlpack(writable, gpu)))
      return;
    if (!framework.to_numpy.is_none()) owner_ = framework.to_numpy(array);
    open_buffer(writable);
    return;
  }
  try {
    open_tensor(writable, gpu);
  } catch (nb::python_error& error) {
    if (!error.matches(PyExc_RuntimeError)) throw;
    nb::raise_from(error, PyExc_TypeError, "%s", kNotDense);
  }
}

void ArrayView::open_tensor(bool writable, int gpu) {
  const bool is_cpu = nb::cast<bool>(owner_.attr("is_cpu"));
  on_gpu_ = !is_cpu && gpu != kHost && nb::cast<bool>(owner_.attr("is_cuda"))
            && nb::cast<int>(owner_.attr("get_device")()) == gpu;
  if (!(is_cpu || on_gpu_) || nb::cast<bool>(owner_.attr("is_neg")())
      || !nb::cast<bool>(owner_.attr("is_contiguous")()))
    owner_ = helper("plain_tensor")(owner_, writable, gpu);
  if (on_gpu_) stream_ = stream_of_torch(gpu);
  const nb::object shape = owner_.attr("shape");
  rank_ = static_cast<int>(nb::len(shape));
  shape_.nbDims = std::min<int>(rank_, Dims::MAX_DIMS);
  for (int i = 0; i < shape_.nbDims; ++i) shape_.d[i] = nb::cast<int64_t>(shape[i]);
  type_ = type_of_torch(owner_.attr("dtype"));
  data_ = reinterpret_cast<void*>(nb::cast<uintptr_t>(owner_.attr("data_ptr")()));
  bytes_ = type_ == nullptr ? 0 : type_->bytes;
  for (int i = 0; i < shape_.nbDims; ++i) bytes_ *= static_cast<size_t>(shape_.d[i]);
  if (data_ == nullptr && bytes_ > 0) throw nb::type_error(kNotDense);  // of a trace
}

void ArrayView::open_buffer(bool writable) {
  const int flags = PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (writable ? PyBUF_WRITABLE : 0);
  std::string name;
  if (PyObject_GetBuffer(owner_.ptr(), &view_, flags) != 0) {
    PyErr_Clear();
    const auto plain = nb::cast<nb::tuple>(helper("plain")(owner_, writable));
    owner_ = plain[0];
    name = nb::cast<std::string>(plain[1]);
    if (PyObject_GetBuffer(owner_.ptr(), &view_, flags) != 0) {
      PyErr_Clear();  // a type that no buffer describes, which is none of ours
      return;
    }
  }
  type_ = name.empty() ? type_of_format(view_.format, view_.itemsize) : type_of_name(name);
  data_ = view_.buf;
  bytes_ = static_cast<size_t>(view_.len);
  rank_ = view_.ndim;
  shape_.nbDims = std::min<int>(rank_, Dims::MAX_DIMS);
  std::copy_n(view_.shape, shape_.nbDims, shape_.d);
}

bool ArrayView::has_shape(const Dims& shape) const {
  return rank_ == shape.nbDims && std::equal(shape_.d, shape_.d + rank_, shape.d);
}

nb::capsule owner_of(Memory memory) {
  return nb::capsule(new Memory(std::move(memory)),
                     [](void* p) noexcept { delete static_cast<Memory*>(p); });
}

nb::object make_array(Memory memory, const Dims& shape, const ElementType& type,
                      const Framework& framework) {
  size_t extents[Dims::MAX_DIMS];
  std::copy_n(shape.d, shape.nbDims, extents);
  void* const data = memory.get();
  const nb::capsule owner = owner_of(std::move(memory));
  nb::object array = nb::ndarray<nb::numpy>(data, static_cast<size_t>(shape.nbDims), extents, owner,
                                            nullptr, storage_type(type))
                         .cast(nb::rv_policy::reference);
  if (framework.to_numpy.is_none() && !is_storage(type)) return array;
  return framework.from_numpy(array, type.name);
}

std::string text_of(const Dims& shape) {
  std::string text = "(";
  for (int i = 0; i < shape.nbDims; ++i) text += (i > 0 ? ", " : "") + std::to_string(shape.d[i]);
  return text + (shape.nbDims == 1 ? ",)" : ")");
}

std::string text_of(nb::handle array) {
  return nb::cast<std::string>(helper("text")(array));
}

}  // namespace tenon::python
