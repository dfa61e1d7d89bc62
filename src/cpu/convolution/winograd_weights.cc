#include "cpu/convolution/winograd_weights.h"

#include <algorithm>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "cpu/simd/kernels.h"
#include "cpu/simd/winograd_transform.h"
#include "cpu/turn_rows.h"

#ifdef __x86_64__
#include <xmmintrin.h>
#endif

namespace tenon::cpu {
namespace {

static_assert(kTransformLanes == WinogradForm::kMaxLanes);

std::span<const double> points_of(int size) {
  if (size == 4) return kWinogradPoints<4>;
  if (size == 6) return kWinogradPoints<6>;
  return kWinogradPoints<8>;
}

WinogradPoints weights_transform(int size, int window) {
  std::vector<double> points = {0};
  for (const double p : points_of(size)) {
    points.push_back(p);
    points.push_back(-p);
  }
  WinogradPoints g = {size, window, {}};
  double(*row)[kMaxWinogradTaps] = g.rows;
  for (const double p : points) {
    double x = 1;
    for (const double other : points)
      if (other != p) x /= p - other;
    for (int k = 0; k < window; ++k, x *= p) (*row)[k] = x;
    ++row;
  }
  (*row)[window - 1] = 1;  // infinity
  return g;
}

/// Where the transformed taps of a part go, for a vector of output channels: each plane from the
/// first channel on, and from there on by `step` for each channel.
struct Places {
  int64_t planes[kMaxWinogradSize * kMaxWinogradSize];  // -1 where the part has nothing
  int64_t step;
};

Places places_of(const WinogradForm& form, int64_t output_channel, size_t part) {
  Places places = {};
  for (int plane = 0; plane < form.planes(); ++plane)
    places.planes[plane] = form.is_used(part, plane) ? form.at(output_channel, part, 0, plane) : -1;
  places.step = form.at(output_channel, part, 1, 0) - form.at(output_channel, part, 0, 0);
  return places;
}

/// What is turned at a time stays in the first cache.
constexpr int64_t kBlockTaps = 256;

// The taps of a part of one channel's window, in the order of WinogradTransform.
void gather_taps(const WinogradForm& form, size_t part, const float* window, float* taps) {
  const auto& [y, x] = form.parts[part];
  for (int i = 0; i < y.taps; ++i)
    for (int j = 0; j < x.taps; ++j)
      std::copy_n(window
                      + ((y.tap + i * form.stride[0]) * form.kernel[1] + x.tap + j * form.stride[1])
                            * kTransformLanes,
                  kTransformLanes,
                  taps + ((x.lead + j) * form.window + y.lead + i) * kTransformLanes);
}

}  // namespace

Tensor winograd_weights(const Tensor& weights, const WinogradForm& form) {
  Tensor packed(DataType::kFLOAT, {form.floats()});
  auto* const to = packed.mutable_data<float>();
  const bool pads_channels = form.gathers() || form.channels % form.lanes != 0;
  if (pads_channels) std::fill_n(to, form.floats(), 0.f);
  const WinogradPoints g = weights_transform(form.size, form.window);
  const WinogradTransform transform = winograd_transform();
  const int64_t area = form.kernel.volume();
  // Channels of which the taps are looked at together.
  const int64_t block = std::max<int64_t>(kBlockTaps / area, 1);
  // A vector of output channels at a time: these lie together.
  parallel_for(form.padded(form.output_channels) / form.lanes, 1, [&](int64_t begin, int64_t end) {
    // A tap after the other, each of a vector of output channels; those that fill it are zeros.
    std::vector<float> turned(static_cast<size_t>(block * area * kTransformLanes));
    for (int64_t vector = begin; vector < end; ++vector) {
      const int64_t first = vector * form.lanes;
      const int64_t used = std::min<int64_t>(form.lanes, form.output_channels - first);
      std::vector<Places> places;
      for (size_t part = 0; part < form.parts.size(); ++part)
        places.push_back(places_of(form, first, part));
      if (used < form.lanes) std::ranges::fill(turned, 0.f);
      for (int64_t channel = 0; channel < form.channels; channel += block) {
        const int64_t count = std::min(block, form.channels - channel);
        turn_rows(weights.data<float>() + (first * form.channels + channel) * area,
                  form.channels * area, used, count * area, turned.data(), kTransformLanes);
        for (size_t part = 0; part < form.parts.size(); ++part) {
          // Of those that the part lacks zeros.
          alignas(64) float taps[kMaxWinogradTaps * kMaxWinogradTaps * kTransformLanes] = {};
          for (int64_t c = 0; c < count; ++c) {
            gather_taps(form, part, turned.data() + c * area * kTransformLanes, taps);
            transform(g, taps, to + (channel + c) * places[part].step, places[part].planes,
                      form.lanes);
          }
        }
      }
    }
#ifdef __x86_64__
    _mm_sfence();
#endif
  });
  return packed;
}

Tensor winograd_bias(const Tensor& bias, const WinogradForm& form) {
  Tensor padded(DataType::kFLOAT, {form.padded(form.output_channels)});
  auto* const to = padded.mutable_data<float>();
  std::fill_n(to, padded.count(), 0.f);
  if (bias.count() > 0) std::copy_n(bias.data<float>(), form.output_channels, to);
  return padded;
}

Tensor rearranged(const Tensor& packed, const WinogradForm& from, const WinogradForm& to) {
  Tensor out(DataType::kFLOAT, {to.floats()});
  std::fill_n(out.mutable_data<float>(), to.floats(), 0.f);
  for (int64_t output_channel = 0; output_channel < to.output_channels; ++output_channel)
    for (size_t part = 0; part < to.parts.size(); ++part)
      for (int64_t channel = 0; channel < to.channels; ++channel)
        for (int plane = 0; plane < to.planes(); ++plane)
          if (to.is_used(part, plane))
            out.mutable_data<float>()[to.at(output_channel, part, channel, plane)] =
                packed.data<float>()[from.at(output_channel, part, channel, plane)];
  return out;
}

std::shared_ptr<WinogradWeights> WinogradWeights::of_plain(const WinogradForm& form, Tensor plain,
                                                           const Tensor& bias) {
  std::shared_ptr<WinogradWeights> weights(new WinogradWeights(form));
  weights->plain_ = std::move(plain);
  weights->bias_ = winograd_bias(bias, form);
  return weights;
}

std::shared_ptr<WinogradWeights> WinogradWeights::of_packed(const WinogradForm& form, Tensor packed,
                                                            Tensor bias) {
  std::shared_ptr<WinogradWeights> weights(new WinogradWeights(form));
  weights->packed_ = std::move(packed);
  weights->bias_ = std::move(bias);
  return weights;
}

const Tensor& WinogradWeights::packed() const {
  std::call_once(once_, [&] {
    if (packed_.count() == 0) packed_ = winograd_weights(plain_, form_);
    plain_ = Tensor();
  });
  return packed_;
}

}  // namespace tenon::cpu
