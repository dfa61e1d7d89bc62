// Maximum and average pooling by oneDNN.
#include "ops/pooling.h"

#include "target/cpu/kernels.h"
#include "target/cpu/onednn/library.h"
#include "target/cpu/onednn/post_ops.h"
#include "target/cpu/window.h"

namespace tenon::cpu {
namespace onednn {
namespace {

using nvinfer1::PoolingType;

class PoolingKernel final : public Kernel {
 public:
  explicit PoolingKernel(const Pooling& op) : op_(op) {}

  dnnl::pooling_v2_forward::primitive_desc describe(const TensorSpec& data,
                                                    const TensorSpec& result) const {
    const Shape ones = Shape::filled(op_.window.rank(), 1);
    const Shape stride = op_.stride.rank() ? op_.stride : ones;
    const Shape dilation = op_.dilation.rank() ? op_.dilation : ones;
    const Padding padding =
        resolve_padding(op_.padding_mode, op_.pre_padding, spatial_of(data.shape),
                        spatial_of(result.shape), op_.window, stride, dilation);
    for (int i = 0; i < op_.window.rank(); ++i)
      require(padding.before[i] < op_.window[i] * dilation[i]
                  && padding.after[i] < op_.window[i] * dilation[i],
              "windows that lie in the padding are not supported");
    auto gaps = dims_of(dilation);
    for (auto& gap : gaps) --gap;
    const auto algorithm = op_.type == PoolingType::kMAX ? dnnl::algorithm::pooling_max
                           : op_.average_excludes_padding
                               ? dnnl::algorithm::pooling_avg_exclude_padding
                               : dnnl::algorithm::pooling_avg_include_padding;
    return call("pooling", [&] {
      const dnnl::pooling_v2_forward::desc description(
          dnnl::prop_kind::forward_inference, algorithm, desc_of(data.shape, data.layout),
          desc_of(result.shape, result.layout), dims_of(stride), dims_of(op_.window), gaps,
          dims_of(padding.before), dims_of(padding.after));
      return dnnl::pooling_v2_forward::primitive_desc(description, attributes_of({}, {}), engine());
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

/// Whether rounding up made windows that hang over the explicit padding: averages that count
/// padding then differ between libraries.
bool overhangs(const Pooling& op, const Shape& data, const Shape& result) {
  if (op.type == PoolingType::kMAX || op.average_excludes_padding) return false;
  for (int i = 0; i < op.window.rank(); ++i) {
    const int64_t stride = op.stride.rank() ? op.stride[i] : 1;
    const int64_t reach = (op.window[i] - 1) * (op.dilation.rank() ? op.dilation[i] : 1) + 1;
    const int64_t post = i < op.post_padding.rank() ? op.post_padding[i] : 0;
    const int64_t pre = i < op.pre_padding.rank() ? op.pre_padding[i] : 0;
    if ((result[i] - 1) * stride + reach > data[i] + pre + post) return true;
  }
  return false;
}

std::optional<std::string> check(const Pooling& op, const KernelRequest& request) {
  const int axes = op.window.rank();
  const Shape& data = request.inputs[0].shape;
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  if (op.type != PoolingType::kMAX && op.type != PoolingType::kAVERAGE)
    return "only maximum and average are supported";
  if (axes < 1 || axes > 3 || data.rank() != axes + 2
      || request.outputs[0].shape.rank() != axes + 2)
    return "only tensors (N,C,spatial...) with one to three spatial axes are supported";
  if (op.stride.rank() % axes || op.dilation.rank() % axes)
    return "the attributes are inconsistent";
  for (const Shape* s : {&op.window, &op.stride, &op.dilation})
    for (const int64_t extent : *s)
      if (extent < 1 || extent > 1 << 20) return "a window, stride or dilation is out of range";
  if (overhangs(op, spatial_of(data), spatial_of(request.outputs[0].shape)))
    return "an average that counts padding, with windows that hang over it, is not supported";
  return std::nullopt;
}

}  // namespace
}  // namespace onednn

Offer offer_onednn_pooling(const KernelRequest& request) {
  const auto& op = static_cast<const Pooling&>(request.op);
  if (auto reason = onednn::check(op, request)) return *reason;
  auto kernel = std::make_unique<onednn::PoolingKernel>(op);
  TensorSpec data = request.inputs[0], result = request.outputs[0];
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
