#include "target/cpu/window.h"

namespace tenon::cpu {

Padding resolve_padding(nvinfer1::PaddingMode mode, const Shape& pre, const Shape& large,
                        const Shape& small, const Shape& kernel, const Shape& stride,
                        const Shape& dilation) {
  using nvinfer1::PaddingMode;
  Padding padding;
  for (int i = 0; i < large.rank(); ++i) {
    const int64_t reach = (kernel[i] - 1) * dilation[i] + 1;
    const int64_t total = std::max<int64_t>((small[i] - 1) * stride[i] + reach - large[i], 0);
    int64_t before = i < pre.rank() ? pre[i] : 0;
    if (mode == PaddingMode::kSAME_UPPER) before = total / 2;
    if (mode == PaddingMode::kSAME_LOWER) before = total - total / 2;
    padding.before.push_back(before);
    padding.after.push_back(
        std::max<int64_t>((small[i] - 1) * stride[i] + reach - large[i] - before, 0));
  }
  return padding;
}

Shape spatial_of(const Shape& shape) {
  return Shape(std::span(shape.begin() + 2, shape.end()));
}

}  // namespace tenon::cpu
