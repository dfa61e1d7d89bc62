#include "tenon/serve/instances.h"

#include "yolo_head.h"

namespace tenon::serve {
namespace {

constexpr std::string_view kSegments = "YOLOv8-seg";

// Prototypes, and the way to them from the picture.
class Prototypes {
 public:
  Prototypes(const View& view, int64_t input_width, int64_t input_height,
             const Matrix23& to_picture)
      : data_(view),
        count_(view.size(0)),
        height_(view.size(1)),
        width_(view.size(2)),
        to_prototype_(picture_to_cells(to_picture, input_width, input_height, width_, height_)) {}

  int64_t count() const { return count_; }

  Mask mask(const Box& box, const float* coefficients) const {
    Mask mask;
    mask.left = first_pixel(box.left);
    mask.top = first_pixel(box.top);
    mask.width = std::max<int64_t>(0, first_pixel(box.right) - mask.left);
    mask.height = std::max<int64_t>(0, first_pixel(box.bottom) - mask.top);
    mask.pixels.resize(static_cast<size_t>(mask.width * mask.height));
    if (mask.pixels.empty()) return mask;
    const Part part = part_of(mask);
    const std::vector<float> logits = sums(part, coefficients);
    uint8_t* pixel = mask.pixels.data();
    for (int64_t y = mask.top; y < mask.top + mask.height; ++y)
      for (int64_t x = mask.left; x < mask.left + mask.width; ++x)
        *pixel++ = at(logits, part, static_cast<float>(x), static_cast<float>(y)) > 0 ? 255 : 0;
    return mask;
  }

 private:
  // Columns and rows of the prototypes.
  struct Part {
    int64_t left, top, width, height;
  };

  // The first whose number is not below an edge.
  static int64_t first_pixel(float edge) { return static_cast<int64_t>(std::ceil(edge)); }

  static int64_t cell(float at, int64_t count) {
    return static_cast<int64_t>(std::clamp(at, 0.0F, static_cast<float>(count - 1)));
  }

  // What a mask's pixels are interpolated from.
  Part part_of(const Mask& mask) const {
    const Box bounds =
        mapped(to_prototype_, Box{.left = static_cast<float>(mask.left),
                                  .top = static_cast<float>(mask.top),
                                  .right = static_cast<float>(mask.left + mask.width),
                                  .bottom = static_cast<float>(mask.top + mask.height)});
    const int64_t left = cell(bounds.left - 1, width_), top = cell(bounds.top - 1, height_);
    return {left, top, cell(bounds.right + 2, width_) - left + 1,
            cell(bounds.bottom + 2, height_) - top + 1};
  }

  std::vector<float> sums(const Part& part, const float* coefficients) const {
    std::vector<float> logits(static_cast<size_t>(part.width * part.height));
    for (int64_t i = 0; i < count_; ++i) {
      const float coefficient = coefficients[i];
      for (int64_t y = 0; y < part.height; ++y) {
        const float* const from = data_.data() + (i * height_ + part.top + y) * width_ + part.left;
        float* const to = logits.data() + y * part.width;
        for (int64_t x = 0; x < part.width; ++x) to[x] += coefficient * from[x];
      }
    }
    return logits;
  }

  float at(const std::vector<float>& logits, const Part& part, float x, float y) const {
    const Point p = mapped(to_prototype_, Point{x, y});
    const float px = std::clamp(p.x, 0.0F, static_cast<float>(width_ - 1));
    const float py = std::clamp(p.y, 0.0F, static_cast<float>(height_ - 1));
    const auto column = static_cast<int64_t>(px), row = static_cast<int64_t>(py);
    const float fx = px - static_cast<float>(column), fy = py - static_cast<float>(row);
    const auto element = [&](int64_t r, int64_t c) {
      const int64_t i =
          std::clamp<int64_t>(std::min(r, height_ - 1) - part.top, 0, part.height - 1);
      const int64_t j = std::clamp<int64_t>(std::min(c, width_ - 1) - part.left, 0, part.width - 1);
      return logits[static_cast<size_t>(i * part.width + j)];
    };
    const float above = element(row, column) * (1 - fx) + element(row, column + 1) * fx;
    const float below = element(row + 1, column) * (1 - fx) + element(row + 1, column + 1) * fx;
    return above * (1 - fy) + below * fy;
  }

  Floats data_;
  int64_t count_, height_, width_;
  Matrix23 to_prototype_;
};

}  // namespace

Result<std::vector<InstanceMask>> decode_instances(const View& head, const View& prototypes,
                                                   int64_t input_width, int64_t input_height,
                                                   const DetectOptions& options) noexcept {
  return session::guard([&] {
    if (prototypes.rank() != 3 || prototypes.count() == 0)
      fail(kSegments, "prototypes of shape (masks, height, width)", prototypes.text());
    require_map(kSegments, prototypes, prototypes.size(2), prototypes.size(1));
    const YoloHead channels(kSegments, head, prototypes.size(0), options);
    require_picture(kSegments, options.to_picture, options.width, options.height, input_width,
                    input_height);
    const Prototypes masks(prototypes, input_width, input_height, options.to_picture);
    const auto boxes =
        kept_boxes(channels.candidates(options), options,
                   [&](const Candidate& candidate) { return channels.box_at(candidate); });
    std::vector<InstanceMask> instances;
    std::vector<float> coefficients(static_cast<size_t>(masks.count()));
    for (const Box& box : boxes) {
      for (int64_t i = 0; i < masks.count(); ++i)
        coefficients[static_cast<size_t>(i)] = channels.other(i, box.index);
      instances.push_back({box, masks.mask(box, coefficients.data())});
    }
    return instances;
  });
}

}  // namespace tenon::serve
