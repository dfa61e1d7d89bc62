#include "cuda/convolution/window_axes.h"

#include "ops/support/window.h"

namespace tenon::cuda {

WindowAxes window_axes(std::span<const Window> windows, const Shape& in, const Shape& out) {
  WindowAxes axes;
  for (size_t i = 0; i < windows.size(); ++i) {
    const auto axis = static_cast<int>(i) + 2;
    const size_t to = 3 - windows.size() + i;
    const Window& w = windows[i];
    axes.in[to] = in[axis];
    axes.out[to] = out[axis];
    axes.kernel[to] = w.kernel;
    axes.stride[to] = w.stride;
    axes.dilation[to] = w.dilation;
    axes.pre[to] = w.pre;
    axes.post[to] = w.post;
  }
  return axes;
}

}  // namespace tenon::cuda
