#include "plan/kernels.h"

#include "base/error.h"
#include "plan/profiles.h"

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

std::vector<LoadedStep> load_steps(const Plan& plan, const Target& target) {
  require(plan.target == target.name(),
          "the plan is for the target '{}'; this build runs '{}': build the plan again here",
          plan.target, target.name());
  const auto values =
      plan.shapes.evaluate(symbols_at(plan, plan.profiles.at(0), ProfilePoint::kOpt));
  std::vector<Shape> shapes;
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    shapes.push_back(shape_of(plan, static_cast<int32_t>(i), values));
  std::vector<LoadedStep> steps;
  for (const PlanStep& step : plan.steps) {
    with_context(fmt::format("layer {} ({})", step.name, step.op), [&] {
      LoadedStep loaded;
      loaded.op = make_op(step.op);
      require(loaded.op != nullptr, "this build has no layer kind '{}'", step.op);
      set_fields(*loaded.op, step.attributes);
      StoredKernel stored{step.state, {}};
      for (int32_t w : step.packed) stored.packed.push_back(plan.weights[static_cast<size_t>(w)]);
      const auto inputs = specs_of(plan, step.inputs, shapes);
      const auto outputs = specs_of(plan, step.outputs, shapes);
      const std::vector<const Tensor*> constants(inputs.size(), nullptr);
      loaded.kernel =
          load_kernel(target, step.kernel, {*loaded.op, inputs, outputs, constants, &stored});
      require(loaded.kernel->input_layouts.size() == inputs.size()
                  && loaded.kernel->output_layouts.size() == outputs.size()
                  && loaded.kernel->input_is_packed.size() == inputs.size(),
              "kernel '{}' does not fit the layer's {} inputs and {} outputs", step.kernel,
              inputs.size(), outputs.size());
      for (size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].present) continue;
        const auto place = plan.tensors[static_cast<size_t>(step.inputs[i])].place;
        require(loaded.kernel->input_is_packed[i] || place != PlanTensor::Place::kNone,
                "input {} has no memory, and kernel '{}' reads it", i, step.kernel);
        require(loaded.kernel->input_is_packed[i]
                    || loaded.kernel->input_layouts[i] == inputs[i].layout,
                "input {} is {}; kernel '{}' expects {}", i, name_of(inputs[i].layout), step.kernel,
                name_of(loaded.kernel->input_layouts[i]));
      }
      for (size_t i = 0; i < outputs.size(); ++i)
        require(loaded.kernel->output_layouts[i] == outputs[i].layout,
                "output {} is {}; kernel '{}' writes {}", i, name_of(outputs[i].layout),
                step.kernel, name_of(loaded.kernel->output_layouts[i]));
      steps.push_back(std::move(loaded));
    });
  }
  return steps;
}

}  // namespace tenon
