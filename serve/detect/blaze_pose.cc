#include "head.h"
#include "tenon/serve/blaze.h"

namespace tenon::serve {
namespace {

constexpr std::string_view kBlazePose = "BlazePose";
constexpr int64_t kNumbers = 5, kReach = 3;  // of a landmark; cells on each side
constexpr float kSure = 0.5F;

struct HeatMap {
  const float* logits;
  int64_t width, height, count;

  // The mean of the cells around one, in cells; the point itself where they are not sure.
  Point refined(Point point, int64_t which) const {
    const float most_x = static_cast<float>(width), most_y = static_cast<float>(height);
    if (!(point.x > -1 && point.x < most_x && point.y > -1 && point.y < most_y)) return point;
    const auto column = static_cast<int64_t>(point.x), row = static_cast<int64_t>(point.y);
    float sum = 0, sum_x = 0, sum_y = 0, highest = 0;
    for (int64_t y = std::max<int64_t>(0, row - kReach); y <= std::min(height - 1, row + kReach);
         ++y)
      for (int64_t x = std::max<int64_t>(0, column - kReach);
           x <= std::min(width - 1, column + kReach); ++x) {
        const float heat = sigmoid(logits[(y * width + x) * count + which]);
        sum += heat;
        sum_x += heat * static_cast<float>(x);
        sum_y += heat * static_cast<float>(y);
        highest = std::max(highest, heat);
      }
    return highest >= kSure ? Point{sum_x / sum, sum_y / sum} : point;
  }
};

}  // namespace

Result<std::vector<Keypoint>> decode_blaze_pose(const View& landmarks, const View& heat,
                                                int64_t input_width, int64_t input_height,
                                                const Matrix23& to_picture) noexcept {
  return session::guard([&] {
    const int64_t count = landmarks.count() / kNumbers;
    if (landmarks.rank() != 1 || count < 1 || landmarks.count() % kNumbers != 0)
      fail(kBlazePose, "landmarks of shape (5 count)", landmarks.text());
    if (heat.rank() != 3 || heat.size(2) != count)
      fail(kBlazePose, "heat of shape (height, width, " + std::to_string(count) + ")", heat.text());
    require_map(kBlazePose, heat, heat.size(1), heat.size(0));
    if (input_width < 1 || input_height < 1)
      fail(kBlazePose, "an input of 1 or more pixels a side",
           std::to_string(input_width) + "x" + std::to_string(input_height));
    require_finite(kBlazePose, to_picture);

    const Floats numbers(landmarks), logits(heat);
    const HeatMap map{logits.data(), heat.size(1), heat.size(0), count};
    const float x = static_cast<float>(map.width) / static_cast<float>(input_width);
    const float y = static_cast<float>(map.height) / static_cast<float>(input_height);
    std::vector<Keypoint> keypoints;
    for (int64_t i = 0; i < count; ++i) {
      const float* const t = numbers.data() + i * kNumbers;
      const Point cell = map.refined({t[0] * x, t[1] * y}, i);
      const Point point = mapped(to_picture, Point{cell.x / x, cell.y / y});
      keypoints.push_back({point.x, point.y, sigmoid(t[3])});
    }
    return keypoints;
  });
}

}  // namespace tenon::serve
