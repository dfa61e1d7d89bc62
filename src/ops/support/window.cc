#include "ops/support/window.h"

#include "base/error.h"

namespace tenon {
namespace {

bool is_same(PaddingMode mode) {
  return mode == PaddingMode::kSAME_UPPER || mode == PaddingMode::kSAME_LOWER;
}

void check_entries(const Shape& list, int spatial, const char* what, int64_t lower) {
  require(list.rank() == spatial, "expected {} entries in the {}, one per spatial axis, found {}",
          spatial, what, list.rank());
  // Far above any real model, and small enough that products of two fit 64 bits.
  constexpr int64_t kLimit = int64_t{1} << 30;
  for (int64_t v : list)
    require(v >= lower && v <= kLimit, "expected a {} of {} to {}, found {}", what, lower, kLimit,
            v);
}

// Padding that makes the output of extent `out`; the odd element goes after (upper) or before.
Window split(Window w, int64_t total, PaddingMode mode) {
  total = std::max<int64_t>(total, 0);
  const int64_t half = total / 2;
  w.pre = mode == PaddingMode::kSAME_UPPER ? half : total - half;
  w.post = total - w.pre;
  return w;
}

}  // namespace

std::vector<Window> make_windows(int spatial, const Shape& kernel, const Shape& stride,
                                 const Shape& dilation, const Shape& pre, const Shape& post) {
  check_entries(kernel, spatial, "kernel", 1);
  check_entries(stride, spatial, "stride", 1);
  if (dilation.rank() > 0) check_entries(dilation, spatial, "dilation", 1);
  check_entries(pre, spatial, "padding before", 0);
  check_entries(post, spatial, "padding after", 0);
  std::vector<Window> windows;
  for (int i = 0; i < spatial; ++i)
    windows.push_back(
        {kernel[i], stride[i], dilation.rank() > 0 ? dilation[i] : 1, pre[i], post[i]});
  return windows;
}

void check_padding_mode(PaddingMode mode) {
  require(mode >= PaddingMode::kEXPLICIT_ROUND_DOWN && mode <= PaddingMode::kSAME_LOWER,
          "expected a PaddingMode (0 to 3), found {}", static_cast<int32_t>(mode));
}

Dim convolved(ExprPool& pool, Dim in, const Window& w, PaddingMode mode) {
  const Dim stride = pool.constant(w.stride);
  if (is_same(mode)) return pool.ceil_div(in, stride);
  const Dim slack = pool.add(in, pool.constant(w.pre + w.post - w.reach()));
  require(!slack->is_constant() || slack->value.integer >= 0,
          "the window reaches over {} elements, but the padded input has only {}", w.reach(),
          slack->is_constant() ? slack->value.integer + w.reach() : 0);
  const Dim steps = mode == PaddingMode::kEXPLICIT_ROUND_UP ? pool.ceil_div(slack, stride)
                                                            : pool.floor_div(slack, stride);
  return pool.add(steps, pool.constant(1));
}

Dim pooled(ExprPool& pool, Dim in, const Window& w, PaddingMode mode) {
  const Dim out = convolved(pool, in, w, mode);
  if (mode != PaddingMode::kEXPLICIT_ROUND_UP) return out;
  const Dim starts = pool.ceil_div(pool.add(in, pool.constant(w.pre)), pool.constant(w.stride));
  return pool.min(out, starts);
}

Dim deconvolved(ExprPool& pool, Dim in, const Window& w, int64_t output_padding, PaddingMode mode) {
  const Dim scaled = pool.mul(in, pool.constant(w.stride));
  if (is_same(mode)) return scaled;
  const Dim out =
      pool.add(scaled, pool.constant(w.reach() - w.stride - w.pre - w.post + output_padding));
  require(!out->is_constant() || out->value.integer >= 0,
          "the padding ({} before, {} after) is larger than the result", w.pre, w.post);
  return out;
}

Window resolved(Window w, int64_t in, int64_t out, PaddingMode mode) {
  return is_same(mode) ? split(w, (out - 1) * w.stride + w.reach() - in, mode) : w;
}

Window resolved_transposed(Window w, int64_t in, int64_t out, int64_t output_padding,
                           PaddingMode mode) {
  return is_same(mode) ? split(w, (in - 1) * w.stride + w.reach() + output_padding - out, mode) : w;
}

}  // namespace tenon
