// Maximum pooling of floats in any layout: the largest elements of a window's rows, then the
// largest of these. A NaN wins; oneDNN leaves it out, and begins with the lowest finite number.
#include <algorithm>
#include <limits>
#include <memory>

#include "base/parallel.h"
#include "common/physical.h"
#include "cpu/kernels.h"
#include "cpu/simd/kernels.h"
#include "ops/pooling.h"
#include "ops/support/window.h"

namespace tenon::cpu {
namespace {

constexpr float kLowest = -std::numeric_limits<float>::infinity();
constexpr int64_t kGrain = 16384;    // elements that are worth a thread
constexpr int64_t kMaxTaps = 65536;  // there is a table of them

int64_t rounded_up(int64_t a, int64_t b) {
  return a / b + (a % b > 0);
}

struct Axis {
  Window window;
  int64_t in = 1, out = 1;
};

/// The taps [begin, end) of the window at a position that lie in the data; tap t is at element
/// first + t * dilation.
struct Taps {
  int64_t first, begin, end;

  Taps(const Axis& axis, int64_t position)
      : first(position * axis.window.stride - axis.window.pre),
        begin(before(axis, 0)),
        end(before(axis, axis.in)) {}

 private:
  int64_t before(const Axis& axis, int64_t limit) const {
    return std::clamp<int64_t>(rounded_up(limit - first, axis.window.dilation), 0,
                               axis.window.kernel);
  }
};

class MaximumPoolingExecution final : public Execution {
 public:
  MaximumPoolingExecution(const Pooling& op, const TensorSpec& in, const TensorSpec& out)
      : step_(in.layout == Layout::kChannelsLast ? in.shape[1] : channel_block(in.layout)),
        groups_(in.layout == Layout::kChannelsLast ? 1 : rounded_up(in.shape[1], step_)),
        used_(in.shape[1] - (groups_ - 1) * step_) {
    const int axes = op.window.rank();
    const auto windows =
        make_windows(axes, op.window, op.stride, op.dilation, op.pre_padding, op.post_padding);
    for (int i = 0; i < axes; ++i) {
      Axis& axis = axes_[3 - axes + i];
      axis.in = in.shape[i + 2];
      axis.out = out.shape[i + 2];
      axis.window = resolved(windows[static_cast<size_t>(i)], axis.in, axis.out, op.padding_mode);
    }
    for (size_t i = 0; i < 3; ++i)
      for (int64_t position = 0; position < axes_[i].out; ++position)
        taps_[i].emplace_back(axes_[i], position);
    row_ = x().in * step_;
    rows_ = out.shape.volume() == 0 ? 0 : out.shape[0] * groups_ * z().out * y().out;
    tasks_ = std::min<int64_t>(rows_, 2 * int64_t{thread_count()});
    const auto offsets = [](const Window& w, int64_t step) {
      std::vector<int64_t> list;
      for (int64_t tap = 0; tap < w.kernel; ++tap) list.push_back(tap * w.dilation * step);
      return list;
    };
    x_offsets_ = offsets(x().window, step_);
    y_offsets_ = offsets(y().window, row_);
    const Window& w = x().window;
    const int64_t last = x().in - w.reach() + w.pre;  // where the last window inside begins
    inside_ = std::min(rounded_up(w.pre, w.stride), x().out);
    inside_end_ = last < 0 ? inside_ : std::clamp(last / w.stride + 1, inside_, x().out);
  }

  size_t scratch_bytes() const override {
    return static_cast<size_t>(tasks_ * row_) * sizeof(float);
  }

  void run(const RunArguments& arguments) override {
    const auto* in = static_cast<const float*>(arguments.inputs[0]);
    auto* out = static_cast<float*>(arguments.outputs[0]);
    auto* scratch = static_cast<float*>(arguments.scratch);
    const int64_t work =
        row_ * z().window.kernel * y().window.kernel + x().out * step_ * x().window.kernel;
    const int64_t rows_of_task = rounded_up(rows_, std::max<int64_t>(tasks_, 1));
    const int64_t grain = std::max<int64_t>(1, kGrain / std::max<int64_t>(work * rows_of_task, 1));
    parallel_for(tasks_, grain, [&](int64_t begin, int64_t end) {
      for (int64_t task = begin; task < end; ++task) {
        const Share share = share_of(rows_, task, tasks_);
        for (int64_t row = share.first; row < share.end; ++row)
          run_row(row, in, out, scratch + task * row_);
      }
    });
  }

 private:
  const Axis& z() const { return axes_[0]; }
  const Axis& y() const { return axes_[1]; }
  const Axis& x() const { return axes_[2]; }

  void run_row(int64_t row, const float* in, float* out, float* buffer) const {
    const int64_t plane = row / (z().out * y().out);
    const float* from = in + plane * z().in * y().in * row_;
    float* to = out + row * x().out * step_;
    const float* largest = rows_under(from, row / y().out % z().out, row % y().out, buffer);
    if (largest == nullptr) {
      std::fill_n(to, x().out * step_, kLowest);
    } else {
      for (int64_t i = 0; i < inside_; ++i) edge(largest, i, to);
      if (inside_ < inside_end_)
        simd_.maxima(largest + (inside_ * x().window.stride - x().window.pre) * step_,
                     x_offsets_.data(), x().window.kernel, inside_end_ - inside_,
                     x().window.stride * step_, step_, to + inside_ * step_);
      for (int64_t i = inside_end_; i < x().out; ++i) edge(largest, i, to);
    }
    if (used_ == step_ || (plane + 1) % groups_ != 0) return;
    for (int64_t i = 0; i < x().out; ++i)  // padding channels
      std::fill_n(to + i * step_ + used_, step_ - used_, 0.f);
  }

  /// The largest elements of the rows under a window; null if there are none.
  const float* rows_under(const float* plane, int64_t z_position, int64_t y_position,
                          float* buffer) const {
    const Taps& over_z = taps_[0][static_cast<size_t>(z_position)];
    const Taps& over_y = taps_[1][static_cast<size_t>(y_position)];
    if (over_z.begin >= over_z.end || over_y.begin >= over_y.end) return nullptr;
    const int64_t count = over_y.end - over_y.begin;
    const auto first_row = [&](int64_t tap) {
      return plane + ((over_z.first + tap * z().window.dilation) * y().in + over_y.first) * row_;
    };
    const float* first = first_row(over_z.begin);
    if (count == 1 && over_z.end - over_z.begin == 1) return first + y_offsets_[over_y.begin];
    simd_.maxima(first, y_offsets_.data() + over_y.begin, count, 1, 0, row_, buffer);
    for (int64_t slice = over_z.begin + 1; slice < over_z.end; ++slice)
      for (int64_t tap = over_y.begin; tap < over_y.end; ++tap)
        simd_.fold[static_cast<size_t>(nvinfer1::ReduceOperation::kMAX)](
            buffer, first_row(slice) + y_offsets_[tap], row_);
    return buffer;
  }

  /// A window that reaches over the edge of the row.
  void edge(const float* row, int64_t position, float* to) const {
    const Taps& taps = taps_[2][static_cast<size_t>(position)];
    to += position * step_;
    if (taps.begin >= taps.end)
      std::fill_n(to, step_, kLowest);
    else
      simd_.maxima(row + taps.first * step_, x_offsets_.data() + taps.begin, taps.end - taps.begin,
                   1, 0, step_, to);
  }

  const SimdKernels& simd_ = simd_kernels();
  Axis axes_[3];
  std::vector<Taps> taps_[3];     // of each position
  int64_t step_, groups_, used_;  // floats of an element; such groups of channels; of the last one
  int64_t row_ = 0;               // floats of a row of the data
  int64_t rows_ = 0, tasks_ = 0;
  int64_t inside_ = 0, inside_end_ = 0;  // the windows of a row that do not reach over its edges
  std::vector<int64_t> x_offsets_, y_offsets_;  // of the taps
};

class MaximumPoolingKernel final : public Kernel {
 public:
  explicit MaximumPoolingKernel(const Pooling& op) : op_(op) {}
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<MaximumPoolingExecution>(op_, inputs[0], outputs[0]);
  }

 private:
  Pooling op_;
};

}  // namespace

Offer offer_maximum_pooling(const KernelRequest& request) {
  const auto& op = static_cast<const Pooling&>(request.op);
  const TensorSpec& data = request.inputs[0];
  if (op.type != nvinfer1::PoolingType::kMAX) return "only maxima are supported";
  if (op.indices != PoolingIndices::kNone) return "indices of maxima are not supported";
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  const int axes = op.window.rank();
  if (axes < 1 || axes > 3 || data.shape.rank() != axes + 2)
    return "only tensors (N,C,spatial...) with one to three spatial axes are supported";
  for (const int64_t taps : op.window)
    if (taps > kMaxTaps) return "only windows of up to 65536 elements along an axis are supported";
  auto kernel = std::make_unique<MaximumPoolingKernel>(op);
  kernel->input_layouts.assign(1, data.layout);
  kernel->output_layouts.assign(1, data.layout);
  return kernel;
}

}  // namespace tenon::cpu
