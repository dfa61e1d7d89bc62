// Interpolation to another size.
#include "ops/resize.h"

#include <cmath>

#include "import/node.h"
#include "ops/concatenation.h"
#include "ops/support/infer.h"

namespace tenon {
namespace {

using nvinfer1::InterpolationMode;
using nvinfer1::ResizeCoordinateTransformation;
using nvinfer1::ResizeRoundMode;
using Code = nvonnxparser::ErrorCode;

template <class T> struct Named {
  const char* name;
  T value;
};

template <class T, size_t count>
T choice(NodeContext& n, const char* attribute, const char* otherwise,
         const Named<T> (&choices)[count]) {
  const std::string text = n.text(attribute, otherwise);
  std::string known;
  for (const auto& c : choices) {
    if (text == c.name) return c.value;
    known += known.empty() ? c.name : fmt::format(", {}", c.name);
  }
  fail_import(Code::kUNSUPPORTED_NODE_ATTR, "attribute '{}' is '{}'; expected one of {}", attribute,
              text, known);
}

constexpr Named<InterpolationMode> kModes[] = {{"nearest", InterpolationMode::kNEAREST},
                                               {"linear", InterpolationMode::kLINEAR},
                                               {"bilinear", InterpolationMode::kLINEAR},
                                               {"cubic", InterpolationMode::kCUBIC}};

ResizeCoordinateTransformation own(PrivateCoordinates c) {
  return static_cast<ResizeCoordinateTransformation>(c);
}
const Named<ResizeCoordinateTransformation> kCoordinates[] = {
    {"half_pixel", ResizeCoordinateTransformation::kHALF_PIXEL},
    {"half_pixel_symmetric", own(PrivateCoordinates::kHalfPixelSymmetric)},
    {"pytorch_half_pixel", own(PrivateCoordinates::kPytorchHalfPixel)},
    {"align_corners", ResizeCoordinateTransformation::kALIGN_CORNERS},
    {"asymmetric", ResizeCoordinateTransformation::kASYMMETRIC},
    {"tf_half_pixel_for_nn", own(PrivateCoordinates::kTfHalfPixelForNearest)},
    {"tf_crop_and_resize", own(PrivateCoordinates::kTfCropAndResize)}};

constexpr Named<ResizeRoundMode> kRounding[] = {{"round_prefer_floor", ResizeRoundMode::kHALF_DOWN},
                                                {"round_prefer_ceil", ResizeRoundMode::kHALF_UP},
                                                {"floor", ResizeRoundMode::kFLOOR},
                                                {"ceil", ResizeRoundMode::kCEIL}};

// Axes that the node names; sizes and scales of the others stay.
std::vector<int> axes_of(NodeContext& n, int rank) {
  std::vector<int> axes;
  for (int64_t axis : n.integers_in("axes")) axes.push_back(normalized_axis(axis, rank));
  if (axes.empty())
    for (int i = 0; i < rank; ++i) axes.push_back(i);
  return axes;
}

void set_scales(NodeContext& n, Resize& op, const std::vector<double>& scales,
                const std::vector<int>& axes, int rank) {
  require(scales.size() == axes.size(), "it has {} scales for {} axes", scales.size(), axes.size());
  op.scales.assign(static_cast<size_t>(rank), 1.0f);
  for (size_t i = 0; i < axes.size(); ++i) {
    require(scales[i] > 0 && std::isfinite(scales[i]),
            "scale {} of axis {} is not a positive number", scales[i], axes[i]);
    op.scales[static_cast<size_t>(axes[i])] = static_cast<float>(scales[i]);
  }
}

// One scale for all axes, such that the sizes are not exceeded, or are reached.
void keep_aspect_ratio(NodeContext& n, Resize& op, const Dims& sizes, const std::vector<int>& axes,
                       bool exceed, const Value& x) {
  double scale = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    const Dim from = x.dims[static_cast<size_t>(axes[i])];
    if (!from->is_integer_constant() || !sizes[i]->is_integer_constant())
      fail_import(Code::kUNSUPPORTED_NODE_DYNAMIC,
                  "attribute 'keep_aspect_ratio_policy' with sizes that are not constant is not "
                  "supported yet");
    require(from->value.integer > 0, "axis {} is empty", axes[i]);
    const double ratio =
        static_cast<double>(sizes[i]->value.integer) / static_cast<double>(from->value.integer);
    scale = i == 0 ? ratio : exceed ? std::max(scale, ratio) : std::min(scale, ratio);
  }
  op.scales.assign(x.dims.size(), 1.0f);
  op.output_size = Shape();
  for (Dim d : x.dims) {
    if (!d->is_integer_constant())
      fail_import(Code::kUNSUPPORTED_NODE_DYNAMIC,
                  "attribute 'keep_aspect_ratio_policy' with an input of unknown size is not "
                  "supported yet");
    op.output_size.push_back(d->value.integer);
  }
  for (int axis : axes) {
    op.scales[static_cast<size_t>(axis)] = static_cast<float>(scale);
    const double size = static_cast<double>(op.output_size[axis]) * scale;
    require(size < 1e12, "axis {} would have {} elements", axis, size);
    op.output_size[axis] = static_cast<int64_t>(std::floor(size + 0.5));
  }
}

// Returns the tensor of sizes if they are known only at run time.
Value* set_sizes(NodeContext& n, Resize& op, int input, const std::vector<int>& axes, Value& x) {
  const Dims sizes = n.host_elements(input, "sizes");
  require(sizes.size() == axes.size(), "it has {} sizes for {} axes", sizes.size(), axes.size());
  const std::string policy = n.text("keep_aspect_ratio_policy", "stretch");
  if (policy != "stretch") {
    require(policy == "not_larger" || policy == "not_smaller",
            "attribute 'keep_aspect_ratio_policy' is '{}'", policy);
    keep_aspect_ratio(n, op, sizes, axes, policy == "not_smaller", x);
    return nullptr;
  }
  n.know(x);
  Dims all = x.dims;
  for (size_t i = 0; i < axes.size(); ++i) all[static_cast<size_t>(axes[i])] = sizes[i];
  Shape fixed;
  for (Dim d : all)
    if (d->is_integer_constant()) fixed.push_back(d->value.integer);
  if (fixed.rank() != static_cast<int>(all.size())) return &n.shape_tensor(all);
  op.output_size = fixed;
  return nullptr;
}

// Scales for all axes: 1 for those that the node does not name.
Value& all_scales(NodeContext& n, Value& given, const std::vector<int>& axes, int rank) {
  Value& scales = n.cast(given, DataType::kFLOAT);
  bool in_order = static_cast<int>(axes.size()) == rank;
  for (size_t i = 0; i < axes.size(); ++i) in_order &= axes[i] == static_cast<int>(i);
  if (in_order) return scales;
  std::vector<Value*> parts(static_cast<size_t>(rank),
                            &n.constant(filled_tensor(DataType::kFLOAT, Shape{1}, 1)));
  for (size_t i = 0; i < axes.size(); ++i)
    parts[static_cast<size_t>(axes[i])] =
        &n.slice(scales, {n.number(static_cast<int64_t>(i))}, {n.number(1)}, {n.number(1)});
  return n.add(std::make_unique<Concatenation>(), std::move(parts));
}

// What decides the size: scales, and, where only running tells them, the size that they make.
struct ResizedBy {
  Value* by = nullptr;
  Value* size = nullptr;
};

ResizedBy set_scales_from(NodeContext& n, Resize& op, int input, const std::vector<int>& axes) {
  Value& x = n.input(0);
  const int rank = n.rank(x);
  if (const Tensor* scales = n.constant_input(input)) {
    set_scales(n, op, scales->numbers(), axes, rank);
    return {};
  }
  Value& given = n.input(input);
  if (n.rank(given) != 1 || !given.dims[0]->is_integer_constant()
      || given.dims[0]->value.integer != static_cast<int64_t>(axes.size()))
    fail_import(Code::kINVALID_NODE, "the scales (input {}) are of shape {}; expected {} of them",
                input, text_of(given.dims), axes.size());
  op.input_is_scales = true;
  Value& scales = all_scales(n, given, axes, rank);
  if (scales.content) return {&scales, nullptr};
  n.know(x);
  Value& extents = n.cast(n.shape_tensor(x.dims), DataType::kFLOAT);
  Value& scaled = n.binary(nvinfer1::ElementWiseOperation::kPROD, extents, scales);
  Value& size = n.unary(nvinfer1::UnaryOperation::kFLOOR, scaled);
  return {&scales, &n.cast(size, DataType::kINT64)};
}

// The region of interest, for all axes: starts, then ends.
Value* region(NodeContext& n, int input, const std::vector<int>& axes, int rank) {
  const auto given = n.numbers_of(input, "roi");
  require(given.size() == 2 * axes.size(), "roi has {} numbers for {} axes", given.size(),
          axes.size());
  Tensor all(DataType::kFLOAT, Shape{2 * rank});
  for (int i = 0; i < 2 * rank; ++i) all.mutable_data<float>()[i] = i < rank ? 0.0f : 1.0f;
  for (size_t i = 0; i < axes.size(); ++i) {
    all.mutable_data<float>()[axes[i]] = static_cast<float>(given[i]);
    all.mutable_data<float>()[rank + axes[i]] = static_cast<float>(given[i + axes.size()]);
  }
  return &n.constant(std::move(all));
}

bool is_given(NodeContext& n, int i) {
  // Old exporters leave an input out by an empty tensor.
  if (!n.has_input(i)) return false;
  const Tensor* t = n.constant_input(i);
  return t == nullptr || t->count() > 0;
}

// Between integers a number is cut off towards zero, as ONNX Runtime does it.
bool is_cut_off(const Resize& op, DataType type) {
  return op.mode == InterpolationMode::kLINEAR && !op.antialias
         && (type == DataType::kINT8 || type == DataType::kUINT8 || type == DataType::kINT32);
}

void add_resize(NodeContext& n, std::unique_ptr<Resize> op, ResizedBy size, Value* roi = nullptr) {
  Value& x = n.input(0);
  const bool cut_off = is_cut_off(*op, x.type);
  std::vector<Value*> inputs{cut_off ? &n.cast(x, DataType::kFLOAT) : &x, size.by, roi, size.size};
  while (inputs.back() == nullptr) inputs.pop_back();
  n.set_output(0, n.cast(n.add(std::move(op), std::move(inputs)), x.type));
}

}  // namespace

TENON_IMPORT(Resize, 11, "int8, uint8, int32: no cubic, no antialias; int64, bool: nearest") {
  n.expect_inputs(1, 4);
  Value& x = n.input(0);
  const int rank = n.rank(x);
  auto op = std::make_unique<Resize>();
  op->mode = choice(n, "mode", "nearest", kModes);
  op->coordinates = choice(n, "coordinate_transformation_mode", "half_pixel", kCoordinates);
  op->rounding = choice(n, "nearest_mode", "round_prefer_floor", kRounding);
  op->cubic_coefficient = n.real("cubic_coeff_a", -0.75f);
  op->exclude_outside = n.flag("exclude_outside", false);
  op->antialias = n.flag("antialias", false);
  op->extrapolation_value = n.real("extrapolation_value", 0);
  const auto axes = axes_of(n, rank);
  ResizedBy size;
  Value* roi = nullptr;
  if (is_given(n, 3))
    size.by = set_sizes(n, *op, 3, axes, x);
  else if (is_given(n, 2))
    size = set_scales_from(n, *op, 2, axes);
  else
    fail_import(Code::kINVALID_NODE, "it has neither scales nor sizes");
  n.ignore("keep_aspect_ratio_policy");
  if (op->coordinates == own(PrivateCoordinates::kTfCropAndResize)) {
    if (!is_given(n, 1)) fail_import(Code::kINVALID_NODE, "tf_crop_and_resize needs a roi");
    roi = region(n, 1, axes, rank);
  }
  add_resize(n, std::move(op), size, roi);
}

TENON_IMPORT(Resize, 10, "int64, bool: nearest") {
  n.expect_inputs(2, 2);
  auto op = std::make_unique<Resize>();
  op->mode = choice(n, "mode", "nearest", kModes);
  const ResizedBy size = set_scales_from(n, *op, 1, axes_of(n, n.rank(n.input(0))));
  add_resize(n, std::move(op), size);
}

TENON_IMPORT(Upsample, 1, "int64, bool: nearest") {
  auto op = std::make_unique<Resize>();
  op->mode = choice(n, "mode", "nearest", kModes);
  const int rank = n.rank(n.input(0));
  ResizedBy size;
  if (n.opset() >= 9) {
    size = set_scales_from(n, *op, 1, axes_of(n, rank));
  } else {
    const auto scales = n.reals_in("scales");
    set_scales(n, *op, {scales.begin(), scales.end()}, axes_of(n, rank), rank);
  }
  add_resize(n, std::move(op), size);
}

}  // namespace tenon
