// MMCVMaskedConv2d 1: mmcv.ops.MaskedConv2d.
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

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

 private:
  // Elements on both sides.
  static int64_t border(int32_t pad) { return 2 * int64_t{pad}; }
};
TENON_PLUGIN(MaskedConv2d);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
