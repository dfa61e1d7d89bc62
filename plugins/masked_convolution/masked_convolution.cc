// MMCVMaskedConv2d 1: mmcv.ops.MaskedConv2d.
#include <tenon/kernels/fill.h>
#include <tenon/kernels/float_copies.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::Carver;

namespace {

// Tensors of a call; the results of a plane are as large as the mask, or not.
template <class E> struct MaskedConvolution {
  const E *x, *mask, *weight, *bias;
  E* y;
  int64_t images, channels, height, width, output_channels, out_height, out_width, rows, columns;
  int64_t padding_rows, padding_columns;
  int64_t mask_height, mask_width, mask_images;

  TENON_HD bool is_wanted(int64_t image, int64_t row, int64_t column) const {
    if (row >= mask_height || column >= mask_width) return false;
    const int64_t at = ((mask_images == 1 ? 0 : image) * mask_height + row) * mask_width + column;
    return static_cast<float>(mask[at]) > 0;
  }
};

#if defined(__CUDACC__)

// One element of the result.
template <class E> struct MaskedElement {
  MaskedConvolution<E> a;

  TENON_HD void operator()(int64_t i) const {
    const int64_t column = i % a.out_width, row = i / a.out_width % a.out_height;
    const int64_t output_channel = i / (a.out_width * a.out_height) % a.output_channels;
    const int64_t image = i / (a.out_width * a.out_height * a.output_channels);
    a.y[i] = static_cast<E>(0.f);
    if (!a.is_wanted(image, row, column)) return;
    float sum = a.bias != nullptr ? static_cast<float>(a.bias[output_channel]) : 0.f;
    for (int64_t c = 0; c < a.channels; ++c)
      for (int64_t r = 0; r < a.rows; ++r)
        for (int64_t k = 0; k < a.columns; ++k) {
          const int64_t from_row = row + r - a.padding_rows, from = column + k - a.padding_columns;
          if (from_row < 0 || from_row >= a.height || from < 0 || from >= a.width) continue;
          sum += static_cast<float>(
                     a.x[((image * a.channels + c) * a.height + from_row) * a.width + from])
                 * static_cast<float>(
                     a.weight[((output_channel * a.channels + c) * a.rows + r) * a.columns + k]);
        }
    a.y[i] = static_cast<E>(sum);
  }
};

#else

// What the wanted pixels read becomes the columns of a matrix, which the weights are multiplied
// with, some pixels at a time.
template <class E> class MaskedProduct {
 public:
  MaskedProduct(const MaskedConvolution<E>& a, Carver& carver)
      : a_(a),
        padded_height_(a.height + 2 * a.padding_rows),
        padded_width_(a.width + 2 * a.padding_columns),
        pixels_(carver.array<int32_t>(a.out_height * a.out_width)),
        padded_(carver.array<float>(a.channels * padded_height_ * padded_width_)),
        matrix_(carver.array<float>(depth() * kBlock)),
        results_(carver.array<float>(a.output_channels * kBlock)) {}

  void run(const Device& device, const float* weight) const {
    for (int64_t image = 0; image < a_.images; ++image) {
      pad(device, image);
      const int64_t wanted = find_pixels(image), plane = a_.out_height * a_.out_width;
      E* const y = a_.y + image * a_.output_channels * plane;
      kernels::fill(device, y, a_.output_channels * plane, static_cast<E>(0.f));
      for (int64_t first = 0; first < wanted; first += kBlock) {
        const int64_t count = std::min(kBlock, wanted - first);
        const int32_t* const pixels = pixels_ + first;
        read(device, pixels, count);
        device.multiply(a_.output_channels, count, depth(), {weight, depth()}, {matrix_, kBlock},
                        results_, kBlock);
        device.parallel_ranges(a_.output_channels, 1, [&](int64_t begin, int64_t end) {
          for (int64_t c = begin; c < end; ++c) {
            const float shift = a_.bias != nullptr ? static_cast<float>(a_.bias[c]) : 0.f;
            for (int64_t i = 0; i < count; ++i)
              y[c * plane + pixels[i]] = static_cast<E>(results_[c * kBlock + i] + shift);
          }
        });
      }
    }
  }

 private:
  static constexpr int64_t kBlock = 1024;

  struct PaddedRow {
    const E* from;
    float* to;
    int64_t channels, height, width, padding_rows, padding_columns;
    void operator()(int64_t row, int64_t column) const {
      const int64_t in_plane = height + 2 * padding_rows, in_row = width + 2 * padding_columns;
      const int64_t r = row % in_plane - padding_rows, c = column - padding_columns;
      const bool is_inside = r >= 0 && r < height && c >= 0 && c < width;
      to[row * in_row + column] =
          is_inside ? static_cast<float>(from[(row / in_plane * height + r) * width + c]) : 0.f;
    }
  };

  int64_t depth() const { return a_.channels * a_.rows * a_.columns; }
  void pad(const Device& device, int64_t image) const {
    device.parallel_grid(
        a_.channels * padded_height_, padded_width_,
        PaddedRow{a_.x + image * a_.channels * a_.height * a_.width, padded_, a_.channels,
                  a_.height, a_.width, a_.padding_rows, a_.padding_columns});
  }
  int64_t find_pixels(int64_t image) const {
    int64_t count = 0;
    for (int64_t row = 0; row < a_.out_height; ++row)
      for (int64_t column = 0; column < a_.out_width; ++column)
        if (a_.is_wanted(image, row, column))
          pixels_[count++] = static_cast<int32_t>(row * a_.out_width + column);
    return count;
  }
  void read(const Device& device, const int32_t* pixels, int64_t count) const {
    int32_t at[kBlock];  // in a padded plane
    for (int64_t i = 0; i < count; ++i)
      at[i] =
          static_cast<int32_t>(pixels[i] / a_.out_width * padded_width_ + pixels[i] % a_.out_width);
    device.parallel_ranges(depth(), 1, [&](int64_t begin, int64_t end) {
      with_wide_vectors([&, begin, end](auto) {
        for (int64_t d = begin; d < end; ++d) {
          const int64_t channel = d / (a_.rows * a_.columns);
          const int64_t row = d / a_.columns % a_.rows, column = d % a_.columns;
          const float* const from =
              padded_ + (channel * padded_height_ + row) * padded_width_ + column;
          float* const to = matrix_ + d * kBlock;
          for (int64_t i = 0; i < count; ++i) to[i] = from[at[i]];
        }
      });
    });
  }

  MaskedConvolution<E> a_;
  int64_t padded_height_, padded_width_;
  int32_t* pixels_;  // of a plane of the result
  float *padded_, *matrix_, *results_;
};

#endif

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
    require_axes("features", in[0], "N, C, H, W");
    require_axes("weight", in[2], "M, C, rows, columns");
    out[0] = {in[0][0], in[2][0], in[0][2] + border(padding.front()) - in[2][2] + 1,
              in[0][3] + border(padding.back()) - in[2][3] + 1};
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
    if (x[2] + border(padding.front()) < weight[2] || x[3] + border(padding.back()) < weight[3])
      throw std::invalid_argument("the weight " + text_of(weight)
                                  + " is larger than the padded features " + text_of(x));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const {
    Carver carver;
#if !defined(__CUDACC__)
    MaskedProduct<float>(call_of<float>(in[0], in[1], in[2], out[0]), carver);
    kernels::FloatCopies::reserve(carver, in[2].volume());
#endif
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> mask, Tensor<const E> weight,
           Tensor<const E> bias, Tensor<E> y) const {
    MaskedConvolution<E> call = call_of<E>(x.shape, mask.shape, weight.shape, y.shape);
    call.x = x.data;
    call.mask = mask.data;
    call.weight = weight.data;
    call.bias = bias.data;
    call.y = y.data;
#if defined(__CUDACC__)
    device.parallel_for(y.shape.volume(), MaskedElement<E>{call});
#else
    Carver carver(device.workspace);
    const MaskedProduct<E> product(call, carver);
    const kernels::FloatCopies copies(device, carver);
    product.run(device, copies.of(weight.data, weight.shape.volume()));
#endif
  }

 private:
  // Elements on both sides.
  static int64_t border(int32_t pad) { return 2 * int64_t{pad}; }
  // Without addresses.
  template <class E>
  MaskedConvolution<E> call_of(const Shape& x, const Shape& mask, const Shape& weight,
                               const Shape& y) const {
    return {.x = nullptr,
            .mask = nullptr,
            .weight = nullptr,
            .bias = nullptr,
            .y = nullptr,
            .images = x[0],
            .channels = x[1],
            .height = x[2],
            .width = x[3],
            .output_channels = y[1],
            .out_height = y[2],
            .out_width = y[3],
            .rows = weight[2],
            .columns = weight[3],
            .padding_rows = padding.front(),
            .padding_columns = padding.back(),
            .mask_height = mask[1],
            .mask_width = mask[2],
            .mask_images = mask[0]};
  }
};
TENON_PLUGIN(MaskedConv2d);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
