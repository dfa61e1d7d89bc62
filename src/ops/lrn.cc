#include "ops/lrn.h"

#include <cmath>

#include "ops/support/infer.h"
#include "ops/support/reference.h"

namespace tenon {

TENON_REGISTER_OP(Lrn);

void Lrn::visit(FieldVisitor& v) {
  v("window", window);
  v("alpha", alpha);
  v("beta", beta);
  v("bias", bias);
}

void Lrn::infer(Inference& c) const {
  require_inputs(c, 1, 1);
  require_float(c, 0, "the data");
  require(c.rank(0) >= 2, "expected data of at least 2 dimensions (N, C, …), found {}",
          text_of(c.dims(0)));
  require(window >= 1 && window <= INT32_MAX, "expected a window of at least one channel, found {}",
          window);
  c.set_output(0, c.type(0), c.dims(0));
}

namespace {

// One row of a channel: the sums of squares of the channels around it, then the division.
template <class T>
void normalize_channel(const Lrn& op, const T* batch, int64_t channels, int64_t plane,
                       int64_t channel, int64_t first, int64_t length, T* y) {
  std::vector<float> sum(static_cast<size_t>(length), 0.0f);
  const int64_t low = std::max<int64_t>(0, channel - (op.window - 1) / 2);
  const int64_t high = std::min(channels - 1, channel + op.window / 2);
  for (int64_t c = low; c <= high; ++c) {
    const T* x = batch + c * plane + first;
    for (int64_t i = 0; i < length; ++i) {
      const float value = load(x[i]);
      sum[static_cast<size_t>(i)] += value * value;
    }
  }
  const float factor = op.alpha / static_cast<float>(op.window);
  const T* x = batch + channel * plane + first;
  T* to = y + channel * plane + first;
  for (int64_t i = 0; i < length; ++i) {
    const float base = op.bias + factor * sum[static_cast<size_t>(i)];
    // Almost every model has 0.75, where two roots are much faster than a power.
    const float divisor =
        op.beta == 0.75f ? std::sqrt(base) * std::sqrt(std::sqrt(base)) : std::pow(base, op.beta);
    to[i] = store<T>(load(x[i]) / divisor);
  }
}

}  // namespace

void Lrn::reference(const ReferenceCall& call) const {
  const TensorView &in = call.inputs[0], &out = call.outputs[0];
  require_output(out, in.shape);
  if (in.shape.volume() == 0) return;
  const int64_t channels = in.shape[1], plane = in.shape.volume(2, in.shape.rank());
  constexpr int64_t kBlock = 1024;
  const int64_t blocks = (plane + kBlock - 1) / kBlock;
  const int64_t grain = std::max<int64_t>(1, 4096 / std::min(plane, kBlock));
  with_float(in.type, [&](auto zero) {
    using T = decltype(zero);
    parallel_for(in.shape[0] * channels * blocks, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t first = i % blocks * kBlock, row = i / blocks;
        const int64_t batch = row / channels * channels * plane;
        normalize_channel<T>(*this, in.as<T>() + batch, channels, plane, row % channels, first,
                             std::min(kBlock, plane - first), out.as<T>() + batch);
      }
    });
  });
}

}  // namespace tenon
