#include "tenon/serve/yolo.h"

#include "yolo_head.h"

namespace tenon::serve {
namespace {

// Rows of a box, objectness and classes. Objectness alone decides which are looked at.
class ObjectRows {
 public:
  ObjectRows(std::string_view who, const View& head, const DetectOptions& options)
      : data_(head), boxes_(head.size(0)), classes_(head.size(1) - 5) {
    require_options(who, options);
    if (head.rank() != 2 || classes_ < 1)
      fail(who, "a head of shape (boxes, 5 + classes)", head.text());
    require_classes(who, options.classes, classes_);
  }

  int64_t boxes() const { return boxes_; }
  const float* row(int64_t box) const { return data_.data() + box * (5 + classes_); }
  Candidates candidates(const DetectOptions& options) const {
    Candidates candidates(options);
    for (int64_t box = 0; box < boxes_; ++box) {
      const float* const scores = row(box) + 5;
      const float objectness = scores[-1];
      if (!(objectness > options.score_threshold)) continue;
      if (options.multi_label) {
        for (int64_t kind = 0; kind < classes_; ++kind)
          candidates.add(objectness * scores[kind], kind, box);
      } else if (const int64_t kind = best_class(scores, classes_, 1); kind >= 0) {
        candidates.add(objectness * scores[kind], kind, box);
      }
    }
    return candidates;
  }

 private:
  Floats data_;
  int64_t boxes_, classes_;
};

// Levels of a grid, one after the other.
class Grid {
 public:
  struct Cell {
    float x, y, stride;
  };

  Grid(std::string_view who, std::span<const int> strides, int64_t width, int64_t height) {
    if (strides.empty()) fail(who, "one stride or more", "none");
    for (const int stride : strides) {
      if (stride < 1 || width < stride || height < stride || width % stride != 0
          || height % stride != 0)
        fail(who, "an input whose extents are multiples of its strides",
             std::to_string(width) + "x" + std::to_string(height) + " and a stride of "
                 + std::to_string(stride));
      const int64_t across = width / stride, down = height / stride;
      if (across > INT32_MAX || down > INT32_MAX) fail(who, "a smaller input", "a very large one");
      cells_ += across * down;
      levels_.push_back({cells_, across, stride});
    }
  }

  int64_t cells() const { return cells_; }
  Cell at(int64_t index) const {
    int64_t begin = 0;
    for (const Level& level : levels_) {
      if (index < level.end)
        return {static_cast<float>((index - begin) % level.across),
                static_cast<float>((index - begin) / level.across),
                static_cast<float>(level.stride)};
      begin = level.end;
    }
    return {};
  }

 private:
  struct Level {
    int64_t end, across;
    int stride;
  };
  std::vector<Level> levels_;
  int64_t cells_ = 0;
};

}  // namespace

Result<std::vector<Box>> decode_yolo_v5(const View& head, const DetectOptions& options) noexcept {
  return session::guard([&] {
    const ObjectRows rows("YOLOv5", head, options);
    return kept_boxes(rows.candidates(options), options, [&](const Candidate& candidate) {
      const float* const row = rows.row(candidate.index);
      return around(row[0], row[1], row[2], row[3]);
    });
  });
}

Result<std::vector<Box>> decode_yolox(const View& head, std::span<const int> strides,
                                      int64_t input_width, int64_t input_height,
                                      const DetectOptions& options) noexcept {
  return session::guard([&] {
    const ObjectRows rows("YOLOX", head, options);
    const Grid grid("YOLOX", strides, input_width, input_height);
    if (rows.boxes() != grid.cells())
      fail("YOLOX", std::to_string(grid.cells()) + " cells for that input", head.text());
    return kept_boxes(rows.candidates(options), options, [&](const Candidate& candidate) {
      const float* const row = rows.row(candidate.index);
      const auto [x, y, stride] = grid.at(candidate.index);
      return around((row[0] + x) * stride, (row[1] + y) * stride, std::exp(row[2]) * stride,
                    std::exp(row[3]) * stride);
    });
  });
}

Result<std::vector<Box>> decode_yolo_v8(const View& head, const DetectOptions& options) noexcept {
  return session::guard([&] {
    const YoloHead channels("YOLOv8", head, 0, options);
    return kept_boxes(channels.candidates(options), options,
                      [&](const Candidate& candidate) { return channels.box_at(candidate); });
  });
}

Result<std::vector<Box>> decode_yolo_v10(const View& head, const DetectOptions& options) noexcept {
  return session::guard([&] {
    constexpr std::string_view kWho = "YOLOv10";
    require_options(kWho, options);
    if (head.rank() != 2 || head.size(1) != 6)
      fail(kWho, "a head of shape (boxes, 6)", head.text());
    const Floats data(head);
    Candidates candidates(options);
    for (int64_t box = 0; box < head.size(0); ++box) {
      const float* const row = data.data() + box * 6;
      if (!(row[4] > options.score_threshold)) continue;
      const float limit = options.classes > 0 ? static_cast<float>(options.classes) : 0x1p31F;
      if (!(row[5] >= 0 && row[5] < limit) || row[5] != std::floor(row[5]))
        fail(kWho, "a class from 0 to below " + std::to_string(static_cast<int64_t>(limit)),
             std::to_string(row[5]) + " in row " + std::to_string(box));
      candidates.add(row[4], static_cast<int64_t>(row[5]), box);
    }
    auto boxes = boxes_of(std::move(candidates), [&](const Candidate& candidate) {
      const float* const row = data.data() + candidate.index * 6;
      return Box{.left = row[0], .top = row[1], .right = row[2], .bottom = row[3]};
    });
    std::stable_sort(boxes.begin(), boxes.end(),
                     [](const Box& a, const Box& b) { return a.score > b.score; });
    boxes.resize(std::min(boxes.size(), static_cast<size_t>(options.nms.max_boxes)));
    return in_picture(boxes, options);
  });
}

}  // namespace tenon::serve
