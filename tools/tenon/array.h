// A tensor in host memory, as the command line reads and writes them.
#pragma once

#include <NvInferRuntime.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::tool {

/// Rows first; `bytes` holds exactly the elements.
struct Array {
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  std::vector<int64_t> shape;
  std::vector<std::byte> bytes;
  bool was_rounded = false;  ///< values lost digits when they were read, from float64

  int64_t count() const;
  template <class T> T* as() { return reinterpret_cast<T*>(bytes.data()); }
  template <class T> const T* as() const { return reinterpret_cast<const T*>(bytes.data()); }
};

/// Named arrays, in the order of their names.
using Arrays = std::map<std::string, Array>;

/// Bytes of one element; throws Failure for sub-byte types.
size_t element_size(nvinfer1::DataType type);
std::string_view type_name(nvinfer1::DataType type);
/// "1x3x224x224"; "scalar" for rank 0.
std::string shape_text(const std::vector<int64_t>& shape);
std::vector<int64_t> to_vector(const nvinfer1::Dims& dims);
nvinfer1::Dims to_dims(const std::vector<int64_t>& shape);
/// An array of zeros. Throws Failure when it would be absurdly large.
Array make_array(nvinfer1::DataType type, const std::vector<int64_t>& shape);
/// Converts between numeric types, floats to the nearest of a smaller type. Throws Failure, with
/// `name` in front and the first element of which it is true, when an integer type or bool cannot
/// hold a value exactly, or when a finite float would become infinite.
Array convert(const Array& array, nvinfer1::DataType type, std::string_view name = "the tensor");
/// "[0, 2, 5]": where element `i` of an array of that shape is.
std::string position_text(const std::vector<int64_t>& shape, size_t i);
/// The elements as double.
std::vector<double> numbers(const Array& array);

}  // namespace tenon::tool
