#include "tenon/serve/blaze.h"

#include "candidates.h"
#include "tenon/kernels/kept_boxes.h"

namespace tenon::serve {
namespace {

constexpr std::string_view kBlaze = "BlazeFace";

int64_t cells_along(int64_t side, int stride) {
  return (side + stride - 1) / stride;
}

int64_t count_anchors(int64_t input_width, int64_t input_height,
                      std::span<const BlazeLevel> levels) {
  constexpr int64_t kMaxSide = 1 << 24, kMaxLevels = 64, kMaxAnchors = 1024;
  constexpr int64_t kMaxCount = (int64_t{1} << 58) - 1;
  if (input_width < 1 || input_height < 1 || input_width > kMaxSide || input_height > kMaxSide)
    fail(kBlaze, "an input of 1 to 2^24 pixels a side",
         std::to_string(input_width) + "x" + std::to_string(input_height));
  if (levels.empty() || levels.size() > kMaxLevels)
    fail(kBlaze, "1 to 64 levels", std::to_string(levels.size()));
  int64_t count = 0;
  for (const auto& [stride, anchors] : levels) {
    if (stride < 1) fail(kBlaze, "a stride of 1 or more", std::to_string(stride));
    if (anchors < 1 || anchors > kMaxAnchors)
      fail(kBlaze, "1 to 1024 anchors of a cell", std::to_string(anchors));
    // At most 2^58 of a level, and there may be 2^64 of 64 levels: more than any tensor has.
    count += cells_along(input_width, stride) * cells_along(input_height, stride) * anchors;
    if (count > kMaxCount) fail(kBlaze, "fewer than 2^58 anchors", "more of these levels");
  }
  return count;
}

// The middle of an anchor's cell.
Point middle_of(int64_t index, int64_t input_width, int64_t input_height,
                std::span<const BlazeLevel> levels) {
  for (const auto& [stride, anchors] : levels) {
    const int64_t across = cells_along(input_width, stride);
    const int64_t count = across * cells_along(input_height, stride) * anchors;
    if (index < count) {
      const int64_t cell = index / anchors;
      const auto step = static_cast<float>(stride);
      return {(static_cast<float>(cell % across) + 0.5F) * step,
              (static_cast<float>(cell / across) + 0.5F) * step};
    }
    index -= count;
  }
  return {};
}

bool overlaps(const Box& a, const Box& b, float threshold) {
  const kernels::Box x{a.left, a.top, a.right, a.bottom}, y{b.left, b.top, b.right, b.bottom};
  return kernels::overlap(x, x.area(), y, y.area(), threshold);
}

// Means of poses, weighted by their scores; the score and the index are the first one's.
class Mean {
 public:
  explicit Mean(const Pose& first) : mean_(first) {
    mean_.box = {.score = first.box.score, .index = first.box.index};
    for (Keypoint& keypoint : mean_.keypoints) keypoint = {};
  }
  void add(const Pose& pose) {
    const float weight = pose.box.score;
    sum_ += weight;
    for (float Box::* const edge : kEdges) mean_.box.*edge += pose.box.*edge * weight;
    for (size_t i = 0; i < mean_.keypoints.size(); ++i) {
      mean_.keypoints[i].x += pose.keypoints[i].x * weight;
      mean_.keypoints[i].y += pose.keypoints[i].y * weight;
    }
  }
  Pose take() {
    for (float Box::* const edge : kEdges) mean_.box.*edge /= sum_;
    for (Keypoint& keypoint : mean_.keypoints) {
      keypoint.x /= sum_;
      keypoint.y /= sum_;
    }
    return std::move(mean_);
  }

 private:
  static constexpr float Box::* kEdges[] = {&Box::left, &Box::top, &Box::right, &Box::bottom};
  Pose mean_;
  float sum_ = 0;
};

// Of poses, the best first.
std::vector<Pose> weighted_nms(std::vector<Pose> poses, const NmsOptions& options) {
  std::vector<Pose> found;
  while (!poses.empty() && static_cast<int64_t>(found.size()) < options.max_boxes) {
    const Pose best = poses.front();
    Mean mean(best);
    std::vector<Pose> rest;
    for (size_t i = 0; i < poses.size(); ++i) {
      if (i == 0 || overlaps(best.box, poses[i].box, options.iou_threshold))
        mean.add(poses[i]);
      else
        rest.push_back(std::move(poses[i]));
    }
    found.push_back(mean.take());
    poses = std::move(rest);
  }
  return found;
}

std::vector<Pose> in_picture(std::vector<Pose> poses, const DetectOptions& options) {
  std::vector<Pose> results;
  for (Pose& pose : poses) {
    const auto box = in_picture(std::vector<Box>{pose.box}, options);
    if (box.empty()) continue;
    pose.box = box.front();
    for (Keypoint& keypoint : pose.keypoints) {
      const Point point = mapped(options.to_picture, Point{keypoint.x, keypoint.y});
      keypoint = {point.x, point.y};
    }
    results.push_back(std::move(pose));
  }
  return results;
}

}  // namespace

std::vector<BlazeLevel> blaze_face_levels() {
  return {{8, 2}, {16, 6}};
}
std::vector<BlazeLevel> blaze_pose_levels() {
  return {{8, 2}, {16, 2}, {32, 6}};
}

Result<std::vector<Pose>> decode_blaze(const View& boxes, const View& scores, int64_t input_width,
                                       int64_t input_height, std::span<const BlazeLevel> levels,
                                       const DetectOptions& options) noexcept {
  return session::guard([&] {
    require_options(kBlaze, options);
    require_classes(kBlaze, options.classes, 1);
    const int64_t count = count_anchors(input_width, input_height, levels);
    const int64_t numbers = boxes.size(1);
    if (boxes.rank() != 2 || boxes.size(0) != count || numbers < 4 || numbers % 2 != 0)
      fail(kBlaze, "boxes of shape (" + std::to_string(count) + ", 4 + 2 keypoints)", boxes.text());
    const bool is_column = scores.rank() == 2 && scores.size(1) == 1;
    if ((scores.rank() != 1 && !is_column) || scores.size(0) != count)
      fail(kBlaze, "scores of shape " + session::shape_text({count, 1}), scores.text());

    const Floats coordinates(boxes), logits(scores);
    Candidates candidates(options);
    for (int64_t i = 0; i < count; ++i) candidates.add(sigmoid(logits.data()[i]), 0, i);
    auto found = boxes_of(std::move(candidates), [&](const Candidate& candidate) {
      const Point middle = middle_of(candidate.index, input_width, input_height, levels);
      const float* const t = coordinates.data() + candidate.index * numbers;
      return around(middle.x + t[0], middle.y + t[1], t[2], t[3]);
    });
    std::stable_sort(found.begin(), found.end(),
                     [](const Box& a, const Box& b) { return a.score > b.score; });
    std::vector<Pose> poses;
    for (const Box& box : found) {
      Pose pose{box, {}};
      const Point middle = middle_of(box.index, input_width, input_height, levels);
      const float* const t = coordinates.data() + box.index * numbers;
      for (int64_t k = 4; k < numbers; k += 2)
        pose.keypoints.push_back({middle.x + t[k], middle.y + t[k + 1]});
      poses.push_back(std::move(pose));
    }
    return in_picture(weighted_nms(std::move(poses), options.nms), options);
  });
}

}  // namespace tenon::serve
