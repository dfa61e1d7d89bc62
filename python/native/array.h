// Arrays of NumPy and other frameworks, as memory that the engine reads and writes.
#pragma once

#include <NvInfer.h>
#include <nanobind/nanobind.h>

#include <memory>
#include <string>

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

/// How arrays of one Python type become NumPy's, and NumPy's become such arrays; without copies.
struct Framework {
  nb::object type;
  nb::object to_numpy;    // (array) -> numpy.ndarray; None for NumPy itself
  nb::object from_numpy;  // (numpy.ndarray, name of the element type) -> array
  bool is_torch;          // PyTorch's tensors say themselves where their memory is
};

/// Throws TypeError for an array with a mask (numpy.ma), which the engine would not see.
void refuse_mask(nb::handle array);

/// The framework of `array`. Throws TypeError when it is no array. Copy it before Python runs.
const Framework& framework_of(nb::handle array);

/// The memory of an array, held while this lives. Needs the GIL all along.
class ArrayView {
 public:
  /// @param writable true: the memory is written to; arrays with gaps are refused, not copied.
  ArrayView(nb::handle array, const Framework& framework, bool writable);
  ~ArrayView() { PyBuffer_Release(&view_); }
  ArrayView(const ArrayView&) = delete;
  ArrayView& operator=(const ArrayView&) = delete;

  void* data() const { return data_; }
  size_t bytes() const { return bytes_; }
  bool has_type(const ElementType& type) const { return type_ == &type; }
  bool has_shape(const nvinfer1::Dims& shape) const;
  /// Its first dimensions, where there are more than the engine knows.
  const nvinfer1::Dims& shape() const { return shape_; }
  int rank() const { return rank_; }

 private:
  void open_tensor(bool writable);
  void open_buffer(bool writable);

  nb::object owner_;
  Py_buffer view_ = {};
  void* data_ = nullptr;
  size_t bytes_ = 0;
  const ElementType* type_ = nullptr;  // null for types that the engine lacks
  int rank_ = 0;
  nvinfer1::Dims shape_ = {};
};

struct FreeMemory {
  void operator()(void* data) const { std::free(data); }
};
using Memory = std::unique_ptr<void, FreeMemory>;

/// An array of `framework` that owns `memory`.
nb::object make_array(Memory memory, const nvinfer1::Dims& shape, const ElementType& type,
                      const Framework& framework);

/// "(1, 3, -1)".
std::string text_of(const nvinfer1::Dims& shape);

/// "float64 of shape (2, 3)", or the class of something that is no array.
std::string text_of(nb::handle array);

}  // namespace tenon::python
