// Reading tensors at computed places.
#include "import/node.h"
#include "ops/grid_sample.h"
#include "ops/matrix_multiply.h"

namespace tenon {
namespace {

using nvinfer1::InterpolationMode;
using nvinfer1::MatrixOperation;
using nvinfer1::SampleMode;
using Code = nvonnxparser::ErrorCode;

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

// The centres of elements from -1 to 1, where these are centres too, or outer edges.
std::vector<float> centres(int64_t count, bool align_corners) {
  std::vector<float> list;
  for (int64_t i = 0; i < count; ++i) {
    const auto at = static_cast<double>(i), size = static_cast<double>(count);
    list.push_back(static_cast<float>(!align_corners ? (2 * at + 1) / size - 1
                                      : count == 1   ? 0
                                                     : 2 * at / (size - 1) - 1));
  }
  return list;
}

// (places, axes + 1): x, y (and z), then 1, for all elements of an image, rows first.
Tensor places_of(NodeContext& n, const std::vector<int64_t>& extents, bool align_corners) {
  const Shape spatial{std::span(extents)};
  const int64_t axes = spatial.rank(), count = spatial.volume();
  if (count == 0) return Tensor(DataType::kFLOAT, Shape{0, axes + 1});
  require(count <= (int64_t{1} << 40), "a grid of {} places is too large", count);
  n.charge(static_cast<size_t>(count * (axes + 1)) * sizeof(float));
  std::vector<std::vector<float>> lists;
  for (int64_t extent : extents) lists.push_back(centres(extent, align_corners));
  Tensor t(DataType::kFLOAT, Shape{count, axes + 1});
  float* to = t.mutable_data<float>();
  for (int64_t i = 0; i < count; ++i) {
    int64_t rest = i;
    for (auto axis = static_cast<size_t>(axes); axis-- > 0; rest /= extents[axis])
      *to++ = lists[axis][static_cast<size_t>(rest % extents[axis])];
    *to++ = 1;
  }
  return t;
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

TENON_IMPORT(AffineGrid, 20, "the spatial extents must be constant") {
  n.expect_inputs(2, 2);
  Value& theta = n.input(0);
  const auto size = n.host_elements(1, "the size");
  require(size.size() == 4 || size.size() == 5, "its size has {} elements; expected 4 or 5",
          size.size());
  std::vector<int64_t> extents;
  for (size_t i = 2; i < size.size(); ++i) {
    if (!size[i]->is_integer_constant())
      fail_import(Code::kUNSUPPORTED_NODE_INPUT,
                  "the size (input 1) must be constant from its third element on; element {} "
                  "depends on the shapes of the inputs",
                  i);
    require(size[i]->value.integer >= 0, "its size holds {}", size[i]->value.integer);
    extents.push_back(size[i]->value.integer);
  }
  const int axes = static_cast<int>(extents.size());
  require(n.rank(theta) == 3, "its matrices have {} dimensions; expected 3", n.rank(theta));
  Tensor places = places_of(n, extents, n.flag("align_corners", false));
  Value& all = n.with_rank(n.cast(n.constant(std::move(places)), theta.type), 3);
  Value& repeated = n.expand(all, {theta.dims[0], all.dims[1], all.dims[2]});
  auto product = std::make_unique<MatrixMultiply>();
  product->operation_b = MatrixOperation::kTRANSPOSE;
  Value& flat = n.add(std::move(product), {&repeated, &theta});
  Dims dims{theta.dims[0]};
  for (int64_t extent : extents) dims.push_back(n.number(extent));
  dims.push_back(n.number(axes));
  n.know(theta);
  n.set_output(0, n.reshape(flat, dims));
}

}  // namespace tenon
