// Sampling tensors at computed positions.
#include "import/node.h"
#include "ops/fill.h"
#include "ops/grid_sample.h"

namespace tenon {
namespace {

using nvinfer1::InterpolationMode;
using nvinfer1::SampleMode;
using Code = nvonnxparser::ErrorCode;
using Operation = nvinfer1::ElementWiseOperation;

InterpolationMode sampling_mode(NodeContext& n) {
  const std::string mode = n.text("mode", n.opset() < 20 ? "bilinear" : "linear");
  if (mode == "nearest") return InterpolationMode::kNEAREST;
  if (mode == "linear" || mode == "bilinear") return InterpolationMode::kLINEAR;
  if (mode == "cubic" || mode == "bicubic") return InterpolationMode::kCUBIC;
  fail_import(Code::kINVALID_NODE, "attribute 'mode' is '{}'; expected nearest, linear or cubic",
              mode);
}

SampleMode padding_mode(NodeContext& n) {
  const std::string mode = n.text("padding_mode", "zeros");
  if (mode == "zeros") return SampleMode::kFILL;
  if (mode == "border") return SampleMode::kCLAMP;
  if (mode == "reflection") return SampleMode::kREFLECT;
  fail_import(Code::kINVALID_NODE,
              "attribute 'padding_mode' is '{}'; expected zeros, border or reflection", mode);
}

// The centres of an axis' elements from -1 to 1, where these are centres too, or outer edges.
Value& centres(NodeContext& n, Dim extent, bool align_corners) {
  auto op = std::make_unique<Fill>();
  op->type = DataType::kFLOAT;
  std::vector<Value*> inputs;
  if (extent->is_integer_constant())
    op->dimensions = Shape{extent->value.integer};
  else
    inputs.push_back(&n.shape_tensor({extent}));
  Value& twice = n.binary(Operation::kPROD, n.add(std::move(op), std::move(inputs)), 2.0);
  Value& size = n.cast(n.shape_tensor({extent}), DataType::kFLOAT);
  if (!align_corners)
    return n.binary(Operation::kSUB,
                    n.binary(Operation::kDIV, n.binary(Operation::kSUM, twice, 1.0), size), 1.0);
  // A single element is at -1.
  Value& steps = n.binary(Operation::kMAX, n.binary(Operation::kSUB, size, 1.0), 1.0);
  return n.binary(Operation::kSUB, n.binary(Operation::kDIV, twice, steps), 1.0);
}

// Column `column` of matrices (N, axes, axes + 1), as (N, 1…, axes).
Value& matrix_column(NodeContext& n, Value& theta, int column, int axes) {
  const Dim one = n.number(1), zero = n.number(0);
  Value& sliced = n.slice(theta, {zero, zero, n.number(column)},
                          {theta.dims[0], theta.dims[1], one}, {one, one, one});
  std::vector<int> source(static_cast<size_t>(axes) + 2, -1);
  source.front() = 0;
  source.back() = 1;
  return n.rearrange(sliced, source);
}

}  // namespace

TENON_IMPORT(GridSample, 16, "4 or 5 dimensions") {
  n.expect_inputs(2, 2);
  auto op = std::make_unique<GridSample>();
  op->mode = sampling_mode(n);
  op->outside = padding_mode(n);
  op->align_corners = n.flag("align_corners", false);
  n.set_output(0, n.add(std::move(op), {&n.input(0), &n.input(1)}));
}

TENON_IMPORT(AffineGrid, 20, "") {
  n.expect_inputs(2, 2);
  Value& theta = n.input(0);
  const auto size = n.host_elements(1, "the size");
  require(size.size() == 4 || size.size() == 5, "its size has {} elements; expected 4 or 5",
          size.size());
  const int axes = static_cast<int>(size.size()) - 2;
  require(n.rank(theta) == 3, "its matrices have {} dimensions; expected 3", n.rank(theta));
  const bool align_corners = n.flag("align_corners", false);
  Value* grid = &matrix_column(n, theta, axes, axes);
  for (int i = 0; i < axes; ++i) {
    // Coordinate 0 is x, along the last axis.
    const int axis = axes - i;
    const Dim extent = size[static_cast<size_t>(axis) + 1];
    require(!extent->is_integer_constant() || extent->value.integer >= 0, "its size holds {}",
            text_of(extent));
    std::vector<int> source(static_cast<size_t>(axes) + 2, -1);
    source[static_cast<size_t>(axis)] = 0;
    Value& along = n.rearrange(centres(n, extent, align_corners), source);
    grid = &n.binary(
        Operation::kSUM, *grid,
        n.binary(Operation::kPROD, matrix_column(n, theta, i, axes), n.cast(along, theta.type)));
  }
  n.set_output(0, *grid);
}

}  // namespace tenon
