#include "import/onnx/window.h"

namespace tenon {
namespace {

using Code = nvonnxparser::ErrorCode;

std::vector<int64_t> list_of(NodeContext& n, const char* name, size_t count, int64_t otherwise,
                             int64_t min) {
  auto values = n.integers_in(name);
  if (values.empty()) values.assign(count, otherwise);
  if (values.size() != count)
    fail_import(Code::kINVALID_NODE, "attribute '{}' has {} entries; expected {}", name,
                values.size(), count);
  for (int64_t v : values)
    if (v < min || v > INT32_MAX)
      fail_import(Code::kINVALID_NODE, "attribute '{}' holds {}; expected {} to {}", name, v, min,
                  INT32_MAX);
  return values;
}

}  // namespace

Shape OnnxWindow::padded(const std::vector<int64_t>& values, int64_t neutral) const {
  Shape shape{std::span<const int64_t>(values)};
  if (shape.rank() == 1) shape.push_back(neutral);
  return shape;
}

int spatial_axes(NodeContext& n) {
  const int spatial = n.rank(n.input(0)) - 2;
  if (spatial < 1 || spatial > 3)
    fail_import(Code::kUNSUPPORTED_NODE_SHAPE,
                "its input has {} dimensions; expected 3 to 5 (batch, channels, 1 to 3 axes)",
                spatial + 2);
  return spatial;
}

OnnxWindow read_window(NodeContext& n, const std::vector<int64_t>& kernel) {
  OnnxWindow w;
  w.kernel = kernel;
  for (int64_t k : kernel)
    require(k > 0 && k <= INT32_MAX, "the kernel has extent {}; expected at least 1", k);
  const size_t axes = kernel.size();
  w.stride = list_of(n, "strides", axes, 1, 1);
  w.dilation = list_of(n, "dilations", axes, 1, 1);
  const std::string automatic = n.text("auto_pad", "NOTSET");
  const auto pads = list_of(n, "pads", 2 * axes, 0, 0);
  if (automatic == "SAME_UPPER")
    w.mode = nvinfer1::PaddingMode::kSAME_UPPER;
  else if (automatic == "SAME_LOWER")
    w.mode = nvinfer1::PaddingMode::kSAME_LOWER;
  else if (automatic != "NOTSET" && automatic != "VALID" && !automatic.empty())
    fail_import(Code::kINVALID_NODE,
                "attribute 'auto_pad' is '{}'; expected NOTSET, SAME_UPPER, SAME_LOWER or VALID",
                automatic);
  const bool explicit_pads = automatic == "NOTSET" || automatic.empty();
  const auto axes_of = static_cast<std::ptrdiff_t>(axes);
  w.before.assign(pads.begin(), pads.begin() + axes_of);
  w.after.assign(pads.begin() + axes_of, pads.end());
  if (!explicit_pads) {
    w.before.assign(axes, 0);
    w.after.assign(axes, 0);
  }
  return w;
}

Value& with_second_axis(NodeContext& n, Value& x) {
  return n.rearrange(x, {0, 1, 2, -1});
}
Value& without_second_axis(NodeContext& n, Value& x) {
  return n.rearrange(x, {0, 1, 2});
}

}  // namespace tenon
