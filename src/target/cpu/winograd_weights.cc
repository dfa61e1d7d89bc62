#include "target/cpu/winograd_weights.h"

#include <array>
#include <span>
#include <vector>

#include "base/parallel.h"
#include "target/cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kWindow = 3;

/// G of the algorithm: `size` rows of three.
std::vector<std::array<double, kWindow>> weights_transform(int size) {
  std::vector<double> points = {0};
  for (const double p : size == 4 ? std::span<const double>(kWinogradPoints<4>)
                                  : std::span<const double>(kWinogradPoints<6>)) {
    points.push_back(p);
    points.push_back(-p);
  }
  std::vector<std::array<double, kWindow>> g;
  for (const double p : points) {
    double scale = 1;
    for (const double other : points)
      if (other != p) scale *= p - other;
    g.push_back({1 / scale, p / scale, p * p / scale});
  }
  g.push_back({0, 0, 1});  // infinity
  return g;
}

}  // namespace

Tensor winograd_weights(const Tensor& weights, const WinogradForm& form) {
  Tensor packed(DataType::kFLOAT, {form.floats()});
  auto* const to = packed.mutable_data<float>();
  std::fill_n(to, form.floats(), 0.f);
  const auto g = weights_transform(form.size);
  const auto size = static_cast<size_t>(form.size);
  parallel_for(form.maps, 1, [&](int64_t begin, int64_t end) {
    for (int64_t map = begin; map < end; ++map)
      for (int64_t channel = 0; channel < form.channels; ++channel) {
        const float* w =
            weights.data<float>() + (map * form.channels + channel) * kWindow * kWindow;
        double columns[kWindow][8];
        for (size_t i = 0; i < size; ++i)
          for (int64_t x = 0; x < kWindow; ++x)
            columns[x][i] = g[i][0] * static_cast<double>(w[x])
                            + g[i][1] * static_cast<double>(w[kWindow + x])
                            + g[i][2] * static_cast<double>(w[2 * kWindow + x]);
        for (size_t i = 0; i < size; ++i)
          for (size_t j = 0; j < size; ++j)
            to[form.at(map, channel, static_cast<int64_t>(i * size + j))] = static_cast<float>(
                g[j][0] * columns[0][i] + g[j][1] * columns[1][i] + g[j][2] * columns[2][i]);
      }
  });
  return packed;
}

Tensor winograd_bias(const Tensor& bias, const WinogradForm& form) {
  Tensor padded(DataType::kFLOAT, {form.padded(form.maps)});
  auto* const to = padded.mutable_data<float>();
  std::fill_n(to, padded.count(), 0.f);
  if (bias.count() > 0) std::copy_n(bias.data<float>(), form.maps, to);
  return padded;
}

Tensor rearranged(const Tensor& packed, const WinogradForm& from, const WinogradForm& to) {
  Tensor out(DataType::kFLOAT, {to.floats()});
  std::fill_n(out.mutable_data<float>(), to.floats(), 0.f);
  for (int64_t map = 0; map < to.maps; ++map)
    for (int64_t channel = 0; channel < to.channels; ++channel)
      for (int64_t plane = 0; plane < to.size * to.size; ++plane)
        out.mutable_data<float>()[to.at(map, channel, plane)] =
            packed.data<float>()[from.at(map, channel, plane)];
  return out;
}

}  // namespace tenon::cpu
