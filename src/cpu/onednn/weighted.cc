#include "cpu/onednn/weighted.h"

#include <numeric>

#include "cpu/kernels.h"
#include "cpu/pointwise.h"

namespace tenon::cpu::onednn {
namespace {

using dnnl::memory;

bool has_bias(std::span<const TensorSpec> inputs) {
  return inputs.size() > 2 && inputs[2].present;
}

memory::desc any_of(const memory::desc& desc) {
  return {desc.dims(), memory::data_type::f32, memory::format_tag::any};
}

Shape shape_of(const memory::desc& desc) {
  const auto dims = desc.dims();
  return Shape{std::span<const int64_t>(dims)};
}

/// Packed weights for shapes whose columns of pixels are not seen as rows, when those were that the
/// weights were packed for, or the other way round.
memory::desc with_axes_of(const memory::desc& packed, const memory::desc& wanted) {
  if (packed.dims() == wanted.dims()) return packed;
  std::vector<int> axes(packed.dims().size());
  std::iota(axes.begin(), axes.end(), 0);
  std::swap(axes.end()[-1], axes.end()[-2]);
  return packed.permute_axes(axes);
}

/// Blocks of channels in place of channels last: the library is as fast in them, and the kernels
/// around have them, so that less is reordered. Not where most of a block would be padding.
Layout in_blocks(Layout preferred, int64_t channels) {
  const Layout blocked = preferred_blocked();
  const bool fills_one = channels >= channel_block(blocked);
  return preferred == Layout::kChannelsLast && fills_one ? blocked : preferred;
}

bool is_reference(const dnnl::primitive_desc& description) {
  return std::string_view(description.impl_info_str()).starts_with("ref");
}

/// Whether it unfolds the windows of one image after the other: oneDNN 2.5 then reads the first
/// image's operands for all, where channels lie last.
bool unfolds(const dnnl::primitive_desc& description) {
  return description.get_kind() == dnnl::primitive::kind::convolution
         && std::string_view(description.impl_info_str()).find("gemm") != std::string_view::npos;
}

/// An operand of the epilogue beside a result that oneDNN sees under another shape. Only whole
/// tensors, scalars and one value per channel pass: oneDNN 2.5 takes other forms but reads them
/// wrongly.
Shape fitted(const Shape& operand, const Shape& output, const Shape& result) {
  if (operand == output) return result;
  Shape shape = Shape::filled(result.rank(), 1);
  if (operand.volume() == 1) return shape;
  require(result.rank() > 1, "operands beside {} are not supported", result);
  const bool has_channels = output.rank() == result.rank() && output[1] == result[1];
  const int axis = has_channels ? 1 : output.rank() - 1;  // of the network's tensor
  require(operand.rank() == output.rank() && axis < operand.rank()
              && operand.volume() == operand[axis] && operand[axis] == result[1],
          "an operand of shape {} beside {} is not supported", operand, output);
  shape[1] = result[1];
  return shape;
}

}  // namespace

std::optional<std::string> WeightedKernel::begin(const KernelRequest& request) {
  if (!all_of_type(request, DataType::kFLOAT)) return "only float32 is supported";
  post_ops_ = match_post_ops(epilogue_);
  if (post_ops_ && !keep_nans(*post_ops_)) post_ops_.reset();  // a loop of ours does it
  input_is_packed.assign(request.inputs.size(), false);
  return std::nullopt;
}

std::optional<std::string> WeightedKernel::choose(const KernelRequest& request) {
  if (auto reason = begin(request)) return reason;
  try {
    choose_layouts(request);
    adds_in_place_ = may_add_in_place(request);
    const WeightForms forms = weight_forms(request);
    if (!forms.fused) adds_in_place_ = false;
    if (const Tensor* constant = request.constants[weights_index()]) {
      require(constant->bytes() >= forms.plain.get_size(), "weights of {} bytes, expected {}",
              constant->bytes(), forms.plain.get_size());
      weights_ =
          pack(constant->data(), forms.plain, can_save(forms.wanted) ? forms.wanted : forms.plain);
    }
    requantize(request);
  } catch (const Error& e) {
    return e.what();
  } catch (const dnnl::error& e) {
    return e.what();
  }
  return std::nullopt;
}

std::optional<std::string> WeightedKernel::restore(const KernelRequest& request,
                                                   const StoredKernel& stored) {
  if (auto reason = begin(request)) return reason;
  try {
    set_layouts(request, request.inputs[source_index()].layout, request.outputs[0].layout);
    adds_in_place_ = stored_adds_in_place(request, stored);
    const WeightForms forms = weight_forms(request);
    if (!stored.packed.empty()) {
      weights_ = load(stored, forms.plain.dims());
      if (weights_->desc != forms.wanted && can_save(forms.wanted))
        weights_ = pack(weights_->memory.data(), weights_->desc, forms.wanted);
    }
    requantize(request);
  } catch (const dnnl::error& e) {
    return e.what();
  }
  return std::nullopt;
}

WeightedKernel::WeightForms WeightedKernel::weight_forms(const KernelRequest& request) const {
  const auto inputs = with_layouts(request.inputs, input_layouts);
  const auto outputs = with_layouts(request.outputs, output_layouts);
  Operands operands = plain(inputs, outputs);
  WeightForms forms{operands.weights, operands.weights};
  if (outputs[0].shape.volume() == 0 || !has_terms(inputs)) return forms;
  operands.weights = any_of(operands.weights);
  const Made made = make(operands, inputs, outputs);
  forms.fused = made.fused;
  forms.wanted = made.description.weights_desc();
  return forms;
}

void WeightedKernel::requantize(const KernelRequest& request) {
  if (weights_) {
    input_is_packed[weights_index()] = true;
    save(*weights_, *this);
  }
  state.emplace_back("adds_in_place", adds_in_place_);
  if (adds_in_place_)
    aliased_input = static_cast<int>(kFirstOperand) + post_ops_->front().operand - 1;
  prepare(with_layouts(request.inputs, input_layouts),
          with_layouts(request.outputs, output_layouts));
}

bool WeightedKernel::has_terms(std::span<const TensorSpec> inputs) const {
  return chooses_layouts() || inputs[weights_index()].shape.volume() > 0;
}

bool WeightedKernel::starts_with_sum(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const {
  if (!post_ops_ || post_ops_->empty()) return false;
  const PostOp& first = post_ops_->front();
  if (first.algorithm != dnnl::algorithm::binary_add) return false;
  const auto reads = std::count_if(post_ops_->begin(), post_ops_->end(),
                                   [&](const PostOp& op) { return op.operand == first.operand; });
  const size_t input = kFirstOperand + static_cast<size_t>(first.operand) - 1;
  return reads == 1 && input < inputs.size() && inputs[input].shape == outputs[0].shape;
}

bool WeightedKernel::may_add_in_place(const KernelRequest& request) const {
  if (!starts_with_sum(request.inputs, request.outputs) || !has_terms(request.inputs)) return false;
  const size_t input = kFirstOperand + static_cast<size_t>(post_ops_->front().operand) - 1;
  return request.constants[input] == nullptr;
}

bool WeightedKernel::stored_adds_in_place(const KernelRequest& request,
                                          const StoredKernel& stored) const {
  bool adds = false;
  for (const auto& [name, value] : stored.state)
    if (const bool* flag = std::get_if<bool>(&value); flag && name == "adds_in_place") adds = *flag;
  require(!adds || starts_with_sum(request.inputs, request.outputs),
          "a stored kernel is damaged: it has nothing to add in place");
  return adds;
}

void WeightedKernel::choose_layouts(const KernelRequest& request) {
  set_layouts(request, Layout::kLinear, Layout::kLinear);
  if (!chooses_layouts() || request.outputs[0].shape.volume() == 0) return;
  Operands operands = plain(request.inputs, request.outputs);
  const Shape data = shape_of(operands.source), result = shape_of(operands.destination);
  operands = {any_of(operands.source), any_of(operands.weights), operands.bias,
              any_of(operands.destination)};
  // Without operands, whose layout has to be known beforehand.
  const auto description =
      describe(operands, request.inputs, request.outputs, attributes_of({}, {}));
  const auto from = layout_of(description.src_desc(), data).value_or(preferred_blocked());
  const auto to = layout_of(description.dst_desc(), result).value_or(preferred_blocked());
  // What the library prefers may not exist as a layout of ours, or only as one that it does not
  // tell from another (of one channel, say): then there may be code for other layouts only.
  const Layout blocked = preferred_blocked();
  for (const auto& [source, destination] : std::initializer_list<std::pair<Layout, Layout>>{
           {in_blocks(from, data[1]), in_blocks(to, result[1])},
           {from, to},
           {Layout::kLinear, blocked},
           {blocked, blocked},
           {Layout::kChannelsLast, Layout::kChannelsLast},
           {Layout::kLinear, Layout::kLinear}}) {
    set_layouts(request, source, destination);
    if (has_code(request)) return;
  }
  fail(ErrorCode::kUNSUPPORTED_STATE, "oneDNN has nothing but its reference implementation");
}

bool WeightedKernel::has_code(const KernelRequest& request) const {
  const auto inputs = with_layouts(request.inputs, input_layouts);
  const auto outputs = with_layouts(request.outputs, output_layouts);
  try {
    Operands operands = plain(inputs, outputs);
    operands.weights = any_of(operands.weights);
    return !is_reference(describe(operands, inputs, outputs, attributes_of({}, {})));
  } catch (const dnnl::error&) {
    return false;
  }
}

void WeightedKernel::set_layouts(const KernelRequest& request, Layout data, Layout result) {
  input_layouts.assign(request.inputs.size(), Layout::kLinear);
  input_layouts[source_index()] = data;
  output_layouts.assign(1, result);
  for (size_t i = kFirstOperand; i < request.inputs.size(); ++i)
    if (request.inputs[i].shape == request.outputs[0].shape) input_layouts[i] = result;
}

std::vector<TensorSpec> WeightedKernel::with_layouts(std::span<const TensorSpec> specs,
                                                     std::span<const Layout> layouts) const {
  std::vector<TensorSpec> out(specs.begin(), specs.end());
  for (size_t i = 0; i < out.size(); ++i) out[i].layout = layouts[i];
  return out;
}

std::vector<TensorSpec> WeightedKernel::fitted_operands(const Operands& operands,
                                                        std::span<const TensorSpec> inputs,
                                                        std::span<const TensorSpec> outputs) const {
  const Shape result = shape_of(operands.destination);
  std::vector<TensorSpec> specs;
  for (size_t i = kFirstOperand; i < inputs.size(); ++i) {
    specs.push_back(inputs[i]);
    specs.back().shape = fitted(inputs[i].shape, outputs[0].shape, result);
  }
  return specs;
}

WeightedKernel::Made WeightedKernel::make(const Operands& operands,
                                          std::span<const TensorSpec> inputs,
                                          std::span<const TensorSpec> outputs) const {
  return call("primitive", [&]() -> Made {
    if (post_ops_ && !post_ops_->empty()) {
      // Some implementations take fewer post-operations; the epilogue then runs by itself.
      try {
        const auto fused = describe(
            operands, inputs, outputs,
            attributes_of(*post_ops_, fitted_operands(operands, inputs, outputs), adds_in_place_));
        const bool has_operands = inputs.size() > kFirstOperand + (adds_in_place_ ? 1 : 0);
        if (!is_reference(fused) && !(has_operands && unfolds(fused))) return {fused, true};
      } catch (const dnnl::error&) {
      } catch (const Error&) {}
    }
    return {describe(operands, inputs, outputs, attributes_of({}, {})), epilogue_.empty()};
  });
}

void WeightedKernel::add_main(PrimitiveExecution& execution, const Made& made,
                              const Operands& operands, const Source& weights, const Source& result,
                              std::span<const TensorSpec> inputs,
                              std::span<const TensorSpec> outputs) const {
  std::vector<Argument> arguments = {
      {DNNL_ARG_SRC, {Source::From::kInput, source_index()}, operands.source},
      {DNNL_ARG_WEIGHTS, weights, operands.weights},
      {DNNL_ARG_DST, result, operands.destination}};
  if (has_bias(inputs))
    arguments.push_back({DNNL_ARG_BIAS, {Source::From::kInput, kBias}, operands.bias});
  if (made.fused && !epilogue_.empty()) {
    const auto specs = fitted_operands(operands, inputs, outputs);
    for (size_t i = 0; i < post_ops_->size(); ++i) {
      if ((*post_ops_)[i].operand == 0 || (i == 0 && adds_in_place_)) continue;
      const size_t operand = static_cast<size_t>((*post_ops_)[i].operand) - 1;
      arguments.push_back({DNNL_ARG_ATTR_MULTIPLE_POST_OP(static_cast<int>(i)) | DNNL_ARG_SRC_1,
                           {Source::From::kInput, kFirstOperand + operand},
                           desc_of(specs[operand].shape, specs[operand].layout)});
    }
  }
  execution.add(made.description, std::move(arguments));
}

std::unique_ptr<Execution> WeightedKernel::prepare(std::span<const TensorSpec> inputs,
                                                   std::span<const TensorSpec> outputs) const {
  if (outputs[0].shape.volume() == 0) return std::make_unique<EmptyExecution>();
  require(
      !adds_in_place_ || starts_with_sum(inputs, outputs),
      "adding a tensor that is broadcast is not supported here, because it had the shape of the "
      "result, {}, when the plan was built: build it with a profile whose optimum broadcasts",
      outputs[0].shape);
  if (!has_terms(inputs)) {
    require(
        !adds_in_place_,
        "a sum over no elements is not supported here, because there were some when the plan was "
        "built: build it with a profile whose optimum has none");
    return prepare_reference(op(), inputs, outputs);
  }
  Operands operands = plain(inputs, outputs);
  auto execution = std::make_unique<PrimitiveExecution>();
  const memory::desc at_hand =
      weights_ ? with_axes_of(weights_->desc, operands.weights) : operands.weights;
  Source weights = weights_ ? Source{Source::From::kFixed, 0, weights_->memory.data()}
                            : Source{Source::From::kInput, weights_index()};
  // Packed weights fix the layout; others are brought into the best one at each run.
  Made made;
  bool repack = !weights_;
  if (weights_) {
    operands.weights = at_hand;
    try {
      made = make(operands, inputs, outputs);
      repack = is_reference(made.description);
    } catch (const Error&) {
      repack = true;
    }
  }
  if (repack) {
    operands.weights = any_of(operands.weights);
    made = make(operands, inputs, outputs);
    operands.weights = made.description.weights_desc();
    if (operands.weights != at_hand) {
      const Source copy{Source::From::kScratch, execution->reserve(operands.weights.get_size())};
      execution->add_reorder("reorder of weights", weights, at_hand, copy, operands.weights);
      weights = copy;
    }
  }
  Source result{Source::From::kOutput, 0};
  // The tail still has to read what lies in the output's memory.
  if (!made.fused && adds_in_place_)
    result = {Source::From::kScratch, execution->reserve(operands.destination.get_size())};
  add_main(*execution, made, operands, weights, result, inputs, outputs);
  if (!made.fused) {
    std::vector<TensorSpec> tail = {outputs[0]};
    for (size_t i = kFirstOperand; i < inputs.size(); ++i) tail.push_back(inputs[i]);
    execution->set_tail(prepare_pointwise(epilogue_, tail, outputs[0]), result, kFirstOperand);
  }
  return execution;
}

}  // namespace tenon::cpu::onednn
