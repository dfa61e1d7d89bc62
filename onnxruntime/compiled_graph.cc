#include "compiled_graph.h"

#include <tenon/serve/infer.h>
#include <tenon/session/model.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <utility>

namespace tenon::ort {
namespace {

using session::Range;
using session::Ranges;
using session::Shape;

template <class T> T value_of(session::Result<T> result) {
  if (!result) throw Error{result.error()};
  return *std::move(result);
}
void value_of(const session::Result<void>& result) {
  if (!result) throw Error{result.error()};
}

bool is_integer(int onnx_type) {
  return onnx_type == 6 || onnx_type == 7;
}

// Extents, or values, that an input has had, and those that it may have.
bool contains(const Range& range, const Shape& shape) {
  if (range.min.size() != shape.size()) return false;
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] < range.min[i] || shape[i] > range.max[i]) return false;
  return true;
}

int64_t power_of_two(int64_t value) {
  constexpr int64_t kLargest = int64_t{1} << 30;
  return value <= 0 || value > kLargest
             ? value
             : static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(value)));
}

// The next range: what there was and the new extents, up to a power of two.
Range widened(const Range* before, const Shape& shape, const Shape& declared) {
  Range made{shape, shape, shape};
  for (size_t i = 0; i < shape.size(); ++i) {
    if (i < declared.size() && declared[i] >= 0) continue;
    made.min[i] = std::min<int64_t>(shape[i], 1);
    made.max[i] = power_of_two(shape[i]);
    if (before == nullptr || before->min.size() != shape.size()) continue;
    made.min[i] = std::min(made.min[i], before->min[i]);
    made.max[i] = std::max(made.max[i], before->max[i]);
  }
  return made;
}

void set_precision(nvinfer1::IBuilderConfig& config, const std::string& precision) {
  using Flag = nvinfer1::BuilderFlag;
  config.clearFlag(Flag::kTF32);
  if (precision == "tf32") config.setFlag(Flag::kTF32);
  if (precision == "fp16") config.setFlag(Flag::kFP16);
  if (precision == "bf16") config.setFlag(Flag::kBF16);
}

}  // namespace

bool is_supported_type(int type) {
  // float, uint8, int8, int32, int64, bool, float16, bfloat16.
  static constexpr std::array kTypes = {1, 2, 3, 6, 7, 9, 10, 16};
  return std::ranges::find(kTypes, type) != kTypes.end();
}

// An input of a run: ONNX Runtime's memory.
struct CompiledGraph::Input {
  const GraphInput* info = nullptr;
  Shape shape;
  const void* data = nullptr;
  size_t bytes = 0;

  // Its elements, where they are integers: those of inputs that decide shapes.
  Shape values() const {
    Shape made;
    if (info->type == 7)
      made.assign(static_cast<const int64_t*>(data), static_cast<const int64_t*>(data) + bytes / 8);
    if (info->type == 6)
      made.assign(static_cast<const int32_t*>(data), static_cast<const int32_t*>(data) + bytes / 4);
    return made;
  }
};

// An engine and what it was built for.
class CompiledGraph::Built {
 public:
  /// @param fixes_vectors lists of integers have their lengths: those of shapes need that.
  Built(GraphModel& model, const CompileOptions& options, const std::vector<Input>& inputs,
        const Built* before, bool fixes_vectors) {
    std::vector<GraphInput> declared = model.inputs;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!declared[i].has_shape) {
        declared[i].shape.assign(inputs[i].shape.size(), -1);
        declared[i].has_shape = true;
      }
      if (fixes_vectors && declared[i].shape.size() == 1 && is_integer(declared[i].type)) {
        declared[i].shape = inputs[i].shape;
        ranges_[declared[i].name] = {inputs[i].shape, inputs[i].shape, inputs[i].shape};
      }
    }
    const std::string bytes = model.bytes(declared);
    session::ErrorLog log;
    session::Model parsed = value_of(session::Model::parse(std::as_bytes(std::span(bytes)), log));
    set_precision(*parsed.config, options.precision);
    Ranges varying;
    for (const nvinfer1::ITensor* tensor : parsed.varying_inputs()) {
      const auto found = std::ranges::find(inputs, std::string(tensor->getName()),
                                           [](const Input& input) { return input.info->name; });
      if (found == inputs.end()) throw Error{std::string("no input ") + tensor->getName()};
      values_decide_[found->info->name] = tensor->isShapeTensor();
      const Shape shape = of(*found);
      const auto old =
          before == nullptr ? Ranges::const_iterator() : before->ranges_.find(found->info->name);
      const Range* range =
          before == nullptr || old == before->ranges_.end() ? nullptr : &old->second;
      varying[found->info->name] =
          widened(range, shape, tensor->isShapeTensor() ? Shape() : found->info->shape);
    }
    if (!varying.empty()) value_of(parsed.add_profile(varying, log));
    for (const auto& [name, range] : varying) ranges_[name] = range;
    const auto plan = value_of(parsed.build(log));
    engine_ = value_of(
        serve::EngineContext::load({static_cast<const std::byte*>(plan->data()), plan->size()}));
  }

  bool takes(const std::vector<Input>& inputs) const {
    return std::ranges::all_of(inputs, [&](const Input& input) {
      const auto range = ranges_.find(input.info->name);
      return range == ranges_.end() || contains(range->second, of(input));
    });
  }

  // A context that no other run has.
  std::shared_ptr<serve::Infer> take() {
    {
      const std::lock_guard lock(mutex_);
      if (!idle_.empty()) {
        auto taken = std::move(idle_.back());
        idle_.pop_back();
        return taken;
      }
    }
    return value_of(serve::Infer::make(engine_));
  }
  void give_back(std::shared_ptr<serve::Infer> infer) {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(infer));
  }

 private:
  Shape of(const Input& input) const {
    const auto found = values_decide_.find(input.info->name);
    return found != values_decide_.end() && found->second ? input.values() : input.shape;
  }

  Ranges ranges_;                              // of inputs that vary
  std::map<std::string, bool> values_decide_;  // of these: whether their values decide shapes
  std::shared_ptr<serve::EngineContext> engine_;
  std::mutex mutex_;
  std::vector<std::shared_ptr<serve::Infer>> idle_;
};

CompiledGraph::CompiledGraph(GraphModel model, CompileOptions options)
    : model_(std::move(model)), options_(std::move(options)) {
  const bool is_fixed = std::ranges::all_of(model_.inputs, [](const GraphInput& input) {
    return input.has_shape && std::ranges::all_of(input.shape, [](int64_t e) { return e >= 0; })
           && !is_integer(input.type);  // whose values may decide shapes
  });
  if (is_fixed) {
    std::vector<Input> inputs;
    for (const GraphInput& info : model_.inputs) inputs.push_back({&info, info.shape, nullptr, 0});
    built_ = std::make_shared<Built>(model_, options_, inputs, nullptr, false);
  }
}

CompiledGraph::~CompiledGraph() = default;

std::vector<CompiledGraph::Input> CompiledGraph::read_inputs(
    const Api& api, const OrtKernelContext* context) const {
  std::vector<Input> made;
  for (const GraphInput& info : model_.inputs) {
    const OrtValue* value = nullptr;
    api.check(api->KernelContext_GetInput(context, info.index, &value));
    if (value == nullptr) throw Error{"input '" + info.name + "' is missing"};
    made.push_back({&info, shape_of(api, value), nullptr, 0});
    void* data = nullptr;  // it is only read
    api.check(api->GetTensorMutableData(const_cast<OrtValue*>(value), &data));
    made.back().data = data;
    made.back().bytes = api.get(&OrtApi::GetTensorSizeInBytes, value);
  }
  return made;
}

std::shared_ptr<CompiledGraph::Built> CompiledGraph::built_for(const std::vector<Input>& inputs) {
  const std::lock_guard lock(mutex_);
  if (built_ != nullptr && built_->takes(inputs)) return built_;
  if (!fixes_vectors_) try {
      built_ = std::make_shared<Built>(model_, options_, inputs, built_.get(), false);
      return built_;
    } catch (const Error&) {
      fixes_vectors_ = true;
    }
  built_ = std::make_shared<Built>(model_, options_, inputs, built_.get(), true);
  return built_;
}

void CompiledGraph::run(const Api& api, OrtKernelContext* context) {
  const std::vector<Input> inputs = read_inputs(api, context);
  const std::shared_ptr<Built> built = built_for(inputs);
  const std::shared_ptr<serve::Infer> infer = built->take();
  for (int i = 0; i < infer->num_input(); ++i) {
    const auto found = std::ranges::find(inputs, infer->get_input_name(i),
                                         [](const Input& input) { return input.info->name; });
    if (found == inputs.end()) throw Error{"no input " + infer->get_input_name(i)};
    auto memory = std::make_shared<serve::MixMemory>(const_cast<void*>(found->data), found->bytes,
                                                     nullptr, 0);
    value_of(infer->set_input(
        i, std::make_shared<serve::Tensor>(found->shape, infer->input(i)->type(), std::move(memory),
                                           serve::DataHead::kHost)));
  }
  value_of(infer->forward());
  for (size_t i = 0; i < model_.outputs.size(); ++i) {
    const auto tensor = infer->tensor(model_.outputs[i]);
    if (tensor == nullptr) throw Error{"no output " + model_.outputs[i]};
    OrtValue* value = nullptr;
    api.check(api->KernelContext_GetOutput(context, i, tensor->shape().data(),
                                           tensor->shape().size(), &value));
    void* to = nullptr;
    api.check(api->GetTensorMutableData(value, &to));
    if (tensor->bytes() != api.get(&OrtApi::GetTensorSizeInBytes, value))
      throw Error{"output " + model_.outputs[i] + " has another element type"};
    if (tensor->bytes() > 0) std::memcpy(to, value_of(tensor->cpu()), tensor->bytes());
  }
  built->give_back(infer);
}

}  // namespace tenon::ort
