#include "cpu/resize_passes.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/simd/kernels.h"
#include "cpu/strided_copy.h"

namespace tenon::cpu {
namespace {

constexpr int64_t kElementsPerTask = 16384;

int32_t position_of(int64_t position) {
  require(position <= std::numeric_limits<int32_t>::max(),
          "an axis of {} elements is too long to be resized", position);
  return static_cast<int32_t>(position);
}

bool counts_up(const std::vector<int64_t>& positions, int64_t extent) {
  for (size_t i = 0; i < positions.size(); ++i)
    if (positions[i] != static_cast<int64_t>(i)) return false;
  return static_cast<int64_t>(positions.size()) == extent;
}

class NearestPasses final : public ResizePasses {
 public:
  explicit NearestPasses(size_t bytes) : bytes_(static_cast<int64_t>(bytes)) {}

  void reserve(const Shape& in, const Shape& out) override {
    in_ = in;
    out_ = out;
  }

  void make_tables(const Resize& op, const std::vector<AxisResize>& axes, Layout layout) override {
    Shape in, out;
    for (const AxisResize& a : axes) {
      in.push_back(a.in);
      out.push_back(a.out);
    }
    reserve(physical_extents(in, layout), physical_extents(out, layout));
    rows_.clear();
    run_ = bytes_;
    const auto physical = physical_axes(axes, in_, layout);
    int axis = in_.rank() - 1;
    std::vector<int64_t> table;
    // The axes after the last one that changes move as one.
    for (; axis >= 0; --axis) {
      table = nearest_positions(op, physical[static_cast<size_t>(axis)]);
      if (!counts_up(table, in_[axis])) break;
      run_ *= in_[axis];
    }
    last_.clear();
    last_in_ = axis < 0 ? 1 : in_[axis];
    if (axis < 0) table = {0};
    for (int64_t p : table) last_.push_back(position_of(p));
    // All axes before it, as one list of input rows.
    rows_ = {0};
    for (int i = 0; i < axis; ++i) {
      const auto positions = nearest_positions(op, physical[static_cast<size_t>(i)]);
      std::vector<int64_t> rows;
      rows.reserve(rows_.size() * positions.size());
      for (int64_t row : rows_)
        for (int64_t p : positions) rows.push_back(row * in_[i] + p);
      rows_ = std::move(rows);
    }
  }

  size_t scratch_bytes() const override { return 0; }

  void run(const void* in, void* out, void*) const override {
    const auto* from = static_cast<const std::byte*>(in);
    auto* to = static_cast<std::byte*>(out);
    const int64_t row = static_cast<int64_t>(last_.size()) * run_;
    const int64_t grain = std::max<int64_t>(1, 4 * kElementsPerTask / std::max<int64_t>(row, 1));
    parallel_for(static_cast<int64_t>(rows_.size()), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const int64_t source = rows_[static_cast<size_t>(i)];
        // A row that comes twice is still in the cache.
        if (i > begin && rows_[static_cast<size_t>(i - 1)] == source)
          std::memcpy(to + i * row, to + (i - 1) * row, static_cast<size_t>(row));
        else
          copy_row(from + source * last_in_ * run_, to + i * row);
      }
    });
  }

 private:
  void copy_row(const std::byte* from, std::byte* to) const {
    const auto pick = [&](auto zero) {
      using T = decltype(zero);
      for (size_t i = 0; i < last_.size(); ++i)
        reinterpret_cast<T*>(to)[i] = reinterpret_cast<const T*>(from)[last_[i]];
    };
    switch (run_) {
      case 1:
        return pick(uint8_t{});
      case 2:
        return pick(uint16_t{});
      case 4:
        return simd_kernels().pick(reinterpret_cast<const uint32_t*>(from), last_.data(),
                                   static_cast<int64_t>(last_.size()),
                                   reinterpret_cast<uint32_t*>(to));
      case 64:  // a block of sixteen floats
        for (const int32_t p : last_) {
          std::memcpy(to, from + int64_t{p} * 64, 64);
          to += 64;
        }
        return;
      default:
        for (const int32_t p : last_) {
          std::memcpy(to, from + p * run_, static_cast<size_t>(run_));
          to += run_;
        }
    }
  }

  int64_t bytes_, run_ = 1, last_in_ = 1;
  Shape in_, out_;
  std::vector<int64_t> rows_;
  std::vector<int32_t> last_;
};

// One axis of an interpolation, (outer, in, inner) to (outer, out, inner).
struct Pass {
  int axis = 0;
  int64_t outer = 1, in = 1, out = 1, inner = 1;
  bool is_copy = true;
  // Few inner elements: taps of all (out * inner) elements of a row, [taps][out * inner].
  int64_t taps = 0;
  std::vector<int32_t> positions;
  std::vector<float> weights;
  // Else: taps of position x are [first[x], first[x + 1]).
  std::vector<size_t> first;
  std::vector<int64_t> offsets;

  bool gathers() const { return inner < 8; }
};

void fill_gathered(Pass& pass, const AxisTaps& taps) {
  size_t max_taps = 1;
  for (const auto& list : taps) max_taps = std::max(max_taps, list.size());
  const auto n = static_cast<size_t>(pass.out * pass.inner);
  pass.taps = static_cast<int64_t>(max_taps);
  pass.positions.assign(max_taps * n, 0);
  pass.weights.assign(max_taps * n, 0.f);
  for (size_t x = 0; x < taps.size(); ++x) {
    auto list = taps[x];
    // Half of the last weight is exact, where a weight of 0 would turn infinities into NaNs.
    while (list.size() < max_taps && !list.empty()) {
      list.back().weight /= 2;
      list.push_back(list.back());
    }
    for (size_t t = 0; t < list.size(); ++t)
      for (int64_t k = 0; k < pass.inner; ++k) {
        const size_t at = t * n + x * static_cast<size_t>(pass.inner) + static_cast<size_t>(k);
        pass.positions[at] = position_of(list[t].position * pass.inner + k);
        pass.weights[at] = static_cast<float>(list[t].weight);
      }
  }
}

void fill_mixed(Pass& pass, const AxisTaps& taps) {
  pass.first.assign(1, 0);
  pass.offsets.clear();
  pass.weights.clear();
  for (const auto& list : taps) {
    for (const Tap& tap : list) {
      pass.offsets.push_back(tap.position * pass.inner);
      pass.weights.push_back(static_cast<float>(tap.weight));
    }
    if (list.empty()) {  // all taps fell outside
      pass.offsets.push_back(0);
      pass.weights.push_back(0);
    }
    pass.first.push_back(pass.offsets.size());
  }
}

void run_pass(const Pass& p, const float* in, float* out) {
  const SimdKernels& kernels = simd_kernels();
  const int64_t row = p.out * p.inner;
  if (p.gathers()) {
    const int64_t grain = std::max<int64_t>(1, kElementsPerTask / std::max<int64_t>(row, 1));
    parallel_for(p.outer, grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        kernels.gather_taps(in + i * p.in * p.inner, p.positions.data(), p.weights.data(), p.taps,
                            row, out + i * row);
    });
    return;
  }
  const int64_t grain = std::max<int64_t>(1, kElementsPerTask / p.inner);
  parallel_for(p.outer * p.out, grain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto x = static_cast<size_t>(i % p.out);
      const size_t first = p.first[x];
      kernels.mix_rows(in + i / p.out * p.in * p.inner, &p.offsets[first], &p.weights[first],
                       static_cast<int64_t>(p.first[x + 1] - first), p.inner, out + i * p.inner);
    }
  });
}

class InterpolationPasses final : public ResizePasses {
 public:
  // Which axes change is not known yet: room for all.
  void reserve(const Shape& in, const Shape& out) override {
    plan(in, out);
    keeps_workspace_ = true;
    buffers_ = 2;
    workspace_ = 0;
    for (const Pass& p : passes_) workspace_ = std::max(workspace_, p.outer * p.out * p.inner);
  }

  void make_tables(const Resize& op, const std::vector<AxisResize>& axes, Layout layout) override {
    Shape in, out;
    for (const AxisResize& a : axes) {
      in.push_back(a.in);
      out.push_back(a.out);
    }
    const Shape extents = physical_extents(in, layout);
    plan(extents, physical_extents(out, layout));
    const auto physical = physical_axes(axes, extents, layout);
    for (Pass& p : passes_) {
      const AxisResize& axis = physical[static_cast<size_t>(p.axis)];
      const AxisTaps taps = interpolation_taps(op, axis);
      p.is_copy = is_identity(taps, axis);
      if (p.is_copy) continue;
      if (p.gathers())
        fill_gathered(p, taps);
      else
        fill_mixed(p, taps);
    }
    std::erase_if(passes_, [](const Pass& p) { return p.is_copy; });
    total_ = extents.volume();
    if (keeps_workspace_) return;
    buffers_ = std::clamp<size_t>(passes_.size(), 1, 3) - 1;
    for (size_t i = 0; i + 1 < passes_.size(); ++i)
      workspace_ = std::max(workspace_, passes_[i].outer * passes_[i].out * passes_[i].inner);
  }

  size_t scratch_bytes() const override {
    return buffers_ * static_cast<size_t>(workspace_) * sizeof(float);
  }

  void run(const void* in, void* out, void* scratch) const override {
    const auto* from = static_cast<const float*>(in);
    if (passes_.empty()) {
      const Shape all = {total_}, one = {1};
      return StridedCopy(all, one, sizeof(float)).run(in, out);
    }
    auto* const buffers = static_cast<float*>(scratch);
    for (size_t i = 0; i < passes_.size(); ++i) {
      const bool is_last = i + 1 == passes_.size();
      float* to =
          is_last ? static_cast<float*>(out) : buffers + static_cast<int64_t>(i % 2) * workspace_;
      run_pass(passes_[i], from, to);
      from = to;
    }
  }

 private:
  // Shrinking comes first, and growing from the innermost axis: later passes see fewer elements.
  void plan(const Shape& in, const Shape& out) {
    std::vector<int> order;
    for (int i = in.rank() - 1; i >= 0; --i) order.push_back(i);
    const auto ratio = [&](int i) {
      return std::min(
          1.0, static_cast<double>(out[i]) / static_cast<double>(std::max<int64_t>(in[i], 1)));
    };
    std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return ratio(a) < ratio(b); });
    passes_.clear();
    Shape shape = in;
    for (const int axis : order) {
      Pass p;
      p.axis = axis;
      p.outer = shape.volume(0, axis);
      p.in = in[axis];
      p.out = out[axis];
      p.inner = shape.volume(axis + 1, shape.rank());
      shape[axis] = out[axis];
      passes_.push_back(std::move(p));
    }
  }

  std::vector<Pass> passes_;
  bool keeps_workspace_ = false;
  size_t buffers_ = 0;                 // of scratch memory, used in turn
  int64_t workspace_ = 0, total_ = 0;  // elements of one; elements of the input
};

}  // namespace

std::vector<AxisResize> physical_axes(const std::vector<AxisResize>& axes, const Shape& in,
                                      Layout layout) {
  std::vector<AxisResize> out = axes;
  if (layout == Layout::kChannelsLast) {
    std::rotate(out.begin() + 1, out.begin() + 2, out.end());
  } else if (const int block = channel_block(layout); block > 1) {
    require(axes[1].in == axes[1].out && axes[1].scale == 1,
            "channels in layout \"{}\" cannot be resized from {} to {}", name_of(layout),
            axes[1].in, axes[1].out);
    out[1].in = out[1].out = in[1];
    out.push_back({block, block, 1, 0, 1});
  }
  return out;
}

std::unique_ptr<ResizePasses> nearest_passes(size_t bytes) {
  return std::make_unique<NearestPasses>(bytes);
}

std::unique_ptr<ResizePasses> interpolation_passes() {
  return std::make_unique<InterpolationPasses>();
}

}  // namespace tenon::cpu
