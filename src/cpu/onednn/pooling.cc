// Average pooling, and maxima of bytes, by oneDNN. Its maxima of floats are none of infinities and
// NaNs.
#include "ops/pooling.h"

#include "cpu/kernels.h"
#include "cpu/onednn/integer.h"
#include "cpu/onednn/library.h"
#include "cpu/onednn/post_ops.h"
#include "cpu/window.h"

namespace tenon::cpu {
namespace onednn {
namespace {

using nvinfer1::PoolingType;

// In a layout of floats, but bytes as they are.
dnnl::memory::desc typed(const TensorSpec& spec) {
  const dnnl::memory::desc floats = desc_of(spec.shape, spec.layout);
  return spec.type == DataType::kFLOAT ? floats : retyped(floats, byte_type(spec.type));
}

class PoolingKernel final : public Kernel {
 public:
  explicit PoolingKernel(const Pooling& op) : op_(op) {}

  dnnl::pooling_forward::primitive_desc describe(const TensorSpec& data,
                                                 const TensorSpec& result) const {
    const Shape from = spatial_of(data.shape), to = spatial_of(result.shape);
    auto windows = make_windows(op_.window.rank(), op_.window, op_.stride, op_.dilation,
                                op_.pre_padding, op_.post_padding);
    for (size_t i = 0; i < windows.size(); ++i)
      windows[i] = resolved(windows[i], from[static_cast<int>(i)], to[static_cast<int>(i)],
                            op_.padding_mode);
    const Shape after = padding_after(windows, from, to);
    for (size_t i = 0; i < windows.size(); ++i)
      require(windows[i].pre < windows[i].kernel && after[static_cast<int>(i)] < windows[i].kernel,
              "windows that lie in the padding are not supported");
    const auto algorithm = op_.type == PoolingType::kMAX ? dnnl::algorithm::pooling_max
                           : op_.average_excludes_padding
                               ? dnnl::algorithm::pooling_avg_exclude_padding
                               : dnnl::algorithm::pooling_avg_include_padding;
    return call("pooling", [&] {
      const dnnl::pooling_forward::desc description(
          dnnl::prop_kind::forward_inference, algorithm, typed(data), typed(result),
          dims_of(column(windows, &Window::stride)), dims_of(op_.window),
          dims_of(column(windows, &Window::pre)), dims_of(after));
      return dnnl::pooling_forward::primitive_desc(description, attributes_of({}, {}), engine());
    });
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    if (outputs[0].shape.volume() == 0) return std::make_unique<EmptyExecution>();
    const auto description = describe(inputs[0], outputs[0]);
    auto execution = std::make_unique<PrimitiveExecution>();
    execution->add(description,
                   {{DNNL_ARG_SRC, {Source::From::kInput, 0}, description.src_desc()},
                    {DNNL_ARG_DST, {Source::From::kOutput, 0}, description.dst_desc()}});
    return execution;
  }

 private:
  Pooling op_;
};

bool are_bytes(const KernelRequest& request) {
  return all_of_type(request, DataType::kINT8) || all_of_type(request, DataType::kUINT8);
}

std::optional<std::string> check(const Pooling& op, const KernelRequest& request) {
  const int axes = op.window.rank();
  const Shape& data = request.inputs[0].shape;
  const bool averages = op.type == PoolingType::kAVERAGE && all_of_type(request, DataType::kFLOAT);
  if (!averages && !(op.type == PoolingType::kMAX && are_bytes(request)))
    return "only averages of float32 and maxima of bytes are supported";
  if (axes < 1 || axes > 3 || data.rank() != axes + 2
      || request.outputs[0].shape.rank() != axes + 2)
    return "only tensors (N,C,spatial...) with one to three spatial axes are supported";
  for (const int64_t d : op.dilation)
    if (d != 1) return "dilated windows are not supported";
  if (op.indices != PoolingIndices::kNone) return "indices of maxima are not supported";
  if (op.average_counts_all && op.average_excludes_padding)
    return "averages that exclude padding but divide by all taps are not supported";
  // oneDNN would count what hangs over the padding too.
  if (op.type == PoolingType::kAVERAGE && !op.average_excludes_padding && !op.average_counts_all
      && op.padding_mode == PaddingMode::kEXPLICIT_ROUND_UP)
    return "averages that count padding are not supported when rounding up";
  return std::nullopt;
}

}  // namespace
}  // namespace onednn

Offer offer_onednn_pooling(const KernelRequest& request) {
  const auto& op = static_cast<const Pooling&>(request.op);
  if (auto reason = onednn::check(op, request)) return *reason;
  auto kernel = std::make_unique<onednn::PoolingKernel>(op);
  TensorSpec data = request.inputs[0], result = request.outputs[0];
  if (data.type != DataType::kFLOAT) data.layout = Layout::kChannelsLast;
  result.layout = data.layout;
  try {
    if (result.shape.volume() > 0) kernel->describe(data, result);
  } catch (const Error& e) {
    return e.what();
  }
  kernel->input_layouts.assign(1, data.layout);
  kernel->output_layouts.assign(1, data.layout);
  return kernel;
}

}  // namespace tenon::cpu
