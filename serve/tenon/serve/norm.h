// How bytes of an image become what a network was trained on.
#ifndef TENON_SERVE_NORM_H
#define TENON_SERVE_NORM_H

#include <array>

namespace tenon::serve {

/// Whether the first and the third channel change their positions: from BGR to RGB, or back. YUV
/// is BGR before that.
enum class ChannelType { None, Invert };

/// Names and meaning are tensorRT_Pro's. Channels are those of the result, behind ChannelType.
struct Norm {
  /// (x * alpha - mean[c]) / std[c].
  static Norm mean_std(const std::array<float, 3>& mean, const std::array<float, 3>& std,
                       float alpha = 1 / 255.F, ChannelType channel_type = ChannelType::None);
  /// x * alpha + beta.
  static Norm alpha_beta(float alpha, float beta = 0, ChannelType channel_type = ChannelType::None);
  /// x, from 0 to 255.
  static Norm None();

  /// Channel c is x * scale[c] + shift[c]; a fourth one is as the first.
  std::array<float, 3> scale = {1, 1, 1}, shift = {0, 0, 0};
  ChannelType channel_type = ChannelType::None;
};

}  // namespace tenon::serve

#endif  // TENON_SERVE_NORM_H
