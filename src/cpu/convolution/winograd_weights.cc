#include "cpu/convolution/winograd_weights.h"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

constexpr int kMaxTaps = 5, kMaxSize = WinogradForm::kMaxSize;
constexpr int kMaxLanes = WinogradForm::kMaxLanes;

/// Numbers of several output channels.
using Numbers = std::array<double, kMaxLanes>;

std::span<const double> points_of(int size) {
  if (size == 4) return kWinogradPoints<4>;
  if (size == 6) return kWinogradPoints<6>;
  return kWinogradPoints<8>;
}

/// G of the algorithm: a row for each point.
std::vector<std::array<double, kMaxTaps>> weights_transform(int size, int window) {
  std::vector<double> points = {0};
  for (const double p : points_of(size)) {
    points.push_back(p);
    points.push_back(-p);
  }
  std::vector<std::array<double, kMaxTaps>> g;
  for (const double p : points) {
    double x = 1;
    for (const double other : points)
      if (other != p) x /= p - other;
    g.push_back({});
    for (int k = 0; k < window; ++k, x *= p) g.back()[static_cast<size_t>(k)] = x;
  }
  g.push_back({});  // infinity
  g.back()[static_cast<size_t>(window - 1)] = 1;
  return g;
}

Numbers combined(const std::array<double, kMaxTaps>& row, const Numbers* taps, int window) {
  Numbers sum = {};
  for (int k = 0; k < window; ++k)
    for (size_t lane = 0; lane < kMaxLanes; ++lane)
      sum[lane] += row[static_cast<size_t>(k)] * taps[k][lane];
  return sum;
}

}  // namespace

Tensor winograd_weights(const Tensor& weights, const WinogradForm& form) {
  Tensor packed(DataType::kFLOAT, {form.floats()});
  auto* const to = packed.mutable_data<float>();
  std::fill_n(to, form.floats(), 0.f);
  const auto g = weights_transform(form.size, form.window);
  const int64_t area = form.kernel.volume();
  // A vector of output channels at a time: these lie together.
  parallel_for(form.padded(form.output_channels) / form.lanes, 1, [&](int64_t begin, int64_t end) {
    for (int64_t vector = begin; vector < end; ++vector)
      for (int64_t channel = 0; channel < form.channels; ++channel)
        for (size_t part = 0; part < form.parts.size(); ++part) {
          const auto& [y, x] = form.parts[part];
          const int64_t first = vector * form.lanes;
          const int64_t output_channels =
              std::min<int64_t>(form.lanes, form.output_channels - first);
          Numbers taps[kMaxTaps][kMaxTaps] = {}, columns[kMaxSize][kMaxTaps];  // column, row
          for (int64_t lane = 0; lane < output_channels; ++lane) {
            const float* w =
                weights.data<float>() + ((first + lane) * form.channels + channel) * area;
            for (int i = 0; i < y.taps; ++i)
              for (int j = 0; j < x.taps; ++j)
                taps[x.lead + j][y.lead + i][static_cast<size_t>(lane)] = static_cast<double>(
                    w[(y.tap + i * form.stride[0]) * form.kernel[1] + x.tap + j * form.stride[1]]);
          }
          for (int i = 0; i < form.size; ++i)
            for (int j = 0; j < form.window; ++j)
              columns[i][j] = combined(g[static_cast<size_t>(i)], taps[j], form.window);
          for (int plane = 0; plane < form.planes(); ++plane) {
            if (!form.is_used(part, plane)) continue;
            const Numbers sums = combined(g[static_cast<size_t>(plane % form.size)],
                                          columns[plane / form.size], form.window);
            float* out = to + form.at(first, part, channel, plane);
            for (int64_t lane = 0; lane < output_channels; ++lane)
              out[lane] = static_cast<float>(sums[static_cast<size_t>(lane)]);
          }
        }
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
