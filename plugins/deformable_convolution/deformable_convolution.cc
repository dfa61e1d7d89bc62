// Deformable convolution under the names of MMCV, NVIDIA, amirstan, BEVFormer_tensorrt and
// tensorRT_Pro. Version 1
// moves the taps of a kernel; version 2 ("modulated") weighs them too. Stride, padding and dilation
// are (rows, columns).
#include <tenon/kernels/deformable_convolution.h>
#include <tenon/kernels/workspace.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

using List = std::vector<int32_t>;

std::string text_of(const List& list) {
  std::string text;
  for (const int32_t v : list) text += (text.empty() ? "[" : ", ") + std::to_string(v);
  return text.empty() ? "[]" : text + "]";
}

// Rows and columns of an attribute: one number for both, or one for each.
std::array<int64_t, 2> pair_of(const char* name, const List& list, int64_t min) {
  if (list.empty() || list.size() > 2)
    throw std::invalid_argument(std::string(name) + " must have 1 or 2 values, found "
                                + text_of(list));
  for (const int32_t v : list)
    if (v < min)
      throw std::invalid_argument(std::string(name) + " must be at least " + std::to_string(min)
                                  + ", found " + text_of(list));
  return {list.front(), list.back()};
}

// MMDeploy exports padding as (rows, rows, columns, columns), ONNX has it as (top, left, bottom,
// right). Both sides must be the same.
List shortened(const List& padding) {
  if (padding.size() != 4) return padding;
  if (padding[0] == padding[1] && padding[2] == padding[3]) return {padding[0], padding[2]};
  if (padding[0] == padding[2] && padding[1] == padding[3]) return {padding[0], padding[1]};
  throw std::invalid_argument("padding " + text_of(padding)
                              + " differs between the sides of an axis, which is not supported");
}

// What the plugins share. `mask` and `weight` are the positions of these inputs; no mask is -1. The
// offsets have `moves` channels for each tap.
template <int mask, int weight, int moves = 2> struct DeformableConvolution {
  List stride = {1, 1};
  List padding = {0, 0};
  List dilation = {1, 1};
  int32_t groups = 1;
  int32_t offset_groups = 1;

  using T = Types<float, Half, BFloat16>;

  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    for (int i = 0; i <= weight; ++i)
      if (in[i].size() != 4)
        throw std::invalid_argument("input " + std::to_string(i) + " must have 4 dimensions, found "
                                    + std::to_string(in[i].size()));
    out[0] = {in[0][0], in[weight][0], in[1][2], in[1][3]};
  }

  DeformableConvolutionRule rule(const Shape& kernel) const {
    const auto strides = pair_of("stride", stride, 1), dilations = pair_of("dilation", dilation, 1);
    const auto paddings = pair_of("padding", shortened(padding), 0);
    return {{kernel[2], strides[0], paddings[0], dilations[0]},
            {kernel[3], strides[1], paddings[1], dilations[1]},
            groups,
            offset_groups};
  }

  void check(std::span<const Shape> in) const {
    const Shape &x = in[0], &kernel = in[weight];
    const DeformableConvolutionRule r = rule(kernel);
    if (groups < 1 || x[1] % groups != 0 || kernel[0] % groups != 0 || kernel[1] * groups != x[1])
      throw std::invalid_argument(std::to_string(groups) + " groups do not fit "
                                  + std::to_string(x[1]) + " channels and a weight of "
                                  + std::to_string(kernel[0]) + " x " + std::to_string(kernel[1]));
    if (offset_groups < 1 || x[1] % offset_groups != 0)
      throw std::invalid_argument(std::to_string(offset_groups) + " offset groups do not fit "
                                  + std::to_string(x[1]) + " channels");
    const auto result = [](int64_t extent, const DeformableAxis& axis) {
      const int64_t span = extent + 2 * axis.padding - axis.dilation * (axis.taps - 1) - 1;
      return span < 0 ? 0 : span / axis.stride + 1;
    };
    const int64_t height = result(x[2], r.rows), width = result(x[3], r.columns);
    const int64_t taps = r.offset_groups * kernel[2] * kernel[3];
    expect("offset", in[1], x[0], moves * taps, height, width);
    if constexpr (mask >= 0) expect("mask", in[mask], x[0], taps, height, width);
    if (in.size() > weight + 1 && (in[weight + 1].rank() != 1 || in[weight + 1][0] != kernel[0]))
      throw std::invalid_argument("the bias must have " + std::to_string(kernel[0]) + " elements");
  }

  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    const Shape &x = in[0], &kernel = in[weight];
    const DeformableConvolutionRule groups_and_taps{
        {kernel[2]}, {kernel[3]}, std::max(groups, 1), std::max(offset_groups, 1)};
    return deformable_convolution_workspace(groups_and_taps, x[0], x[1], x[2] * x[3], kernel[0]);
  }

 protected:
  template <class E>
  void convolve(const Device& device, const Tensor<const E>& x, const E* offset, const E* scale,
                const Tensor<const E>& kernel, const E* bias, const Tensor<E>& y) const {
    deformable_convolution<E>(
        device, rule(kernel.shape),
        {x.data, offset, scale, kernel.data, bias, y.data, x.shape[0], x.shape[1], x.shape[2],
         x.shape[3], y.shape[1], y.shape[2], y.shape[3]});
  }

 private:
  static void expect(const char* name, const Shape& found, int64_t images, int64_t channels,
                     int64_t height, int64_t width) {
    const int64_t expected[] = {images, channels, height, width};
    std::string wanted, got;
    for (int i = 0; i < 4; ++i) {
      wanted += (i > 0 ? " x " : "") + std::to_string(expected[i]);
      got += (i > 0 ? " x " : "") + std::to_string(found[i]);
    }
    if (wanted != got)
      throw std::invalid_argument(std::string("the ") + name + " must be " + wanted + ", found "
                                  + got);
  }
};

constexpr Ports kInputs = {{"input", kT}, {"offset", kT}, {"weight", kT}};
constexpr Ports kModulatedInputs = {
    {"input", kT}, {"offset", kT}, {"mask", kT}, {"weight", kT}, {"bias", kT, kOptional}};
constexpr Ports kOutputs = {{"output", kT}};

// Two thirds of an image's channels are offsets, the rest logits of the mask: (N, 3 * taps, plane).
template <class E> struct SplitMoves {
  const E* both;
  E *offset, *mask;
  int64_t third;  // elements of a third of an image

  TENON_HD void operator()(int64_t i) const {
    const int64_t image = i / (3 * third), at = i % (3 * third);
    if (at < 2 * third)
      offset[image * 2 * third + at] = both[i];
    else
      mask[image * third + at - 2 * third] =
          static_cast<E>(1 / (1 + expf(-static_cast<float>(both[i]))));
  }
};

}  // namespace

struct DeformConv2d : DeformableConvolution<-1, 2> {
  static constexpr auto attributes = std::tuple{
      attribute("stride", &DeformConv2d::stride),
      attribute("padding", &DeformConv2d::padding),
      attribute("dilation", &DeformConv2d::dilation),
      attribute("groups", &DeformConv2d::groups).alias("group"),
      attribute("deform_groups", &DeformConv2d::offset_groups).alias("deformable_group"),
  };
  static constexpr Spec spec{
      .name = "MMCVDeformConv2d",
      .inputs = kInputs,
      .outputs = kOutputs,
      .protocol = Protocol::kV2,
      .text =
          "torchvision's deform_conv2d without a mask, mmcv's DeformConv2d. Padding may have "
          "four values, as MMDeploy exports it: rows, rows, columns, columns.",
      .differs = "Stride, padding, dilation and kernels may differ between rows and columns."};

  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> offset, Tensor<const E> weight,
           Tensor<E> y) const {
    convolve<E>(device, x, offset.data, nullptr, weight, nullptr, y);
  }
};
TENON_PLUGIN(DeformConv2d);

struct AmirstanDeformConv : DeformConv2d {
  static constexpr Spec spec = renamed(DeformConv2d::spec, "DeformableConvPluginDynamic");
};
TENON_PLUGIN(AmirstanDeformConv);

struct ModulatedDeformConv2d : DeformableConvolution<2, 3> {
  static constexpr auto attributes = std::tuple{
      attribute("stride", &ModulatedDeformConv2d::stride),
      attribute("padding", &ModulatedDeformConv2d::padding),
      attribute("dilation", &ModulatedDeformConv2d::dilation),
      attribute("groups", &ModulatedDeformConv2d::groups).alias("group"),
      attribute("deform_groups", &ModulatedDeformConv2d::offset_groups).alias("deformable_group"),
  };
  static constexpr Spec spec{
      .name = "MMCVModulatedDeformConv2d",
      .inputs = kModulatedInputs,
      .outputs = kOutputs,
      .protocol = Protocol::kV2,
      .text = "torchvision's deform_conv2d with a mask, mmcv's ModulatedDeformConv2d.",
      .differs = DeformConv2d::spec.differs};

  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> offset, Tensor<const E> mask,
           Tensor<const E> weight, Tensor<const E> bias, Tensor<E> y) const {
    convolve<E>(device, x, offset.data, mask.data, weight, bias.data, y);
  }
};
TENON_PLUGIN(ModulatedDeformConv2d);

// BEVFormer_tensorrt's names; both layouts are one here.
struct BevFormerDeformConv : ModulatedDeformConv2d {
  using T = Types<float, Half, Quantized>;
  static constexpr Spec spec{
      .name = "ModulatedDeformableConv2dTRT",
      .inputs =
          {{"input", kT}, {"offset", kT}, {"mask", kT}, {"weight", kT}, {"bias", kReal, kOptional}},
      .outputs = kOutputs,
      .protocol = Protocol::kV2,
      .text = ModulatedDeformConv2d::spec.text,
      .differs =
          "Stride, padding, dilation and kernels may differ between rows and columns. int8 "
          "is linear, with any number of channels."};
};
TENON_PLUGIN(BevFormerDeformConv);
TENON_PLUGIN_AS(BevFormerDeformConv, "ModulatedDeformableConv2dTRT2");

// With the attributes of NVIDIA's and amirstan's plugins.
struct GroupedModulatedDeformConv : ModulatedDeformConv2d {
  static constexpr auto attributes = std::tuple{
      attribute("stride", &GroupedModulatedDeformConv::stride),
      attribute("padding", &GroupedModulatedDeformConv::padding),
      attribute("dilation", &GroupedModulatedDeformConv::dilation),
      attribute("group", &GroupedModulatedDeformConv::groups).alias("groups"),
      attribute("deformable_group", &GroupedModulatedDeformConv::offset_groups)
          .alias("deform_groups"),
  };
  static constexpr Spec spec = renamed(ModulatedDeformConv2d::spec, "ModulatedDeformConv2d");
};
TENON_PLUGIN(GroupedModulatedDeformConv);

struct ModulatedDeformConvTrt : GroupedModulatedDeformConv {
  static constexpr Spec spec{.name = "ModulatedDeformConv2d",
                             .version = "2",
                             .inputs = kModulatedInputs,
                             .outputs = kOutputs,
                             .text = ModulatedDeformConv2d::spec.text,
                             .differs = ModulatedDeformConv2d::spec.differs};
};
TENON_PLUGIN(ModulatedDeformConvTrt);

struct AmirstanModulatedDeformConv : GroupedModulatedDeformConv {
  static constexpr Spec spec =
      renamed(ModulatedDeformConv2d::spec, "ModulatedDeformableConvPluginDynamic");
};
TENON_PLUGIN(AmirstanModulatedDeformConv);

struct DcnV2 : DeformableConvolution<-1, 2, 3> {
  static constexpr Spec spec{
      .name = "DCNv2",
      .inputs = {{"input", kT}, {"offset_and_mask", kT}, {"weight", kT}, {"bias", kT, kOptional}},
      .outputs = kOutputs,
      .protocol = Protocol::kV2,
      .text =
          "torchvision's deform_conv2d with stride, padding and dilation 1. The first two thirds "
          "of the channels of offset_and_mask are offsets, the sigmoid of the rest is the mask.",
      .differs = "float16. Kernels may have other sizes than 3 x 3."};

  DcnV2() { padding = {1, 1}; }
  size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const {
    Carver carver;
    Parts<float>(carver, DeformableConvolution::workspace(in, out), in[1]);
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const E> x, Tensor<const E> both, Tensor<const E> weight,
           Tensor<const E> bias, Tensor<E> y) const {
    const Shape shapes[] = {x.shape, both.shape, weight.shape};
    Carver carver(device.workspace);
    const Parts<E> parts(carver, DeformableConvolution::workspace(shapes, {}), both.shape);
    const int64_t elements = both.shape.volume();
    if (elements == 0) return;
    device.parallel_for(
        elements, SplitMoves<E>{both.data, parts.offset, parts.mask, elements / both.shape[0] / 3});
    Device rest = device;
    rest.workspace = parts.rest;
    convolve<E>(rest, x, parts.offset, parts.mask, weight, bias.data, y);
  }

 private:
  template <class E> struct Parts {
    Parts(Carver& carver, size_t bytes, const Shape& both)
        : rest(carver.array<char>(static_cast<int64_t>(bytes))),
          offset(carver.array<E>(both.volume() / 3 * 2)),
          mask(carver.array<E>(both.volume() / 3)) {}
    char* rest;
    E *offset, *mask;
  };
};
TENON_PLUGIN(DcnV2);

}  // namespace tenon::plugins::TENON_TARGET
