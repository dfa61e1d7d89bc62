// Convolution and deconvolution by oneDNN.
#include "ops/convolution.h"

#include "cpu/kernels.h"
#include "cpu/onednn/weighted.h"
#include "cpu/window.h"
#include "ops/deconvolution.h"

namespace tenon::cpu {
namespace onednn {
namespace {

using dnnl::memory;

/// The same with the last two entries changed.
template <class List> List turned(List list) {
  std::swap(list[list.size() - 1], list[list.size() - 2]);
  return list;
}
Shape turned(Shape shape) {
  std::swap(shape[shape.rank() - 1], shape[shape.rank() - 2]);
  return shape;
}

/// Both directions: their attributes have the same names.
template <class ConvolutionOp, class Primitive> class SlidingKernel final : public WeightedKernel {
 public:
  explicit SlidingKernel(const ConvolutionOp& op) : WeightedKernel(op.epilogue), op_(op) {}
  using WeightedKernel::choose;
  using WeightedKernel::restore;

 protected:
  const Op& op() const override { return op_; }
  bool chooses_layouts() const override { return true; }

  Operands plain(std::span<const TensorSpec> inputs,
                 std::span<const TensorSpec> outputs) const override {
    const TensorSpec& data = inputs[0];
    const TensorSpec& result = outputs[0];
    const int rank = op_.kernel.rank() + 2;
    require(data.shape.rank() == rank && result.shape.rank() == rank && data.shape[1] > 0
                && data.shape[1] % op_.groups == 0 && result.shape[1] == op_.output_channels,
            "shapes {} of X and {} of Y do not fit kernel_shape, strides, pads and dilations",
            data.shape, result.shape);
    const bool turned_axes = turns(data.shape, result.shape);
    Operands operands{desc_of(turned_axes ? turned(data.shape) : data.shape, data.layout),
                      weights(data.shape[1], turned_axes),
                      {},
                      desc_of(turned_axes ? turned(result.shape) : result.shape, result.layout)};
    if (inputs.size() > 2 && inputs[2].present) {
      require(inputs[2].shape.volume() == op_.output_channels, "a bias of shape {}, expected {}",
              inputs[2].shape, op_.output_channels);
      operands.bias = desc_of({op_.output_channels}, Layout::kLinear);
    }
    return operands;
  }

  dnnl::primitive_desc describe(const Operands& operands, std::span<const TensorSpec> inputs,
                                std::span<const TensorSpec> outputs,
                                const dnnl::primitive_attr& attributes) const override {
    Shape data = spatial_of(inputs[0].shape), result = spatial_of(outputs[0].shape);
    auto windows = windows_of(data, result);
    if (turns(inputs[0].shape, outputs[0].shape)) {
      data = turned(data);
      result = turned(result);
      windows = turned(windows);
    }
    memory::dims gaps = dims_of(column(windows, &Window::dilation));
    for (auto& gap : gaps) --gap;
    const typename Primitive::desc description(
        dnnl::prop_kind::forward_inference,
        kTransposed ? dnnl::algorithm::deconvolution_direct : dnnl::algorithm::convolution_direct,
        operands.source, operands.weights, operands.bias, operands.destination,
        dims_of(column(windows, &Window::stride)), gaps, dims_of(column(windows, &Window::pre)),
        dims_of(kTransposed ? padding_after(windows, result, data)
                            : padding_after(windows, data, result)));
    return typename Primitive::primitive_desc(description, attributes, engine());
  }

 private:
  /// Rows of one pixel lie in memory as one row of pixels does, for which oneDNN has its fast
  /// code. Not for square kernels: packed weights would not tell whether they were turned.
  bool turns(const Shape& data, const Shape& result) const {
    return op_.kernel.rank() == 2 && (op_.kernel[0] != op_.kernel[1] || op_.kernel[0] == 1)
           && data.rank() == 4 && result.rank() == 4 && data.back() == 1 && result.back() == 1;
  }

  static constexpr bool kTransposed = std::is_same_v<ConvolutionOp, Deconvolution>;

  std::vector<Window> windows_of(const Shape& data, const Shape& result) const {
    auto windows = op_.windows();
    for (size_t i = 0; i < windows.size(); ++i) {
      const auto axis = static_cast<int>(i);
      if constexpr (kTransposed)
        windows[i] = resolved_transposed(
            windows[i], data[axis], result[axis],
            op_.output_padding.rank() > axis ? op_.output_padding[axis] : 0, op_.padding_mode);
      else
        windows[i] = resolved(windows[i], data[axis], result[axis], op_.padding_mode);
    }
    return windows;
  }

  /// As in the network: (K, C/groups, kernel…), or (C, K/groups, kernel…) when transposed. oneDNN
  /// wants the output channels first, which the strides tell.
  memory::desc weights(int64_t channels, bool turned_axes) const {
    const int64_t inputs = channels / op_.groups, outputs = op_.output_channels / op_.groups;
    const int64_t window = op_.kernel.volume();
    require(Shape({op_.output_channels, channels, window}).volume() < int64_t{1} << 40,
            "the weights are too large");
    memory::dims dims = {outputs, inputs}, strides = {inputs * window, window};
    if (kTransposed) strides = {window, outputs * window};
    if (op_.groups > 1) {
      dims.insert(dims.begin(), op_.groups);
      strides.insert(strides.begin(), outputs * inputs * window);
    }
    const Shape steps = op_.kernel.strides();
    dims.insert(dims.end(), op_.kernel.begin(), op_.kernel.end());
    strides.insert(strides.end(), steps.begin(), steps.end());
    if (turned_axes) {
      dims = turned(dims);
      strides = turned(strides);
    }
    return {dims, memory::data_type::f32, strides};
  }

  ConvolutionOp op_;
};

/// The library makes code for each element of padding, which for more takes hours.
constexpr int64_t kMaxReach = 1 << 15;

template <class ConvolutionOp>
std::optional<std::string> check(const ConvolutionOp& op, const KernelRequest& request) {
  const int axes = op.kernel.rank();
  if (axes < 1 || axes > 3) return "only one to three spatial axes are supported";
  if (op.groups < 1 || op.output_channels < 1 || op.output_channels % op.groups)
    return "the attributes are inconsistent";
  for (const Window& w : op.windows())
    if (std::max({w.reach(), w.pre, w.post}) > kMaxReach)
      return fmt::format("only windows and padding of up to {} elements are supported", kMaxReach);
  // Found by random networks: oneDNN 2.5 calls code there that it has not made.
  if (std::is_same_v<ConvolutionOp, Convolution> && !op.epilogue.empty())
    for (const Window& w : op.windows())
      if (std::max(w.pre, w.post) >= w.reach())
        return "windows that lie in padding altogether and an epilogue are not supported";
  return std::nullopt;
}

template <class ConvolutionOp, class Primitive> Offer offer(const KernelRequest& request) {
  const auto& op = static_cast<const ConvolutionOp&>(request.op);
  if (auto reason = check(op, request)) return *reason;
  auto kernel = std::make_unique<SlidingKernel<ConvolutionOp, Primitive>>(op);
  if (auto reason = kernel->choose(request)) return *reason;
  return kernel;
}

template <class ConvolutionOp, class Primitive>
Offer restored(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const ConvolutionOp&>(request.op);
  if (auto reason = check(op, request)) return *reason;
  auto kernel = std::make_unique<SlidingKernel<ConvolutionOp, Primitive>>(op);
  if (auto reason = kernel->restore(request, stored)) return *reason;
  return kernel;
}

}  // namespace
}  // namespace onednn

Offer offer_onednn_convolution(const KernelRequest& request) {
  return onednn::offer<Convolution, dnnl::convolution_forward>(request);
}

Offer load_onednn_convolution(const KernelRequest& request, const StoredKernel& stored) {
  return onednn::restored<Convolution, dnnl::convolution_forward>(request, stored);
}

Offer offer_onednn_deconvolution(const KernelRequest& request) {
  return onednn::offer<Deconvolution, dnnl::deconvolution_forward>(request);
}

Offer load_onednn_deconvolution(const KernelRequest& request, const StoredKernel& stored) {
  return onednn::restored<Deconvolution, dnnl::deconvolution_forward>(request, stored);
}

bool onednn_fuses(const Op& op, const PointwiseProgram& epilogue) {
  if (op.kind() == LayerType::kPOOLING) return epilogue.empty();  // also of bytes
  const bool takes_epilogues = op.kind() == LayerType::kCONVOLUTION
                               || op.kind() == LayerType::kDECONVOLUTION
                               || op.kind() == LayerType::kMATRIX_MULTIPLY;
  return takes_epilogues && onednn::match_post_ops(epilogue).has_value();
}

}  // namespace tenon::cpu
