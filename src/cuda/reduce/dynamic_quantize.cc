// Quantisation of blocks by scales that one kernel finds and another divides by.
#include "ops/dynamic_quantize.h"

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"
#include "cuda/nvrtc/axes.h"
#include "cuda/nvrtc/generated_kernel.h"
#include "cuda/nvrtc/prelude.h"
#include "cuda/pointwise/element_kernel.h"
#include "cuda/reduce/sources.h"

namespace tenon::cuda {
namespace {

constexpr int64_t kThreads = 256, kWarp = 32;

struct BlockScalesParameters {
  const void *in, *unit;
  void* scales;
  uint32_t blocks, inside, rank, unused;
  AxisParameters scale[Shape::kMaxRank], block[Shape::kMaxRank];
  int64_t extent[Shape::kMaxRank], stride[Shape::kMaxRank];
};

bool has_unit(std::span<const TensorSpec> inputs) {
  return inputs.size() > 1 && inputs[1].present;
}

/// The second kernel: data, scales and perhaps their unit, element by element.
ElementLayer division_by(const DynamicQuantize& op, const KernelRequest& request) {
  ElementLayer layer;
  ElementFunction& f = layer.function;
  f.operands = {{0, std::string(element_of(request.inputs[0].type))},
                {1, std::string(element_of(op.scale_type))}};
  std::string scale = number_of(op.scale_type, "x1");
  if (has_unit(request.inputs)) {
    f.operands.push_back({2, std::string(element_of(request.inputs[1].type))});
    scale += " * x2";
  }
  f.statements =
      fmt::format("  const float s = {};\n  const float x = s == 0 ? 0 : x0 / s;\n", scale);
  f.result_type = element_of(op.to);
  f.result = op.to == DataType::kFP4   ? "fp4_bits(x)"
             : op.to == DataType::kFP8 ? "fp8_bits(x, true)"
                                       : "int(rounded(x, -128, 127))";
  layer.data_inputs = 1;
  layer.view = [op](size_t input, const Shape& shape, const Shape& data) {
    if (input == 0) return OperandView{shape};
    if (input == 2) return OperandView{Shape::filled(data.rank(), 1)};
    return OperandView{shape, Layout::kLinear, block_of(op, data)};
  };
  return layer;
}

class DynamicQuantizeExecution final : public Execution {
 public:
  DynamicQuantizeExecution(const Module& scales, std::unique_ptr<Execution> division,
                           const Shape& data, const Shape& block, const Shape& scale)
      : kernel_(scales.kernel("scales")), division_(std::move(division)) {
    BlockScalesParameters& p = parameters_;
    if (scale.volume() * kWarp > INT32_MAX)
      fail(ErrorCode::kUNSUPPORTED_STATE, "{} blocks are not supported", scale.volume());
    p.blocks = static_cast<uint32_t>(scale.volume());
    p.inside = axis_parameters(block.volume()).extent;
    p.rank = static_cast<uint32_t>(data.rank());
    const Shape strides = data.strides();
    for (int i = 0; i < data.rank(); ++i) {
      p.scale[i] = axis_parameters(scale[i]);
      p.block[i] = axis_parameters(block[i]);
      p.extent[i] = data[i];
      p.stride[i] = strides[i];
    }
  }

  void run(const RunArguments& arguments) override {
    BlockScalesParameters p = parameters_;
    p.in = arguments.inputs[0];
    p.unit = arguments.input(1);
    p.scales = arguments.outputs[1];
    void* argument = &p;
    const int64_t blocks = (int64_t{p.blocks} * kWarp + kThreads - 1) / kThreads;
    launch(kernel_, dim3(static_cast<unsigned>(blocks)), kThreads, &argument,
           to_cuda(arguments.stream));
    const void* const inputs[] = {p.in, p.scales, p.unit};
    RunArguments rest = arguments;
    rest.inputs = inputs;
    rest.outputs = arguments.outputs.first(1);
    division_->run(rest);
  }

 private:
  const void* kernel_;
  std::unique_ptr<Execution> division_;
  BlockScalesParameters parameters_{};
};

class ScalesCode final : public GeneratedKernel {
 public:
  explicit ScalesCode(StoredKernel code) : GeneratedKernel(std::move(code)) {}
  using GeneratedKernel::module;
  std::unique_ptr<Execution> prepare(std::span<const TensorSpec>,
                                     std::span<const TensorSpec>) const override {
    return std::make_unique<EmptyExecution>();
  }
};

/// What the second kernel reads: data, the scales that the first one made, their unit.
std::vector<TensorSpec> division_inputs(std::span<const TensorSpec> inputs,
                                        std::span<const TensorSpec> outputs) {
  const TensorSpec none{DataType::kFLOAT, Layout::kLinear, {}, false};
  return {inputs[0], outputs[1], has_unit(inputs) ? inputs[1] : none};
}

class DynamicQuantizeKernel final : public Kernel {
 public:
  DynamicQuantizeKernel(std::shared_ptr<const Kernel> scales, const Module& module,
                        std::unique_ptr<Kernel> division, const DynamicQuantize& op, size_t inputs)
      : scales_(std::move(scales)), module_(module), division_(std::move(division)), op_(op) {
    input_layouts.assign(inputs, Layout::kLinear);
    output_layouts.assign(2, Layout::kLinear);
    state = division_->state;
    packed = {scales_->packed[0], division_->packed[0]};
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    if (outputs[0].shape.volume() == 0) return std::make_unique<EmptyExecution>();
    const Shape& data = inputs[0].shape;
    return std::make_unique<DynamicQuantizeExecution>(
        module_, division_->prepare(division_inputs(inputs, outputs), outputs.first(1)), data,
        block_of(op_, data), outputs[1].shape);
  }

 private:
  std::shared_ptr<const Kernel> scales_;
  const Module& module_;
  std::unique_ptr<Kernel> division_;
  DynamicQuantize op_;
};

std::string scales_source(const DynamicQuantize& op, const KernelRequest& request) {
  const auto unit = has_unit(request.inputs) ? std::optional(request.inputs[1].type) : std::nullopt;
  return block_scales_source(op, request.inputs[0].type, unit);
}

// `divide` makes the second kernel.
Offer make(const KernelRequest& request, StoredKernel scales_code,
           FunctionRef<Offer(const KernelRequest&)> divide) {
  auto scales = std::make_shared<ScalesCode>(std::move(scales_code));
  std::vector<TensorSpec> inputs = division_inputs(request.inputs, request.outputs);
  for (TensorSpec& x : inputs) x.layout = Layout::kLinear;
  const std::vector<const Tensor*> constants(inputs.size(), nullptr);
  KernelRequest division = request;
  division.inputs = inputs;
  division.outputs = request.outputs.first(1);
  division.constants = constants;
  Offer offer = divide(division);
  if (std::holds_alternative<std::string>(offer)) return offer;
  const Module& module = scales->module();
  return std::make_unique<DynamicQuantizeKernel>(
      std::move(scales), module, std::move(std::get<std::unique_ptr<Kernel>>(offer)),
      static_cast<const DynamicQuantize&>(request.op), request.inputs.size());
}

}  // namespace

Offer offer_dynamic_quantize(const KernelRequest& request) {
  const auto& op = static_cast<const DynamicQuantize&>(request.op);
  return offer_generated([&]() -> Offer {
    return make(request, generated_code(request, scales_source(op, request)),
                [&](const KernelRequest& division) {
                  return offer_elements(division, division_by(op, request));
                });
  });
}

Offer load_dynamic_quantize(const KernelRequest& request, const StoredKernel& stored) {
  if (stored.packed.size() != 2) return "expected machine code as two packed constants";
  const auto& op = static_cast<const DynamicQuantize&>(request.op);
  return make(request, {{}, {stored.packed[0]}}, [&](const KernelRequest& division) {
    return load_elements(division, division_by(op, request), {stored.state, {stored.packed[1]}});
  });
}

}  // namespace tenon::cuda
