#include "text_boxes.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace {

Point operator+(Point a, Point b) {
  return {a.x + b.x, a.y + b.y};
}
Point operator-(Point a, Point b) {
  return {a.x - b.x, a.y - b.y};
}
Point operator*(Point a, float f) {
  return {a.x * f, a.y * f};
}
float dot(Point a, Point b) {
  return a.x * b.x + a.y * b.y;
}
float cross(Point a, Point b) {
  return a.x * b.y - a.y * b.x;
}
float length(Point a) {
  return std::sqrt(dot(a, a));
}

// A connected part of the map.
struct Part {
  std::vector<Point> outline;  // the leftmost and rightmost pixel of each run along a row
  double sum = 0;
  size_t count = 0;
};

// Pixels above the threshold that touch, corners included.
std::vector<Part> connected_parts(const float* map, int width, int height, float threshold) {
  std::vector<Part> parts;
  std::vector<bool> seen(static_cast<size_t>(width) * static_cast<size_t>(height));
  std::vector<size_t> stack;
  for (size_t start = 0; start < seen.size(); ++start) {
    if (seen[start] || !(map[start] > threshold)) continue;
    Part part;
    seen[start] = true;
    stack.push_back(start);
    while (!stack.empty()) {
      const size_t i = stack.back();
      stack.pop_back();
      const int x = static_cast<int>(i % static_cast<size_t>(width));
      const int y = static_cast<int>(i / static_cast<size_t>(width));
      part.sum += map[i];
      ++part.count;
      const bool ends =
          x == 0 || x == width - 1 || !(map[i - 1] > threshold) || !(map[i + 1] > threshold);
      if (ends) part.outline.push_back({static_cast<float>(x), static_cast<float>(y)});
      for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) {
          if (x + dx < 0 || x + dx >= width || y + dy < 0 || y + dy >= height) continue;
          const size_t next = static_cast<size_t>(y + dy) * static_cast<size_t>(width)
                              + static_cast<size_t>(x + dx);
          if (seen[next] || !(map[next] > threshold)) continue;
          seen[next] = true;
          stack.push_back(next);
        }
    }
    parts.push_back(std::move(part));
  }
  return parts;
}

// Counter-clockwise, by Andrew's monotone chain.
std::vector<Point> convex_hull(std::vector<Point> points) {
  std::sort(points.begin(), points.end(),
            [](Point a, Point b) { return a.x < b.x || (a.x == b.x && a.y < b.y); });
  std::vector<Point> hull;
  const auto add = [&](Point p, size_t base) {
    while (hull.size() >= base + 2
           && cross(hull.back() - hull[hull.size() - 2], p - hull.back()) <= 0)
      hull.pop_back();
    hull.push_back(p);
  };
  for (Point p : points) add(p, 0);
  const size_t base = hull.size() - 1;
  for (auto p = points.rbegin() + 1; p != points.rend(); ++p) add(*p, base);
  hull.pop_back();
  return hull;
}

// The smallest rectangle around a hull has a side along one of its edges; it grows by `margin`.
TextBox smallest_rectangle(const std::vector<Point>& hull, float margin) {
  TextBox best{};
  float least = INFINITY;
  for (size_t i = 0; i < hull.size(); ++i) {
    const Point edge = hull[(i + 1) % hull.size()] - hull[i];
    const float norm = length(edge);
    const Point u = norm > 0 ? edge * (1 / norm) : Point{1, 0}, v{-u.y, u.x};
    float u0 = INFINITY, u1 = -INFINITY, v0 = INFINITY, v1 = -INFINITY;
    for (Point p : hull) {
      u0 = std::min(u0, dot(p, u));
      u1 = std::max(u1, dot(p, u));
      v0 = std::min(v0, dot(p, v));
      v1 = std::max(v1, dot(p, v));
    }
    if ((u1 - u0) * (v1 - v0) >= least) continue;
    least = (u1 - u0) * (v1 - v0);
    u0 -= margin, v0 -= margin, u1 += margin, v1 += margin;
    best = {u * u0 + v * v0, u * u1 + v * v0, u * u1 + v * v1, u * u0 + v * v1};
  }
  return best;
}

// Corners from the top left one on, clockwise on the screen, as text that reads left to right.
TextBox ordered(TextBox box) {
  std::sort(box.begin(), box.end(), [](Point a, Point b) { return a.x < b.x; });
  if (box[0].y > box[1].y) std::swap(box[0], box[1]);  // left: top, bottom
  if (box[2].y > box[3].y) std::swap(box[2], box[3]);  // right: top, bottom
  return {box[0], box[2], box[3], box[1]};
}

// From top to bottom; boxes of one line from left to right.
void sort_for_reading(std::vector<TextBox>& boxes) {
  std::sort(boxes.begin(), boxes.end(),
            [](const TextBox& a, const TextBox& b) { return a[0].y < b[0].y; });
  for (size_t i = 1; i < boxes.size(); ++i)
    for (size_t k = i;
         k > 0 && boxes[k][0].y - boxes[k - 1][0].y < 10 && boxes[k][0].x < boxes[k - 1][0].x; --k)
      std::swap(boxes[k], boxes[k - 1]);
}

}  // namespace

float width_of(const TextBox& box) {
  return length(box[1] - box[0]);
}
float height_of(const TextBox& box) {
  return length(box[3] - box[0]);
}

std::vector<TextBox> text_boxes(const float* map, int width, int height,
                                const BoxOptions& options) {
  std::vector<TextBox> boxes;
  for (const Part& part : connected_parts(map, width, height, options.threshold)) {
    if (part.count < 4 || part.sum / static_cast<double>(part.count) < options.score) continue;
    const std::vector<Point> hull = convex_hull(part.outline);
    if (hull.size() < 3) continue;
    const TextBox tight = smallest_rectangle(hull, 0);
    const float w = width_of(tight), h = height_of(tight);
    if (std::min(w, h) < options.least_side) continue;
    boxes.push_back(ordered(smallest_rectangle(hull, w * h * options.unclip / (2 * (w + h)))));
  }
  sort_for_reading(boxes);
  return boxes;
}
