// Boxes around the points of a grid with their variances, as SSD has them: PriorBox_TRT,
// GridAnchor_TRT and GridAnchorRect_TRT 1. The result is (N, 2, points * boxes * 4, 1): corners as
// parts of the image, then as many variances.
#include <tenon/plugin.h>

#include <array>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write

namespace {

// Boxes of a point, their sizes as parts of the image.
struct Priors {
  static constexpr int kMax = 64;
  float width[kMax], height[kMax];
  int64_t count = 0;
  float variance[4] = {};

  void add(float box_width, float box_height) {
    if (count == kMax)
      throw std::invalid_argument("there can be at most " + std::to_string(kMax)
                                  + " boxes of a point");
    width[count] = box_width;
    height[count++] = box_height;
  }
  void set_variance(const std::vector<float>& list) {
    require_elements("variance", list.size(), 4);
    std::copy(list.begin(), list.end(), variance);
  }
};

// One box of one image.
template <class E> struct WritePrior {
  Priors priors;
  E* out;
  int64_t height, width;  // of the grid
  float offset, step_y, step_x;
  bool clips;

  TENON_HD void operator()(int64_t i) const {
    const int64_t boxes = height * width * priors.count, image = i / boxes, box = i % boxes;
    const int64_t point = box / priors.count, k = box % priors.count;
    const float x = (static_cast<float>(point % width) + offset) * step_x;
    const float y = (static_cast<float>(point / width) + offset) * step_y;
    const float right = priors.width[k] / 2, down = priors.height[k] / 2;
    const float corners[4] = {x - right, y - down, x + right, y + down};
    E* to = out + image * 2 * boxes * 4 + box * 4;
    for (int n = 0; n < 4; ++n) {
      to[n] = static_cast<E>(clips ? fminf(fmaxf(corners[n], 0.f), 1.f) : corners[n]);
      to[boxes * 4 + n] = static_cast<E>(priors.variance[n]);
    }
  }
};

struct PriorBox {
  std::vector<float> min_sizes, max_sizes, ratios, variance = {0.1f, 0.1f, 0.2f, 0.2f};
  bool flips = true, clips = false;
  int32_t image_height = 0, image_width = 0;
  float step_height = 0, step_width = 0, offset = 0.5f;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes = std::tuple{
      attribute("minSize", &PriorBox::min_sizes).required().says("in pixels of the image"),
      attribute("maxSize", &PriorBox::max_sizes)
          .says("one for each minSize, or none: a further box of size sqrt(min * max)"),
      attribute("aspectRatios", &PriorBox::ratios)
          .says("of further boxes of each minSize; 1 is there without being told"),
      attribute("flip", &PriorBox::flips).says("1: boxes of 1 / ratio, too"),
      attribute("clip", &PriorBox::clips).says("1: corners are clipped to [0, 1]"),
      attribute("variance", &PriorBox::variance),
      attribute("imgH", &PriorBox::image_height).says("pixels; 0: as the second input"),
      attribute("imgW", &PriorBox::image_width).says("pixels; 0: as the second input"),
      attribute("stepH", &PriorBox::step_height)
          .says("pixels from row to row; 0: the image divided by the rows"),
      attribute("stepW", &PriorBox::step_width)
          .says("pixels from column to column; 0: the image divided by the columns"),
      attribute("offset", &PriorBox::offset).says("of the first point, in steps")};
  static constexpr Spec spec{
      .name = "PriorBox_TRT",
      .inputs = {{"feature", kT}, {"image", kAny}},
      .outputs = {{"priors", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Caffe's PriorBox: boxes around the points of a feature map (N, C, H, W) on an image (N, "
          "C, height, width); of the inputs only the shapes count. The result is (N, 2, H * W * "
          "boxes * 4, 1): corners as parts of the image, and variances.",
      .differs = "Each image of the batch has its boxes. float16."};

  void prepare() {
    if (min_sizes.empty() || (!max_sizes.empty() && max_sizes.size() != min_sizes.size()))
      throw std::invalid_argument("expected a minSize, and as many maxSize or none, found "
                                  + std::to_string(min_sizes.size()) + " and "
                                  + std::to_string(max_sizes.size()));
    priors(1, 1);
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("feature", in[0], "N, C, H, W");
    require_axes("image", in[1], "N, C, height, width");
    out[0] = {in[0][0], 2, in[0][2] * in[0][3] * priors(1, 1).count * 4, 1};
  }
  void check(std::span<const Shape> in) const {
    if ((image_height < 1 && in[1][2] < 1) || (image_width < 1 && in[1][3] < 1))
      throw std::invalid_argument("the image must have pixels, or imgH and imgW, found "
                                  + text_of(in[1]));
  }
  template <class E>
  void run(const Device& device, Tensor<const E> feature, Tensor<const void> image,
           Tensor<E> out) const {
    const int64_t rows = feature.shape[2], columns = feature.shape[3];
    const auto height = static_cast<float>(image_height > 0 ? image_height : image.shape[2]);
    const auto width = static_cast<float>(image_width > 0 ? image_width : image.shape[3]);
    const Priors boxes = priors(height, width);
    device.parallel_for(
        feature.shape[0] * rows * columns * boxes.count,
        WritePrior<E>{boxes, out.data, rows, columns, offset,
                      step_height > 0 ? step_height / height : 1 / static_cast<float>(rows),
                      step_width > 0 ? step_width / width : 1 / static_cast<float>(columns),
                      clips});
  }

 private:
  // Of an image of so many pixels.
  Priors priors(float height, float width) const {
    std::vector<float> others;  // without 1, each once
    const auto add = [&](float ratio) {
      const auto equal = [&](float r) { return std::abs(r - ratio) < 1e-6f; };
      if (!equal(1) && std::none_of(others.begin(), others.end(), equal)) others.push_back(ratio);
    };
    for (const float ratio : ratios) {
      if (!(ratio > 0))
        throw std::invalid_argument("aspectRatios must be positive, found "
                                    + std::to_string(ratio));
      add(ratio);
      if (flips) add(1 / ratio);
    }
    Priors p;
    p.set_variance(variance);
    for (size_t i = 0; i < min_sizes.size(); ++i) {
      const float size = min_sizes[i];
      p.add(size / width, size / height);
      if (!max_sizes.empty()) {
        const float larger = std::sqrt(size * max_sizes[i]);
        p.add(larger / width, larger / height);
      }
      for (const float ratio : others)
        p.add(size * std::sqrt(ratio) / width, size / std::sqrt(ratio) / height);
    }
    return p;
  }
};
TENON_PLUGIN(PriorBox);

template <bool is_rectangular> struct GridAnchor {
  float min_scale = 0.2f, max_scale = 0.95f;
  int32_t layers = 6;
  std::vector<float> ratios = {1, 2, 0.5f, 3, 1.f / 3}, variance = {0.1f, 0.1f, 0.2f, 0.2f};
  std::vector<int32_t> sizes;

  void prepare() const {
    if (layers < 1 || layers > Ports::kMax)
      throw std::invalid_argument("numLayers must be 1 to " + std::to_string(Ports::kMax)
                                  + ", found " + std::to_string(layers));
    const auto expected = static_cast<size_t>(is_rectangular ? 2 * layers : layers);
    if (sizes.size() != expected)
      throw std::invalid_argument("featureMapShapes must have " + std::to_string(expected)
                                  + " elements for " + std::to_string(layers) + " layers, found "
                                  + std::to_string(sizes.size()));
    for (const int32_t size : sizes)
      if (size < 0)
        throw std::invalid_argument("featureMapShapes must be 0 or more, found "
                                    + std::to_string(size));
    for (const float ratio : ratios)
      if (!(ratio > 0))
        throw std::invalid_argument("aspectRatios must be positive, found "
                                    + std::to_string(ratio));
    for (int layer = 0; layer < layers; ++layer) priors(layer);
  }
  int output_count() const { return layers; }
  void shapes(std::span<const Extents>, std::span<Extents> out) const {
    for (int layer = 0; layer < static_cast<int>(out.size()); ++layer)
      out[static_cast<size_t>(layer)] = {1, 2,
                                         height(layer) * width(layer) * priors(layer).count * 4, 1};
  }
  template <class E> void run(const Device& device, Tensors<E> anchors) const {
    for (int layer = 0; layer < anchors.count; ++layer) {
      const Priors boxes = priors(layer);
      const int64_t rows = height(layer), columns = width(layer);
      device.parallel_for(
          rows * columns * boxes.count,
          WritePrior<E>{boxes, anchors[layer].data, rows, columns, 0.5f,
                        1 / static_cast<float>(rows), 1 / static_cast<float>(columns), false});
    }
  }

 private:
  int64_t height(int layer) const {
    return sizes[static_cast<size_t>(is_rectangular ? 2 * layer : layer)];
  }
  int64_t width(int layer) const {
    return sizes[static_cast<size_t>(is_rectangular ? 2 * layer + 1 : layer)];
  }
  float scale(int layer) const {
    if (layer == layers) return 1;
    return layers == 1 ? min_scale
                       : min_scale
                             + (max_scale - min_scale) * static_cast<float>(layer)
                                   / static_cast<float>(layers - 1);
  }
  // As TensorFlow's ssd_anchor_generator: the first layer has three boxes, the first of scale 0.1;
  // the others have one more, between their scale and the next.
  Priors priors(int layer) const {
    Priors p;
    p.set_variance(variance);
    const auto add = [&](float size, float ratio) {
      p.add(size * std::sqrt(ratio), size / std::sqrt(ratio));
    };
    if (layer == 0) {
      for (size_t i = 0; i < std::min<size_t>(ratios.size(), 3); ++i)
        add(i == 0 ? 0.1f : scale(0), ratios[i]);
    } else {
      for (const float ratio : ratios) add(scale(layer), ratio);
      add(std::sqrt(scale(layer) * scale(layer + 1)), 1);
    }
    return p;
  }
};

template <class P>
constexpr auto kGridAnchorAttributes = std::tuple{
    attribute("minSize", &P::min_scale).says("of the first layer, as a part of the image"),
    attribute("maxSize", &P::max_scale).says("of the last layer"),
    attribute("aspectRatios", &P::ratios).says("the first layer has three of them"),
    attribute("featureMapShapes", &P::sizes)
        .required()
        .says("the sides of each layer's map; GridAnchorRect_TRT: its height and width"),
    attribute("variance", &P::variance),
    attribute("numLayers", &P::layers)};

constexpr Spec grid_anchor_spec(const char* name) {
  return {.name = name,
          .inputs = Ports(std::initializer_list<Port>()),  // nvcc takes {} for one port
          .outputs = {{"anchors", kFloat, kRepeated}},
          .protocol = Protocol::kV2,
          .text =
              "The boxes of TensorFlow's SSD, an output (1, 2, points * boxes * 4, 1) for each of "
              "numLayers feature maps: corners as parts of the image, and variances.",
          .differs = "A single layer, and fewer than three aspectRatios, work."};
}

struct GridAnchorSquare : GridAnchor<false> {
  static constexpr auto attributes = kGridAnchorAttributes<GridAnchorSquare>;
  static constexpr Spec spec = grid_anchor_spec("GridAnchor_TRT");
};
TENON_PLUGIN(GridAnchorSquare);

struct GridAnchorRect : GridAnchor<true> {
  static constexpr auto attributes = kGridAnchorAttributes<GridAnchorRect>;
  static constexpr Spec spec = grid_anchor_spec("GridAnchorRect_TRT");
};
TENON_PLUGIN(GridAnchorRect);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
