// Operators that MMCV exports and has no plugins for: SoftNonMaxSuppression, MMCVBorderAlign,
// MMCVPSAMask and MMCVMaskedConv2d 1.
#include <tenon/kernels/roi_region.h>
#include <tenon/kernels/shape_text.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::text_of;

namespace {

constexpr const char* kNone = "There is none for TensorRT elsewhere. float16 and bfloat16.";

enum class Decay { kNaive = 0, kLinear = 1, kGaussian = 2 };

// The better score; of equal ones the first box.
struct Ranked {
  float score;
  int32_t index;
};

// Takes the best box again and again, and lowers the scores of what overlaps it.
template <class E> struct SoftSuppress {
  const E *boxes, *scores;
  E* detections;
  int32_t* indices;
  float* left;  // scores of what is not taken; negative infinity for the rest
  int64_t count;
  float overlap, sigma, min_score, pixel;
  Decay decay;

  TENON_DEVICE void operator()(const Team& team, int64_t) const {
    team.each(count, [&](int64_t i) {
      const auto score = static_cast<float>(scores[i]);
      left[i] = score == score ? score : -HUGE_VALF;
    });
    int64_t taken = 0;
    for (; taken < count; ++taken) {
      synchronize();
      const Ranked best = team.reduce(
          count, Ranked{-HUGE_VALF, INT32_MAX},
          [](const Ranked& a, const Ranked& b) {
            return a.score > b.score || (a.score == b.score && a.index < b.index) ? a : b;
          },
          [&](int64_t i) { return Ranked{left[i], static_cast<int32_t>(i)}; });
      if (best.score == -HUGE_VALF) break;
      const E* const b = boxes + int64_t{best.index} * 4;
      team.each(1, [&](int64_t) {
        for (int k = 0; k < 4; ++k) detections[taken * 5 + k] = b[k];
        detections[taken * 5 + 4] = static_cast<E>(best.score);
        indices[taken] = best.index;
      });
      team.each(count, [&](int64_t i) {
        if (i == best.index) {
          left[i] = -HUGE_VALF;
        } else if (left[i] != -HUGE_VALF) {
          const float score = left[i] * share(iou(b, boxes + i * 4));
          left[i] = score < min_score ? -HUGE_VALF : score;
        }
      });
    }
    team.each(count - taken, [&](int64_t i) {
      for (int k = 0; k < 5; ++k) detections[(taken + i) * 5 + k] = static_cast<E>(0.f);
      indices[taken + i] = -1;
    });
  }

 private:
  TENON_DEVICE static void synchronize() {
#if defined(__CUDACC__)
    __syncthreads();
#endif
  }
  TENON_HD float iou(const E* a, const E* b) const {
    float low[2], high[2], extent[2][2];
    for (int k = 0; k < 2; ++k) {
      const float a1 = static_cast<float>(a[k]), a2 = static_cast<float>(a[k + 2]);
      const float b1 = static_cast<float>(b[k]), b2 = static_cast<float>(b[k + 2]);
      low[k] = fmaxf(a1, b1);
      high[k] = fminf(a2, b2);
      extent[0][k] = a2 - a1 + pixel;
      extent[1][k] = b2 - b1 + pixel;
    }
    const float common =
        fmaxf(0.f, high[0] - low[0] + pixel) * fmaxf(0.f, high[1] - low[1] + pixel);
    const float all = extent[0][0] * extent[0][1] + extent[1][0] * extent[1][1] - common;
    return common > 0 ? common / all : 0.f;
  }
  TENON_HD float share(float iou) const {
    if (decay == Decay::kGaussian) return expf(-iou * iou / sigma);
    if (iou < overlap) return 1;
    return decay == Decay::kLinear ? 1 - iou : 0.f;
  }
};

struct SoftNms {
  float overlap = 0.3f, sigma = 0.5f, min_score = 1e-3f;
  Decay decay = Decay::kLinear;
  int32_t offset = 0;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("iou_threshold", &SoftNms::overlap)
          .says("overlap from which on scores are lowered"),
      attribute("sigma", &SoftNms::sigma).says("of the Gaussian"),
      attribute("min_score", &SoftNms::min_score)
          .says("boxes whose lowered score is below are dropped"),
      attribute(
          "method", &SoftNms::decay,
          {{"naive", Decay::kNaive}, {"linear", Decay::kLinear}, {"gaussian", Decay::kGaussian}})
          .says("naive is torchvision.ops.nms"),
      attribute("offset", &SoftNms::offset).says("1: coordinates count pixels")};
  static constexpr Spec spec{
      .name = "SoftNonMaxSuppression",
      .inputs = {{"boxes", kT}, {"scores", kT}},
      .outputs = {{"dets", kT}, {"indices", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.soft_nms: of boxes (B, 4) as corners and scores (B) the best is taken again "
          "and again, and the scores of those that overlap it are lowered. Rows (B, 5) of box and "
          "score, and indices (B). Rows that are left are 0, with index -1.",
      .differs =
          "There is none for TensorRT elsewhere. The number of rows does not depend on the data, "
          "and indices are int32."};

  void prepare() const {
    if (!(sigma > 0))
      throw std::invalid_argument("sigma must be positive, found " + std::to_string(sigma));
    if (offset != 0 && offset != 1)
      throw std::invalid_argument("offset must be 0 or 1, found " + std::to_string(offset));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    out[0] = {in[0].at(0), 5};
    out[1] = {in[0].at(0)};
  }
  void check(std::span<const Shape> in) const {
    if (in[0].rank() != 2 || in[0][1] != 4 || in[1].rank() != 1 || in[1][0] != in[0][0])
      throw std::invalid_argument("expected boxes (B, 4) and scores (B), found " + text_of(in[0])
                                  + " and " + text_of(in[1]));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    return static_cast<size_t>(in[1].volume()) * sizeof(float);
  }
  template <class E>
  void run(const Device& device, Tensor<const E> boxes, Tensor<const E> scores, Tensor<E> dets,
           Tensor<int32_t> indices) const {
    device.parallel_rows(
        1, SoftSuppress<E>{boxes.data, scores.data, dets.data, indices.data,
                           static_cast<float*>(device.workspace), boxes.shape[0], overlap, sigma,
                           min_score, static_cast<float>(offset), decay});
  }
};
TENON_PLUGIN(SoftNms);

// The largest sample along one border of a box: the top from its left, the left from its top, the
// bottom from its right, the right from its bottom.
template <class E> struct BorderElement {
  const E *input, *boxes;
  E* y;
  int64_t channels, height, width, count, samples;

  TENON_HD void operator()(int64_t i) const {
    const int64_t border = i % 4, box = i / 4 % count, channel = i / (4 * count) % channels;
    const int64_t image = i / (4 * count * channels);
    const E* const b = boxes + (image * count + box) * 4;
    const E* const plane = input + ((image * 4 + border) * channels + channel) * height * width;
    const auto at = [&](int64_t k) { return static_cast<float>(b[k]); };
    const int64_t corner = border / 2 * 2;
    const float step = (border % 2 == 0 ? at(2) - at(0) : at(3) - at(1))
                       / static_cast<float>(samples) * (border < 2 ? 1.f : -1.f);
    float largest = -HUGE_VALF;
    for (int64_t s = 0; s <= samples; ++s) {
      const float along = step * static_cast<float>(s);
      const float value = sample(plane, at(corner + 1) + (border % 2 == 0 ? 0 : along),
                                 at(corner) + (border % 2 == 0 ? along : 0));
      largest = s == 0 || value > largest ? value : largest;
    }
    y[i] = static_cast<E>(largest);
  }

 private:
  TENON_HD float sample(const E* plane, float row, float column) const {
    kernels::Tap taps[4];
    float sum = 0;
    if (!kernels::find_taps(kernels::Region{0, 0, 0, 0, 0, 0}, height, width, row, column, 1, taps))
      return 0;
    for (const kernels::Tap& t : taps) sum += static_cast<float>(plane[t.offset]) * t.weight;
    return sum;
  }
};

struct BorderAlign {
  int32_t samples = 10;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("pool_size", &BorderAlign::samples).says("steps along a border")};
  static constexpr Spec spec{
      .name = "MMCVBorderAlign",
      .inputs = {{"input", kT}, {"boxes", kT}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.BorderAlign: the largest bilinear sample along each border of boxes (N, K, 4), "
          "from that quarter of the channels of the input (N, 4 * C, H, W) that is for the border: "
          "(N, C, K, 4) of top, left, bottom and right.",
      .differs = kNone};

  void prepare() const {
    if (samples < 1)
      throw std::invalid_argument("pool_size must be at least 1, found " + std::to_string(samples));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 4 || in[1].size() != 3)
      throw std::invalid_argument("input must have 4 dimensions and boxes 3, found "
                                  + std::to_string(in[0].size()) + " and "
                                  + std::to_string(in[1].size()));
    out[0] = {in[0][0], in[0][1] / 4, in[1][1], 4};
  }
  void check(std::span<const Shape> in) const {
    if (in[0][1] % 4 != 0 || in[1][0] != in[0][0] || in[1][2] != 4)
      throw std::invalid_argument("input " + text_of(in[0]) + " and boxes " + text_of(in[1])
                                  + " do not fit; expected (N, 4 * C, H, W) and (N, K, 4)");
    if (in[0][2] < 1 || in[0][3] < 1)
      throw std::invalid_argument("the input has no elements to sample");
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> boxes, Tensor<E> y) const {
    device.parallel_for(y.shape.volume(),
                        BorderElement<E>{x.data, boxes.data, y.data, y.shape[1], x.shape[2],
                                         x.shape[3], boxes.shape[1], samples});
  }
};
TENON_PLUGIN(BorderAlign);

enum class PsaType { kCollect = 0, kDistribute = 1 };

// One element of the result (N, places, H, W). A place's mask lies around it.
template <class E> struct PsaElement {
  const E* masks;
  E* y;
  int64_t height, width, mask_height, mask_width;
  PsaType type;

  TENON_HD void operator()(int64_t i) const {
    const int64_t plane = height * width, image = i / (plane * plane);
    const int64_t first = i / plane % plane, second = i % plane;
    const int64_t owner = type == PsaType::kCollect ? second : first;
    const int64_t other = type == PsaType::kCollect ? first : second;
    const int64_t row = other / width - owner / width + (mask_height - 1) / 2;
    const int64_t column = other % width - owner % width + (mask_width - 1) / 2;
    const bool is_inside = row >= 0 && row < mask_height && column >= 0 && column < mask_width;
    y[i] = is_inside ? masks[((image * mask_height + row) * mask_width + column) * plane + owner]
                     : static_cast<E>(0.f);
  }
};

struct PsaMask {
  PsaType type = PsaType::kCollect;
  std::vector<int32_t> size;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("psa_type", &PsaMask::type,
                {{"collect", PsaType::kCollect}, {"distribute", PsaType::kDistribute}}),
      attribute("mask_size", &PsaMask::size).required().says("rows and columns, or one for both")};
  static constexpr Spec spec{
      .name = "MMCVPSAMask",
      .inputs = {{"input", kT}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.PSAMask (\"PSANet\", Zhao et al. 2018): the masks (N, rows * columns, H, W) "
          "around places as (N, H * W, H, W): for each pair of places, what the mask of the second "
          "(collect) or the first (distribute) has for the other; 0 beyond the mask.",
      .differs = kNone};

  void prepare() const {
    if (size.empty() || size.size() > 2 || size.front() < 1 || size.back() < 1)
      throw std::invalid_argument("mask_size must have 1 or 2 positive elements");
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 4)
      throw std::invalid_argument("input must have 4 dimensions (N, C, H, W), found "
                                  + std::to_string(in[0].size()));
    out[0] = {in[0][0], in[0][2] * in[0][3], in[0][2], in[0][3]};
  }
  void check(std::span<const Shape> in) const {
    const int64_t elements = int64_t{size.front()} * size.back();
    if (in[0][1] != elements)
      throw std::invalid_argument("input must have " + std::to_string(elements)
                                  + " channels, as the mask has elements, found " + text_of(in[0]));
  }
  template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
    device.parallel_for(y.shape.volume(), PsaElement<E>{x.data, y.data, x.shape[2], x.shape[3],
                                                        size.front(), size.back(), type});
  }
};
TENON_PLUGIN(PsaMask);

// One element of a convolution; 0 where the mask is not positive.
template <class E> struct MaskedElement {
  const E *x, *mask, *weight, *bias;
  E* y;
  int64_t channels, height, width, maps, out_height, out_width, rows, columns;
  int64_t padding_rows, padding_columns;
  int64_t mask_height, mask_width, mask_images;

  TENON_HD void operator()(int64_t i) const {
    const int64_t column = i % out_width, row = i / out_width % out_height;
    const int64_t map = i / (out_width * out_height) % maps;
    const int64_t image = i / (out_width * out_height * maps);
    y[i] = static_cast<E>(0.f);
    if (row >= mask_height || column >= mask_width) return;
    const int64_t at = ((mask_images == 1 ? 0 : image) * mask_height + row) * mask_width + column;
    if (!(static_cast<float>(mask[at]) > 0)) return;
    float sum = bias != nullptr ? static_cast<float>(bias[map]) : 0.f;
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t k = 0; k < columns; ++k) {
          const int64_t from_row = row + r - padding_rows, from = column + k - padding_columns;
          if (from_row < 0 || from_row >= height || from < 0 || from >= width) continue;
          sum += static_cast<float>(x[((image * channels + c) * height + from_row) * width + from])
                 * static_cast<float>(weight[((map * channels + c) * rows + r) * columns + k]);
        }
    y[i] = static_cast<E>(sum);
  }
};

struct MaskedConv2d {
  std::vector<int32_t> padding = {0}, stride = {1};

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("padding", &MaskedConv2d::padding).says("rows and columns, or one for both"),
      attribute("stride", &MaskedConv2d::stride).says("1")};
  static constexpr Spec spec{
      .name = "MMCVMaskedConv2d",
      .inputs = {{"features", kT}, {"mask", kT}, {"weight", kT}, {"bias", kT, kOptional}},
      .outputs = {{"output", kT}},
      .protocol = Protocol::kV2,
      .text =
          "mmcv.ops.MaskedConv2d: torch.nn.functional.conv2d of features (N, C, H, W), worked out "
          "where the mask (N or 1, H, W) is positive, and 0 elsewhere.",
      .differs = "There is none for TensorRT elsewhere. Batches of images. float16 and bfloat16."};

  void prepare() const {
    if (padding.empty() || padding.size() > 2 || padding.front() < 0 || padding.back() < 0)
      throw std::invalid_argument("padding must have 1 or 2 elements of 0 or more");
    for (const int32_t step : stride)
      if (step != 1)
        throw std::invalid_argument("stride must be 1, as mmcv has it, found "
                                    + std::to_string(step));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 4 || in[2].size() != 4)
      throw std::invalid_argument("features and weight must have 4 dimensions, found "
                                  + std::to_string(in[0].size()) + " and "
                                  + std::to_string(in[2].size()));
    out[0] = {in[0][0], in[2][0], in[0][2] + 2 * padding.front() - in[2][2] + 1,
              in[0][3] + 2 * padding.back() - in[2][3] + 1};
  }
  void check(std::span<const Shape> in) const {
    const Shape &x = in[0], &mask = in[1], &weight = in[2];
    if (weight[1] != x[1])
      throw std::invalid_argument("weight " + text_of(weight) + " does not fit features "
                                  + text_of(x));
    if (mask.rank() != 3 || (mask[0] != 1 && mask[0] != x[0]) || mask[1] != x[2] || mask[2] != x[3])
      throw std::invalid_argument("the mask must be (" + std::to_string(x[0]) + " or 1, "
                                  + std::to_string(x[2]) + ", " + std::to_string(x[3]) + "), found "
                                  + text_of(mask));
    if (in.size() > 3 && in[3].volume() != weight[0])
      throw std::invalid_argument("the bias must have " + std::to_string(weight[0])
                                  + " elements, found " + text_of(in[3]));
    if (x[2] + 2 * padding.front() < weight[2] || x[3] + 2 * padding.back() < weight[3])
      throw std::invalid_argument("the weight " + text_of(weight)
                                  + " is larger than the padded features " + text_of(x));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> mask, Tensor<const E> weight,
           Tensor<const E> bias, Tensor<E> y) const {
    device.parallel_for(
        y.shape.volume(),
        MaskedElement<E>{x.data, mask.data, weight.data, bias.data, y.data, x.shape[1], x.shape[2],
                         x.shape[3], y.shape[1], y.shape[2], y.shape[3], weight.shape[2],
                         weight.shape[3], padding.front(), padding.back(), mask.shape[1],
                         mask.shape[2], mask.shape[0]});
  }
};
TENON_PLUGIN(MaskedConv2d);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
