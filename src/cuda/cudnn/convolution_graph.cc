#include "cuda/cudnn/convolution_graph.h"

#include <algorithm>

#include "base/cuda_stream.h"
#include "cuda/check.h"
#include "cuda/pad.h"

namespace tenon::cuda::cudnn {
namespace {

constexpr size_t kAlignment = 256;

size_t aligned(size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Where a tensor of the graph lies.
struct Source {
  enum class From : uint8_t { kInput, kWeights, kConstant, kPadded, kSums, kOutput } from;
  size_t index = 0;
};

/// Makes the graph of a layer, and remembers what its tensors are.
class Builder {
 public:
  Builder(const Problem& problem, Form form, bool pads) : p_(problem), form_(form), pads_(pads) {
    build();
  }
  Graph graph;
  std::vector<Source> sources;

 private:
  using From = Source::From;

  DataType type() const { return p_.result.type; }
  Layout layout() const { return p_.result.layout; }

  int64_t tensor(DataType type, const Shape& shape, Source source) {
    sources.push_back(source);
    return graph.tensor(type, shape, layout());
  }

  Shape weights_shape() const {
    const ConvolutionAttributes& a = p_.op.attributes;
    const int64_t channels = p_.inputs[kDataInput].shape[1];
    Shape shape = p_.op.transposed ? Shape{channels, a.output_channels / a.groups}
                                   : Shape{a.output_channels, channels / a.groups};
    for (const int64_t k : a.kernel) shape.push_back(k);
    return shape;
  }

  void build() {
    const int64_t data =
        tensor(type(), p_.data_shape(pads_), {pads_ ? From::kPadded : From::kInput, kDataInput});
    const int64_t weights = tensor(type(), weights_shape(), {From::kWeights});
    const bool fused = form_ == Form::kFused;
    left_ = fused ? p_.fusion->steps.size() + (p_.has_bias() ? 1 : 0) : 0;
    const int64_t sums = form_ == Form::kFloatSums
                             ? tensor(DataType::kFLOAT, p_.result.shape, {From::kSums})
                             : next();
    graph.convolve(p_.op.transposed ? Kind::kTransposed : Kind::kForward, data, weights, sums,
                   p_.windows(pads_));
    if (fused) follow(sums);
    graph.finalize();
  }

  /// What the next operation writes to: the last one to the result.
  int64_t next() {
    return left_-- == 0 ? tensor(type(), p_.result.shape, {From::kOutput})
                        : graph.between(p_.result.shape, layout());
  }

  int64_t operation(const Graph::Pointwise& wanted, int64_t a, int64_t b) {
    const int64_t result = next();
    graph.pointwise(wanted, a, b, result);
    return result;
  }

  int64_t add_bias(int64_t to) {
    Shape shape = Shape::filled(p_.result.shape.rank(), 1);
    shape[1] = p_.op.attributes.output_channels;
    return operation({CUDNN_POINTWISE_ADD}, to, tensor(type(), shape, {From::kInput, kBiasInput}));
  }

  void follow(int64_t sums) {
    const Fusion& f = *p_.fusion;
    registers_.assign(static_cast<size_t>(f.inputs) + f.constants.size(), -1);
    size_t first = 0;
    // A tensor that is added before anything else is added before the bias: cuDNN's own kernels
    // have it in this order.
    if (p_.has_bias() && starts_with_sum()) {
      sums = operation(f.steps[0].operation, sums, value(f.steps[0].b));
      registers_.push_back(add_bias(sums));
      first = 1;
    } else {
      registers_[0] = p_.has_bias() ? add_bias(sums) : sums;
    }
    for (size_t i = first; i < f.steps.size(); ++i) {
      const Fusion::Step& s = f.steps[i];
      const int64_t a = value(s.a), b = s.b < 0 ? -1 : value(s.b);
      registers_.push_back(operation(s.operation, a, b));
    }
  }

  bool starts_with_sum() const {
    const Fusion& f = *p_.fusion;
    const auto reads = [](const Fusion::Step& s) { return s.a == 0 || s.b == 0; };
    return !f.steps.empty() && f.steps[0].operation.mode == CUDNN_POINTWISE_ADD && f.steps[0].a == 0
           && f.steps[0].b > 0 && f.steps[0].b < f.inputs
           && std::none_of(f.steps.begin() + 1, f.steps.end(), reads);
  }

  /// The tensor of a register, made when it is first read.
  int64_t value(int32_t r) {
    int64_t& number = registers_[static_cast<size_t>(r)];
    if (number >= 0) return number;
    const Fusion& f = *p_.fusion;
    if (r < f.inputs) {
      const size_t input = kFirstOperand + static_cast<size_t>(r) - 1;
      number = tensor(type(), p_.inputs[input].shape, {From::kInput, input});
    } else {
      number = tensor(DataType::kFLOAT, Shape::filled(p_.result.shape.rank(), 1),
                      {From::kConstant, static_cast<size_t>(r - f.inputs)});
    }
    return number;
  }

  const Problem& p_;
  Form form_;
  bool pads_;
  size_t left_ = 0;  // operations that are still to come
  std::vector<int64_t> registers_;
};

class GraphExecution final : public Execution {
 public:
  GraphExecution(const Problem& problem, const GraphConfig& config, bool weights_are_packed)
      : config_(config), weights_are_packed_(weights_are_packed), type_(problem.result.type) {
    Builder builder(problem, config.form, config.pads);
    plan_ = builder.graph.plan(config.engine);
    sources_ = std::move(builder.sources);
    addresses_.resize(sources_.size());
    if (config.pads) set_padding(problem);
    if (config.form != Form::kFused)
      epilogue_ =
          epilogue_parameters(problem.op.attributes.epilogue, problem.inputs, problem.result);
    if (config.form == Form::kFloatSums)
      sums_bytes_ = aligned(bytes_of(DataType::kFLOAT, problem.result.shape.volume()));
  }

  size_t scratch_bytes() const override {
    return padded_bytes_ + sums_bytes_ + plan_.workspace_bytes();
  }

  void run(const RunArguments& arguments) override {
    auto* scratch = static_cast<std::byte*>(arguments.scratch);
    padded_ = scratch;
    sums_ = config_.form == Form::kFloatSums ? scratch + padded_bytes_ : arguments.outputs[0];
    if (config_.pads) {
      padding_.in = arguments.inputs[kDataInput];
      padding_.out = padded_;
      launch_pad(padding_, to_cuda(arguments.stream));
      check_launch("a padding");
    }
    for (size_t i = 0; i < sources_.size(); ++i) addresses_[i] = address_of(sources_[i], arguments);
    plan_.run(addresses_,
              plan_.workspace_bytes() > 0 ? scratch + padded_bytes_ + sums_bytes_ : nullptr,
              to_cuda(arguments.stream));
    if (config_.form == Form::kFused) return;
    set_operands(epilogue_, arguments.inputs);
    launch_epilogue(epilogue_, sums_, config_.form == Form::kFloatSums ? DataType::kFLOAT : type_,
                    arguments.outputs[0], type_, to_cuda(arguments.stream));
    check_launch("an epilogue");
  }

 private:
  void set_padding(const Problem& p) {
    const Shape& from = p.inputs[kDataInput].shape;
    const Shape to = p.data_shape(true);
    const auto windows = p.op.windows(from, p.result.shape);
    std::fill(std::begin(padding_.from), std::end(padding_.from), 1);
    std::fill(std::begin(padding_.to), std::end(padding_.to), 1);
    const bool last = p.result.layout == Layout::kChannelsLast;
    const auto set = [&](int at, int axis) {
      padding_.from[at] = from[axis];
      padding_.to[at] = to[axis];
    };
    const int first = PadParameters::kAxes - from.rank();  // missing axes come first
    set(first, 0);
    set(last ? PadParameters::kAxes - 1 : first + 1, 1);
    for (int axis = 2; axis < from.rank(); ++axis) {
      const int at = first + axis - (last ? 1 : 0);
      set(at, axis);
      padding_.pre[at] = windows[static_cast<size_t>(axis) - 2].pre;
    }
    padding_.bytes = bits_of(type_) / 8;
    padded_bytes_ = aligned(bytes_of(type_, to.volume()));
  }

  void* address_of(const Source& source, const RunArguments& arguments) const {
    const void* address = nullptr;
    switch (source.from) {
      case Source::From::kInput:
        address = arguments.inputs[source.index];
        break;
      case Source::From::kWeights:
        address = weights_are_packed_ ? arguments.packed[0] : arguments.inputs[kWeightsInput];
        break;
      case Source::From::kConstant:
        address = static_cast<const float*>(arguments.packed[weights_are_packed_ ? 1 : 0])
                  + 4 * source.index;
        break;
      case Source::From::kPadded:
        address = padded_;
        break;
      case Source::From::kSums:
        address = sums_;
        break;
      case Source::From::kOutput:
        address = arguments.outputs[0];
        break;
    }
    return const_cast<void*>(address);  // cuDNN's interface has one list for all
  }

  GraphConfig config_;
  bool weights_are_packed_;
  DataType type_;
  GraphPlan plan_;
  std::vector<Source> sources_;
  std::vector<void*> addresses_;
  PadParameters padding_;
  EpilogueParameters epilogue_;
  size_t padded_bytes_ = 0, sums_bytes_ = 0;
  void* padded_ = nullptr;
  void* sums_ = nullptr;
};

bool is_symmetric(std::span<const Window> windows) {
  return std::all_of(windows.begin(), windows.end(),
                     [](const Window& w) { return w.pre == w.post; });
}

// cuDNN derives the smaller extent from the larger one, rounding down. Where the padding behind
// does not matter it is what it is in front: more kernels take that.
int64_t padding_behind(const Window& w, int64_t small, int64_t large) {
  const int64_t reached = (small - 1) * w.stride + w.reach() - w.pre - large;
  for (const int64_t post : {w.pre, w.post, std::max<int64_t>(reached, 0)})
    if (post >= reached && post < reached + w.stride) return post;
  fail(ErrorCode::kUNSUPPORTED_STATE, "cuDNN does not slide windows from {} to {} elements", large,
       small);
}

std::vector<Form> forms_of(const Problem& p) {
  std::vector<Form> forms;
  if (p.fusion) forms.push_back(Form::kFused);
  if (p.fusion && p.fusion->steps.empty() && !p.has_bias()) return forms;
  if (p.result.type != DataType::kFLOAT) forms.push_back(Form::kFloatSums);
  forms.push_back(Form::kSums);
  return forms;
}

}  // namespace

void GraphConfig::visit(FieldVisitor& v) {
  v("form", form);
  v("pads", pads);
  v("engine", engine.engine);
  v("knobs", engine.knobs);
}

std::string GraphConfig::str() const {
  std::string text = form == Form::kFused ? "fused" : form == Form::kSums ? "sums" : "float sums";
  if (pads) text += " padded";
  return text + " " + engine.str();
}

Shape Problem::data_shape(bool pads) const {
  Shape shape = inputs[kDataInput].shape;
  if (!pads) return shape;
  const auto padding = windows(false);
  for (size_t i = 0; i < padding.size(); ++i)
    shape[static_cast<int>(i) + 2] += padding[i].pre + padding[i].post;
  return shape;
}

std::vector<Window> Problem::windows(bool pads) const {
  auto windows = op.windows(inputs[kDataInput].shape, result.shape);
  const Shape in = data_shape(pads);
  for (size_t i = 0; i < windows.size(); ++i) {
    Window& w = windows[i];
    if (pads) w.pre = w.post = 0;
    const auto axis = static_cast<int>(i) + 2;
    const int64_t small = op.transposed ? in[axis] : result.shape[axis];
    const int64_t large = op.transposed ? result.shape[axis] : in[axis];
    w.post = padding_behind(w, small, large);
  }
  return windows;
}

std::vector<GraphConfig> configs_for(const Problem& problem, size_t max_count) {
  std::vector<GraphConfig> configs;
  bool symmetric = true;
  try {
    symmetric = is_symmetric(problem.windows(false));
  } catch (const Error&) {  // windows that cuDNN does not slide
    return configs;
  }
  for (const bool pads : {false, true}) {
    if (pads && (symmetric || problem.op.transposed || !configs.empty())) break;
    for (const Form form : forms_of(problem)) {
      std::vector<EngineChoice> engines;
      try {
        engines = Builder(problem, form, pads).graph.engines(problem.tf32, max_count);
      } catch (const Error&) {  // there is no such graph
      }
      for (EngineChoice& engine : engines) configs.push_back({form, pads, std::move(engine)});
      // Floats without tensor cores have few fused kernels: those that are not may be faster.
      if (!engines.empty() && problem.result.type != DataType::kFLOAT) break;
    }
  }
  return configs;
}

std::unique_ptr<Execution> execution_of(const Problem& problem, const GraphConfig& config,
                                        bool weights_are_packed) {
  return std::make_unique<GraphExecution>(problem, config, weights_are_packed);
}

}  // namespace tenon::cuda::cudnn
