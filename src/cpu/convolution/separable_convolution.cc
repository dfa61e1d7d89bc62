// A depthwise convolution and the 1x1 convolution of its result in one pass: a task computes some
// rows of the first, for all channels, and multiplies them while they are in the second-level
// cache.
#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/convolution/depthwise_vectors.h"
#include "cpu/convolution/direct_panels.h"
#include "cpu/convolution/two_convolutions.h"

namespace tenon::cpu {
namespace {

using In = SeparableConvolution;

/// More would read the weights more often, and rows at their edges twice.
constexpr int64_t kTasksOfThread = 2;

class SeparableExecution final : public BlockExecution {
 public:
  SeparableExecution(const SeparableConvolution& op, const DepthwiseVectors& vectors,
                     const DepthwiseWeights& arranged, const DirectWeights& weights,
                     std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, {}, output),
        vectors_(vectors),
        arranged_(arranged),
        product_(weights, vectors.channels, op.pointwise.epilogue, as_convolution(inputs), output),
        height_(output.shape[2]) {
    require(inputs[0].layout == vectors.layout, "data must lie in {}", name_of(vectors.layout));
    TensorSpec between = output;
    between.shape = op.between(output.shape);
    form_ =
        depthwise_form(op.depthwise, vectors, inputs.first(In::kPointwiseKernel), between.shape);
    const auto bounds = bounds_of(op.depthwise.epilogue);
    require(bounds.has_value(), "only bounds are supported between the convolutions");
    form_.lower = bounds->lower;
    form_.upper = bounds->upper;
    split(inputs[0].shape[0]);
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    RunArguments second = arguments;
    second.inputs = as_convolution(arguments.inputs);
    product_.begin(second);
  }

  // Some rows of one image.
  void run_task(int64_t task, float* workspace) const override {
    const auto t = tasks_[task];
    const int64_t image = t.image, first = t.first_block, rows = t.end_block - first;
    const int64_t lanes = vectors_.lanes();
    const int64_t plane = form_.y.data * form_.x.data * lanes, taps = form_.y.taps * form_.x.taps;
    for (int64_t block = 0; block < vectors_.blocks(); ++block)
      vectors_.loops->run(form_, data_ + (image * vectors_.blocks() + block) * plane,
                          arranged_.weights.data<float>() + block * taps * lanes,
                          arranged_.bias.data<float>() + block * lanes, 1, first, rows,
                          workspace + block * rows_ * form_.pixels * lanes);
    const int64_t pixels = rows * form_.pixels;
    const int64_t length = units(pixels, units(pixels, kDirectBlock));
    product_.run(
        workspace,
        {image, first * form_.pixels, first * form_.pixels + pixels, length, length * lanes}, 0,
        product_.vectors(), 0);
  }

 private:
  // Its last inputs: a convolution has two before its operands and its data.
  template <class T> static std::span<const T> as_convolution(std::span<const T> inputs) {
    return inputs.subspan(In::kPointwiseKernel - 1);
  }

  void split(int64_t images) {
    const int64_t lanes = vectors_.lanes(), floats = vectors_.blocks() * lanes * form_.pixels;
    constexpr int64_t bytes = sizeof(float);
    const double row_work = static_cast<double>(form_.pixels) * product_.work();
    tasks_ = Partition({.images = images,
                        .blocks = form_.pixels == 0 ? 0 : height_,
                        .products = row_work,
                        .block_bytes = floats * bytes,
                        .held_bytes = 2 * floats * bytes,  // the data of the windows, too
                        .tasks_of_thread = kTasksOfThread});
    rows_ = tasks_.blocks();
    std::vector<int64_t> offsets;
    for (int64_t c = 0; c < vectors_.channels; ++c)
      offsets.push_back(c / lanes * rows_ * form_.pixels * lanes + c % lanes);
    product_.set_windows(std::move(offsets), lanes, false);
    set_tasks(tasks_.count(), static_cast<double>(images * height_) * row_work, rows_ * floats);
  }

  DepthwiseVectors vectors_;
  DepthwiseWeights arranged_;
  DepthwiseForm form_;
  DirectProduct product_;
  int64_t height_;  // rows of the result
  Partition tasks_;
  int64_t rows_ = 1;  // the most of a task
  const float* data_ = nullptr;
};

class SeparableKernel final : public Kernel {
 public:
  SeparableKernel(const SeparableConvolution& op, const DepthwiseVectors& vectors,
                  const DepthwiseWeights& first, const DirectWeights& second)
      : op_(op), vectors_(vectors), arranged_(arranged(first, vectors)), second_(second) {
    packed = {first.weights, first.bias, second.weights, second.bias};
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<SeparableExecution>(op_, vectors_, arranged_, second_, inputs,
                                                outputs[0]);
  }

 private:
  SeparableConvolution op_;
  DepthwiseVectors vectors_;
  DepthwiseWeights arranged_;
  DirectWeights second_;
};

Offer make(const KernelRequest& request, const DepthwiseWeights& first,
           const DirectWeights& second) {
  const auto& op = static_cast<const SeparableConvolution&>(request.op);
  const Layout layout = direct_layout();
  const auto vectors = vectors_of(layout, op.depthwise.groups);
  if (!vectors) return "channels do not fill vectors";
  auto kernel = std::make_unique<SeparableKernel>(op, *vectors, first, second);
  lie_in(layout, *kernel, request);
  for (size_t i = In::kDepthwiseKernel; i < In::kFirstOperand && i < request.inputs.size(); ++i) {
    kernel->input_layouts[i] = Layout::kLinear;
    kernel->input_is_packed[i] = request.inputs[i].present;
  }
  return kernel;
}

}  // namespace

Offer offer_separable_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const SeparableConvolution&>(request.op);
  TwoConvolutions layers(request);
  const KernelRequest depthwise = layers.first(direct_layout());
  if (auto reason = refusal_of_depthwise(op.depthwise, depthwise); !reason.empty()) return reason;
  const auto first = constant_depthwise_weights(op.depthwise, depthwise);
  if (!first) return "only constant weights are supported";
  const auto second = convolution_weights(op.pointwise, layers.second(direct_layout()));
  if (const auto* reason = std::get_if<std::string>(&second)) return *reason;
  Offer offer = make(request, *first, std::get<DirectWeights>(second));
  try {
    // What does not fit is refused.
    if (const auto* kernel = std::get_if<std::unique_ptr<Kernel>>(&offer))
      prepare_for(request, **kernel);
  } catch (const Error& e) {
    return e.what();
  }
  return offer;
}

Offer load_separable_convolution(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const SeparableConvolution&>(request.op);
  const auto& packed = stored.packed;
  require(packed.size() == 4, "{} stored tensors, expected weights and bias, twice", packed.size());
  TwoConvolutions layers(request);
  if (auto reason = refusal_of_depthwise(op.depthwise, layers.first(direct_layout()));
      !reason.empty())
    return reason;
  return make(request, stored_depthwise_weights(op.depthwise, {{}, {packed[0], packed[1]}}),
              stored_weights({{}, {packed[2], packed[3]}}));
}

}  // namespace tenon::cpu
