#include "tenon/serve/poses.h"

#include "yolo_head.h"

namespace tenon::serve {

Result<std::vector<Pose>> decode_poses(const View& head, const DetectOptions& options,
                                       int64_t keypoints, int64_t numbers) noexcept {
  return session::guard([&] {
    constexpr std::string_view kWho = "YOLOv8-pose";
    constexpr int64_t kMaxKeypoints = 1 << 20;
    if (keypoints < 1 || keypoints > kMaxKeypoints)
      fail(kWho, "1 to 2^20 keypoints", std::to_string(keypoints));
    if (numbers != 2 && numbers != 3)
      fail(kWho, "2 or 3 numbers of a keypoint", std::to_string(numbers));
    const YoloHead channels(kWho, head, keypoints * numbers, options);
    const auto boxes =
        kept_boxes(channels.candidates(options), options,
                   [&](const Candidate& candidate) { return channels.box_at(candidate); });
    std::vector<Pose> poses;
    for (const Box& box : boxes) {
      Pose pose{box, {}};
      for (int64_t i = 0; i < keypoints; ++i) {
        const auto number = [&](int64_t k) { return channels.other(i * numbers + k, box.index); };
        const Point point = mapped(options.to_picture, Point{number(0), number(1)});
        pose.keypoints.push_back({point.x, point.y, numbers == 3 ? number(2) : 1.0F});
      }
      poses.push_back(std::move(pose));
    }
    return poses;
  });
}

}  // namespace tenon::serve
