#include "plan/emit.h"

#include <algorithm>

#include "network/control_flow.h"
#include "ops/debug_tensor.h"
#include "ops/identity.h"
#include "ops/reorder.h"
#include "ops/shuffle.h"
#include "plan/choose_kernel.h"

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

void emit_view(Draft& draft, const Node& node) {
  const int32_t source = draft.in_layout(draft.source_of(*node.inputs[0]), Layout::kLinear);
  const int32_t view = draft.add_tensor(*node.outputs[0], Place::kAlias, Layout::kLinear);
  draft.at(view).alias_of = source;
  draft.keep_until(source, draft.schedule.last_use(*node.outputs[0]));
}

int32_t output_tensor(Draft& draft, const Value& v, Layout layout) {
  const bool data_dependent = draft.schedule.is_data_dependent(v);
  const bool direct = v.is_output && !data_dependent && layout == Layout::kLinear
                      && v.requested_type.value_or(v.type) == v.type;
  const Place place = data_dependent ? Place::kDataDependent
                      : direct       ? Place::kOutput
                                     : Place::kArena;
  return draft.add_tensor(v, place, layout);
}

// One that its kernel holds in a form of its own.
int32_t packed_tensor(Draft& draft, const Value& v) {
  PlanTensor t;
  t.name = v.name;
  t.type = v.type;
  t.place = Place::kNone;
  t.extents = draft.extents().at(&v);
  return draft.add_tensor(std::move(t));
}

void note_plugin(Draft& draft, const RequiredPlugin& plugin) {
  auto& list = draft.plan.plugins;
  if (std::find(list.begin(), list.end(), plugin) == list.end()) list.push_back(plugin);
}

void note_plugin(Draft& draft, const Node& node) {
  if (!node.op->is_plugin()) return;
  RequiredPlugin plugin;
  for (const auto& [name, value] : fields_of(*node.op)) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr) continue;
    if (name == "plugin") plugin.name = *text;
    if (name == "version") plugin.version = *text;
    if (name == "namespace") plugin.name_space = *text;
  }
  note_plugin(draft, plugin);
}

// Any shape may come to a body; kernels are chosen for those at the optimum.
BuildOptions body_options(const Draft& draft, const Node& node, const ControlFlow& layer,
                          const Network& body) {
  BuildOptions options = draft.options;
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
      const int64_t guess = known ? draft.optimum_shape(*outer)[axis] : kGuessedExtent;
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

void emit_control_flow(Draft& draft, const Node& node, const ControlFlow& layer) {
  PlanStep step = step_of(&node, *node.op, node.name);
  step.kernel = "bodies";
  for (const Value* v : node.inputs)
    step.inputs.push_back(v == nullptr ? -1
                                       : draft.in_layout(draft.source_of(*v), Layout::kLinear));
  for (const Value* v : node.outputs)
    step.outputs.push_back(output_tensor(draft, *v, Layout::kLinear));
  for (const auto& body : layer.bodies)
    with_context(fmt::format("body of layer {}", describe(node)), [&] {
      step.bodies.push_back(compile(*body, draft.target, body_options(draft, node, layer, *body)));
      for (const RequiredPlugin& plugin : step.bodies.back().plugins) note_plugin(draft, plugin);
    });
  draft.plan.steps.push_back(std::move(step));
  draft.kernels.push_back(nullptr);
}

// What tells a listener of a tensor, with the reorder that it needs, runs only where there is one.
void emit_debug(Draft& draft, const Value& v, const std::string& name, bool unfused) {
  auto& steps = draft.plan.steps;
  const auto index = static_cast<int32_t>(draft.plan.debug_tensors.size());
  draft.plan.debug_tensors.push_back({name, unfused});
  const size_t first = steps.size();
  int32_t tensor = draft.source_of(v);
  if (draft.at(tensor).layout != Layout::kLinear) tensor = draft.reorder(tensor, Layout::kLinear);
  DebugTensor op;
  op.tensor = name;
  PlanStep step = step_of(nullptr, op, fmt::format("Debug {}", name));
  step.kernel = "listener";
  step.inputs = {tensor};
  steps.push_back(std::move(step));
  draft.kernels.push_back(nullptr);
  for (size_t i = first; i < steps.size(); ++i) steps[i].debug = index;
}

// What a layer's kernel is asked with.
struct Request {
  std::vector<TensorSpec> inputs, outputs;
  std::vector<const Tensor*> constants;

  Request(const Draft& draft, const Node& node) {
    for (const Value* v : node.inputs) {
      if (v == nullptr) {
        inputs.push_back({DataType::kFLOAT, Layout::kLinear, {}, false});
        constants.push_back(nullptr);
        continue;
      }
      const int32_t tensor = draft.tensor_of(*v);
      const Layout layout = tensor < 0 ? Layout::kLinear : draft.at(tensor).layout;
      inputs.push_back({v->type, layout, draft.optimum_shape(*v), true});
      constants.push_back(v->constant ? &*v->constant : nullptr);
    }
    for (const Value* v : node.outputs)
      outputs.push_back({v->type, Layout::kLinear, draft.optimum_shape(*v), true,
                         draft.schedule.is_data_dependent(*v) ? draft.largest_shape(*v) : Shape()});
  }
};

// Output 0 of a step overwrites an input: the one that arrives, or a copy of it.
void alias(Draft& draft, size_t which, std::vector<int32_t>& in, int32_t out, const Value& v) {
  PlanTensor& result = draft.at(out);
  if (result.place == Place::kArena && draft.may_overwrite(in, which)) {
    result.place = Place::kAlias;
    result.alias_of = in[which];
    draft.keep_until(out, draft.schedule.last_use(v));
    return;
  }
  PlanTensor copy = draft.at(in[which]);
  copy.place = Place::kAlias;
  copy.alias_of = out;
  copy.weight = -1;
  copy.content.clear();
  copy.name += " [copy]";
  Reorder op;
  op.from = op.to = copy.layout;
  const std::string name = fmt::format("Copy {}", copy.name);
  const int32_t target = draft.add_tensor(std::move(copy));
  draft.add_copy(op, in[which], target, name);
  in[which] = target;
}

}  // namespace

void emit_unfused(Draft& draft, const Node& node) {
  const auto is_marked = [&](const Value* v) {
    const auto& layers = draft.schedule.layers();
    return std::any_of(layers.begin(), layers.end(), [&](const Node* other) {
      return other->as<DebugTensor>() != nullptr && other->inputs[0] == v;
    });
  };
  for (const Value* v : node.outputs)
    if (draft.tensor_of(*v) >= 0 && !is_marked(v)) emit_debug(draft, *v, v->name, true);
}

void emit(Draft& draft, const Node& node) {
  if (const auto* debug = node.as<DebugTensor>())
    return emit_debug(draft, *node.inputs[0], debug->tensor, false);
  if (is_view(node)) return emit_view(draft, node);
  if (const auto* layer = node.as<ControlFlow>()) return emit_control_flow(draft, node, *layer);
  const Request asked(draft, node);
  KernelRequest request{*node.op, asked.inputs, asked.outputs, asked.constants, draft.options.tf32};
  request.cold_weights = draft.cold_weights
                         && std::any_of(asked.constants.begin(), asked.constants.end(),
                                        [](const Tensor* t) { return t != nullptr; });
  const WeightGrowth& max_growth = draft.options.max_growth;
  ShapeRange range;
  if (draft.options.selector != nullptr && !draft.options.is_body) range = draft.range_of(node);
  auto kernel = choose_kernel(draft.target, request, node.name, draft.options, range,
                              std::min(max_growth.layer, max_growth.plan - draft.growth));
  draft.growth += growth_of(*kernel, request);
  if (!kernel->note.empty()) draft.options.log.warning("{}: {}", describe(node), kernel->note);

  std::vector<int32_t> in, out;
  for (size_t i = 0; i < asked.inputs.size(); ++i) {
    if (!asked.inputs[i].present)
      in.push_back(-1);
    else if (kernel->input_is_packed[i])
      in.push_back(packed_tensor(draft, *node.inputs[i]));
    else
      in.push_back(draft.in_layout(draft.source_of(*node.inputs[i]), kernel->input_layouts[i]));
  }
  for (size_t i = 0; i < asked.outputs.size(); ++i)
    out.push_back(output_tensor(draft, *node.outputs[i], kernel->output_layouts[i]));
  if (kernel->aliased_input >= 0)
    alias(draft, static_cast<size_t>(kernel->aliased_input), in, out[0], *node.outputs[0]);
  note_plugin(draft, node);
  draft.add_step(&node, *node.op, node.name, std::move(kernel), std::move(in), std::move(out));
}

}  // namespace tenon
