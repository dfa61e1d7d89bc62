// VoxelGeneratorPlugin 1 (TensorRT): PointPillars' pillars of points. Always in the same order:
// points and pillars come as the input has them.
#include <tenon/kernels/fill.h>
#include <tenon/kernels/workspace.h>
#include <tenon/plugin.h>

namespace tenon::plugins::TENON_TARGET {

using namespace tenon::kit;      // NOLINT: what plugin authors write
using namespace tenon::kernels;  // NOLINT

namespace {

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
    const int32_t* points = slots + (frame * grid.cells() + (cell < 0 ? 0 : cell)) * per_cell;
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
    require_at_least("max_num_points_per_voxel", per_cell, 1);
    require_at_least("max_voxels", pillars, 1);
    require_elements("point_cloud_range", range.size(), 6);
    require_elements("voxel_size", size.size(), 3);
    for (size_t k = 0; k < 3; ++k)
      if (!(size[k] > 0 && range[k + 3] > range[k]))
        throw std::invalid_argument("voxel_size must be positive, and point_cloud_range ascend");
    const double points = double{extent(0)} * double{extent(1)} * per_cell;
    if (!(points <= 0x1p32))
      throw std::invalid_argument(
          "point_cloud_range, voxel_size and max_num_points_per_voxel want more than 2^32 numbers "
          "of "
          "points for a frame; expected larger voxels");
  }
  void shapes(std::span<const Extents> in, std::span<Extents> out) const {
    require_axes("points", in[0], "N, points, numbers");
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
    fill(device, memory.slots, frames * grid.cells() * per_cell, kNoPoint);
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
    return std::max(std::round((range[axis + 3] - range[axis]) / size[axis]), 1.f);
  }
  PillarGrid grid_of(int64_t numbers) const {
    PillarGrid grid{};
    for (size_t k = 0; k < 3; ++k) {
      grid.low[k] = range[k];
      grid.high[k] = range[k + 3];
      grid.size[k] = size[k];
    }
    grid.width = static_cast<int64_t>(extent(0));
    grid.height = static_cast<int64_t>(extent(1));
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

}  // namespace
}  // namespace tenon::plugins::TENON_TARGET
