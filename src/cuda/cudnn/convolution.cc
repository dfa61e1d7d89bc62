// Convolution and deconvolution by cuDNN.
#include <algorithm>

#include "base/error.h"
#include "cuda/cublas/library.h"
#include "cuda/cublas/product.h"
#include "cuda/cudnn/convolution_graph.h"
#include "cuda/empty_execution.h"
#include "cuda/kernels.h"

namespace tenon::cuda {
namespace cudnn {
namespace {

// Kernels that are timed against each other, for each way of computing a layer.
constexpr size_t kMaxEngines = 6;

class ConvolutionKernel final : public Kernel {
 public:
  /// build() or load() follows.
  ConvolutionKernel(const KernelRequest& request, Layout layout)
      : op_(request.op),
        fusion_(match_fusion(op_.attributes.epilogue)),
        layout_(layout),
        tf32_(request.tf32) {
    timing_id = convolution_timing_id();
    set_layouts(request);
  }

  /// Asks cuDNN. Throws when there is no kernel.
  void build(const KernelRequest& request) {
    take_constants(request);
    auto inputs = std::vector(request.inputs.begin(), request.inputs.end());
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].layout = input_layouts[i];
    TensorSpec result = request.outputs[0];
    result.layout = layout_;
    if (inputs[kDataInput].shape.volume() > 0 && result.shape.volume() > 0)
      configs_ = working({op_, fusion_, inputs, result, tf32_});
    require(!configs_.empty(), "cuDNN has no kernel for it");
    choose(configs_.front());
  }

  /// What a plan stored. Throws when it is damaged.
  void load(const StoredKernel& stored, const TensorSpec& data) {
    GraphConfig config;
    set_fields(config, stored.state);
    const size_t constants = fusion_ && !fusion_->constants.empty() ? 1 : 0;
    require(config.form >= Form::kFused && config.form <= Form::kSums
                && config.engine.knobs.size() % 2 == 0
                && (config.form != Form::kFused || fusion_.has_value())
                && stored.packed.size() >= constants && stored.packed.size() <= constants + 1,
            "a stored kernel is damaged");
    packed = stored.packed;
    input_is_packed[kWeightsInput] = packed.size() > constants;
    if (input_is_packed[kWeightsInput]) check_weights(packed[0], data);
    if (constants > 0)
      require(packed.back().type() == DataType::kFLOAT
                  && packed.back().count() == 4 * static_cast<int64_t>(fusion_->constants.size()),
              "a stored kernel is damaged");
    choose(config);
  }

  std::vector<std::unique_ptr<Kernel>> variants() const override {
    std::vector<std::unique_ptr<Kernel>> others;
    for (const GraphConfig& config : configs_)
      if (config.str() != variant) {
        auto kernel = std::make_unique<ConvolutionKernel>(*this);
        kernel->choose(config);
        kernel->is_variant_ = true;
        others.push_back(std::move(kernel));
      }
    return others;
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    const TensorSpec& result = outputs[0];
    if (result.shape.volume() == 0) return std::make_unique<EmptyExecution>();
    const bool is_packed = input_is_packed[kWeightsInput];
    const DirectConvolution direct = direct_parameters(op_, inputs, result, layout_);
    if (inputs[kDataInput].shape.volume() > 0) {
      const Problem problem{op_, fusion_, inputs, result, tf32_};
      try {
        return execution_of(problem, config_, is_packed);
      } catch (const Error&) {  // an engine that does not do these shapes
        if (is_variant_) throw;
      }
      for (const GraphConfig& config : configs_for(problem, kMaxEngines)) try {
          return execution_of(problem, config, is_packed);
        } catch (const Error&) {}
    }
    return direct_execution(direct, is_packed);
  }

 private:
  void choose(const GraphConfig& config) {
    config_ = config;
    variant = config.str();
    state = fields_of(config_);
  }

  /// From the first that works on. What comes after it shows when it is timed.
  std::vector<GraphConfig> working(const Problem& problem) const {
    auto configs = configs_for(problem, kMaxEngines);
    const auto works = [&](const GraphConfig& config) {
      try {
        execution_of(problem, config, input_is_packed[kWeightsInput]);
        return true;
      } catch (const Error&) {
        return false;
      }
    };
    configs.erase(configs.begin(), std::find_if(configs.begin(), configs.end(), works));
    return configs;
  }

  void set_layouts(const KernelRequest& request) {
    input_layouts.assign(request.inputs.size(), layout_);
    if (request.inputs.size() > kBiasInput) input_layouts[kBiasInput] = Layout::kLinear;
    output_layouts = {layout_};
    input_is_packed.assign(request.inputs.size(), false);
  }

  /// The weights, if they are constant, and the numbers that the fusion reads.
  void take_constants(const KernelRequest& request) {
    const TensorSpec& data = request.inputs[kDataInput];
    const ConvolutionAttributes& a = op_.attributes;
    const int64_t outer = op_.transposed ? data.shape[1] : a.output_channels;
    const int64_t inner = (op_.transposed ? a.output_channels : data.shape[1]) / a.groups;
    if (const Tensor* weights = request.constants[kWeightsInput]; weights != nullptr) {
      check_weights(*weights, data);
      packed.push_back(layout_ == Layout::kChannelsLast ? with_channels_last(*weights, outer, inner)
                                                        : *weights);
      input_is_packed[kWeightsInput] = true;
    } else {
      const Shape& shape = request.inputs[kWeightsInput].shape;
      require(shape.rank() == data.shape.rank() && shape[0] == outer && shape[1] == inner,
              "computed weights of shape {} are not supported", shape);
    }
    if (!fusion_ || fusion_->constants.empty()) return;
    Tensor constants(DataType::kFLOAT, {static_cast<int64_t>(fusion_->constants.size()), 4});
    for (size_t i = 0; i < 4 * fusion_->constants.size(); ++i)
      constants.mutable_data<float>()[i] = fusion_->constants[i / 4];
    packed.push_back(std::move(constants));
  }

  void check_weights(const Tensor& weights, const TensorSpec& data) const {
    const ConvolutionAttributes& a = op_.attributes;
    const int64_t expected = a.output_channels * (data.shape[1] / a.groups) * a.kernel.volume();
    require(weights.type() == data.type && weights.count() == expected,
            "expected weights of {} elements of {}, found {} of {}", expected, name_of(data.type),
            weights.count(), name_of(weights.type()));
  }

  SlidingOp op_;
  std::optional<Fusion> fusion_;
  Layout layout_;
  bool tf32_;
  GraphConfig config_;
  std::vector<GraphConfig> configs_;  // while building
  bool is_variant_ = false;           // does it in its own way or not at all
};

// Tensor cores read channels last; kernels for floats without them are made for rows.
std::vector<Layout> layouts_to_try(const KernelRequest& request) {
  if (request.inputs[kDataInput].type == DataType::kFLOAT && !request.tf32)
    return {Layout::kLinear};
  return {Layout::kChannelsLast, Layout::kLinear};
}

std::string refusal(const KernelRequest& request) {
  if (!reason_for_no_cudnn().empty()) return reason_for_no_cudnn();
  return SlidingOp(request.op).refusal(request);
}

}  // namespace
}  // namespace cudnn

Offer offer_cudnn_convolution(const KernelRequest& request) {
  std::string reason = cudnn::refusal(request);
  if (!reason.empty()) return reason;
  for (const Layout layout : cudnn::layouts_to_try(request)) try {
      auto kernel = std::make_unique<cudnn::ConvolutionKernel>(request, layout);
      kernel->build(request);
      return kernel;
    } catch (const Error& e) {
      reason = e.what();
    }
  return reason;
}

Offer load_cudnn_convolution(const KernelRequest& request, const StoredKernel& stored) {
  if (std::string reason = cudnn::refusal(request); !reason.empty()) return reason;
  const TensorSpec& data = request.inputs[kDataInput];
  auto kernel = std::make_unique<cudnn::ConvolutionKernel>(request, data.layout);
  kernel->load(stored, data);
  return kernel;
}

std::string convolution_timing_id() {
  std::string text = reason_for_no_cublas().empty() ? product_timing_id() : "no cuBLASLt";
  if (!cudnn::reason_for_no_cudnn().empty()) return text + ", no cuDNN";
  return fmt::format("{}, cudnn {}", text, cudnn::library().version());
}

bool cudnn_fuses(const PointwiseProgram& epilogue) {
  return cudnn::match_fusion(epilogue).has_value();
}

}  // namespace tenon::cuda
