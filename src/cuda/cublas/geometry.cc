#include "cuda/cublas/geometry.h"

#include <algorithm>
#include <numeric>

#include "base/error.h"

namespace tenon::cuda {
namespace {

using nvinfer1::MatrixOperation;

// A stack of matrices in rows; a vector is a matrix of one row (left) or one column (right).
struct Stack {
  Shape leading;
  int64_t rows, columns;
  ProductForm::Matrix matrix;

  Stack(const Shape& shape, MatrixOperation operation, bool is_left) {
    const bool is_vector = operation == MatrixOperation::kVECTOR;
    const int axes = is_vector ? 1 : 2;
    require(shape.rank() >= axes, "an operand of shape {} needs {} axes", shape, axes);
    leading = Shape(std::span(shape.begin(), static_cast<size_t>(shape.rank() - axes)));
    rows = is_vector ? 1 : shape[shape.rank() - 2];
    columns = shape.back();
    matrix = {columns, rows * columns, operation == MatrixOperation::kTRANSPOSE};
    // A vector on the right is stored as the row that its column is.
    if (is_vector && !is_left) matrix.transposed = true;
    if (matrix.transposed) std::swap(rows, columns);
  }
};

uint32_t common_alignment(const std::vector<ProductGeometry::Offsets>& calls, DataType type) {
  int64_t common = 16;
  for (const auto& call : calls)
    for (int64_t offset : {call.a, call.b, call.result})
      common = std::gcd(common, offset * static_cast<int64_t>(bytes_of(type, 1)));
  return static_cast<uint32_t>(common);
}

Shape broadcast(const Shape& a, const Shape& b) {
  Shape result = Shape::filled(std::max(a.rank(), b.rank()), 1);
  for (const Shape* s : {&a, &b})
    for (int i = 0; i < s->rank(); ++i) {
      int64_t& extent = result[result.rank() - s->rank() + i];
      require((*s)[i] == extent || (*s)[i] == 1 || extent == 1, "shapes {} and {} do not broadcast",
              a, b);
      if (extent == 1) extent = (*s)[i];
    }
  return result;
}

}  // namespace

// From the outermost; those that can be walked as one are joined.
std::vector<ProductGeometry::Axis> ProductGeometry::batch_axes(const Shape& a, const Shape& b,
                                                               const Shape& both,
                                                               const ProductForm& form) {
  const int rank = both.rank();
  const auto extent = [&](const Shape& s, int axis) {
    const int own = axis - (rank - s.rank());
    return own < 0 ? 1 : s[own];
  };
  std::vector<Axis> axes;  // innermost first
  int64_t step_a = form.a.batch_step, step_b = form.b.batch_step;
  int64_t step = form.rows * form.columns;
  for (int i = rank - 1; i >= 0; --i) {
    const int64_t in_a = extent(a, i), in_b = extent(b, i);
    Axis axis{both[i], in_a == 1 ? 0 : step_a, in_b == 1 ? 0 : step_b, step};
    step_a *= in_a;
    step_b *= in_b;
    step *= axis.extent;
    if (axis.extent == 1) continue;
    if (!axes.empty() && axis.a == axes.back().a * axes.back().extent
        && axis.b == axes.back().b * axes.back().extent)
      axes.back().extent *= axis.extent;
    else
      axes.push_back(axis);
  }
  std::reverse(axes.begin(), axes.end());
  return axes;
}

void ProductGeometry::take_batch(std::vector<Axis> axes) {
  form.a.batch_step = form.b.batch_step = 0;
  constexpr int64_t kLongestBatch = INT32_MAX;
  const auto longest = std::max_element(
      axes.begin(), axes.end(), [](const Axis& x, const Axis& y) { return x.extent < y.extent; });
  if (longest != axes.end() && longest->extent <= kLongestBatch) {
    form.batch = longest->extent;
    form.a.batch_step = longest->a;
    form.b.batch_step = longest->b;
    form.result_batch_step = longest->result;
    axes.erase(longest);
  }
  calls.resize(1);
  for (const Axis& axis : axes) {
    std::vector<Offsets> longer;
    for (const Offsets& call : calls)
      for (int64_t i = 0; i < axis.extent; ++i)
        longer.push_back({call.a + i * axis.a, call.b + i * axis.b, call.result + i * axis.result});
    calls = std::move(longer);
  }
  form.alignment = common_alignment(calls, form.type);
}

ProductGeometry::ProductGeometry(const MatrixMultiply& op, DataType type, const Shape& shape_a,
                                 const Shape& shape_b) {
  const Stack a(shape_a, op.operation_a, true), b(shape_b, op.operation_b, false);
  require(a.columns == b.rows, "cannot multiply {} by {}: {} and {} differ", shape_a, shape_b,
          a.columns, b.rows);
  const Shape batch = broadcast(a.leading, b.leading);
  result = batch;
  if (op.operation_a != MatrixOperation::kVECTOR) result.push_back(a.rows);
  if (op.operation_b != MatrixOperation::kVECTOR) result.push_back(b.columns);
  form.type = form.result_type = type;
  form.rows = a.rows;
  form.columns = form.result_row_step = b.columns;
  form.depth = a.columns;
  form.a = a.matrix;
  form.b = b.matrix;
  if (result.volume() == 0) return;
  std::vector<Axis> axes = batch_axes(a.leading, b.leading, batch, form);
  // The rows of matrices that are multiplied by the same one are those of one tall matrix.
  if (!axes.empty() && axes.back().b == 0 && !form.a.transposed
      && axes.back().a == form.rows * form.depth) {
    form.rows *= axes.back().extent;
    axes.pop_back();
  }
  take_batch(std::move(axes));
}

ProductGeometry::ProductGeometry(const FullyConnected& op, DataType type, const Shape& data,
                                 const Shape& kernel) {
  require(data.rank() >= 3 && op.outputs >= 1, "data of shape {} needs three axes", data);
  result = Shape(std::span(data.begin(), static_cast<size_t>(data.rank() - 3)));
  form.type = form.result_type = type;
  form.rows = result.volume();
  form.columns = form.result_row_step = op.outputs;
  form.depth = data.volume(data.rank() - 3, data.rank());
  require(kernel.volume() == form.columns * form.depth, "weights of shape {}, expected {}x{}",
          kernel, form.columns, form.depth);
  form.a.row_step = form.b.row_step = form.depth;
  form.b.transposed = true;
  axes_behind_columns = 2;
  for (int64_t extent : {op.outputs, int64_t{1}, int64_t{1}}) result.push_back(extent);
  if (result.volume() > 0) calls.resize(1);
}

}  // namespace tenon::cuda
