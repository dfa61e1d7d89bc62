// Deconvolution whose windows do not overlap (the kernel is as large as the stride): a matrix
// product, each of whose rows goes to every so many pixels of the result.
#include "ops/deconvolution.h"

#include <algorithm>

#include "base/error.h"
#include "base/function_ref.h"
#include "base/parallel.h"
#include "cpu/convolution/block_convolution.h"
#include "cpu/kernels.h"
#include "cpu/window.h"

namespace tenon::cpu {
namespace {

constexpr int kAxes = 3;

/// Extents of the attributes: the weights are (groups, channels, output channels, window).
struct Sizes {
  int64_t groups, channels, output_channels, window;

  Sizes(const Deconvolution& op, int64_t all_channels)
      : groups(op.groups),
        channels(all_channels / op.groups),
        output_channels(op.output_channels / op.groups),
        window(op.kernel.volume()) {}
  int64_t rows() const { return output_channels * window; }
  int64_t count() const { return groups * rows() * channels; }
};

/// As (groups, output channels, window, channels), which is what the product reads.
void turn_weights(const Sizes& s, const float* from, float* to) {
  const int64_t rows = s.rows();
  parallel_for(s.groups * rows, std::max<int64_t>(1, (1 << 14) / s.channels),
               [&](int64_t first, int64_t end) {
                 for (int64_t i = first; i < end; ++i) {
                   const float* column = from + i / rows * s.channels * rows + i % rows;
                   for (int64_t c = 0; c < s.channels; ++c)
                     to[i * s.channels + c] = column[c * rows];
                 }
               });
}

class DeconvolutionExecution final : public BlockExecution {
 public:
  /// `turned`: the weights in the product's order, or null when they arrive with each run.
  DeconvolutionExecution(const Deconvolution& op, const float* turned,
                         std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution(op.epilogue, inputs, output),
        simd_(simd_kernels()),
        sizes_(op, inputs[0].shape[1]),
        turned_(turned),
        turns_(turned == nullptr) {
    const Shape &data = inputs[0].shape, &result = output.shape;
    const int rank = op.kernel.rank() + 2;
    require(data.rank() == rank && result.rank() == rank && data[1] > 0 && data[1] % op.groups == 0
                && result[1] == op.output_channels && result[0] == data[0],
            "shapes {} of X and {} of Y do not fit kernel_shape, strides, pads and dilations", data,
            result);
    batch_ = data[0];
    set_axes(op, data, result);
    require(inputs[1].shape.volume() == sizes_.count(), "weights of shape {}, expected {} elements",
            inputs[1].shape, sizes_.count());
    has_bias_ = inputs.size() > 2 && inputs[2].present;
    require(!has_bias_ || inputs[2].shape.volume() == op.output_channels,
            "a bias of shape {}, expected {}", has_bias_ ? inputs[2].shape : Shape{},
            op.output_channels);
    split();
  }

 protected:
  void begin(const RunArguments& arguments, float* shared) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    bias_ = has_bias_ ? static_cast<const float*>(arguments.inputs[2]) : nullptr;
    result_ = static_cast<float*>(arguments.outputs[0]);
    if (!turns_) return;
    turn_weights(sizes_, static_cast<const float*>(arguments.inputs[1]), shared);
    turned_ = shared;
  }

  // Some output channels of one group and image, for a block of the pixels of the data.
  void run_task(int64_t task, float* workspace) const override {
    const auto t = tasks_[task];
    for (int64_t m = t.first_column; m < t.end_column; m += per_panel_)
      run_panel(t, m, std::min(per_panel_, t.end_column - m), workspace);
  }

 private:
  void run_panel(const Partition::Task& t, int64_t first_of_panel, int64_t output_channels,
                 float* workspace) const {
    const int64_t first = t.first_block * kProductPanel;
    const int64_t columns = std::min(t.end_block * kProductPanel, pixels_) - first;
    const int64_t group = t.image % sizes_.groups, image = t.image / sizes_.groups;
    const int64_t output_channel = group * sizes_.output_channels + first_of_panel;
    float* const tile = workspace + block_ * part_;
    for (int64_t m = 0; m < output_channels; ++m)
      std::fill_n(tile + m * sizes_.window * block_, sizes_.window * block_,
                  bias_ != nullptr ? bias_[output_channel + m] : 0.f);
    for (int64_t c = 0; c < sizes_.channels; c += part_) {
      const int64_t part = std::min(part_, sizes_.channels - c);
      pack(data_ + ((image * sizes_.groups + group) * sizes_.channels + c) * pixels_ + first, part,
           columns, workspace);
      simd_.add_product(turned_ + output_channel * sizes_.window * sizes_.channels + c,
                        sizes_.channels, output_channels * sizes_.window, workspace, part, tile,
                        block_, columns);
    }
    for (int64_t m = 0; m < output_channels; ++m)
      spread(tile + m * sizes_.window * block_, first, columns,
             result_
                 + (image * sizes_.groups * sizes_.output_channels + output_channel + m) * out_[0]
                       * out_[1] * out_[2]);
  }

  void set_axes(const Deconvolution& op, const Shape& data, const Shape& result) {
    const auto windows = op.windows();
    const size_t added = kAxes - windows.size();
    for (size_t i = 0; i < windows.size(); ++i) {
      const auto axis = static_cast<int>(i);
      const int64_t extra = op.output_padding.rank() > axis ? op.output_padding[axis] : 0;
      in_[added + i] = data[axis + 2];
      out_[added + i] = result[axis + 2];
      const Window w =
          resolved_transposed(windows[i], data[axis + 2], result[axis + 2], extra, op.padding_mode);
      require(w.kernel == w.stride && w.reach() == w.kernel,
              "windows that overlap, or leave gaps, are not supported");
      require(data[axis + 2] * w.stride - w.pre >= result[axis + 2],
              "output padding that no window reaches is not supported");
      windows_[added + i] = w;
    }
    pixels_ = in_[0] * in_[1] * in_[2];
  }

  void split() {
    const int64_t window = sizes_.window, bytes = sizeof(float);
    part_ = product_depth(sizes_.channels, 1);
    per_panel_ = product_depth(sizes_.output_channels * window, window) / window;
    const int64_t held = part_ + per_panel_ * window,
                  products = per_panel_ * window * sizes_.channels;
    tasks_ = Partition({.images = batch_ * sizes_.groups,
                        .blocks = units(pixels_, kProductPanel),
                        .columns = sizes_.output_channels,
                        .panel = per_panel_,
                        .products = static_cast<double>(kProductPanel * products),
                        .block_bytes = kProductPanel * sizes_.channels * bytes,
                        .panel_bytes = products * bytes,
                        .held_bytes = kProductPanel * held * bytes});
    block_ = tasks_.blocks() * kProductPanel;
    const double work = static_cast<double>(batch_ * pixels_) * static_cast<double>(sizes_.count());
    set_tasks(tasks_.count(), work, block_ * held, turns_ ? sizes_.count() : 0);
  }

  // Panels of `columns` pixels: channel, pixel.
  void pack(const float* data, int64_t channels, int64_t columns, float* panels) const {
    for (int64_t j = 0; j < columns; j += kProductPanel) {
      const int64_t count = std::min(kProductPanel, columns - j);
      float* to = panels + j * channels;
      for (int64_t c = 0; c < channels; ++c, to += kProductPanel) {
        std::copy_n(data + c * pixels_ + j, count, to);
        std::fill(to + count, to + kProductPanel, 0.f);
      }
    }
  }

  // The rows of one output channel, each of which belongs to a place in the window, into its plane.
  void spread(const float* rows, int64_t first, int64_t columns, float* plane) const {
    for (int64_t j = 0; j < columns;) {
      const int64_t pixel = first + j, x = pixel % in_[2];
      const int64_t count = std::min(columns - j, in_[2] - x);
      const int64_t origin_z = pixel / in_[2] / in_[1] * windows_[0].stride - windows_[0].pre;
      const int64_t origin_y = pixel / in_[2] % in_[1] * windows_[1].stride - windows_[1].pre;
      const float* from = rows + j;
      for (int64_t kz = 0; kz < windows_[0].kernel; ++kz)
        for (int64_t ky = 0; ky < windows_[1].kernel; ++ky) {
          const int64_t z = origin_z + kz, y = origin_y + ky;
          const bool is_inside = z >= 0 && z < out_[0] && y >= 0 && y < out_[1];
          if (is_inside) spread_lines(from, x, count, plane + (z * out_[1] + y) * out_[2]);
          from += windows_[2].kernel * block_;
        }
      j += count;
    }
  }

  // The places of one line of the window, for `count` pixels from x on.
  void spread_lines(const float* from, int64_t x, int64_t count, float* line) const {
    const int64_t step = windows_[2].stride;
    for (int64_t kx = 0; kx < step; ++kx, from += block_) {
      const int64_t at = x * step - windows_[2].pre + kx;  // may lie in the padding
      const int64_t low = at >= 0 ? 0 : (step - 1 - at) / step;
      const int64_t high = at < out_[2] ? std::min(count, (out_[2] - 1 - at) / step + 1) : 0;
      for (int64_t i = low; i < high; ++i) line[at + i * step] = from[i];
    }
  }

  const SimdKernels& simd_;
  Sizes sizes_;
  const float* turned_;
  bool turns_, has_bias_ = false;
  int64_t in_[kAxes] = {1, 1, 1}, out_[kAxes] = {1, 1, 1};
  Window windows_[kAxes];
  int64_t batch_, pixels_ = 0;
  int64_t part_ = 1, per_panel_ = 1;  // channels and output channels that are multiplied at a time
  Partition tasks_;
  int64_t block_ = 0;  // the most pixels of a task
  // Of the run that is under way.
  const float *data_ = nullptr, *bias_ = nullptr;
  float* result_ = nullptr;
};

class DeconvolutionKernel final : public Kernel {
 public:
  /// Weights that are no constants are not packed.
  DeconvolutionKernel(const Deconvolution& op, const KernelRequest& request,
                      std::vector<Tensor> weights)
      : op_(op) {
    packed = std::move(weights);
    const Sizes sizes(op, request.inputs[0].shape[1]);
    require(packed.empty()
                || (packed.size() == 1 && packed[0].type() == DataType::kFLOAT
                    && packed[0].data() != nullptr && packed[0].count() == sizes.count()),
            "the packed weights of a deconvolution do not fit it");
    input_is_packed.assign(request.inputs.size(), false);
    input_is_packed[1] = !packed.empty();
  }
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<DeconvolutionExecution>(
        op_, packed.empty() ? nullptr : packed[0].data<float>(), inputs, outputs[0]);
  }

 private:
  Deconvolution op_;
};

std::vector<Tensor> turned_weights(const Deconvolution& op, const KernelRequest& request) {
  const Tensor* const constant = request.constants[1];
  if (constant == nullptr) return {};
  const Sizes sizes(op, request.inputs[0].shape[1]);
  require(constant->count() == sizes.count(), "weights of shape {}, expected {} elements",
          constant->shape(), sizes.count());
  Tensor turned(DataType::kFLOAT, {sizes.count()});
  turn_weights(sizes, constant->data<float>(), turned.mutable_data<float>());
  return {turned};
}

std::string refusal(const Deconvolution& op, const KernelRequest& request) {
  if (const std::string reason = refusal_of_tensors(request); !reason.empty()) return reason;
  const Shape& data = request.inputs[0].shape;
  if (op.kernel.rank() < 1 || op.kernel.rank() > kAxes || data.rank() != op.kernel.rank() + 2)
    return "only one to three spatial axes are supported";
  if (op.groups < 1 || op.output_channels < 1 || op.output_channels % op.groups || data[1] < 1
      || data[1] % op.groups)
    return "the attributes are inconsistent";
  return "";
}

Offer make(const KernelRequest& request,
           FunctionRef<std::vector<Tensor>(const Deconvolution&)> weights) {
  const auto& op = static_cast<const Deconvolution&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  try {
    auto kernel = std::make_unique<DeconvolutionKernel>(op, request, weights(op));
    // What does not fit is refused here.
    kernel->prepare(in_rows(request.inputs), in_rows(request.outputs));
    return kernel;
  } catch (const Error& e) {
    return e.what();
  }
}

}  // namespace

Offer offer_deconvolution(const KernelRequest& request) {
  return make(request, [&](const Deconvolution& op) { return turned_weights(op, request); });
}

Offer load_deconvolution(const KernelRequest& request, const StoredKernel& stored) {
  return make(request, [&](const Deconvolution&) { return stored.packed; });
}

}  // namespace tenon::cpu
