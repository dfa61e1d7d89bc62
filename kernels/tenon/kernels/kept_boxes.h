/// The boxes that were kept so far, and whether a further one overlaps any of them too much.
#pragma once

#include <tenon/plugin/device.h>

#include <bit>
#include <cfloat>

#include "tenon/kernels/wide_vectors.h"
#include "tenon/kernels/workspace.h"

namespace tenon::kernels::inline TENON_TARGET {

/// a * b, rounded by itself: compilers may fuse products with sums, and targets would differ.
TENON_HD inline float rounded_product(float a, float b) {
#if defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

/// Covers [x1, x2) x [y1, y2); the two axes may be swapped.
struct Box {
  float x1, y1, x2, y2;

  TENON_HD float area() const { return rounded_product(x2 - x1, y2 - y1); }
};

/// What two boxes share, divided by what they cover together, exceeds `threshold`. The areas are
/// theirs. NaNs, infinite areas and boxes without an inside overlap nothing.
TENON_HD inline bool overlap(const Box& a, float area_a, const Box& b, float area_b,
                             float threshold) {
  const float width = (a.x2 < b.x2 ? a.x2 : b.x2) - (a.x1 > b.x1 ? a.x1 : b.x1);
  const float height = (a.y2 < b.y2 ? a.y2 : b.y2) - (a.y1 > b.y1 ? a.y1 : b.y1);
  const float common = rounded_product(width, height);
  return width > 0 && height > 0 && common / (area_a + area_b - common) > threshold;
}

#if defined(__CUDACC__)

/// Whether `box` is dropped after `kept`.
TENON_HD inline bool suppresses(const Box& kept, const Box& box, float threshold) {
  return overlap(kept, kept.area(), box, box.area(), threshold);
}

#else

/// Few boxes are compared with all. More lie in grids of cells, each axis for itself: a box is
/// entered in the cells that it touches of the grid whose cells are about as large as the box. Two
/// boxes that overlap by more than `threshold` share more than that part of either's width and
/// height. So their widths differ by less than a factor of 1 / most, and what they share meets the
/// middle of both: a few cells of a few grids have all that can matter. Cells are found by a hash,
/// and those that share a slot in its table do no harm, as boxes are always compared themselves.
class KeptBoxes {
 public:
  using Type = Box;

  // Some boxes, an array per coordinate so that they are compared at a time. Those that are not
  // used are empty.
  template <int size> struct Boxes {
    float x1[size], y1[size], x2[size], y2[size], area[size];

    void set(int64_t i, const Box& box, float its_area) {
      x1[i] = box.x1;
      y1[i] = box.y1;
      x2[i] = box.x2;
      y2[i] = box.y2;
      area[i] = its_area;
    }
    bool overlaps(const Box& box, float its_area, float threshold) const {
      int found = 0;
      for (int i = 0; i < size; ++i) {
        const float width = std::min(x2[i], box.x2) - std::max(x1[i], box.x1);
        const float height = std::min(y2[i], box.y2) - std::max(y1[i], box.y1);
        const float common = width * height;
        const float ratio = common / (area[i] + its_area - common);
        found |= static_cast<int>(width > 0) & static_cast<int>(height > 0)
                 & static_cast<int>(ratio > threshold);
      }
      return found != 0;
    }
  };
  using Block = Boxes<16>;
  struct Cell : Boxes<4> {
    static constexpr uint32_t kSize = 4;
    uint32_t count, next;
  };
  struct Memory {
    Block* all;
    Cell* cells;
    uint32_t* heads;

    /// Enough for `kept` boxes.
    static Memory carve(Carver& carver, int64_t kept) {
      Memory m;
      m.all = carver.array<Block>(kept / kBlock + 1);
      m.cells = carver.array<Cell>(kCellsOfBox * kept + 1);
      m.heads = carver.array<uint32_t>(int64_t{1} << slot_bits(kept));
      return m;
    }
  };

  /// Of `kept` boxes at most.
  KeptBoxes(const Memory& memory, int64_t kept, float threshold)
      : memory_(memory), threshold_(threshold), slot_bits_(slot_bits(kept)) {
    with_wide_vectors([&](auto width) { few_ = kFew * width(); });
  }

  bool overlaps(const Box& box) const {
    const float area = box.area();
    if (!has_inside(box, area)) return false;
    // Tiny areas are not exact enough for what the grids rely on.
    constexpr float kTiny = 0x1p-80f;
    Levels across, down;
    if (count_ <= few_ || area < kTiny || !across.find(box.x1, box.x2, threshold_)
        || !down.find(box.y1, box.y2, threshold_))
      return overlaps_any(box, area);
    for (int v = 0; v < down.count; ++v)
      for (int h = 0; h < across.count; ++h)
        if (overlaps_in(across.level[h], down.level[v], box, area)) return true;
    return false;
  }

  void add(const Box& box) {
    const float area = box.area();
    if (!has_inside(box, area)) return;
    Block& last = memory_.all[count_ / kBlock];
    if (count_ % kBlock == 0) last = {};
    last.set(count_ % kBlock, box, area);
    ++count_;
    if (count_ == few_ + 1) {
      std::fill_n(memory_.heads, int64_t{1} << slot_bits_, 0u);
      for (int64_t i = 0; i < count_; ++i) enter(i);
    } else if (count_ > few_) {
      enter(count_ - 1);
    }
  }

 private:
  static constexpr int64_t kBlock = 16, kCellsOfBox = 4;
  static constexpr int64_t kFew = 64;  // for each element of a vector

  // Cells of one axis, of a grid with cells of 2^exponent.
  struct Level {
    int exponent;
    int64_t begin, end;
  };
  struct Levels {
    static constexpr int kMaxLevels = 8;
    Level level[kMaxLevels];
    int count = 0;

    // Where boxes lie that share more than `threshold` with [low, high); false when it is too much.
    bool find(float low, float high, float threshold) {
      const double part = 0.99 * threshold;  // boxes may overlap by a little less: sums are rounded
      const double width = static_cast<double>(high) - low, middle = low + width / 2;
      const int first = exponent_above(static_cast<float>(width * part));
      count = exponent_above(static_cast<float>(width / part)) - first + 1;
      if (count > kMaxLevels) return false;
      const double begin = std::min(middle, low + width * part);
      const double end = std::max(middle, high - width * part);
      for (int i = 0; i < count; ++i)
        level[i] = {first + i, cell_at(begin, first + i), cell_at(end, first + i) + 1};
      return true;
    }
  };

  static int slot_bits(int64_t kept) {
    return static_cast<int>(std::bit_width(static_cast<uint64_t>(std::max<int64_t>(2 * kept, 2))));
  }
  static bool has_inside(const Box& box, float area) {
    return box.x2 > box.x1 && box.y2 > box.y1 && area > 0 && area <= FLT_MAX;
  }
  // 2^exponent is above a positive number.
  static int exponent_above(float x) {
    return static_cast<int>(std::bit_cast<uint32_t>(x) >> 23) - 126;
  }
  static int64_t cell_at(double x, int exponent) {
    const double at = x * std::bit_cast<double>(static_cast<uint64_t>(1023 - exponent) << 52);
    const auto cell = static_cast<int64_t>(at);
    return cell - (at < static_cast<double>(cell));
  }

  uint32_t& head(int x_exponent, int64_t x, int y_exponent, int64_t y) const {
    const auto level = static_cast<uint64_t>(x_exponent * 1024 + y_exponent);
    const uint64_t key =
        (level * 0x165667b19e3779f9u + static_cast<uint64_t>(x)) * 0xc2b2ae3d27d4eb4fu
        + static_cast<uint64_t>(y);
    return memory_.heads[key * 0x9e3779b97f4a7c15u >> (64 - slot_bits_)];
  }

  bool overlaps_in(const Level& across, const Level& down, const Box& box, float area) const {
    for (int64_t y = down.begin; y < down.end; ++y)
      for (int64_t x = across.begin; x < across.end; ++x)
        for (uint32_t i = head(across.exponent, x, down.exponent, y); i != 0;) {
          const Cell& cell = memory_.cells[i];
          if (cell.overlaps(box, area, threshold_)) return true;
          i = cell.next;
        }
    return false;
  }

  void enter(int64_t i) {
    const Block& from = memory_.all[i / kBlock];
    const int64_t l = i % kBlock;
    const Box box{from.x1[l], from.y1[l], from.x2[l], from.y2[l]};
    const int h = exponent_above(box.x2 - box.x1), v = exponent_above(box.y2 - box.y1);
    for (int64_t y = cell_at(box.y1, v); y <= cell_at(box.y2, v); ++y)
      for (int64_t x = cell_at(box.x1, h); x <= cell_at(box.x2, h); ++x) {
        uint32_t& first = head(h, x, v, y);
        if (first == 0 || memory_.cells[first].count == Cell::kSize) {
          memory_.cells[++cells_] = {};
          memory_.cells[cells_].next = first;
          first = cells_;
        }
        Cell& cell = memory_.cells[first];
        cell.set(cell.count++, box, from.area[l]);
      }
  }

  bool overlaps_any(const Box& box, float area) const {
    constexpr int64_t kStride = 16;  // blocks
    const int64_t blocks = (count_ + kBlock - 1) / kBlock;
    // Smaller products are not exact enough.
    const bool skips = threshold_ == 0 || threshold_ * area >= FLT_MIN;
    for (int64_t first = 0; first < blocks; first += kStride) {
      const int64_t end = std::min(blocks, first + kStride);
      if (skips && !may_overlap(first, end, box, area)) continue;
      for (int64_t i = first; i < end; ++i)
        if (memory_.all[i].overlaps(box, area, threshold_)) return true;
    }
    return false;
  }

  // False only where nothing in some blocks overlaps `box` by more than `threshold`: products say
  // so without a division, with a margin for their rounding.
  bool may_overlap(int64_t begin, int64_t end, const Box& box, float area) const {
    bool found = false;
    with_wide_vectors([&, all = memory_.all, threshold = threshold_](auto width) {
      using V = Vector<width()>;
      const float share = (1 + threshold) * (1 + 0x1p-18f);
      const V zero = {}, x1 = box.x1 + zero, y1 = box.y1 + zero, x2 = box.x2 + zero,
              y2 = box.y2 + zero;
      V excess = zero;
      for (int64_t i = begin; i < end; ++i)
        for (int k = 0; k < kBlock; k += width()) {
          const auto part = [k](const float* of) -> const V& {
            return *reinterpret_cast<const V*>(of + k);
          };
          const Block& b = all[i];
          const V left = part(b.x1), top = part(b.y1), right = part(b.x2), bottom = part(b.y2);
          const V across = (right < x2 ? right : x2) - (left > x1 ? left : x1);
          const V down = (bottom < y2 ? bottom : y2) - (top > y1 ? top : y1);
          const V common = across * (zero > down ? zero : down);
          const V by = common * share - (part(b.area) + area) * threshold;
          excess = by > excess ? by : excess;
        }
      for (int k = 0; k < width(); ++k) found |= excess[k] > 0;
    });
    return found;
  }

  Memory memory_;
  float threshold_;
  int slot_bits_;
  int64_t count_ = 0, few_ = 0;
  uint32_t cells_ = 0;
};

#endif

}  // namespace tenon::kernels::inline TENON_TARGET
