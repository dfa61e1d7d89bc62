#include "run/shape_state.h"

#include "base/error.h"
#include "base/half.h"

namespace tenon {
namespace {

using Place = PlanTensor::Place;

template <class T> void store(Tensor& t, size_t i, const Number& n) {
  t.mutable_data<T>()[i] =
      static_cast<T>(n.is_float ? static_cast<double>(n.real) : static_cast<double>(n.integer));
}

// Elements that were computed with the shapes, in the tensor's own type.
Tensor host_tensor(const PlanTensor& t, const Shape& shape, std::span<const Number> values) {
  Tensor out(t.type, shape);
  require(static_cast<int64_t>(t.content.size()) == out.count(),
          "tensor '{}' has {} elements; {} were computed", t.name, out.count(), t.content.size());
  for (size_t i = 0; i < t.content.size(); ++i) {
    const Number& n = values[static_cast<size_t>(t.content[i])];
    switch (t.type) {
      case DataType::kINT64:
        out.mutable_data<int64_t>()[i] = n.is_float ? static_cast<int64_t>(n.real) : n.integer;
        break;
      case DataType::kINT32:
        store<int32_t>(out, i, n);
        break;
      case DataType::kINT8:
        store<int8_t>(out, i, n);
        break;
      case DataType::kUINT8:
        store<uint8_t>(out, i, n);
        break;
      case DataType::kBOOL:
        out.mutable_data<bool>()[i] = n.as_double() != 0;
        break;
      case DataType::kFLOAT:
        store<float>(out, i, n);
        break;
      case DataType::kHALF:
        store<Half>(out, i, n);
        break;
      case DataType::kBF16:
        out.mutable_data<BFloat16>()[i] = BFloat16(static_cast<float>(n.as_double()));
        break;
      default:
        fail(ErrorCode::kUNSUPPORTED_STATE, "tensor '{}': shape arithmetic on {} is not supported",
             t.name, name_of(t.type));
    }
  }
  return out;
}

bool same(const std::vector<TensorSpec>& a, const std::vector<TensorSpec>& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [](const TensorSpec& x, const TensorSpec& y) { return x.shape == y.shape; });
}

// A step without outputs is there for what it checks.
bool writes_nothing(const std::vector<TensorSpec>& outputs) {
  if (outputs.empty()) return false;
  for (const TensorSpec& s : outputs)
    if (s.shape.volume() != 0) return false;
  return true;
}

// A border or an alias must not be smaller than what a kernel was told it holds.
void check_aliases(const Plan& plan, const std::vector<Shape>& shapes) {
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& t = plan.tensors[i];
    if (t.place == Place::kWeight)
      require(plan.weights[static_cast<size_t>(t.weight)].count()
                  >= storage_elements(shapes[i], t.layout),
              "tensor '{}' is larger than its weights", t.name);
    if (t.place != Place::kAlias) continue;
    const auto root = static_cast<size_t>(plan.root_of(static_cast<int32_t>(i)));
    require(storage_bytes(t.type, shapes[i], t.layout)
                <= storage_bytes(plan.tensors[root].type, shapes[root], plan.tensors[root].layout),
            "tensor '{}' is larger than the memory it shares", t.name);
  }
}

}  // namespace

std::unique_ptr<ShapeState> make_shape_state(const Engine& engine, std::vector<int64_t> symbols,
                                             const ShapeState* previous) {
  const Plan& plan = engine.plan();
  auto state = std::make_unique<ShapeState>();
  const auto values = plan.shapes.evaluate(symbols);
  state->symbols = std::move(symbols);
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    state->shapes.push_back(shape_of(plan, static_cast<int32_t>(i), values));
  check_aliases(plan, state->shapes);

  state->host.resize(plan.tensors.size());
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    if (plan.tensors[i].place == Place::kHost)
      state->host[i] = host_tensor(plan.tensors[i], state->shapes[i], values);

  std::vector<size_t> scratch;
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    const PlanStep& step = plan.steps[i];
    auto inputs = specs_of(plan, step.inputs, state->shapes);
    auto outputs = specs_of(plan, step.outputs, state->shapes);
    std::shared_ptr<Execution> execution;
    if (!writes_nothing(outputs))
      with_context(fmt::format("layer {} ({})", step.name, step.op), [&] {
        check_step(plan, step, *engine.steps()[i].op, {state->symbols, values, state->shapes});
        const bool again = previous != nullptr && same(previous->inputs[i], inputs)
                           && same(previous->outputs[i], outputs);
        execution =
            again ? previous->executions[i] : engine.steps()[i].kernel->prepare(inputs, outputs);
      });
    scratch.push_back(execution != nullptr ? execution->scratch_bytes() : 0);
    state->executions.push_back(std::move(execution));
    state->step_inputs.emplace_back(inputs.size());
    state->step_outputs.emplace_back(outputs.size());
    state->inputs.push_back(std::move(inputs));
    state->outputs.push_back(std::move(outputs));
  }

  state->memory = plan_context_memory(plan, engine.lifetimes(), state->shapes, scratch);
  state->offsets.assign(plan.tensors.size(), 0);
  size_t next = 0;
  for (size_t i = 0; i < plan.tensors.size(); ++i)
    if (plan.tensors[i].place == Place::kArena) state->offsets[i] = state->memory.offsets[next++];
  state->scratch_offsets.assign(state->memory.offsets.begin() + static_cast<std::ptrdiff_t>(next),
                                state->memory.offsets.end());
  state->pointers.assign(plan.tensors.size(), nullptr);
  return state;
}

}  // namespace tenon
