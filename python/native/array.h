// Arrays of NumPy and other frameworks, as memory that the engine reads and writes.
#pragma once

#include <NvInfer.h>
#include <cuda_runtime_api.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <string>
#include <string_view>

namespace nb = nanobind;

namespace tenon::python {

/// A data type of the engine and NumPy's name of it.
struct ElementType {
  nvinfer1::DataType type;
  const char* name;
  char format;  // of the buffer protocol; the storage's where NumPy has no such type
  uint8_t bytes;
};

/// Throws NotImplementedError for types that arrays cannot have: those of less than a byte.
const ElementType& element_type(nvinfer1::DataType type);

/// The type of that name, null if there is none.
const ElementType* type_of_name(std::string_view name);

/// How arrays of one Python type become NumPy's, and NumPy's become such arrays; without copies.
struct Framework {
  nb::object type;
  nb::object to_numpy;    // (array) -> numpy.ndarray; None for NumPy itself
  nb::object from_numpy;  // (numpy.ndarray, name of the element type) -> array
  bool is_torch;          // PyTorch's tensors say themselves where their memory is
  bool may_be_on_gpu;     // others that have CUDA's array interface or DLPack's
};

/// The number that stands for the host where GPUs are counted from 0.
constexpr int kHost = -1;

/// A function or object of tenon._arrays.
nb::object helper(const char* name);

/// Throws TypeError for an array with a mask (numpy.ma), which the engine would not see.
void refuse_mask(nb::handle array);

/// The framework of `array`. Throws TypeError when it is no array. Copy it before Python runs.
const Framework& framework_of(nb::handle array);

/// The memory of an array, held while this lives. Needs the GIL all along.
class ArrayView {
 public:
  /// @param writable true: the memory is written to; arrays with gaps are refused, not copied.
  /// @param gpu where the engine runs: its own memory comes in without a copy, as the host's does.
  ArrayView(nb::handle array, const Framework& framework, bool writable, int gpu = kHost);
  ~ArrayView() { PyBuffer_Release(&view_); }
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool on_gpu() const { return on_gpu_; }
  /// Of an array on a GPU: what made its elements is in this stream, and what comes after is.
  cudaStream_t stream() const { return stream_; }
  /// Whether it is PyTorch's, which uses memory again in the order of the stream.
  bool is_torch() const { return is_torch_; }
  /// What holds the memory.
  nb::handle owner() const { return owner_; }
  bool has_type(const ElementType& type) const { return type_ == &type; }
  bool has_shape(const nvinfer1::Dims& shape) const;
  /// Its first dimensions, where there are more than the engine knows.
  const nvinfer1::Dims& shape() const { return shape_; }
  int rank() const { return rank_; }

 private:
  void open_tensor(bool writable, int gpu);
  void open_buffer(bool writable);
  // Of other frameworks' arrays; false for those of the host.
  bool open_interface(bool writable, int gpu);
  bool open_dlpack(bool writable, int gpu);
  void check_gpu(int gpu) const;

  nb::object owner_;
  Py_buffer view_ = {};
  void* data_ = nullptr;
  size_t bytes_ = 0;
  const bool is_torch_;
  bool on_gpu_ = false;
  cudaStream_t stream_ = nullptr;
  const ElementType* type_ = nullptr;  // null for types that the engine lacks
  int rank_ = 0;
  nvinfer1::Dims shape_ = {};
};

class MemoryPool;

/// Gives memory back to where it came from: without a pool, that is malloc().
struct FreeMemory {
  std::shared_ptr<MemoryPool> pool = nullptr;
  cudaStream_t stream = nullptr;
  size_t bytes = 0;

  void operator()(void* data) const;
};
using Memory = std::unique_ptr<void, FreeMemory>;

/// An object that owns `memory`.
nb::capsule owner_of(Memory memory);

/// An array of `framework` that owns `memory`, the host's.
nb::object make_array(Memory memory, const nvinfer1::Dims& shape, const ElementType& type,
                      const Framework& framework);

/// An array in a GPU's memory, and where that is.
struct GpuResult {
  nb::object array;
  void* data;
};

/// A new tensor of PyTorch, whose memory is that of its current stream.
GpuResult make_tensor(const nvinfer1::Dims& shape, const ElementType& type, int gpu);

/// An object with CUDA's array interface and DLPack's that owns `memory`, which work in `stream`
/// fills.
GpuResult make_gpu_array(Memory memory, const nvinfer1::Dims& shape, const ElementType& type,
                         int gpu, cudaStream_t stream);

/// "(1, 3, -1)".
std::string text_of(const nvinfer1::Dims& shape);

/// "float64 of shape (2, 3)", or the class of something that is no array.
std::string text_of(nb::handle array);

}  // namespace tenon::python
