// Windows that slide over spatial axes, as kernels on a device get them.
#pragma once

#include <cstdint>
#include <span>

namespace tenon {
struct Window;
class Shape;
}  // namespace tenon

namespace tenon::cuda {

/// Three spatial axes, of which missing ones come first, of extent 1.
struct WindowAxes {
  int64_t in[3] = {1, 1, 1}, out[3] = {1, 1, 1};  // extents of what is read and written
  int64_t kernel[3] = {1, 1, 1}, stride[3] = {1, 1, 1}, dilation[3] = {1, 1, 1};
  int64_t pre[3] = {}, post[3] = {};
};

/// Of tensors (N, C, spatial…); padding is what it is for these shapes.
WindowAxes window_axes(std::span<const Window> windows, const Shape& in, const Shape& out);

}  // namespace tenon::cuda
