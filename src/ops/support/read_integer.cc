#include "ops/support/read_integer.h"

#include "base/error.h"

namespace tenon {

int64_t read_integer(const TensorView& view) {
  require(view.shape.volume() == 1, "expected one integer, found {}", view.shape);
  if (view.type == DataType::kINT64) return *view.as<int64_t>();
  require(view.type == DataType::kINT32, "expected int32 or int64 elements, found {}",
          name_of(view.type));
  return *view.as<int32_t>();
}

bool read_bool(TensorMemory& memory, const Tensor& tensor) {
  uint8_t byte = 0;
  memory.read(&byte, tensor.data(), sizeof byte);
  return byte != 0;
}

}  // namespace tenon
