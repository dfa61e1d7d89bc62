#include "tenon/session/shape.h"

#include <algorithm>

#include "guard.h"

namespace tenon::session {
namespace {

template <class Numbers> std::string joined(const Numbers& numbers, const char* separator) {
  std::string text;
  for (const auto number : numbers)
    text += (text.empty() ? "" : separator) + std::to_string(number);
  return text;
}

}  // namespace

Shape to_shape(const nvinfer1::Dims& dims) {
  return {dims.d, dims.d + std::max(dims.nbDims, 0)};
}

Result<nvinfer1::Dims> to_dims(const Shape& shape) {
  return guard([&] {
    constexpr size_t kMaxRank = nvinfer1::Dims::MAX_DIMS;
    if (shape.size() > kMaxRank)
      throw Error{"shape " + shape_text(shape) + " has " + std::to_string(shape.size())
                  + " dimensions; at most " + std::to_string(kMaxRank) + " are possible"};
    nvinfer1::Dims dims{};
    dims.nbDims = static_cast<int32_t>(shape.size());
    std::copy(shape.begin(), shape.end(), dims.d);
    return dims;
  });
}

bool is_known(const Shape& shape) {
  return std::all_of(shape.begin(), shape.end(), [](int64_t extent) { return extent >= 0; });
}

bool is_known(const nvinfer1::Dims& dims) {
  return dims.nbDims >= 0
         && std::all_of(dims.d, dims.d + dims.nbDims, [](int64_t extent) { return extent >= 0; });
}

std::string shape_text(const Shape& shape) {
  return shape.empty() ? "scalar" : joined(shape, "x");
}

std::string position_text(const Shape& shape, size_t i) {
  std::vector<size_t> at(shape.size());
  for (size_t axis = shape.size(); axis-- > 0; i /= static_cast<size_t>(shape[axis]))
    at[axis] = i % static_cast<size_t>(shape[axis]);
  return "[" + joined(at, ", ") + "]";
}

}  // namespace tenon::session
