#include "run/shape_state.h"

#include <limits>

#include "base/error.h"
#include "base/half.h"
#include "network/control_flow.h"
#include "run/control_flow.h"

namespace tenon {
namespace {

using Place = PlanTensor::Place;

// A number as an element of an integer tensor: integers wrap as casts do, reals are truncated.
template <class T> T whole(const PlanTensor& t, const Number& n) {
  using Limits = std::numeric_limits<T>;
  if (!n.is_float) return static_cast<T>(n.integer);
  // The greatest integer may be no real number; what is behind it is a power of two.
  require(n.real >= static_cast<double>(Limits::min())
              && n.real < 2 * static_cast<double>(Limits::max() / 2 + 1),
          "tensor '{}': {} does not fit its type {}", t.name, n.real, name_of(t.type));
  return static_cast<T>(n.real);
}

// Elements that were computed with the shapes, in the tensor's own type.
Tensor host_tensor(const PlanTensor& t, const Shape& shape, std::span<const Number> values) {
  require(static_cast<int64_t>(t.content.size()) == shape.volume(),
          "tensor '{}' has {} elements; {} were computed", t.name, shape.volume(),
          t.content.size());
  Tensor out(t.type, shape);
  for (size_t i = 0; i < t.content.size(); ++i) {
    const Number& n = values[static_cast<size_t>(t.content[i])];
    switch (t.type) {
      case DataType::kINT64:
        out.mutable_data<int64_t>()[i] = whole<int64_t>(t, n);
        break;
      case DataType::kINT32:
        out.mutable_data<int32_t>()[i] = whole<int32_t>(t, n);
        break;
      case DataType::kINT8:
        out.mutable_data<int8_t>()[i] = whole<int8_t>(t, n);
        break;
      case DataType::kUINT8:
        out.mutable_data<uint8_t>()[i] = whole<uint8_t>(t, n);
        break;
      case DataType::kBOOL:
        out.mutable_data<bool>()[i] = n.as_double() != 0;
        break;
      case DataType::kFLOAT:
        out.mutable_data<float>()[i] = static_cast<float>(n.as_double());
        break;
      case DataType::kHALF:
        out.mutable_data<Half>()[i] = static_cast<Half>(n.as_double());
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
                    [](const TensorSpec& x, const TensorSpec& y) {
                      return x.shape == y.shape && x.upper == y.upper;
                    });
}

// A step without outputs is there for what it checks.
bool writes_nothing(const std::vector<TensorSpec>& outputs) {
  if (outputs.empty()) return false;
  for (const TensorSpec& s : outputs)
    if (s.shape.volume() != 0) return false;
  return true;
}

// A border or an alias must not be smaller than what a kernel was told it holds.
void check_alias(const Plan& plan, size_t i, const std::vector<Shape>& shapes) {
  const PlanTensor& t = plan.tensors[i];
  if (t.place == Place::kWeight)
    require(plan.weights[static_cast<size_t>(t.weight)].count()
                >= storage_elements(shapes[i], t.layout),
            "tensor '{}' is larger than its weights", t.name);
  if (t.place != Place::kAlias) return;
  const auto root = static_cast<size_t>(plan.root_of(static_cast<int32_t>(i)));
  require(storage_bytes(t.type, shapes[i], t.layout)
              <= storage_bytes(plan.tensors[root].type, shapes[root], plan.tensors[root].layout),
          "tensor '{}' is larger than the memory it shares", t.name);
}

// The memory that the step gave a data-dependent output, for the shape that `had` is, must hold it.
void check_data_dependent(const PlanTensor& t, const Shape& had, const Shape& shape) {
  const bool made =
      had.rank() == shape.rank() && std::find(had.begin(), had.end(), -1) == had.end();
  require(made && storage_bytes(t.type, shape, t.layout) <= storage_bytes(t.type, had, t.layout),
          "tensor '{}' of shape {} is larger than what bounds it, {}", t.name, shape, had);
}

// Extents, and elements on the host, that are known from this stage on.
void set_shapes(const Engine& engine, ShapeState& state, int32_t stage,
                const std::vector<Number>& values) {
  const Plan& plan = engine.plan();
  const Stages& stages = engine.stages();
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    // An output with data-dependent extents already has the others.
    const bool later = stages.tensors[i] > stage && stages.first_stages[i] >= stage;
    if (stages.tensors[i] != stage && !later) continue;
    Shape shape = shape_of(plan, static_cast<int32_t>(i), values);
    if (plan.tensors[i].place == Place::kDataDependent && !later)
      check_data_dependent(plan.tensors[i], state.shapes[i], shape);
    state.shapes[i] = shape;
  }
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    if (stages.tensors[i] != stage) continue;
    check_alias(plan, i, state.shapes);
    if (plan.tensors[i].place == Place::kHost)
      state.host[i] = host_tensor(plan.tensors[i], state.shapes[i], values);
  }
}

std::shared_ptr<Execution> prepare(const Engine& engine, size_t step,
                                   const std::vector<TensorSpec>& inputs,
                                   const std::vector<TensorSpec>& outputs) {
  const LoadedStep& loaded = engine.steps()[step];
  if (loaded.kernel != nullptr) return loaded.kernel->prepare(inputs, outputs);
  if (loaded.op->traits().runs == Runs::kListener) return nullptr;
  return make_control_flow(dynamic_cast<const ControlFlow&>(*loaded.op), engine.bodies(step),
                           engine.device(), inputs, outputs);
}

void set_executions(const Engine& engine, ShapeState& state, int32_t stage,
                    const std::vector<Number>& values, const ShapeState* previous) {
  const Plan& plan = engine.plan();
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    if (engine.stages().steps[i] != stage) continue;
    const PlanStep& step = plan.steps[i];
    auto inputs = specs_of(plan, step.inputs, state.shapes);
    auto outputs = output_specs(plan, step, state.symbols, state.shapes);
    std::shared_ptr<Execution> execution;
    if (makes_data_dependent(plan, step) || !writes_nothing(outputs))
      with_context(fmt::format("layer {} ({})", step.name, step.op), [&] {
        check_step(plan, step, *engine.steps()[i].op, {state.symbols, values, state.shapes});
        const bool again = previous != nullptr && previous->executions[i] != nullptr
                           && same(previous->inputs[i], inputs)
                           && same(previous->outputs[i], outputs);
        execution = again ? previous->executions[i] : prepare(engine, i, inputs, outputs);
      });
    state.executions[i] = std::move(execution);
    state.step_inputs[i].resize(inputs.size());
    state.step_outputs[i].resize(outputs.size());
    state.inputs[i] = std::move(inputs);
    state.outputs[i] = std::move(outputs);
  }
}

void set_memory(const Engine& engine, ShapeState& state, int32_t stage) {
  const Plan& plan = engine.plan();
  const Stages& stages = engine.stages();
  std::vector<size_t> scratch;
  for (const auto& execution : state.executions)
    scratch.push_back(execution != nullptr ? execution->scratch_bytes() : 0);
  const MemoryPlan memory =
      plan_context_memory(plan, stages, stage, engine.lifetimes(), state.shapes, scratch,
                          stage == 0 ? state.max_memory : INT64_MAX);
  size_t next = 0;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    if (plan.tensors[i].place != Place::kArena) continue;
    if (stages.first_stages[i] == stage) state.offsets[i] = memory.offsets[next];
    ++next;
  }
  for (size_t i = 0; i < plan.steps.size(); ++i, ++next)
    if (stages.steps[i] == stage) state.scratch_offsets[i] = memory.offsets[next];
  state.stages[static_cast<size_t>(stage)].bytes = memory.bytes;
}

// Host tensors that are known from this stage on, where kernels read them.
void place_elements(const Engine& engine, ShapeState& state, int32_t stage) {
  const Plan& plan = engine.plan();
  std::vector<size_t> copied;
  size_t bytes = 0;
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    if (plan.tensors[i].place != Place::kHost || engine.stages().tensors[i] != stage) continue;
    state.elements[i] = state.host[i].data();
    if (engine.device().is_host() || !engine.reads_on_device(static_cast<int32_t>(i))) continue;
    copied.push_back(i);
    bytes += (state.host[i].bytes() + 255) / 256 * 256;
  }
  if (copied.empty()) return;
  DeviceBuffer& copies = state.stages[static_cast<size_t>(stage)].copies;
  copies = DeviceBuffer(engine.device(), bytes);
  auto* to = static_cast<std::byte*>(copies.data());
  for (size_t i : copied) {
    engine.device().copy_in(to, state.host[i].data(), state.host[i].bytes(), nullptr);
    state.elements[i] = to;
    to += (state.host[i].bytes() + 255) / 256 * 256;
  }
  engine.device().copy_out(nullptr, nullptr, 0, nullptr);  // all are there, for any stream
}

void fill_stage(const Engine& engine, ShapeState& state, int32_t stage,
                const ShapeState* previous) {
  const auto values = engine.plan().shapes.evaluate(state.symbols);
  for (size_t s = 0; s < state.upper.size(); ++s)
    if (const int32_t slot = engine.plan().symbols[s].upper; slot >= 0)
      if (const Number& upper = values[static_cast<size_t>(slot)]; upper.is_known)
        state.upper[s] = upper.integer;
  set_shapes(engine, state, stage, values);
  set_executions(engine, state, stage, values, previous);
  set_memory(engine, state, stage);
  place_elements(engine, state, stage);
  auto& made = state.stages[static_cast<size_t>(stage)];
  made.symbols = state.symbols;
  made.ready = true;
}

}  // namespace

int64_t element_at(const void* data, DataType type, int32_t index) {
  switch (type) {
    case DataType::kINT64:
      return static_cast<const int64_t*>(data)[index];
    case DataType::kINT32:
      return static_cast<const int32_t*>(data)[index];
    case DataType::kBOOL:
      return static_cast<const uint8_t*>(data)[index] != 0;
    default:
      fail(ErrorCode::kINTERNAL_ERROR, "elements of type {} decide no shapes", name_of(type));
  }
}

std::unique_ptr<ShapeState> make_shape_state(const Engine& engine, std::vector<SymbolValue> symbols,
                                             int64_t max_memory, const ShapeState* previous) {
  const size_t tensors = engine.plan().tensors.size(), steps = engine.plan().steps.size();
  auto state = std::make_unique<ShapeState>();
  state->symbols = std::move(symbols);
  state->max_memory = max_memory;
  state->upper.assign(state->symbols.size(), std::nullopt);
  state->shapes.resize(tensors);
  state->host.resize(tensors);
  state->elements.resize(tensors);
  state->offsets.assign(tensors, 0);
  state->pointers.assign(tensors, nullptr);
  state->executions.resize(steps);
  state->inputs.resize(steps);
  state->outputs.resize(steps);
  state->scratch_offsets.assign(steps, 0);
  state->step_inputs.resize(steps);
  state->step_outputs.resize(steps);
  state->stages.resize(static_cast<size_t>(engine.stages().count));
  fill_stage(engine, *state, 0, previous);
  return state;
}

void prepare_stage(const Engine& engine, ShapeState& state, int32_t stage) {
  const auto& symbol_stages = engine.stages().symbols;
  auto& made = state.stages[static_cast<size_t>(stage)];
  bool again = made.ready;
  for (size_t s = 0; again && s < symbol_stages.size(); ++s)
    again = symbol_stages[s] > stage || made.symbols[s] == state.symbols[s];
  if (again) return;
  made.ready = false;
  // What later stages told in the last run is not known yet in this one.
  for (size_t s = 0; s < symbol_stages.size(); ++s)
    if (symbol_stages[s] > stage) state.symbols[s].reset();
  fill_stage(engine, state, stage, &state);
}

}  // namespace tenon
