// Slices: strided copies where all samples lie inside; else copies by tables of positions, in which
// runs are found.
#include "ops/slice.h"

#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "common/physical.h"
#include "common/slice_ranges.h"
#include "cpu/kernels.h"
#include "cpu/strided_copy.h"
#include "ops/support/reference.h"

namespace tenon::cpu {
namespace {

using nvinfer1::SampleMode;

// Whether groups of channels stay whole.
bool keeps_groups(const SliceRange& range, const Shape& in, const Shape& out, Layout layout) {
  const int block = channel_block(layout);
  return block == 1
         || (range.start[1] % block == 0 && range.step[1] == 1
             && (out[1] % block == 0 || out[1] == in[1]));
}

// Along the axes as they lie in memory.
SliceRange physical_range(SliceRange range, Layout layout) {
  if (layout == Layout::kLinear) return range;
  if (layout == Layout::kChannelsLast) {
    for (Shape* list : {&range.start, &range.step}) {
      const int64_t channel = (*list)[1];
      list->erase(1);
      list->push_back(channel);
    }
  } else {
    range.start[1] /= channel_block(layout);
    range.start.push_back(0);
    range.step.push_back(1);
  }
  return range;
}

class SliceExecution final : public Execution {
 public:
  SliceExecution(const Slice& op, std::span<const TensorSpec> inputs, const TensorSpec& output)
      : op_(op),
        ranges_(op, inputs, output),
        in_(inputs[Slice::kData].shape),
        out_(output.shape),
        layout_(output.layout),
        bytes_(bytes_of(output.type, 1)),
        has_fill_(inputs.size() > Slice::kFill && inputs[Slice::kFill].present) {}

  // Tables of positions, in modes that leave the input.
  size_t scratch_bytes() const override {
    if (op_.mode == SampleMode::kSTRICT_BOUNDS) return 0;
    size_t positions = 0;
    for (const int64_t extent : out_) positions += static_cast<size_t>(extent);
    return positions * sizeof(int64_t);
  }

  void run(const RunArguments& arguments) override {
    if (out_.volume() == 0) return;
    const SliceRange range = ranges_.read(arguments);
    const auto* in = static_cast<const std::byte*>(arguments.inputs[Slice::kData]);
    if (op_.mode == SampleMode::kSTRICT_BOUNDS)
      copy_inside(range, in, arguments.outputs[0]);
    else
      copy_sampled(range.start, range.step, in, arguments);
  }

 private:
  void copy_inside(const SliceRange& range, const std::byte* from, void* to) const {
    require(keeps_groups(range, in_, out_, layout_), "the slice cuts channels of layout \"{}\"",
            name_of(layout_));
    const auto [start, step] = physical_range(range, layout_);
    const Shape out = physical_extents(out_, layout_);
    Shape strides = physical_extents(in_, layout_).strides();
    int64_t offset = 0;
    for (int axis = 0; axis < out.rank(); ++axis) {
      offset += start[axis] * strides[axis];
      // One sample needs no step, however long that is.
      strides[axis] = out[axis] == 1 ? 0 : strides[axis] * step[axis];
    }
    StridedCopy(out, strides, bytes_).run(from + offset * static_cast<int64_t>(bytes_), to);
  }

  // positions[0 .. out[axis]) of an axis; whether they count up from 0 to the input's end.
  bool fill_table(int axis, int64_t start, int64_t step, int64_t* positions) const {
    bool whole = in_[axis] == out_[axis];
    for (int64_t i = 0; i < out_[axis]; ++i) {
      positions[i] = sampled_position(start + i * step, in_[axis], op_.mode);
      whole = whole && positions[i] == i;
    }
    return whole;
  }

  void copy_sampled(const Shape& start, const Shape& step, const std::byte* in,
                    const RunArguments& arguments) const {
    const int64_t* tables[Shape::kMaxRank] = {};
    auto* workspace = static_cast<int64_t*>(arguments.scratch);
    int last = -1;  // the last axis that is not copied as it is
    for (int axis = 0; axis < in_.rank(); ++axis) {
      tables[axis] = workspace;
      if (!fill_table(axis, start[axis], step[axis], workspace)) last = axis;
      workspace += out_[axis];
    }
    const int64_t zero = 0;  // all bits zero is 0 in every type
    const void* fill = has_fill_ ? arguments.inputs[Slice::kFill] : &zero;
    const auto run = static_cast<int64_t>(bytes_) * out_.volume(last + 1, out_.rank());
    auto* out = static_cast<std::byte*>(arguments.outputs[0]);
    const int64_t row = last < 0 ? run : out_[last] * run;
    const int64_t grain = std::max<int64_t>(1, 65536 / row);
    parallel_for(out_.volume(0, std::max(last, 0)), grain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        int64_t from = 0, rest = i, stride = 1;
        bool filled = false;
        for (int axis = last - 1; axis >= 0; --axis) {
          const int64_t at = tables[axis][rest % out_[axis]];
          rest /= out_[axis];
          filled |= at == kOutside;
          from += at * stride;
          stride *= in_[axis];
        }
        if (last >= 0) from *= in_[last];
        copy_row(in + (filled ? 0 : from * run), last < 0 ? nullptr : tables[last],
                 last < 0 ? 1 : out_[last], run, filled, fill, out + i * row);
      }
    });
  }

  // `count` pieces of `run` bytes; those that follow each other are copied together.
  void copy_row(const std::byte* in, const int64_t* positions, int64_t count, int64_t run,
                bool filled, const void* fill, std::byte* out) const {
    if (positions == nullptr) {
      std::memcpy(out, in, static_cast<size_t>(run));
      return;
    }
    for (int64_t i = 0; i < count;) {
      int64_t end = i + 1;
      const bool is_fill = filled || positions[i] == kOutside;
      if (is_fill)
        while (end < count && (filled || positions[end] == kOutside)) ++end;
      else
        while (end < count && positions[end] == positions[end - 1] + 1) ++end;
      if (is_fill)
        fill_elements(out + i * run, (end - i) * run, fill);
      else if (end == i + 1 && run == sizeof(uint32_t))
        end = pick_backwards(in, positions, i, count, out);
      else
        std::memcpy(out + i * run, in + positions[i] * run, static_cast<size_t>((end - i) * run));
      i = end;
    }
  }

  // Words from number i on, as long as each lies before the last one, as in a reflection. Returns
  // where they end.
  static int64_t pick_backwards(const std::byte* in, const int64_t* positions, int64_t i,
                                int64_t count, std::byte* out) {
    int64_t at = positions[i];
    do {
      std::memcpy(out + i * int64_t{sizeof(uint32_t)}, in + at * int64_t{sizeof(uint32_t)},
                  sizeof(uint32_t));
      --at;
    } while (++i < count && at >= 0 && positions[i] == at);
    return i;
  }

  void fill_elements(std::byte* out, int64_t bytes, const void* fill) const {
    for (int64_t i = 0; i < bytes; i += static_cast<int64_t>(bytes_))
      std::memcpy(out + i, fill, bytes_);
  }

  const Slice& op_;
  SliceRanges ranges_;
  Shape in_, out_;
  Layout layout_;
  size_t bytes_;
  bool has_fill_;
};

class SliceKernel final : public Kernel {
 public:
  SliceKernel(const KernelRequest& request, Layout layout)
      : op_(static_cast<const Slice&>(request.op)) {
    input_layouts.assign(request.inputs.size(), Layout::kLinear);
    input_layouts[Slice::kData] = layout;
    output_layouts.assign(1, layout);
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<SliceExecution>(op_, inputs, outputs[0]);
  }

 private:
  Slice op_;
};

// Whether the slice can be taken in the layout in which the data arrives.
bool keeps_layout(const Slice& op, const KernelRequest& request) {
  const TensorSpec &in = request.inputs[Slice::kData], &out = request.outputs[0];
  if (op.mode != SampleMode::kSTRICT_BOUNDS || in.shape.rank() == Shape::kMaxRank) return false;
  if (channel_block(in.layout) == 1) return true;
  for (size_t i = 0; i < request.inputs.size(); ++i)
    if (i != Slice::kData && request.inputs[i].present) return false;  // known when it runs
  return keeps_groups(SliceRanges(op, request.inputs, out).read({}), in.shape, out.shape,
                      in.layout);
}

constexpr const char* kSubByte = "elements narrower than a byte are not supported";

}  // namespace

Offer offer_slice(const KernelRequest& request) {
  const TensorSpec& data = request.inputs[Slice::kData];
  if (bits_of(data.type) < 8) return kSubByte;
  const bool keeps = keeps_layout(static_cast<const Slice&>(request.op), request);
  return std::make_unique<SliceKernel>(request, keeps ? data.layout : Layout::kLinear);
}

Offer load_slice(const KernelRequest& request, const StoredKernel&) {
  const TensorSpec& data = request.inputs[Slice::kData];
  if (bits_of(data.type) < 8) return kSubByte;
  return std::make_unique<SliceKernel>(request, data.layout);
}

}  // namespace tenon::cpu
