#include "tenon/serve/norm.h"

#include <cstddef>

namespace tenon::serve {

Norm Norm::mean_std(const std::array<float, 3>& mean, const std::array<float, 3>& std, float alpha,
                    ChannelType channel_type) {
  Norm norm;
  for (size_t c = 0; c < 3; ++c) {
    norm.scale[c] = alpha / std[c];
    norm.shift[c] = -mean[c] / std[c];
  }
  norm.channel_type = channel_type;
  return norm;
}

Norm Norm::alpha_beta(float alpha, float beta, ChannelType channel_type) {
  return {{alpha, alpha, alpha}, {beta, beta, beta}, channel_type};
}

Norm Norm::None() {
  return {};
}

}  // namespace tenon::serve
