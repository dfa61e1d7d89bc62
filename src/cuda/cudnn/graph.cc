#include "cuda/cudnn/graph.h"

#include <algorithm>

#include "cuda/check.h"
#include "cuda/cudnn/plan_texts.h"

namespace tenon::cuda::cudnn {
namespace {

constexpr size_t kMaxResults = 64;
constexpr int64_t kAlignment = 16;  // of tensors in memory, in bytes

cudnnDataType_t type_of(DataType type) {
  switch (type) {
    case DataType::kFLOAT:
      return CUDNN_DATA_FLOAT;
    case DataType::kHALF:
      return CUDNN_DATA_HALF;
    case DataType::kBF16:
      return CUDNN_DATA_BFLOAT16;
    default:
      fail(ErrorCode::kUNSUPPORTED_STATE, "cuDNN is not asked for tensors of {}", name_of(type));
  }
}

/// 0 would be a tensor without a name.
int64_t id_of(int64_t tensor) {
  return tensor + 1;
}

std::vector<int64_t> list_of(const Shape& shape) {
  return {shape.begin(), shape.end()};
}

std::vector<int64_t> column(std::span<const Window> windows, int64_t Window::* member) {
  std::vector<int64_t> list;
  for (const Window& w : windows) list.push_back(w.*member);
  return list;
}

bool has(const std::vector<cudnnBackendNumericalNote_t>& notes, cudnnBackendNumericalNote_t note) {
  return std::find(notes.begin(), notes.end(), note) != notes.end();
}

bool is_allowed(const Descriptor& engine, bool keeps_float) {
  const auto notes = engine.list<cudnnBackendNumericalNote_t>(
      CUDNN_ATTR_ENGINE_NUMERICAL_NOTE, CUDNN_TYPE_NUMERICAL_NOTE, CUDNN_NUMERICAL_NOTE_TYPE_COUNT);
  if (has(notes, CUDNN_NUMERICAL_NOTE_NONDETERMINISTIC)
      || has(notes, CUDNN_NUMERICAL_NOTE_REDUCED_PRECISION_REDUCTION)
      || has(notes, CUDNN_NUMERICAL_NOTE_WINOGRAD_TILE_13x13))
    return false;
  return !keeps_float
         || (!has(notes, CUDNN_NUMERICAL_NOTE_TENSOR_CORE)
             && !has(notes, CUDNN_NUMERICAL_NOTE_DOWN_CONVERT_INPUTS));
}

EngineChoice choice_of(const Descriptor& configuration, const Descriptor& engine) {
  EngineChoice choice;
  choice.engine = engine.value<int64_t>(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, CUDNN_TYPE_INT64);
  for (const Descriptor& knob :
       configuration.descriptors(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES,
                                 CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR, CUDNN_KNOB_TYPE_COUNTS)) {
    choice.knobs.push_back(
        knob.value<cudnnBackendKnobType_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE));
    choice.knobs.push_back(
        knob.value<int64_t>(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, CUDNN_TYPE_INT64));
  }
  return choice;
}

std::vector<cudnnBackendDescriptor_t> pointers_to(const std::vector<Descriptor>& descriptors) {
  std::vector<cudnnBackendDescriptor_t> pointers;
  for (const Descriptor& d : descriptors) pointers.push_back(d.get());
  return pointers;
}

}  // namespace

std::string EngineChoice::str() const {
  std::string text = fmt::format("{}", engine);
  for (size_t i = 0; i + 1 < knobs.size(); i += 2)
    text += fmt::format(" {}:{}", knobs[i], knobs[i + 1]);
  return text;
}

std::string Descriptor::text(cudnnBackendAttributeName_t name) const {
  int64_t size = 0;
  check(library().get_attribute(descriptor_, name, CUDNN_TYPE_CHAR, 0, &size, nullptr),
        "measuring a text");
  std::string text(static_cast<size_t>(std::max<int64_t>(size, 0)), '\0');
  check(library().get_attribute(descriptor_, name, CUDNN_TYPE_CHAR, size, &size, text.data()),
        "reading a text");
  return text;
}

std::vector<Descriptor> Descriptor::descriptors(cudnnBackendAttributeName_t name,
                                                cudnnBackendDescriptorType_t type,
                                                size_t max_count) const {
  std::vector<Descriptor> list;
  for (size_t i = 0; i < max_count; ++i) list.emplace_back(type);
  auto pointers = pointers_to(list);
  int64_t count = 0;
  check(library().get_attribute(descriptor_, name, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                                static_cast<int64_t>(max_count), &count, pointers.data()),
        "reading descriptors");
  list.resize(static_cast<size_t>(std::clamp<int64_t>(count, 0, static_cast<int64_t>(max_count))));
  return list;
}

GraphPlan::GraphPlan(Descriptor plan, Descriptor configuration, std::vector<int64_t> tensors)
    : plan_(std::move(plan)),
      configuration_(std::move(configuration)),
      tensors_(std::move(tensors)) {
  workspace_bytes_ = static_cast<size_t>(std::max<int64_t>(
      plan_.value<int64_t>(CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE, CUDNN_TYPE_INT64), 0));
  pack_addresses_.resize(tensors_.size() + 1);
}

void GraphPlan::run(std::span<void* const> addresses, void* workspace, cudaStream_t stream) {
  require(addresses.size() == tensors_.size(), "a graph of {} tensors was given {}",
          tensors_.size(), addresses.size());
  const bool same = std::equal(addresses.begin(), addresses.end(), pack_addresses_.begin());
  if (pack_.get() == nullptr || !same || pack_addresses_.back() != workspace) {
    cuda::check_alignment(addresses, kAlignment);
    Descriptor pack(CUDNN_BACKEND_VARIANT_PACK_DESCRIPTOR);
    pack.set(CUDNN_ATTR_VARIANT_PACK_UNIQUE_IDS, std::span<const int64_t>(tensors_));
    pack.set_list(CUDNN_ATTR_VARIANT_PACK_DATA_POINTERS, CUDNN_TYPE_VOID_PTR, addresses);
    pack.set(CUDNN_ATTR_VARIANT_PACK_WORKSPACE, CUDNN_TYPE_VOID_PTR, workspace);
    pack.finalize("binding tensors");
    pack_ = std::move(pack);
    std::copy(addresses.begin(), addresses.end(), pack_addresses_.begin());
    pack_addresses_.back() = workspace;
  }
  const Handle handle;
  check(library().set_stream(handle, stream), "choosing a stream");
  check(library().execute(handle, plan_.get(), pack_.get()), "starting a kernel");
}

Descriptor& Graph::add(int64_t number, cudnnDataType_t type, const Shape& shape, Layout layout,
                       bool is_between) {
  Descriptor tensor(CUDNN_BACKEND_TENSOR_DESCRIPTOR);
  tensor.set(CUDNN_ATTR_TENSOR_DATA_TYPE, type);
  tensor.set(CUDNN_ATTR_TENSOR_DIMENSIONS, std::span<const int64_t>(list_of(shape)));
  tensor.set(CUDNN_ATTR_TENSOR_STRIDES,
             std::span<const int64_t>(list_of(strides_of(shape, layout))));
  tensor.set(CUDNN_ATTR_TENSOR_UNIQUE_ID, id_of(number));
  tensor.set(CUDNN_ATTR_TENSOR_BYTE_ALIGNMENT, kAlignment);
  tensor.set(CUDNN_ATTR_TENSOR_IS_VIRTUAL, is_between);
  tensor.finalize("describing a tensor");
  text_ += fmt::format("{} {} {} {}\n", static_cast<int>(type), shape, name_of(layout), is_between);
  return tensors_.emplace_back(std::move(tensor));
}

int64_t Graph::tensor(DataType type, const Shape& shape, Layout layout) {
  const auto number = static_cast<int64_t>(tensors_.size());
  add(number, type_of(type), shape, layout, false);
  in_memory_.push_back(id_of(number));
  is_float_ &= type == DataType::kFLOAT;
  return number;
}

int64_t Graph::between(const Shape& shape, Layout layout) {
  const auto number = static_cast<int64_t>(tensors_.size());
  add(number, CUDNN_DATA_FLOAT, shape, layout, true);
  return number;
}

void Graph::convolve(Kind kind, int64_t data, int64_t weights, int64_t result,
                     std::span<const Window> windows) {
  Descriptor sliding(CUDNN_BACKEND_CONVOLUTION_DESCRIPTOR);
  sliding.set(CUDNN_ATTR_CONVOLUTION_COMP_TYPE, CUDNN_DATA_FLOAT);
  sliding.set(CUDNN_ATTR_CONVOLUTION_CONV_MODE, CUDNN_TYPE_CONVOLUTION_MODE,
              CUDNN_CROSS_CORRELATION);
  sliding.set(CUDNN_ATTR_CONVOLUTION_SPATIAL_DIMS, static_cast<int64_t>(windows.size()));
  const auto set = [&](cudnnBackendAttributeName_t name, int64_t Window::* member) {
    sliding.set(name, std::span<const int64_t>(column(windows, member)));
  };
  set(CUDNN_ATTR_CONVOLUTION_DILATIONS, &Window::dilation);
  set(CUDNN_ATTR_CONVOLUTION_FILTER_STRIDES, &Window::stride);
  set(CUDNN_ATTR_CONVOLUTION_PRE_PADDINGS, &Window::pre);
  set(CUDNN_ATTR_CONVOLUTION_POST_PADDINGS, &Window::post);
  sliding.finalize("describing a convolution");

  const bool forward = kind == Kind::kForward;
  Descriptor operation(forward ? CUDNN_BACKEND_OPERATION_CONVOLUTION_FORWARD_DESCRIPTOR
                               : CUDNN_BACKEND_OPERATION_CONVOLUTION_BACKWARD_DATA_DESCRIPTOR);
  const auto part = [&](cudnnBackendAttributeName_t name, int64_t number) {
    operation.set(name, tensors_[static_cast<size_t>(number)]);
  };
  if (forward) {
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_CONV_DESC, sliding);
    part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_X, data);
    part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_W, weights);
    part(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_Y, result);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_ALPHA, CUDNN_TYPE_FLOAT, 1.f);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_FORWARD_BETA, CUDNN_TYPE_FLOAT, 0.f);
  } else {
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_CONV_DESC, sliding);
    part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DY, data);
    part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_W, weights);
    part(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_DX, result);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_ALPHA, CUDNN_TYPE_FLOAT, 1.f);
    operation.set(CUDNN_ATTR_OPERATION_CONVOLUTION_BWD_DATA_BETA, CUDNN_TYPE_FLOAT, 0.f);
  }
  operation.finalize("asking for a convolution");
  text_ += fmt::format("slide {} {} {} {}", static_cast<int>(kind), data, weights, result);
  for (const Window& w : windows)
    text_ += fmt::format(", {} {} {} {} {}", w.kernel, w.stride, w.dilation, w.pre, w.post);
  text_ += "\n";
  parts_.push_back(std::move(sliding));
  operations_.push_back(std::move(operation));
}

void Graph::pointwise(const Pointwise& wanted, int64_t a, int64_t b, int64_t result) {
  Descriptor function(CUDNN_BACKEND_POINTWISE_DESCRIPTOR);
  function.set(CUDNN_ATTR_POINTWISE_MODE, CUDNN_TYPE_POINTWISE_MODE, wanted.mode);
  function.set(CUDNN_ATTR_POINTWISE_MATH_PREC, CUDNN_DATA_FLOAT);
  if (wanted.mode == CUDNN_POINTWISE_RELU_FWD) {
    function.set(CUDNN_ATTR_POINTWISE_NAN_PROPAGATION, CUDNN_TYPE_NAN_PROPOGATION,
                 CUDNN_PROPAGATE_NAN);
    function.set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP, 0.0);
    function.set(CUDNN_ATTR_POINTWISE_RELU_UPPER_CLIP, wanted.upper);
    function.set(CUDNN_ATTR_POINTWISE_RELU_LOWER_CLIP_SLOPE, wanted.lower_slope);
  }
  if (wanted.mode == CUDNN_POINTWISE_ELU_FWD)
    function.set(CUDNN_ATTR_POINTWISE_ELU_ALPHA, wanted.elu_alpha);
  if (wanted.mode == CUDNN_POINTWISE_SOFTPLUS_FWD)
    function.set(CUDNN_ATTR_POINTWISE_SOFTPLUS_BETA, wanted.softplus_beta);
  function.finalize("describing an element-wise operation");

  Descriptor operation(CUDNN_BACKEND_OPERATION_POINTWISE_DESCRIPTOR);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_PW_DESCRIPTOR, function);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_XDESC, tensors_[static_cast<size_t>(a)]);
  if (b >= 0) operation.set(CUDNN_ATTR_OPERATION_POINTWISE_BDESC, tensors_[static_cast<size_t>(b)]);
  operation.set(CUDNN_ATTR_OPERATION_POINTWISE_YDESC, tensors_[static_cast<size_t>(result)]);
  operation.finalize("asking for an element-wise operation");
  text_ +=
      fmt::format("each {} {} {} {} {} {} {} {}\n", static_cast<int>(wanted.mode), a, b, result,
                  wanted.lower_slope, wanted.upper, wanted.elu_alpha, wanted.softplus_beta);
  parts_.push_back(std::move(function));
  operations_.push_back(std::move(operation));
}

void Graph::finalize() {
  const Handle handle;
  const cudnnHandle_t plain = handle;
  Descriptor graph(CUDNN_BACKEND_OPERATIONGRAPH_DESCRIPTOR);
  graph.set(CUDNN_ATTR_OPERATIONGRAPH_HANDLE, CUDNN_TYPE_HANDLE, plain);
  const auto operations = pointers_to(operations_);
  graph.set_list(CUDNN_ATTR_OPERATIONGRAPH_OPS, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                 std::span(operations));
  graph.finalize("joining operations");
  graph_ = std::move(graph);
}

std::vector<EngineChoice> Graph::engines(bool tf32, size_t max_count) const {
  std::vector<EngineChoice> choices;
  for (const auto mode : {CUDNN_HEUR_MODE_A, CUDNN_HEUR_MODE_FALLBACK}) {
    try {
      Descriptor heuristics(CUDNN_BACKEND_ENGINEHEUR_DESCRIPTOR);
      heuristics.set(CUDNN_ATTR_ENGINEHEUR_OPERATION_GRAPH, graph_);
      heuristics.set(CUDNN_ATTR_ENGINEHEUR_MODE, CUDNN_TYPE_HEUR_MODE, mode);
      heuristics.finalize("asking for kernels");
      for (const Descriptor& configuration : heuristics.descriptors(
               CUDNN_ATTR_ENGINEHEUR_RESULTS, CUDNN_BACKEND_ENGINECFG_DESCRIPTOR, kMaxResults)) {
        const auto engine = std::move(configuration.descriptors(
            CUDNN_ATTR_ENGINECFG_ENGINE, CUDNN_BACKEND_ENGINE_DESCRIPTOR, 1)[0]);
        if (!is_allowed(engine, is_float_ && !tf32)) continue;
        EngineChoice choice = choice_of(configuration, engine);
        if (std::find(choices.begin(), choices.end(), choice) == choices.end())
          choices.push_back(std::move(choice));
        if (choices.size() == max_count) return choices;
      }
    } catch (const Error&) {  // this way of asking knows none
    }
  }
  return choices;
}

Descriptor Graph::configuration_of(const EngineChoice& choice) const {
  Descriptor engine(CUDNN_BACKEND_ENGINE_DESCRIPTOR);
  engine.set(CUDNN_ATTR_ENGINE_OPERATION_GRAPH, graph_);
  engine.set(CUDNN_ATTR_ENGINE_GLOBAL_INDEX, choice.engine);
  engine.finalize("finding an engine");

  std::vector<Descriptor> knobs;
  for (size_t i = 0; i + 1 < choice.knobs.size(); i += 2) {
    Descriptor& knob = knobs.emplace_back(CUDNN_BACKEND_KNOB_CHOICE_DESCRIPTOR);
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_TYPE, CUDNN_TYPE_KNOB_TYPE,
             static_cast<cudnnBackendKnobType_t>(choice.knobs[i]));
    knob.set(CUDNN_ATTR_KNOB_CHOICE_KNOB_VALUE, choice.knobs[i + 1]);
    knob.finalize("a setting of an engine");
  }
  Descriptor configuration(CUDNN_BACKEND_ENGINECFG_DESCRIPTOR);
  configuration.set(CUDNN_ATTR_ENGINECFG_ENGINE, engine);
  const auto settings = pointers_to(knobs);
  if (!settings.empty())
    configuration.set_list(CUDNN_ATTR_ENGINECFG_KNOB_CHOICES, CUDNN_TYPE_BACKEND_DESCRIPTOR,
                           std::span(settings));
  configuration.finalize("setting up an engine");
  return configuration;
}

GraphPlan Graph::plan(const EngineChoice& choice) const {
  const Handle handle;
  const cudnnHandle_t plain = handle;
  const auto empty_plan = [&] {
    Descriptor plan(CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR);
    plan.set(CUDNN_ATTR_EXECUTION_PLAN_HANDLE, CUDNN_TYPE_HANDLE, plain);
    return plan;
  };
  int device = 0;
  cuda::check(cudaGetDevice(&device), "asking for the current device");
  const std::string key = fmt::format("{}{} on {}", text_, choice.str(), device);
  if (const auto text = PlanTexts::find(key)) try {
      Descriptor plan = empty_plan();
      plan.set_list(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION, CUDNN_TYPE_CHAR,
                    std::span<const char>(*text));
      plan.finalize("reading a kernel");
      return GraphPlan(std::move(plan), {}, in_memory_);
    } catch (const Error&) {  // made anew
    }
  Descriptor configuration = configuration_of(choice);
  Descriptor plan = empty_plan();
  plan.set(CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG, configuration);
  plan.finalize("making a kernel");
  try {
    PlanTexts::keep(key, plan.text(CUDNN_ATTR_EXECUTION_PLAN_JSON_REPRESENTATION));
  } catch (const Error&) {  // not all kernels have a text
  }
  return GraphPlan(std::move(plan), std::move(configuration), in_memory_);
}

}  // namespace tenon::cuda::cudnn
