#include "tenon/serve/raw_yolo.h"

#include "candidates.h"
#include "tenon/kernels/nms.h"

namespace tenon::serve {
namespace {

constexpr std::string_view kAnchors = "YOLO with anchors",
                           kDistributions = "YOLO with distributions";

// A level's numbers, whichever of the two shapes it has.
class AnchorGrid {
 public:
  AnchorGrid(const AnchorLevel& level, const DetectOptions& options)
      : level_(level), data_(level.head) {
    const View& head = level.head;
    const auto anchors = static_cast<int64_t>(level.anchors.size());
    const bool is_split = head.rank() == 4;
    if (anchors == 0) fail(kAnchors, "one anchor or more for each level", "none");
    if (level.stride < 1) fail(kAnchors, "a stride of 1 or more", std::to_string(level.stride));
    channels_ = is_split ? head.size(3) : head.size(0) / anchors;
    if ((is_split ? head.size(0) != anchors : head.rank() != 3 || head.size(0) % anchors != 0)
        || channels_ < 6)
      fail(kAnchors,
           "a head of shape (" + std::to_string(anchors) + " * (5 + classes), height, width) or ("
               + std::to_string(anchors) + ", height, width, 5 + classes)",
           head.text());
    require_classes(kAnchors, options.classes, channels_ - 5);
    const int64_t height = head.size(1);
    width_ = head.size(2);
    cells_ = height * width_;
    anchor_stride_ = cells_ * channels_;
    channel_stride_ = is_split ? 1 : cells_;
    cell_stride_ = is_split ? channels_ : 1;
  }

  int64_t classes() const { return channels_ - 5; }
  int64_t boxes() const { return cells_ * static_cast<int64_t>(level_.anchors.size()); }

  // Adds candidates with indices from `first` on.
  void collect(Candidates& candidates, int64_t first, bool multi_label) const {
    const float limit = logit_below(candidates.threshold());
    for (int64_t anchor = 0; anchor < static_cast<int64_t>(level_.anchors.size()); ++anchor) {
      const auto hit = [&](int64_t cell, float objectness) {
        add(candidates, at(anchor, cell) + 5 * channel_stride_, sigmoid(objectness), limit,
            first + anchor * cells_ + cell, multi_label);
      };
      const float* const objectness = at(anchor, 0) + 4 * channel_stride_;
      if (cell_stride_ == 1) {
        kernels::for_each_above(objectness, cells_, limit, hit);
      } else {
        for (int64_t cell = 0; cell < cells_; ++cell)
          if (objectness[cell * cell_stride_] > limit) hit(cell, objectness[cell * cell_stride_]);
      }
    }
  }

  Box box_at(int64_t index, AnchorCoding coding) const {
    const int64_t anchor = index / cells_, cell = index % cells_;
    const float* const t = at(anchor, cell);
    const auto offset = [&](int64_t i) { return t[i * channel_stride_]; };
    const auto x = static_cast<float>(cell % width_), y = static_cast<float>(cell / width_);
    const auto [width, height] = level_.anchors[static_cast<size_t>(anchor)];
    const auto stride = static_cast<float>(level_.stride);
    if (coding == AnchorCoding::kV3)
      return around((sigmoid(offset(0)) + x) * stride, (sigmoid(offset(1)) + y) * stride,
                    std::exp(offset(2)) * width, std::exp(offset(3)) * height);
    const float w = 2 * sigmoid(offset(2)), h = 2 * sigmoid(offset(3));
    return around((2 * sigmoid(offset(0)) - 0.5F + x) * stride,
                  (2 * sigmoid(offset(1)) - 0.5F + y) * stride, w * w * width, h * h * height);
  }

 private:
  const float* at(int64_t anchor, int64_t cell) const {
    return data_.data() + anchor * anchor_stride_ + cell * cell_stride_;
  }
  void add(Candidates& candidates, const float* logits, float objectness, float limit,
           int64_t index, bool multi_label) const {
    const auto add_one = [&](int64_t kind) {
      const float logit = logits[kind * channel_stride_];
      if (logit > limit) candidates.add(objectness * sigmoid(logit), kind, index);
    };
    if (multi_label) {
      for (int64_t kind = 0; kind < classes(); ++kind) add_one(kind);
    } else if (const int64_t kind = best_class(logits, classes(), channel_stride_); kind >= 0) {
      add_one(kind);
    }
  }

  const AnchorLevel& level_;
  Floats data_;
  int64_t channels_ = 0, width_ = 0, cells_ = 0;
  int64_t anchor_stride_ = 0, channel_stride_ = 0, cell_stride_ = 0;
};

class DistributionGrid {
 public:
  DistributionGrid(const DistributionLevel& level, int64_t bins, const DetectOptions& options)
      : level_(level), data_(level.head), bins_(bins) {
    const View& head = level.head;
    classes_ = head.size(0) - 4 * bins;
    if (head.rank() != 3 || classes_ < 1)
      fail(kDistributions,
           "a head of shape (4 * " + std::to_string(bins) + " + classes, height, width)",
           head.text());
    if (level.stride < 1)
      fail(kDistributions, "a stride of 1 or more", std::to_string(level.stride));
    require_classes(kDistributions, options.classes, classes_);
    width_ = head.size(2);
    cells_ = head.size(1) * width_;
  }

  int64_t classes() const { return classes_; }
  int64_t boxes() const { return cells_; }

  void collect(Candidates& candidates, int64_t first, bool multi_label) const {
    const float* const logits = data_.data() + 4 * bins_ * cells_;
    const float limit = logit_below(candidates.threshold());
    scan_classes(level_.head, 4 * bins_ * cells_, classes_, cells_, limit,
                 [&](int64_t cell, int64_t best) {
                   const auto add = [&](int64_t kind) {
                     const float logit = logits[kind * cells_ + cell];
                     if (logit > limit) candidates.add(sigmoid(logit), kind, first + cell);
                   };
                   if (!multi_label) return add(best);
                   for (int64_t kind = 0; kind < classes_; ++kind) add(kind);
                 });
  }

  Box box_at(int64_t cell) const {
    const auto stride = static_cast<float>(level_.stride);
    const float x = static_cast<float>(cell % width_) + 0.5F;
    const float y = static_cast<float>(cell / width_) + 0.5F;
    return {.left = (x - distance(0, cell)) * stride,
            .top = (y - distance(1, cell)) * stride,
            .right = (x + distance(2, cell)) * stride,
            .bottom = (y + distance(3, cell)) * stride};
  }

 private:
  float distance(int64_t side, int64_t cell) const {
    const float* const logits = data_.data() + side * bins_ * cells_ + cell;
    float highest = logits[0], sum = 0, weighted = 0;
    for (int64_t i = 1; i < bins_; ++i) highest = std::max(highest, logits[i * cells_]);
    for (int64_t i = 0; i < bins_; ++i) {
      const float weight = std::exp(logits[i * cells_] - highest);
      sum += weight;
      weighted += weight * static_cast<float>(i);
    }
    return weighted / sum;
  }

  const DistributionLevel& level_;
  Floats data_;
  int64_t bins_, classes_ = 0, width_ = 0, cells_ = 0;
};

// Boxes of several levels, whose indices go on from level to level.
template <class Grid, class BoxAt>
std::vector<Box> kept_of_levels(std::string_view who, const std::vector<Grid>& grids,
                                const DetectOptions& options, const BoxAt& box_at) {
  if (grids.empty()) fail(who, "one level or more", "none");
  Candidates candidates(options);
  int64_t first = 0;
  for (const Grid& grid : grids) {
    if (grid.classes() != grids.front().classes())
      fail(who, "as many classes in each level",
           std::to_string(grids.front().classes()) + " and " + std::to_string(grid.classes()));
    grid.collect(candidates, first, options.multi_label);
    first += grid.boxes();
  }
  return kept_boxes(std::move(candidates), options, [&](const Candidate& candidate) {
    int64_t index = candidate.index;
    auto grid = grids.begin();
    for (; index >= grid->boxes(); ++grid) index -= grid->boxes();
    return box_at(*grid, index);
  });
}

}  // namespace

Result<std::vector<Box>> decode_anchors(std::span<const AnchorLevel> levels, AnchorCoding coding,
                                        const DetectOptions& options) noexcept {
  return session::guard([&] {
    require_options(kAnchors, options);
    std::vector<AnchorGrid> grids;
    for (const AnchorLevel& level : levels) grids.emplace_back(level, options);
    return kept_of_levels(kAnchors, grids, options, [&](const AnchorGrid& grid, int64_t index) {
      return grid.box_at(index, coding);
    });
  });
}

Result<std::vector<Box>> decode_distributions(std::span<const DistributionLevel> levels,
                                              const DetectOptions& options, int64_t bins) noexcept {
  return session::guard([&] {
    require_options(kDistributions, options);
    if (bins < 1 || bins > 1 << 20)
      fail(kDistributions, "1 bin or more of a distance", std::to_string(bins));
    std::vector<DistributionGrid> grids;
    for (const DistributionLevel& level : levels) grids.emplace_back(level, bins, options);
    return kept_of_levels(
        kDistributions, grids, options,
        [](const DistributionGrid& grid, int64_t index) { return grid.box_at(index); });
  });
}

}  // namespace tenon::serve
