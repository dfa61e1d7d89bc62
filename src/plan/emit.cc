#include "plan/emit.h"

#include <algorithm>

#include "network/control_flow.h"
#include "ops/debug_tensor.h"
#include "ops/identity.h"
#include "ops/reorder.h"
#include "ops/shuffle.h"
#include "plan/choose_kernel.h"
#include "plan/io_format.h"
#include "plan/packed_from.h"

namespace tenon {
namespace {

using Place = PlanTensor::Place;

// A layer that only renames or reshapes.
bool only_renames(const Node& node) {
  if (node.as<Identity>() != nullptr) return true;
  const auto* shuffle = node.as<Shuffle>();
  return shuffle != nullptr && shuffle->only_reshapes();
}

// Its output is its input's memory.
bool is_view(const Node& node) {
  return only_renames(node) && !node.outputs[0]->is_output
         && node.inputs[0]->type == node.outputs[0]->type;
}

void emit_view(PlanBuilder& builder, const Node& node) {
  const int32_t source = builder.in_layout(builder.source_of(*node.inputs[0]), Layout::kLinear);
  builder.add_view(*node.outputs[0], source, Layout::kLinear);
}

int32_t output_tensor(PlanBuilder& builder, const Value& v, Layout layout) {
  if (builder.schedule.is_data_dependent(v))
    return builder.add_tensor(v, Place::kDataDependent, layout);
  if (!v.is_output || v.requested_type.value_or(v.type) != v.type)
    return builder.add_tensor(v, Place::kArena, layout);
  const Layout wanted = io_layout(v, builder.plan.max_batch);
  if (layout != wanted && layout != unpadded(v, wanted))
    return builder.add_tensor(v, Place::kArena, layout);
  const int32_t output = builder.add_tensor(v, Place::kOutput, wanted);
  return layout == wanted ? output : builder.add_view(v, output, layout);
}

// One that its kernel holds in a form of its own.
int32_t packed_tensor(PlanBuilder& builder, const Value& v) {
  PlanTensor t;
  t.name = v.name;
  t.type = v.type;
  t.place = Place::kNone;
  t.extents = builder.extents().at(&v);
  return builder.add_tensor(std::move(t));
}

void note_plugin(PlanBuilder& builder, const RequiredPlugin& plugin) {
  auto& list = builder.plan.plugins;
  if (std::find(list.begin(), list.end(), plugin) == list.end()) list.push_back(plugin);
}

void note_plugin(PlanBuilder& builder, const Node& node) {
  if (!node.op->is_plugin()) return;
  RequiredPlugin plugin;
  for (const auto& [name, value] : fields_of(*node.op)) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) continue;
    if (name == "plugin") plugin.name = *text;
    if (name == "version") plugin.version = *text;
    if (name == "namespace") plugin.name_space = *text;
  }
  note_plugin(builder, plugin);
}

// Any shape may come to a body; kernels are chosen for those at the optimum.
BuildOptions body_options(const PlanBuilder& builder, const Node& node, const ControlFlow& layer,
                          const Network& body) {
  BuildOptions options = builder.options;
  options.is_body = true;
  options.time_kernels = false;
  options.progress = nullptr;
  ProfileRequest profile;
  for (size_t i = 0; i < body.inputs().size(); ++i) {
    const Value& input = *body.inputs()[i];
    const int from = layer.layer_input(i);
    const Value* outer = from < 0 ? nullptr : node.inputs.at(static_cast<size_t>(from));
    auto& range = profile.inputs[input.name];
    range.min.emplace(), range.opt.emplace(), range.max.emplace();
    for (int axis = 0; axis < input.declared.rank(); ++axis) {
      const int64_t fixed = input.declared[axis];
      const bool known = outer != nullptr && outer->dims.size() == input.dims.size();
      const int64_t guess = known ? builder.optimum_shape(*outer)[axis] : kGuessedExtent;
      range.min->push_back(fixed >= 0 ? fixed : 0);
      range.opt->push_back(fixed >= 0 ? fixed : guess);
      range.max->push_back(fixed >= 0 ? fixed : INT64_MAX);
    }
    if (!input.content) continue;
    range.min_values.assign(input.content->size(), INT64_MIN);
    range.opt_values.assign(input.content->size(), 1);
    range.max_values.assign(input.content->size(), INT64_MAX);
  }
  options.profiles = {profile};
  return options;
}

void emit_control_flow(PlanBuilder& builder, const Node& node, const ControlFlow& layer) {
  PlanStep step = step_of(&node, *node.op, node.name);
  step.kernel = "bodies";
  for (const Value* v : node.inputs)
    step.inputs.push_back(v == nullptr ? -1
                                       : builder.in_layout(builder.source_of(*v), Layout::kLinear));
  for (const Value* v : node.outputs)
    step.outputs.push_back(output_tensor(builder, *v, Layout::kLinear));
  for (const auto& body : layer.bodies)
    with_context(fmt::format("body of layer {}", describe(node)), [&] {
      step.bodies.push_back(
          compile(*body, builder.target, body_options(builder, node, layer, *body)));
      for (const RequiredPlugin& plugin : step.bodies.back().plugins) note_plugin(builder, plugin);
    });
  builder.plan.steps.push_back(std::move(step));
  builder.kernels.push_back(nullptr);
}

// What tells a listener of a tensor, with the reorder that it needs, runs only where there is one.
void emit_debug(PlanBuilder& builder, const Value& v, const std::string& name, bool unfused) {
  auto& steps = builder.plan.steps;
  const auto index = static_cast<int32_t>(builder.plan.debug_tensors.size());
  builder.plan.debug_tensors.push_back({name, unfused});
  const size_t first = steps.size();
  int32_t tensor = builder.source_of(v);
  if (builder.at(tensor).layout != Layout::kLinear)
    tensor = builder.reorder(tensor, Layout::kLinear);
  DebugTensor op;
  op.tensor = name;
  PlanStep step = step_of(nullptr, op, fmt::format("Debug {}", name));
  step.kernel = "listener";
  step.inputs = {tensor};
  steps.push_back(std::move(step));
  builder.kernels.push_back(nullptr);
  for (size_t i = first; i < steps.size(); ++i) steps[i].debug = index;
}

// Plugins read what others made in the layouts of these.
int32_t read_by(PlanBuilder& builder, const Node& node, const Value& v) {
  return node.op->is_plugin() ? builder.source_of(v) : builder.readable_of(v);
}

// What a layer's kernel is asked with.
struct Request {
  std::vector<TensorSpec> inputs, outputs;
  std::vector<const Tensor*> constants;
  std::vector<const Folded*> folded;

  Request(PlanBuilder& builder, const Node& node) {
    for (const Value* v : node.inputs) {
      if (v == nullptr) {
        inputs.push_back({DataType::kFLOAT, Layout::kLinear, {}, false});
        constants.push_back(nullptr);
        folded.push_back(nullptr);
        continue;
      }
      const bool is_made = builder.tensor_of(*v) >= 0;
      const Layout layout =
          is_made ? builder.at(read_by(builder, node, *v)).layout : Layout::kLinear;
      inputs.push_back({v->type, layout, builder.optimum_shape(*v), true});
      constants.push_back(v->constant ? &*v->constant : nullptr);
      folded.push_back(v->folded.get());
    }
    for (const Value* v : node.outputs)
      outputs.push_back(
          {v->type, Layout::kLinear, builder.optimum_shape(*v), true,
           builder.schedule.is_data_dependent(*v) ? builder.largest_shape(*v) : Shape()});
  }
};

// Output 0 of a step overwrites an input: the one that arrives, or a copy of it.
void alias(PlanBuilder& builder, size_t which, std::vector<int32_t>& in, int32_t out,
           const Value& v) {
  PlanTensor& result = builder.at(out);
  if (result.place == Place::kArena && builder.may_overwrite(in, which)) {
    result.place = Place::kAlias;
    result.alias_of = in[which];
    builder.keep_until(out, builder.schedule.last_use(v));
    return;
  }
  PlanTensor copy = builder.at(in[which]);
  copy.place = Place::kAlias;
  copy.alias_of = out;
  copy.weight = -1;
  copy.content.clear();
  copy.name += " [copy]";
  Reorder op;
  op.from = op.to = copy.layout;
  const std::string name = fmt::format("Copy {}", copy.name);
  const int32_t target = builder.add_tensor(std::move(copy));
  builder.add_copy(op, in[which], target, name);
  in[which] = target;
}

}  // namespace

void emit_unfused(PlanBuilder& builder, const Node& node) {
  const auto is_marked = [&](const Value* v) {
    const auto& layers = builder.schedule.layers();
    return std::any_of(layers.begin(), layers.end(), [&](const Node* other) {
      return other->as<DebugTensor>() != nullptr && other->inputs[0] == v;
    });
  };
  for (const Value* v : node.outputs)
    if (builder.tensor_of(*v) >= 0 && !is_marked(v)) emit_debug(builder, *v, v->name, true);
}

void emit(PlanBuilder& builder, const Node& node) {
  if (const auto* debug = node.as<DebugTensor>())
    return emit_debug(builder, *node.inputs[0], debug->tensor, false);
  if (is_view(node)) return emit_view(builder, node);
  if (const auto* layer = node.as<ControlFlow>()) return emit_control_flow(builder, node, *layer);
  const Request asked(builder, node);
  KernelRequest request{*node.op, asked.inputs, asked.outputs, asked.constants,
                        builder.options.tf32};
  request.cold_weights = builder.cold_weights
                         && std::any_of(asked.constants.begin(), asked.constants.end(),
                                        [](const Tensor* t) { return t != nullptr; });
  request.bf16 = node.precision == DataType::kBF16;
  request.folded = asked.folded;
  const WeightGrowth& max_growth = builder.options.max_growth;
  ShapeRange range;
  if (builder.options.selector != nullptr && !builder.options.is_body)
    range = builder.range_of(node);
  auto kernel = choose_kernel(builder.target, request, node.name, builder.options, range,
                              std::min(max_growth.layer, max_growth.plan - builder.growth));
  builder.growth += growth_of(*kernel, request);
  if (!kernel->note.empty()) builder.options.log.warning("{}: {}", describe(node), kernel->note);

  std::vector<int32_t> in, out;
  for (size_t i = 0; i < asked.inputs.size(); ++i) {
    if (!asked.inputs[i].present)
      in.push_back(-1);
    else if (kernel->input_is_packed[i])
      in.push_back(packed_tensor(builder, *node.inputs[i]));
    else
      in.push_back(
          builder.in_layout(read_by(builder, node, *node.inputs[i]), kernel->input_layouts[i]));
  }
  for (size_t i = 0; i < asked.outputs.size(); ++i)
    out.push_back(output_tensor(builder, *node.outputs[i], kernel->output_layouts[i]));
  if (kernel->aliased_input >= 0)
    alias(builder, static_cast<size_t>(kernel->aliased_input), in, out[0], *node.outputs[0]);
  note_plugin(builder, node);
  if (node.op->is_plugin())
    for (const Value* v : node.outputs) builder.set_foreign(*v);
  std::shared_ptr<const PackedFrom> packed_from;
  if (builder.options.refit != RefitScope::kNone && !node.op->is_plugin())
    packed_from = std::make_shared<const PackedFrom>(request, *kernel);
  builder.add_step(&node, *node.op, node.name, std::move(kernel), std::move(in), std::move(out));
  PlanStep& step = builder.plan.steps.back();
  if (!step.packed.empty()) step.packed_from = std::move(packed_from);
}

}  // namespace tenon
