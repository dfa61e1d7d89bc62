// A tensor in host memory, which owns its elements.
#ifndef TENON_SESSION_ARRAY_H
#define TENON_SESSION_ARRAY_H

#include <NvInferRuntime.h>

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tenon/session/result.h"
#include "tenon/session/shape.h"

namespace tenon::session {

/// Rows first; `bytes` holds exactly the elements.
struct Array {
  nvinfer1::DataType type = nvinfer1::DataType::kFLOAT;
  Shape shape;
  std::vector<std::byte> bytes;
  bool was_rounded = false;  ///< values lost digits when they were read, from float64

  int64_t count() const;
  template <class T> T* as() { return reinterpret_cast<T*>(bytes.data()); }
  template <class T> const T* as() const { return reinterpret_cast<const T*>(bytes.data()); }
};

/// Named arrays, in the order of their names.
using Arrays = std::map<std::string, Array>;

/// Bytes of one element; 0 for types that arrays cannot have: those of less than a byte.
size_t element_size(nvinfer1::DataType type);
/// NumPy's name; "data type 9" for types that arrays cannot have.
std::string type_name(nvinfer1::DataType type);

/// An array of zeros. An error when it would be absurdly large, or an extent is negative.
Result<Array> make_array(nvinfer1::DataType type, const Shape& shape);
/// Converts between numeric types: integers exactly, floats to the nearest of a smaller type. An
/// error, with `name` in front and the first element of which it is true, when an integer type or
/// bool cannot hold a value exactly, or when a finite float would become infinite.
Result<Array> convert(const Array& array, nvinfer1::DataType type,
                      std::string_view name = "the tensor");
/// The elements as double, which rounds large int64.
Result<std::vector<double>> numbers(const Array& array);
/// The elements of an array of integers or bools, exactly; an error for floats.
Result<std::vector<int64_t>> integers(const Array& array);

}  // namespace tenon::session

#endif  // TENON_SESSION_ARRAY_H
