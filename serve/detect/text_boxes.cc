#include "tenon/serve/text_boxes.h"

#include <algorithm>
#include <cmath>

#include "head.h"

namespace tenon::serve {
namespace {

constexpr std::string_view kText = "text boxes";

// A connected part of the map.
struct TextPart {
  std::vector<Point> outline;  // the first and last pixel of each of its rows' runs
  int64_t count = 0;
};

// A rectangle with a side along the unit vector u.
struct Rectangle {
  Point centre, u;
  float width, height;
};

class TextMap {
 public:
  TextMap(const float* data, int64_t width, int64_t height, float threshold)
      : data_(data), width_(width), height_(height), threshold_(threshold) {}

  // In the order of their first pixels; pixels that touch at a corner are connected.
  std::vector<TextPart> parts() const {
    std::vector<Run> runs = connected_runs();
    std::vector<TextPart> parts;
    std::vector<size_t> number(runs.size());  // of the part that a run without a parent begins
    for (size_t i = 0; i < runs.size(); ++i) {
      Run& run = runs[i];
      run.parent = runs[run.parent].parent;  // which is its root: parents come earlier
      if (run.parent == i) {
        number[i] = parts.size();
        parts.emplace_back();
      }
      TextPart& part = parts[number[run.parent]];
      part.count += run.last - run.first + 1;
      for (const int64_t x : {run.first, run.last})
        part.outline.push_back({static_cast<float>(x), static_cast<float>(run.row)});
    }
    return parts;
  }

  // Of the pixels whose middle is in the rectangle; NaNs count as 0.
  float mean_in(const Rectangle& rectangle) const {
    const auto& [centre, u, w, h] = rectangle;
    constexpr float kMargin = 1e-3F;  // middles on an edge are inside, however it is rounded
    const float rise = std::abs(u.y) * w / 2 + std::abs(u.x) * h / 2 + kMargin;
    const auto first = std::max<int64_t>(0, static_cast<int64_t>(std::ceil(centre.y - rise)));
    const auto last = std::min(height_ - 1, static_cast<int64_t>(std::floor(centre.y + rise)));
    double sum = 0;
    int64_t count = 0;
    for (int64_t y = first; y <= last; ++y) {
      const float dy = static_cast<float>(y) - centre.y;
      float low = -centre.x - 1, high = static_cast<float>(width_) - centre.x;
      limit(u.x, dy * u.y, w / 2 + kMargin, low, high);
      limit(-u.y, dy * u.x, h / 2 + kMargin, low, high);
      const auto begin = std::max<int64_t>(0, static_cast<int64_t>(std::ceil(centre.x + low)));
      const auto end = std::min(width_ - 1, static_cast<int64_t>(std::floor(centre.x + high)));
      for (int64_t x = begin; x <= end; ++x, ++count) {
        const float value = data_[y * width_ + x];
        if (value == value) sum += value;
      }
    }
    return count > 0 ? static_cast<float>(sum / static_cast<double>(count)) : 0;
  }

 private:
  // Neighbouring pixels of text in a row. The parent is an earlier run of the same part, or itself.
  struct Run {
    int64_t row, first, last;
    size_t parent;
  };

  static size_t root_of(std::vector<Run>& runs, size_t i) {
    while (runs[i].parent != i) i = runs[i].parent = runs[runs[i].parent].parent;
    return i;
  }
  // The earlier root stays, so that roots are the first runs of their parts.
  static void join(std::vector<Run>& runs, size_t a, size_t b) {
    const size_t root_a = root_of(runs, a), root_b = root_of(runs, b);
    const size_t root = std::min(root_a, root_b);
    runs[root_a].parent = runs[root_b].parent = runs[a].parent = runs[b].parent = root;
  }

  // All runs by rows, joined with those of the row before that they touch.
  std::vector<Run> connected_runs() const {
    std::vector<Run> runs;
    size_t above = 0, above_end = 0;  // runs of the row before
    for (int64_t y = 0; y < height_; ++y) {
      const float* const row = data_ + y * width_;
      const size_t begin = runs.size();
      size_t k = above;
      for (int64_t x = next_text(row, 0); x < width_; x = next_text(row, x)) {
        const int64_t first = x;
        while (x < width_ && row[x] > threshold_) ++x;
        const size_t i = runs.size();
        runs.push_back({y, first, x - 1, i});
        while (k < above_end && runs[k].last < first - 1) ++k;
        for (size_t touching = k; touching < above_end && runs[touching].first <= x; ++touching)
          join(runs, touching, i);
      }
      above = begin;
      above_end = runs.size();
    }
    return runs;
  }

  // The first pixel of text from x on, or the width. Most of a map is background: blocks of it are
  // compared in vectors.
  int64_t next_text(const float* row, int64_t x) const {
    constexpr int64_t kBlock = 16;
    for (; x + kBlock <= width_; x += kBlock) {
      bool any = false;
      for (int64_t k = 0; k < kBlock; ++k) any |= row[x + k] > threshold_;
      if (any) break;
    }
    while (x < width_ && !(row[x] > threshold_)) ++x;
    return x;
  }

  // Narrows [low, high] to where |slope * x + offset| <= bound.
  static void limit(float slope, float offset, float bound, float& low, float& high) {
    if (std::abs(slope) < 1e-6F) {
      if (std::abs(offset) > bound) high = low - 1;
      return;
    }
    const float a = (-bound - offset) / slope, b = (bound - offset) / slope;
    low = std::max(low, std::min(a, b));
    high = std::min(high, std::max(a, b));
  }

  const float* data_;
  int64_t width_, height_;
  float threshold_;
};

float cross(Point origin, Point a, Point b) {
  return (a.x - origin.x) * (b.y - origin.y) - (a.y - origin.y) * (b.x - origin.x);
}

// By Andrew's monotone chain.
std::vector<Point> convex_hull(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  std::vector<Point> hull;
  const auto add = [&](Point p, size_t base) {
    while (hull.size() >= base + 2 && cross(hull[hull.size() - 2], hull.back(), p) <= 0)
      hull.pop_back();
    hull.push_back(p);
  };
  for (const Point p : points) add(p, 0);
  const size_t base = hull.size() - 1;
  for (auto p = points.rbegin() + 1; p != points.rend(); ++p) add(*p, base);
  if (hull.size() > 1) hull.pop_back();
  return hull;
}

// The smallest rectangle around a hull has a side along one of its edges.
Rectangle smallest_rectangle(const std::vector<Point>& hull) {
  Rectangle best{hull[0], {1, 0}, 0, 0};
  float smallest = INFINITY;
  for (size_t i = 0; i < hull.size(); ++i) {
    const Point from = hull[i], to = hull[(i + 1) % hull.size()];
    const float length = std::hypot(to.x - from.x, to.y - from.y);
    if (length == 0) continue;
    const Point u{(to.x - from.x) / length, (to.y - from.y) / length};
    float u0 = INFINITY, u1 = -INFINITY, v0 = INFINITY, v1 = -INFINITY;
    for (const Point p : hull) {
      const float along = p.x * u.x + p.y * u.y, across = p.y * u.x - p.x * u.y;
      u0 = std::min(u0, along);
      u1 = std::max(u1, along);
      v0 = std::min(v0, across);
      v1 = std::max(v1, across);
    }
    const float area = (u1 - u0) * (v1 - v0);
    if (area >= smallest) continue;
    smallest = area;
    const float along = (u0 + u1) / 2, across = (v0 + v1) / 2;
    best = {{u.x * along - u.y * across, u.y * along + u.x * across}, u, u1 - u0, v1 - v0};
  }
  return best;
}

// Corners from the top left one on, clockwise on the screen, as of text that reads left to right.
std::array<Point, 4> text_corners(const Rectangle& r, const TextBoxOptions& options) {
  std::array<Point, 4> all = corners(RotatedBox{.x = r.centre.x,
                                                .y = r.centre.y,
                                                .width = r.width,
                                                .height = r.height,
                                                .angle = std::atan2(r.u.y, r.u.x)});
  for (Point& point : all) {
    point = mapped(options.to_picture, point);
    if (options.width > 0 && options.height > 0) {
      point.x = std::clamp(point.x, 0.0F, static_cast<float>(options.width));
      point.y = std::clamp(point.y, 0.0F, static_cast<float>(options.height));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](Point a, Point b) { return a.x < b.x; });
  if (all[0].y > all[1].y) std::swap(all[0], all[1]);  // left: top, bottom
  if (all[2].y > all[3].y) std::swap(all[2], all[3]);  // right: top, bottom
  return {all[0], all[2], all[3], all[1]};
}

// From top to bottom; boxes of one line from left to right.
void sort_for_reading(std::vector<TextBox>& boxes) {
  constexpr float kLine = 10;  // PaddleOCR's pixels
  const auto top = [](const TextBox& box) { return box.corners[0]; };
  std::stable_sort(boxes.begin(), boxes.end(), [&](const TextBox& a, const TextBox& b) {
    return top(a).y < top(b).y || (top(a).y == top(b).y && top(a).x < top(b).x);
  });
  for (size_t i = 1; i < boxes.size(); ++i)
    for (size_t k = i; k > 0 && std::abs(top(boxes[k]).y - top(boxes[k - 1]).y) < kLine
                       && top(boxes[k]).x < top(boxes[k - 1]).x;
         --k)
      std::swap(boxes[k], boxes[k - 1]);
}

void require_text_options(const TextBoxOptions& options) {
  require_threshold(kText, "threshold", options.threshold);
  require_threshold(kText, "score threshold", options.score_threshold);
  constexpr float kMaxRatio = 1e6F;
  if (!(options.unclip_ratio >= 0 && options.unclip_ratio <= kMaxRatio))
    fail(kText, "an unclip ratio from 0 to 1000000", std::to_string(options.unclip_ratio));
  if (!(options.min_side >= 0))
    fail(kText, "a side of 0 or more", std::to_string(options.min_side));
  constexpr int64_t kMaxBoxes = 100000;  // they are sorted by exchanges
  if (options.max_boxes < 0 || options.max_boxes > kMaxBoxes)
    fail(kText, "0 to 100000 boxes", std::to_string(options.max_boxes));
  if (options.width < 0 || options.height < 0)
    fail(kText, "0 or more pixels of the picture",
         std::to_string(options.width) + "x" + std::to_string(options.height));
  require_inverse(kText, options.to_picture);
}

}  // namespace

Result<std::vector<TextBox>> decode_text_boxes(const View& map,
                                               const TextBoxOptions& options) noexcept {
  return session::guard([&] {
    require_text_options(options);
    const bool has_channel = map.rank() == 3 && map.size(0) == 1;
    if (map.rank() != 2 && !has_channel)
      fail(kText, "a map of shape (height, width) or (1, height, width)", map.text());
    const int64_t height = map.size(map.rank() - 2), width = map.size(map.rank() - 1);
    require_map(kText, map, width, height);
    const Floats data(map);
    const TextMap text(data.data(), width, height, options.threshold);
    std::vector<TextPart> parts = text.parts();
    std::stable_sort(parts.begin(), parts.end(),
                     [](const TextPart& a, const TextPart& b) { return a.count > b.count; });
    parts.resize(std::min(parts.size(), static_cast<size_t>(options.max_boxes)));

    std::vector<TextBox> boxes;
    for (const TextPart& part : parts) {
      Rectangle rectangle = smallest_rectangle(convex_hull(part.outline));
      auto& [centre, u, w, h] = rectangle;
      if (std::min(w, h) < options.min_side || w + h == 0) continue;
      const float score = text.mean_in(rectangle);
      if (!(score > options.score_threshold)) continue;
      const float margin = w * h * options.unclip_ratio / (2 * (w + h));
      w += 2 * margin;
      h += 2 * margin;
      boxes.push_back({text_corners(rectangle, options), score});
    }
    sort_for_reading(boxes);
    return boxes;
  });
}

}  // namespace tenon::serve
