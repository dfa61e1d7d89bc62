#include "import/positions.h"

#include "ops/fill.h"

namespace tenon {

Value& positions(Layers& layers, Dim extent, int axis, int rank) {
  auto op = std::make_unique<Fill>();
  op->type = DataType::kINT64;
  op->integers = true;
  Value* made = nullptr;
  if (extent->is_integer_constant()) {
    op->dimensions = {extent->value.integer};
    made = &layers.add(std::move(op), {});
  } else {
    made = &layers.add(std::move(op), {&layers.shape_tensor({extent})});
  }
  Dims dims(static_cast<size_t>(rank), layers.number(1));
  dims[static_cast<size_t>(axis)] = made->dims[0];
  return layers.reshape(*made, dims);
}

Value& diagonals(Layers& layers, Dim rows, Dim columns, int rank) {
  Value& row = positions(layers, rows, rank - 2, rank);
  Value& column = positions(layers, columns, rank - 1, rank);
  return layers.binary(nvinfer1::ElementWiseOperation::kSUB, column, row);
}

Value& as_indices(Layers& layers, Value& x) {
  return x.type == DataType::kINT32 || x.type == DataType::kINT64
             ? x
             : layers.cast(x, DataType::kINT64);
}

}  // namespace tenon
