#include "tenon/serve/segmentation.h"

#include <algorithm>
#include <cmath>

#include "head.h"

namespace tenon::serve {
namespace {

constexpr std::string_view kSegmentation = "segmentation";

class ScoreMap {
 public:
  ScoreMap(const View& scores, const SegmentationOptions& options) : data_(scores) {
    const bool last = options.channels_last;
    classes_ = scores.size(last ? 2 : 0);
    height_ = scores.size(last ? 0 : 1);
    width_ = scores.size(last ? 1 : 2);
    if (scores.rank() != 3 || classes_ < 2 || classes_ >= ClassMap::kNone)
      fail(kSegmentation,
           std::string(last ? "scores of shape (height, width, classes)"
                            : "scores of shape (classes, height, width)")
               + " with 2 to 65534 classes",
           scores.text());
    require_map(kSegmentation, scores, width_, height_);
    require_classes(kSegmentation, options.classes, classes_);
    class_stride_ = last ? 1 : height_ * width_;
    cell_stride_ = last ? classes_ : 1;
    to_cells_ = picture_to_cells(options.to_picture, options.input_width, options.input_height,
                                 width_, height_);
  }

  void fill_nearest(ClassMap& map) const {
    const auto labels = cell_labels();
    uint16_t* label = map.labels.data();
    for (int64_t y = 0; y < map.height; ++y)
      for (int64_t x = 0; x < map.width; ++x) {
        const Point p = cell_of(x, y);
        const auto column = static_cast<int64_t>(p.x + 0.5F);
        const auto row = static_cast<int64_t>(p.y + 0.5F);
        *label++ = labels[static_cast<size_t>(row * width_ + column)];
      }
  }

  // A row at a time, so that each class is read along rows.
  void fill_bilinear(ClassMap& map) const {
    std::vector<Sample> samples(static_cast<size_t>(map.width));
    std::vector<float> best(samples.size());
    for (int64_t y = 0; y < map.height; ++y) {
      uint16_t* const labels = map.labels.data() + y * map.width;
      for (int64_t x = 0; x < map.width; ++x)
        samples[static_cast<size_t>(x)] = sample_at(cell_of(x, y));
      std::fill(best.begin(), best.end(), -INFINITY);
      for (int64_t kind = 0; kind < classes_; ++kind) {
        const float* const scores = data_.data() + kind * class_stride_;
        for (size_t x = 0; x < samples.size(); ++x) {
          const float score = samples[x].of(scores);
          const bool is_first = labels[x] == ClassMap::kNone && score == best[x];
          if (!(score > best[x]) && !is_first) continue;
          best[x] = score;
          labels[x] = static_cast<uint16_t>(kind);
        }
      }
    }
  }

 private:
  // Four neighbours and their weights.
  struct Sample {
    int64_t at[4];
    float fx, fy;

    float of(const float* scores) const {
      return between(between(scores[at[0]], scores[at[1]], fx),
                     between(scores[at[2]], scores[at[3]], fx), fy);
    }
    // What has no weight may be infinite.
    static float between(float a, float b, float part) {
      return part == 0 ? a : a * (1 - part) + b * part;
    }
  };

  // Where a pixel of the picture is, within the map.
  Point cell_of(int64_t x, int64_t y) const {
    const Point p = mapped(to_cells_, Point{static_cast<float>(x), static_cast<float>(y)});
    return {std::clamp(p.x, 0.0F, static_cast<float>(width_ - 1)),
            std::clamp(p.y, 0.0F, static_cast<float>(height_ - 1))};
  }

  Sample sample_at(Point p) const {
    const auto column = static_cast<int64_t>(p.x), row = static_cast<int64_t>(p.y);
    const int64_t right = std::min(column + 1, width_ - 1), below = std::min(row + 1, height_ - 1);
    return {{(row * width_ + column) * cell_stride_, (row * width_ + right) * cell_stride_,
             (below * width_ + column) * cell_stride_, (below * width_ + right) * cell_stride_},
            p.x - static_cast<float>(column),
            p.y - static_cast<float>(row)};
  }

  std::vector<uint16_t> cell_labels() const {
    const int64_t cells = height_ * width_;
    std::vector<uint16_t> labels(static_cast<size_t>(cells), ClassMap::kNone);
    std::vector<float> best(labels.size(), -INFINITY);
    for (int64_t kind = 0; kind < classes_; ++kind) {
      const float* const scores = data_.data() + kind * class_stride_;
      for (size_t i = 0; i < labels.size(); ++i) {
        const float score = scores[static_cast<int64_t>(i) * cell_stride_];
        const bool is_first = labels[i] == ClassMap::kNone && score == best[i];
        if (!(score > best[i]) && !is_first) continue;
        best[i] = score;
        labels[i] = static_cast<uint16_t>(kind);
      }
    }
    return labels;
  }

  Floats data_;
  int64_t classes_ = 0, height_ = 0, width_ = 0, class_stride_ = 0, cell_stride_ = 0;
  Matrix23 to_cells_{};
};

}  // namespace

Result<ClassMap> decode_segmentation(const View& scores,
                                     const SegmentationOptions& options) noexcept {
  return session::guard([&] {
    require_picture(kSegmentation, options.to_picture, options.width, options.height,
                    options.input_width, options.input_height);
    const ScoreMap from(scores, options);
    ClassMap map{options.width, options.height, {}};
    map.labels.resize(static_cast<size_t>(map.width * map.height), ClassMap::kNone);
    if (options.resize == ScoreResize::kBilinear)
      from.fill_bilinear(map);
    else
      from.fill_nearest(map);
    return map;
  });
}

}  // namespace tenon::serve
