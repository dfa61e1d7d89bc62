#include "plan/load_steps.h"

#include <algorithm>
#include <map>

#include "base/error.h"
#include "network/concrete_inference.h"
#include "network/control_flow.h"
#include "plan/profiles.h"
#include "plan/stages.h"
#include "plugin_layers/plugin.h"

namespace tenon {

std::vector<TensorSpec> specs_of(const Plan& plan, std::span<const int32_t> tensors,
                                 std::span<const Shape> shapes) {
  std::vector<TensorSpec> specs;
  specs.reserve(tensors.size());
  for (int32_t i : tensors) {
    if (i < 0) {
      specs.push_back({DataType::kFLOAT, Layout::kLinear, {}, false});
      continue;
    }
    const auto index = static_cast<size_t>(i);
    specs.push_back({plan.tensors[index].type, plan.tensors[index].layout, shapes[index], true});
  }
  return specs;
}

namespace {

using Place = PlanTensor::Place;

bool is_known(const Shape& shape) {
  return std::find(shape.begin(), shape.end(), -1) == shape.end();
}

// Whether two shapes may turn out to be the same.
bool agree(const Shape& a, const Shape& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](int64_t x, int64_t y) { return x == y || x < 0 || y < 0; });
}

// The elements that symbols stand for: of a network input that decides shapes, or of a tensor that
// is read back.
std::optional<std::vector<Number>> symbol_elements(const Plan& plan, int32_t tensor,
                                                   const PlanValues& values) {
  std::map<int32_t, Number> elements;
  for (size_t s = 0; s < plan.symbols.size(); ++s) {
    const PlanSymbol& symbol = plan.symbols[s];
    if (!symbol.is_element || !values.symbols[s]) continue;
    const auto binding = static_cast<size_t>(symbol.binding);
    const bool here = symbol.is_data_dependent() ? symbol.tensor == tensor
                                                 : plan.bindings[binding].is_shape
                                                       && plan.bindings[binding].tensor == tensor;
    if (here) elements[symbol.index] = Number::of(*values.symbols[s]);
  }
  const Shape& shape = values.shapes[static_cast<size_t>(tensor)];
  if (elements.empty() || !is_known(shape)
      || static_cast<int64_t>(elements.size()) != shape.volume())
    return std::nullopt;
  std::vector<Number> list;
  for (const auto& [index, number] : elements) list.push_back(number);
  return list;
}

// What a layer may know of plan tensor i; -1 is an input that was left out.
ConcreteTensor known_of(const Plan& plan, int32_t i, const PlanValues& values) {
  if (i < 0) return concrete_tensor(nullptr);
  const PlanTensor& t = plan.tensors[static_cast<size_t>(i)];
  ConcreteTensor known;
  known.type = t.type;
  known.shape = values.shapes[static_cast<size_t>(i)];
  if (t.place == Place::kWeight) {
    known.constant = &plan.weights[static_cast<size_t>(t.weight)];
    constexpr int64_t kMaxElements = 64;  // shape rules need no long ones
    known.content = elements_of(*known.constant, kMaxElements);
  } else if (t.place != Place::kHost) {
    known.content = symbol_elements(plan, i, values);
  } else {
    known.content.emplace();
    for (int32_t slot : t.content)
      known.content->push_back(values.slots[static_cast<size_t>(slot)]);
  }
  const bool complete = !known.content || !is_known(known.shape)
                        || static_cast<int64_t>(known.content->size()) == known.shape.volume();
  require(complete, "tensor '{}' of shape {} has {} elements", t.name, known.shape,
          known.content->size());
  return known;
}

}  // namespace

std::vector<TensorSpec> output_specs(const Plan& plan, const PlanStep& step,
                                     std::span<const SymbolValue> symbols,
                                     std::span<const Shape> shapes) {
  auto specs = specs_of(plan, step.outputs, shapes);
  if (!makes_data_dependent(plan, step)) return specs;
  const auto largest = largest_slots(plan, {symbols.begin(), symbols.end()});
  for (size_t i = 0; i < specs.size(); ++i)
    if (plan.tensors[static_cast<size_t>(step.outputs[i])].place == Place::kDataDependent)
      specs[i].upper = shape_of(plan, step.outputs[i], largest);
  return specs;
}

bool makes_data_dependent(const Plan& plan, const PlanStep& step) {
  return std::any_of(step.outputs.begin(), step.outputs.end(), [&](int32_t t) {
    return plan.tensors[static_cast<size_t>(t)].place == Place::kDataDependent;
  });
}

std::unique_ptr<Op> op_of(const PlanStep& step) {
  auto op = make_op(step.op);
  require(op != nullptr, "this build has no layer kind '{}'", step.op);
  set_fields(*op, step.attributes);
  return op;
}

namespace {

// `later`: not all that the shape rule asks for is known yet, and it may leave extents open.
void check_step(const Plan& plan, const PlanStep& step, const Op& op, const PlanValues& values,
                bool later) {
  if (op.is_plugin()) return;
  std::vector<ConcreteTensor> inputs;
  for (int32_t i : step.inputs) inputs.push_back(known_of(plan, i, values));
  const auto outputs = infer_concrete(op, step.outputs.size(), inputs);
  for (size_t k = 0; k < outputs.size(); ++k) {
    const auto i = static_cast<size_t>(step.outputs[k]);
    const Shape &made = outputs[k].shape, &stated = values.shapes[i];
    require(
        outputs[k].type == plan.tensors[i].type && (later ? agree(made, stated) : made == stated),
        "output {} is {} of shape {}; the plan states {} of shape {}", k, name_of(outputs[k].type),
        made, name_of(plan.tensors[i].type), stated);
  }
}

std::vector<Shape> shapes_of(const Plan& plan, std::span<const Number> slots) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    shapes.push_back(shape_of(plan, static_cast<int32_t>(i), slots));
  return shapes;
}

}  // namespace

void check_step(const Plan& plan, const PlanStep& step, const Op& op, const PlanValues& values) {
  check_step(plan, step, op, values, false);
}

std::string built_elsewhere(const Plan& plan, const Target& target) {
  return fmt::format(
      "built for \"{}\", and here is \"{}\": build it again here, or as a portable plan (tenon "
      "build --portable, tenon::set_portable)",
      plan.fingerprint, target.fingerprint());
}

namespace {

// Bodies and debug listeners read and write plain memory.
void check_bindings(const Plan& plan, const PlanStep& step) {
  for (const auto* list : {&step.inputs, &step.outputs})
    for (int32_t i : *list) {
      if (i < 0) continue;
      const PlanTensor& t = plan.tensors[static_cast<size_t>(i)];
      const auto place = plan.tensors[static_cast<size_t>(plan.root_of(i))].place;
      require(place != Place::kNone && t.layout == Layout::kLinear,
              "tensor '{}' has no linear memory for the layer", t.name);
    }
}

// Some kernels want blocks of channels as long as the vectors of the processor.
void check_layout(const Plan& plan, const Target& target, const PlanStep& step,
                  std::string_view tensor, Layout stated, Layout wanted) {
  if (stated == wanted) return;
  fail(ErrorClass::kPlanElsewhere, "{} is {}; kernel '{}' wants {} here. The plan was {}", tensor,
       name_of(stated), step.kernel, name_of(wanted), built_elsewhere(plan, target));
}

// A kernel does not know that another processor packed its weights.
std::unique_ptr<Kernel> kernel_of(const Plan& plan, const Target& target, const PlanStep& step,
                                  const KernelRequest& request, const StoredKernel& stored) {
  try {
    return load_kernel(target, step.kernel, request, stored);
  } catch (const Error& e) {
    if (target.is_this_machine(plan.fingerprint)) throw;
    const bool is_memory = e.error_class() == ErrorClass::kMemory;
    throw Error(e.code(), is_memory ? ErrorClass::kMemory : ErrorClass::kPlanElsewhere,
                fmt::format("{}. The plan was {}", e.what(), built_elsewhere(plan, target)));
  }
}

}  // namespace

StoredKernel stored_kernel(const Plan& plan, const PlanStep& step) {
  StoredKernel stored{step.state, {}};
  for (int32_t w : step.packed) stored.packed.push_back(plan.weights[static_cast<size_t>(w)]);
  return stored;
}

std::vector<LoadedStep> load_steps(const Plan& plan, const Target& target, bool is_body) {
  require(plan.target == target.name(),
          "the plan is for the target '{}'; this build runs '{}': build the plan again here",
          plan.target, target.name());
  auto symbols = symbols_at(plan, plan.profiles.at(0), ProfilePoint::kOpt);
  const auto shapes = shapes_of(plan, estimated_slots(plan, symbols, is_body));
  if (is_body) std::fill(symbols.begin(), symbols.end(), std::nullopt);
  const auto known = plan.shapes.evaluate(symbols);
  const auto known_shapes = shapes_of(plan, known);
  const Stages stages = stages_of(plan);
  std::vector<LoadedStep> steps;
  for (const PlanStep& step : plan.steps) {
    with_context(fmt::format("layer {} ({})", step.name, step.op), [&] {
      LoadedStep loaded;
      loaded.op = op_of(step);
      if (const auto* plugin = dynamic_cast<const PluginLayer*>(loaded.op.get()))
        plugin->make_plugin();
      require(static_cast<size_t>(loaded.op->output_count()) == step.outputs.size(),
              "it has {} outputs; expected {}", step.outputs.size(), loaded.op->output_count());
      // Later ones are checked again when their sizes are known.
      const bool later =
          stages.steps[steps.size()] > 0 || makes_data_dependent(plan, step) || is_body;
      check_step(plan, step, *loaded.op, {symbols, known, known_shapes}, later);
      const auto* layer = dynamic_cast<const ControlFlow*>(loaded.op.get());
      if (layer != nullptr) {
        require(step.bodies.size() == layer->body_count(), "it has {} bodies; expected {}",
                step.bodies.size(), layer->body_count());
        check_bindings(plan, step);
        steps.push_back(std::move(loaded));
        return;
      }
      if (loaded.op->traits().runs == Runs::kListener) {
        require(step.debug >= 0 && !is_body, "its tensor is none that the plan lists");
        check_bindings(plan, step);
        steps.push_back(std::move(loaded));
        return;
      }
      const auto inputs = specs_of(plan, step.inputs, shapes);
      const auto outputs = specs_of(plan, step.outputs, shapes);
      const std::vector<const Tensor*> constants(inputs.size(), nullptr);
      loaded.kernel =
          kernel_of(plan, target, step, {*loaded.op, inputs, outputs, constants, plan.tf32},
                    stored_kernel(plan, step));
      require(loaded.kernel->input_layouts.size() == inputs.size()
                  && loaded.kernel->output_layouts.size() == outputs.size()
                  && loaded.kernel->input_is_packed.size() == inputs.size(),
              "kernel '{}' does not fit the layer's {} inputs and {} outputs", step.kernel,
              inputs.size(), outputs.size());
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].present) continue;
        const auto place = plan.tensors[static_cast<size_t>(plan.root_of(step.inputs[i]))].place;
        require(loaded.kernel->input_is_packed[i] || place != Place::kNone,
                "input {} has no memory, and kernel '{}' reads it", i, step.kernel);
        if (!loaded.kernel->input_is_packed[i])
          check_layout(plan, target, step, fmt::format("input {}", i), inputs[i].layout,
                       loaded.kernel->input_layouts[i]);
      }
      for (size_t i = 0; i < outputs.size(); ++i)
        check_layout(plan, target, step, fmt::format("output {}", i), outputs[i].layout,
                     loaded.kernel->output_layouts[i]);
      steps.push_back(std::move(loaded));
    });
  }
  return steps;
}

}  // namespace tenon
