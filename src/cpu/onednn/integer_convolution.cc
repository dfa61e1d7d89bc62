// Convolution of 8-bit integers by oneDNN.
#include "cpu/kernels.h"
#include "cpu/onednn/integer.h"
#include "cpu/window.h"
#include "ops/quantized_convolution.h"

namespace tenon::cpu {
namespace onednn {
namespace {

using dnnl::memory;
using In = QuantizedInputs;
using Type = memory::data_type;

memory::desc in_rows(const memory::dims& dims, Type type) {
  return {dims, type, dims_of(Shape(std::span<const int64_t>(dims)).strides())};
}

/// What a sum becomes, once oneDNN has made it.
class ConvolutionExecution final : public Execution {
 public:
  ConvolutionExecution(const QuantizedConvolution& op, SignedOperands operands)
      : op_(op), operands_(std::move(operands)) {}

  size_t scratch_bytes() const override { return main.scratch_bytes(); }

  void run(const RunArguments& arguments) override {
    const QuantizedOperands& operands = operands_.read(arguments);
    auto* scratch = static_cast<std::byte*>(arguments.scratch);
    std::memcpy(scratch + zero_at, &operands.data_zero, sizeof(int32_t));
    main.run(arguments);
    void* out = arguments.outputs[0];
    auto* sums =
        sums_in_output ? static_cast<int32_t*>(out) : reinterpret_cast<int32_t*>(scratch + sums_at);
    const auto* windows =
        has_windows ? reinterpret_cast<const int32_t*>(scratch + windows_at) : nullptr;
    const Requantization result = operands.for_channels(op_.to, op_.bounds);
    const auto output_channels = static_cast<size_t>(op_.output_channels);
    const size_t bytes = bytes_of(op_.to, op_.output_channels);
    parallel_for(pixels, std::max<int64_t>(1, 16384 / op_.output_channels),
                 [&](int64_t b, int64_t e) {
                   for (int64_t i = b; i < e; ++i) {
                     int32_t* row = sums + i * op_.output_channels;
                     if (windows != nullptr) take_zeros(operands, windows + i * op_.groups, row);
                     for (size_t m = 0; m < output_channels; ++m)
                       row[m] = wrapped_sum(row[m], operands.bias[m]);
                     store(result, row, op_.output_channels,
                           static_cast<std::byte*>(out) + static_cast<size_t>(i) * bytes);
                   }
                 });
  }

  PrimitiveExecution main;
  PackedWeights weights, ones;  // where they are not the kernel's
  int64_t pixels = 0;
  size_t zero_at = 0, sums_at = 0, windows_at = 0;
  bool sums_in_output = false, has_windows = false;

 private:
  static int32_t wrapped_sum(int32_t a, int32_t b) {
    return static_cast<int32_t>(static_cast<uint32_t>(a) + static_cast<uint32_t>(b));
  }

  /// Each window's sum times the weights' zero points.
  void take_zeros(const QuantizedOperands& operands, const int32_t* window, int32_t* row) const {
    const int64_t per_group = op_.output_channels / op_.groups;
    for (int64_t g = 0; g < op_.groups; ++g)
      for (int64_t m = g * per_group; m < (g + 1) * per_group; ++m)
        row[m] = static_cast<int32_t>(
            static_cast<uint32_t>(row[m])
            - static_cast<uint32_t>(operands.weights_zero[static_cast<size_t>(m)])
                  * static_cast<uint32_t>(window[g]));
  }

  const QuantizedConvolution& op_;
  SignedOperands operands_;
};

class IntegerConvolutionKernel final : public Kernel {
 public:
  explicit IntegerConvolutionKernel(const QuantizedConvolution& op) : op_(op) {}

  std::optional<std::string> initialise(const KernelRequest& request, IntegerWeights weights) {
    if (op_.sum.used || !op_.epilogue.empty()) return "sums and epilogues are not supported";
    // Found by the tests: oneDNN 2.5 counts padding wrongly there.
    if (op_.groups > 1 && has_data_zero(request.inputs))
      return "groups and a zero point of the data together are not supported";
    if (!weights.constant) return "weights that are not constant are not supported";
    signed_ = std::move(*weights.constant);
    corrects_ = weights.has_zero;
    input_is_packed.assign(request.inputs.size(), false);
    input_layouts.assign(request.inputs.size(), Layout::kLinear);
    input_layouts[In::kData] = Layout::kChannelsLast;
    output_layouts = {Layout::kChannelsLast};
    signed_.save(*this);
    state.emplace_back("weights_zero", corrects_);
    if (request.outputs[0].shape.volume() == 0) return std::nullopt;
    const auto made = describe(request.inputs, request.outputs[0].shape, op_.output_channels);
    const std::string implementation = made.impl_info_str();
    if (implementation.starts_with("ref")) return "oneDNN has only a reference implementation";
    packed_ = pack(signed_.plain.data(), plain_weights(request.inputs, op_.output_channels),
                   made.weights_desc());
    return std::nullopt;
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    const Shape& result = outputs[0].shape;
    if (result.volume() == 0) return std::make_unique<EmptyExecution>();
    auto execution = std::make_unique<ConvolutionExecution>(
        op_, SignedOperands(inputs, op_.output_channels, signed_.moved));
    execution->pixels = result.volume() / op_.output_channels;
    execution->zero_at = execution->main.reserve(sizeof(int32_t));
    execution->sums_in_output = op_.to == DataType::kINT32;
    Source sums{Source::From::kOutput, 0};
    if (!execution->sums_in_output) {
      execution->sums_at = execution->main.reserve(bytes_of(DataType::kINT32, result.volume()));
      sums = {Source::From::kScratch, execution->sums_at};
    }
    const auto made = describe(inputs, result, op_.output_channels);
    execution->weights = packed_;
    if (packed_.desc != made.weights_desc())
      execution->weights = pack(signed_.plain.data(), plain_weights(inputs, op_.output_channels),
                                made.weights_desc());
    add(*execution, made, execution->weights, inputs, sums);
    if (corrects_) add_windows(*execution, inputs, result);
    return execution;
  }

 private:
  /// The sums of what each window sees: a convolution with ones, one output channel per group.
  void add_windows(ConvolutionExecution& execution, std::span<const TensorSpec> inputs,
                   const Shape& result) const {
    const auto made = describe(inputs, result, op_.groups);
    const memory::desc plain = plain_weights(inputs, op_.groups);
    const std::vector<int8_t> ones(plain.get_size(), 1);
    execution.ones = pack(ones.data(), plain, made.weights_desc());
    execution.has_windows = true;
    execution.windows_at =
        execution.main.reserve(bytes_of(DataType::kINT32, execution.pixels * op_.groups));
    add(execution, made, execution.ones, inputs, {Source::From::kScratch, execution.windows_at});
  }

  bool has_data_zero(std::span<const TensorSpec> inputs) const {
    return inputs.size() > In::kDataZero && inputs[In::kDataZero].present;
  }

  void add(ConvolutionExecution& execution, const dnnl::convolution_forward::primitive_desc& made,
           const PackedWeights& weights, std::span<const TensorSpec> inputs,
           const Source& sums) const {
    std::vector<Argument> arguments = {
        {DNNL_ARG_SRC, {Source::From::kInput, In::kData}, made.src_desc()},
        {DNNL_ARG_WEIGHTS, {Source::From::kFixed, 0, weights.memory.data()}, weights.desc},
        {DNNL_ARG_DST, sums, made.dst_desc()}};
    if (has_data_zero(inputs))
      arguments.push_back({DNNL_ARG_ATTR_ZERO_POINTS | DNNL_ARG_SRC,
                           {Source::From::kScratch, execution.zero_at},
                           {{1}, Type::s32, memory::format_tag::a}});
    execution.main.add(made, std::move(arguments));
  }

  dnnl::convolution_forward::primitive_desc describe(std::span<const TensorSpec> inputs,
                                                     const Shape& result,
                                                     int64_t output_channels) const {
    const TensorSpec& data = inputs[In::kData];
    Shape sums = result;
    sums[1] = output_channels;
    const Shape from = spatial_of(data.shape), to = spatial_of(result);
    auto windows = make_windows(op_.kernel.rank(), op_.kernel, op_.stride, op_.dilation,
                                op_.pre_padding, op_.post_padding);
    for (size_t i = 0; i < windows.size(); ++i) {
      const auto axis = static_cast<int>(i);
      windows[i] = resolved(windows[i], from[axis], to[axis], op_.padding_mode);
    }
    memory::dims gaps = dims_of(column(windows, &Window::dilation));
    for (auto& gap : gaps) --gap;
    dnnl::primitive_attr attributes;
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    if (has_data_zero(inputs)) attributes.set_zero_points(DNNL_ARG_SRC, 0, {DNNL_RUNTIME_S32_VAL});
    const memory::desc weights(plain_weights(inputs, output_channels).dims(), Type::s8,
                               memory::format_tag::any);
    return call("integer convolution", [&] {
      const dnnl::convolution_forward::desc description(
          dnnl::prop_kind::forward_inference, dnnl::algorithm::convolution_direct,
          retyped(desc_of(data.shape, Layout::kChannelsLast), byte_type(data.type)), weights,
          retyped(desc_of(sums, Layout::kChannelsLast), Type::s32),
          dims_of(column(windows, &Window::stride)), gaps, dims_of(column(windows, &Window::pre)),
          dims_of(padding_after(windows, from, to)));
      return dnnl::convolution_forward::primitive_desc(description, attributes, engine());
    });
  }

  memory::desc plain_weights(std::span<const TensorSpec> inputs, int64_t output_channels) const {
    const int64_t channels = inputs[In::kData].shape[1];
    require(op_.groups > 0 && channels > 0 && channels % op_.groups == 0
                && output_channels % op_.groups == 0,
            "{} channels, {} output channels and {} groups do not fit", channels, output_channels,
            op_.groups);
    memory::dims dims = {output_channels / op_.groups, channels / op_.groups};
    if (op_.groups > 1) dims.insert(dims.begin(), op_.groups);
    dims.insert(dims.end(), op_.kernel.begin(), op_.kernel.end());
    return in_rows(dims, Type::s8);
  }

  QuantizedConvolution op_;
  SignedWeights signed_;
  PackedWeights packed_;
  bool corrects_ = false;
};

}  // namespace
}  // namespace onednn

Offer offer_onednn_integer_convolution(const KernelRequest& request) {
  return onednn::offer_integers<onednn::IntegerConvolutionKernel, QuantizedConvolution>(request);
}

Offer load_onednn_integer_convolution(const KernelRequest& request, const StoredKernel& stored) {
  return onednn::load_integers<onednn::IntegerConvolutionKernel, QuantizedConvolution>(request,
                                                                                       stored);
}

}  // namespace tenon::cpu
