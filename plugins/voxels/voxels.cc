// PointPillars: VoxelGeneratorPlugin, PillarScatterPlugin and DecodeBbox3DPlugin 1, all of
// TensorRT. Always in the same order: points and boxes come as their inputs have them.
#include <tenon/kernels/shape_text.h>
#include <tenon/kernels/workspace.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;  // NOLINT: what plugin authors write
using kernels::Carver;
using kernels::text_of;

namespace {

template <class E> struct Fill {
  E* y;
  E value;
  TENON_HD void operator()(int64_t i) const { y[i] = value; }
};

// Pillars of points: the grid has one layer.
struct PillarGrid {
  float low[3], high[3], size[3];
  int64_t width, height;
  int64_t numbers;  // of a point

  TENON_HD int64_t cells() const { return width * height; }
  // The cell of a point of a frame; -1 outside.
  TENON_HD int64_t cell_of(const float* point) const {
    for (int k = 0; k < 3; ++k)
      if (!(point[k] >= low[k] && point[k] < high[k])) return -1;
    const auto column = static_cast<int64_t>((point[0] - low[0]) / size[0]);
    const auto row = static_cast<int64_t>((point[1] - low[1]) / size[1]);
    return column < width && row < height ? row * width + column : -1;
  }
};

// Points of a batch of frames (frames, points, numbers), of which each frame has some.
struct Frames {
  const float* points;
  const int32_t* counts;
  int64_t capacity;

  TENON_HD int64_t count(int64_t frame) const {
    const int64_t n = counts[frame];
    return n < 0 ? 0 : n < capacity ? n : capacity;
  }
  TENON_HD const float* point(const PillarGrid& grid, int64_t frame, int64_t i) const {
    return points + (frame * capacity + i) * grid.numbers;
  }
};

constexpr int32_t kNoPoint = INT32_MAX;

#if defined(__CUDACC__)

// Slot `slot` of each cell becomes the first point behind that of the slot before.
struct NextPoints {
  PillarGrid grid;
  Frames frames;
  int32_t* slots;
  int64_t slot, per_cell;

  __device__ void operator()(int64_t i) const {
    const int64_t frame = i / frames.capacity, at = i % frames.capacity;
    if (at >= frames.count(frame)) return;
    const int64_t cell = grid.cell_of(frames.point(grid, frame, at));
    if (cell < 0) return;
    int32_t* const first = slots + (frame * grid.cells() + cell) * per_cell;
    if (slot == 0 || at > first[slot - 1]) atomicMin(first + slot, static_cast<int32_t>(at));
  }
};

#endif

// The pillars of a frame in the order of their first points: which cell, and how many there are.
struct RankPillars {
  PillarGrid grid;
  Frames frames;
  const int32_t* slots;
  int32_t *owners, *coordinates, *counts;
  int64_t per_cell, pillars;

  TENON_DEVICE void operator()(const Team& team, int64_t frame) const {
    const int64_t points = frames.count(frame);
    const auto starts_pillar = [&](int64_t i) {
      const int64_t cell = grid.cell_of(frames.point(grid, frame, i));
      return cell >= 0 && slots[(frame * grid.cells() + cell) * per_cell] == i ? cell : -1;
    };
    team.each(pillars, [&](int64_t p) { owners[frame * pillars + p] = -1; });
    team.each(1, [&](int64_t) { counts[frame] = 0; });
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
    team.scan(
        points, int64_t{0}, [](int64_t a, int64_t b) { return a + b; },
        [&](int64_t i) { return int64_t{starts_pillar(i) >= 0}; },
        [&](int64_t i, int64_t so_far) {
          const int64_t cell = starts_pillar(i);
          if (cell >= 0 && so_far <= pillars)
            owners[frame * pillars + so_far - 1] = static_cast<int32_t>(cell);
          if (i + 1 == points)
            counts[frame] = static_cast<int32_t>(so_far < pillars ? so_far : pillars);
        });
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
    team.each(pillars, [&](int64_t p) {
      const int32_t cell = owners[frame * pillars + p];
      int32_t* const at = coordinates + (frame * pillars + p) * 4;
      at[0] = at[1] = 0;
      at[2] = cell < 0 ? 0 : static_cast<int32_t>(cell / grid.width);
      at[3] = cell < 0 ? 0 : static_cast<int32_t>(cell % grid.width);
    });
  }
};

// One point of a pillar: its numbers, its distance from the mean of the pillar's points, and from
// the middle of the pillar.
struct PillarFeatures {
  PillarGrid grid;
  Frames frames;
  const int32_t *slots, *owners;
  float* features;
  int64_t per_cell, pillars, numbers;

  TENON_HD void operator()(int64_t i) const {
    const int64_t slot = i % per_cell, pillar = i / per_cell, frame = pillar / pillars;
    float* const to = features + i * numbers;
    const int64_t cell = owners[pillar];
    const int32_t* points = slots + (frame * grid.cells() + cell) * per_cell;
    if (cell < 0 || points[slot] == kNoPoint) {
      for (int64_t k = 0; k < numbers; ++k) to[k] = 0;
      return;
    }
    float mean[3] = {};
    int64_t count = 0;
    for (; count < per_cell && points[count] != kNoPoint; ++count)
      for (int k = 0; k < 3; ++k) mean[k] += frames.point(grid, frame, points[count])[k];
    const float* const point = frames.point(grid, frame, points[slot]);
    const float at[] = {static_cast<float>(cell % grid.width),
                        static_cast<float>(cell / grid.width), 0};
    for (int64_t k = 0; k < grid.numbers; ++k) to[k] = point[k];
    for (int64_t k = 0; k < 3; ++k) {
      to[grid.numbers + k] = point[k] - mean[k] / static_cast<float>(count);
      if (grid.numbers + 3 + k < numbers)
        to[grid.numbers + 3 + k] =
            point[k] - (grid.size[k] / 2 + at[k] * grid.size[k] + grid.low[k]);
    }
  }
};

struct VoxelGenerator {
  int32_t per_cell = 0, pillars = 0, feature_count = 0;
  std::vector<float> range, size;

  static constexpr auto attributes = std::tuple{
      attribute("max_num_points_per_voxel", &VoxelGenerator::per_cell).required(),
      attribute("max_voxels", &VoxelGenerator::pillars).required(),
      attribute("point_cloud_range", &VoxelGenerator::range)
          .required()
          .says("the least x, y and z, then the largest"),
      attribute("voxel_feature_num", &VoxelGenerator::feature_count)
          .required()
          .says("5 or 6 more than the numbers of a point"),
      attribute("voxel_size", &VoxelGenerator::size).required().says("along x, y and z")};
  static constexpr Spec spec{
      .name = "VoxelGeneratorPlugin",
      .inputs = {{"points", kFloat}, {"num_points", kInt32}},
      .outputs = {{"voxels", kFloat}, {"coordinates", kInt32}, {"num_voxels", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "Pillars of points (N, points, 4 or 5), of which a frame has num_points: voxels (N, "
          "max_voxels, max_num_points_per_voxel, features) of a point's numbers, its distance from "
          "the mean of its pillar, and from the pillar's middle in x and y, and z with a feature "
          "more; coordinates (N, max_voxels, 4) of 0, 0, row, column; and their number (N). What "
          "is left is 0.",
      .differs =
          "Pillars are in the order of their first points, points in theirs: always the same. Any "
          "number of points of a pillar; z is written to its place."};

  void prepare() const {
    if (per_cell < 1 || pillars < 1)
      throw std::invalid_argument(
          "max_num_points_per_voxel and max_voxels must be at least 1, found "
          + std::to_string(per_cell) + " and " + std::to_string(pillars));
    if (range.size() != 6 || size.size() != 3)
      throw std::invalid_argument("point_cloud_range must have 6 elements and voxel_size 3, found "
                                  + std::to_string(range.size()) + " and "
                                  + std::to_string(size.size()));
    for (size_t k = 0; k < 3; ++k)
      if (!(size[k] > 0 && range[k + 3] > range[k]))
        throw std::invalid_argument("voxel_size must be positive, and point_cloud_range ascend");
    if (!(extent(0) * extent(1) <= 1 << 28))
      throw std::invalid_argument("the grid has more than 2^28 cells");
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 3)
      throw std::invalid_argument("points must have 3 dimensions (N, points, numbers), found "
                                  + std::to_string(in[0].size()));
    out[0] = {in[0][0], pillars, per_cell, feature_count};
    out[1] = {in[0][0], pillars, 4};
    out[2] = {in[0][0]};
  }
  void check(std::span<const Shape> in) const {
    const int64_t numbers = in[0][2];
    if (numbers < 3 || (feature_count != numbers + 5 && feature_count != numbers + 6))
      throw std::invalid_argument("voxel_feature_num must be 5 or 6 more than the "
                                  + std::to_string(numbers) + " numbers of a point, found "
                                  + std::to_string(feature_count));
    if (in[1].volume() != in[0][0])
      throw std::invalid_argument("num_points must have a number for each of "
                                  + std::to_string(in[0][0]) + " frames, found " + text_of(in[1]));
  }
  size_t workspace(std::span<const Shape> in, std::span<const Shape>) const {
    Carver carver;
    Memory(carver, in[0][0], *this);
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const float> points, Tensor<const int32_t> counts,
           Tensor<float> voxels, Tensor<int32_t> coordinates, Tensor<int32_t> found) const {
    const int64_t frames = points.shape[0];
    const PillarGrid grid = grid_of(points.shape[2]);
    const Frames all{points.data, counts.data, points.shape[1]};
    Carver carver(device.workspace);
    const Memory memory(carver, frames, *this);
    device.parallel_for(frames * grid.cells() * per_cell, Fill<int32_t>{memory.slots, kNoPoint});
    find_points(device, grid, all, frames, memory.slots);
    device.parallel_rows(frames, RankPillars{grid, all, memory.slots, memory.owners,
                                             coordinates.data, found.data, per_cell, pillars});
    device.parallel_for(frames * pillars * per_cell,
                        PillarFeatures{grid, all, memory.slots, memory.owners, voxels.data,
                                       per_cell, pillars, feature_count});
  }

 private:
  struct Memory {
    int32_t *slots, *owners;
    Memory(Carver& carver, int64_t frames, const VoxelGenerator& p) {
      slots = carver.array<int32_t>(frames * p.grid_of(0).cells() * p.per_cell);
      owners = carver.array<int32_t>(frames * p.pillars);
    }
  };
  // Cells along an axis.
  float extent(size_t axis) const {
    return std::round((range[axis + 3] - range[axis]) / size[axis]);
  }
  PillarGrid grid_of(int64_t numbers) const {
    PillarGrid grid{};
    for (size_t k = 0; k < 3; ++k) {
      grid.low[k] = range[k];
      grid.high[k] = range[k + 3];
      grid.size[k] = size[k];
    }
    grid.width = static_cast<int64_t>(std::max(extent(0), 1.f));
    grid.height = static_cast<int64_t>(std::max(extent(1), 1.f));
    grid.numbers = numbers;
    return grid;
  }
  // The first points of each cell, in order.
  void find_points(const Device& device, const PillarGrid& grid, const Frames& all, int64_t frames,
                   int32_t* slots) const {
#if defined(__CUDACC__)
    for (int64_t slot = 0; slot < per_cell; ++slot)
      device.parallel_for(frames * all.capacity, NextPoints{grid, all, slots, slot, per_cell});
#else
    device.parallel_ranges(frames, 1, [&](int64_t begin, int64_t end) {
      for (int64_t frame = begin; frame < end; ++frame)
        for (int64_t i = 0; i < all.count(frame); ++i) {
          const int64_t cell = grid.cell_of(all.point(grid, frame, i));
          if (cell < 0) continue;
          int32_t* const first = slots + (frame * grid.cells() + cell) * per_cell;
          int64_t slot = 0;
          while (slot < per_cell && first[slot] != kNoPoint) ++slot;
          if (slot < per_cell) first[slot] = static_cast<int32_t>(i);
        }
    });
#endif
  }
};
TENON_PLUGIN(VoxelGenerator);

// One feature of one pillar, at its place. Pillars that are not there, or outside, write nothing.
template <class E> struct ScatterPillar {
  const E* features;
  const int32_t *coordinates, *counts;
  E* y;
  int64_t pillars, numbers, height, width;

  TENON_HD void operator()(int64_t i) const {
    const int64_t feature = i % numbers, pillar = i / numbers % pillars;
    const int64_t frame = i / (numbers * pillars);
    if (pillar >= counts[frame]) return;
    const int32_t* at = coordinates + (frame * pillars + pillar) * 4;
    if (at[2] < 0 || at[2] >= height || at[3] < 0 || at[3] >= width) return;
    y[((frame * numbers + feature) * height + at[2]) * width + at[3]] = features[i];
  }
};

struct PillarScatter {
  std::vector<int32_t> dense_shape;

  using T = Types<float, Half, BFloat16>;
  static constexpr auto attributes =
      std::tuple{attribute("dense_shape", &PillarScatter::dense_shape)
                     .required()
                     .says("rows and columns of the grid")};
  static constexpr Spec spec{
      .name = "PillarScatterPlugin",
      .inputs = {{"features", kT}, {"coordinates", kInt32}, {"num_pillars", kInt32}},
      .outputs = {{"y", kT}},
      .protocol = Protocol::kV2,
      .text =
          "Features of pillars (N, pillars, C), of which a frame has num_pillars, at the rows and "
          "columns that coordinates (N, pillars, 4) have last: (N, C, rows, columns). Other places "
          "are 0.",
      .differs = "Any number of features, not 64 alone; places outside are left out. bfloat16."};

  void prepare() const {
    if (dense_shape.size() != 2 || dense_shape[0] < 1 || dense_shape[1] < 1)
      throw std::invalid_argument("dense_shape must have 2 positive elements");
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 3)
      throw std::invalid_argument("features must have 3 dimensions (N, pillars, C), found "
                                  + std::to_string(in[0].size()));
    out[0] = {in[0][0], in[0][2], dense_shape[0], dense_shape[1]};
  }
  void check(std::span<const Shape> in) const {
    if (in[1].volume() != in[0][0] * in[0][1] * 4 || in[2].volume() != in[0][0])
      throw std::invalid_argument(
          "features " + text_of(in[0]) + ", coordinates " + text_of(in[1]) + " and num_pillars "
          + text_of(in[2]) + " do not fit; expected (N, pillars, C), (N, pillars, 4) and (N)");
  }
  template <class E>
  void run(const Device& device, Tensor<const E> features, Tensor<const int32_t> coordinates,
           Tensor<const int32_t> counts, Tensor<E> y) const {
    device.parallel_for(y.shape.volume(), Fill<E>{y.data, static_cast<E>(0.f)});
    device.parallel_for(
        features.shape.volume(),
        ScatterPillar<E>{features.data, coordinates.data, counts.data, y.data, features.shape[1],
                         features.shape[2], y.shape[2], y.shape[3]});
  }
};
TENON_PLUGIN(PillarScatter);

// The boxes of a frame whose score is high enough, in the order of pixels and anchors.
struct DecodeFrame {
  const float *classes, *boxes, *directions, *anchors, *bottoms;
  float* out;
  int32_t* counts;
  int64_t height, width, anchor_count, class_count;
  float low_x, high_x, low_y, high_y, direction_offset, limit_offset, threshold, period;

  TENON_HD int64_t candidates() const { return height * width * anchor_count; }
  TENON_HD float best(int64_t frame, int64_t i, int64_t* kind) const {
    const float* scores = classes + (frame * candidates() + i) * class_count;
    *kind = 0;
    for (int64_t k = 1; k < class_count; ++k)
      if (scores[k] > scores[*kind]) *kind = k;
    return 1 / (1 + expf(-scores[*kind]));
  }
  TENON_HD static float position(float low, float high, int64_t at, int64_t extent) {
    return extent > 1 ? low + static_cast<float>(at) * (high - low) / static_cast<float>(extent - 1)
                      : low;
  }
  TENON_HD void put(int64_t frame, int64_t i, int64_t row) const {
    const int64_t anchor = i % anchor_count, pixel = i / anchor_count;
    const float* const a = anchors + anchor * 4;
    const float* const b = boxes + (frame * candidates() + i) * 7;
    const float* const d = directions + (frame * candidates() + i) * 2;
    float* const to = out + (frame * candidates() + row) * 9;
    const float diagonal = sqrtf(a[0] * a[0] + a[1] * a[1]);
    to[0] = b[0] * diagonal + position(low_x, high_x, pixel % width, width);
    to[1] = b[1] * diagonal + position(low_y, high_y, pixel / width, height);
    to[2] = b[2] * a[2] + a[2] / 2 + bottoms[anchor / 2];
    for (int k = 0; k < 3; ++k) to[3 + k] = expf(b[3 + k]) * a[k];
    const float rotated = b[6] + a[3] - direction_offset;
    const float rest = rotated - floorf(rotated / period + limit_offset) * period;
    to[6] = rest + direction_offset + (d[0] > d[1] ? 0.f : period);
    int64_t kind;
    to[8] = best(frame, i, &kind);
    to[7] = static_cast<float>(kind);
  }
  TENON_DEVICE void operator()(const Team& team, int64_t frame) const {
    const auto is_found = [&](int64_t i) {
      int64_t kind;
      return best(frame, i, &kind) >= threshold;
    };
    team.each(candidates() * 9, [&](int64_t i) { out[frame * candidates() * 9 + i] = 0; });
    team.each(1, [&](int64_t) { counts[frame] = 0; });
#if defined(__CUDA_ARCH__)
    __syncthreads();
#endif
    team.scan(
        candidates(), int64_t{0}, [](int64_t x, int64_t y) { return x + y; },
        [&](int64_t i) { return int64_t{is_found(i)}; },
        [&](int64_t i, int64_t so_far) {
          if (is_found(i)) put(frame, i, so_far - 1);
          if (i + 1 == candidates()) counts[frame] = static_cast<int32_t>(so_far);
        });
  }
};

struct DecodeBbox3d {
  std::vector<float> range, anchors, bottoms;
  float direction_offset = 0.78539f, limit_offset = 0, threshold = 0;
  int32_t direction_bins = 2;

  static constexpr auto attributes = std::tuple{
      attribute("point_cloud_range", &DecodeBbox3d::range)
          .required()
          .says("the least x, y and z, then the largest"),
      attribute("anchors", &DecodeBbox3d::anchors)
          .required()
          .says("length, width, height and angle, of two anchors for each class"),
      attribute("anchor_bottom_height", &DecodeBbox3d::bottoms)
          .required()
          .says("z, for each class"),
      attribute("dir_offset", &DecodeBbox3d::direction_offset),
      attribute("dir_limit_offset", &DecodeBbox3d::limit_offset),
      attribute("num_dir_bins", &DecodeBbox3d::direction_bins),
      attribute("score_thresh", &DecodeBbox3d::threshold).says("scores must not be below")};
  static constexpr Spec spec{
      .name = "DecodeBbox3DPlugin",
      .inputs = {{"classes", kFloat}, {"boxes", kFloat}, {"directions", kFloat}},
      .outputs = {{"detections", kFloat}, {"num_detections", kInt32}},
      .protocol = Protocol::kV2,
      .text =
          "PointPillars' heads (N, H, W, anchors * numbers), with 7 numbers of a box and 2 of its "
          "direction, as rows (N, H * W * anchors, 9) of x, y, z, length, width, height, angle, "
          "class and score, and how many there are (N). Rows that are left are 0.",
      .differs =
          "Rows are in the order of pixels and anchors: always the same. A single row or column "
          "works."};

  void prepare() const {
    if (range.size() != 6)
      throw std::invalid_argument("point_cloud_range must have 6 elements, found "
                                  + std::to_string(range.size()));
    if (bottoms.empty() || anchors.size() != bottoms.size() * 8)
      throw std::invalid_argument(
          "expected 8 numbers of anchors for each anchor_bottom_height, found "
          + std::to_string(anchors.size()) + " and " + std::to_string(bottoms.size()));
    if (direction_bins < 1)
      throw std::invalid_argument("num_dir_bins must be at least 1, found "
                                  + std::to_string(direction_bins));
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    if (in[0].size() != 4)
      throw std::invalid_argument("classes must have 4 dimensions (N, H, W, numbers), found "
                                  + std::to_string(in[0].size()));
    out[0] = {in[0][0], in[0][1] * in[0][2] * count(), 9};
    out[1] = {in[0][0]};
  }
  void check(std::span<const Shape> in) const {
    const int64_t numbers[] = {count() * classes(), count() * 7, count() * 2};
    for (size_t i = 0; i < 3; ++i)
      if (in[i].rank() != 4 || !std::equal(in[i].d, in[i].d + 3, in[0].d) || in[i][3] != numbers[i])
        throw std::invalid_argument(std::string(spec.inputs[i].name) + " must be (N, H, W, "
                                    + std::to_string(numbers[i]) + "), found " + text_of(in[i]));
  }
  size_t workspace(std::span<const Shape>, std::span<const Shape>) const {
    Carver carver;
    carver.array<float>(static_cast<int64_t>(anchors.size()));
    carver.array<float>(classes());
    return carver.bytes();
  }
  template <class E>
  void run(const Device& device, Tensor<const float> scores, Tensor<const float> boxes,
           Tensor<const float> directions, Tensor<float> detections, Tensor<int32_t> found) const {
    Carver carver(device.workspace);
    const auto numbers = static_cast<int64_t>(anchors.size());
    const float* at = device.constants(anchors.data(), numbers, carver.array<float>(numbers));
    const float* bottom =
        device.constants(bottoms.data(), classes(), carver.array<float>(classes()));
    constexpr float kTurn = 6.283185307179586f;
    device.parallel_rows(
        scores.shape[0],
        DecodeFrame{scores.data, boxes.data, directions.data, at, bottom, detections.data,
                    found.data, scores.shape[1], scores.shape[2], count(), classes(), range[0],
                    range[3], range[1], range[4], direction_offset, limit_offset, threshold,
                    kTurn / static_cast<float>(direction_bins)});
  }

 private:
  int64_t classes() const { return static_cast<int64_t>(bottoms.size()); }
  int64_t count() const { return 2 * classes(); }
};
TENON_PLUGIN(DecodeBbox3d);

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
