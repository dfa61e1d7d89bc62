// The shapes that a context is given, and what follows from them: those of its tensors, and the
// state that a run needs.
#include <algorithm>

#include "run/context_guards.h"

namespace tenon {
namespace {

// Shapes that a context goes back and forth between are kept ready.
constexpr size_t kKeptStates = 4;

}  // namespace

void Context::set_profile(int profile) {
  const auto& profiles = engine_->plan().profiles;
  require(profile >= 0 && profile < static_cast<int>(profiles.size()),
          "profile {} does not exist; the engine has {}", profile, profiles.size());
  if (profile != profile_) release_memory();
  profile_ = profile;
  input_shapes_.assign(static_cast<size_t>(engine_->plan().input_count()), std::nullopt);
  for (size_t i = 0; i < input_shapes_.size(); ++i) {
    const Shape& declared = engine_->plan().bindings[i].declared;
    if (std::all_of(declared.begin(), declared.end(), [](int64_t e) { return e >= 0; }))
      input_shapes_[i] = declared;
  }
  shapes_changed_ = true;
}

void Context::set_input_shape(int binding, const Shape& shape) {
  const InUse guard(*this);
  const std::string& name = engine_->binding_tensor(binding).name;
  require(engine_->plan().bindings[static_cast<size_t>(binding)].is_input,
          "'{}' is an output: only inputs take a shape", name);
  const auto& range =
      engine_->plan().profiles[static_cast<size_t>(profile_)].inputs[static_cast<size_t>(binding)];
  require(shape.rank() == range.min.rank(), ErrorClass::kShape,
          "input '{}': shape {} has {} dimensions; expected {}", name, shape, shape.rank(),
          range.min.rank());
  for (int axis = 0; axis < shape.rank(); ++axis)
    require(range.min[axis] <= shape[axis] && shape[axis] <= range.max[axis], ErrorClass::kShape,
            "input '{}': shape {} is outside profile {}, which allows {} to {}: axis {} is {}; "
            "choose another shape, or build the engine with a wider profile",
            name, shape, profile_, range.min, range.max, axis, shape[axis]);
  auto& current = input_shapes_[static_cast<size_t>(binding)];
  if (current && *current == shape) return;
  current = shape;
  shapes_changed_ = true;
}

std::vector<int> Context::missing_inputs() const {
  std::vector<int> missing;
  for (int i = missing_input(); i >= 0; i = missing_input(i + 1)) missing.push_back(i);
  return missing;
}

// The first one from `first` on, -1 for none.
int Context::missing_input(int first) const {
  for (auto i = static_cast<size_t>(first); i < input_shapes_.size(); ++i)
    if (!input_shapes_[i]
        || (engine_->plan().bindings[i].is_shape && bindings_.addresses[i] == nullptr))
      return static_cast<int>(i);
  return -1;
}

Shape Context::tensor_shape(int binding) {
  const InUse guard(*this);
  const auto index = static_cast<size_t>(binding);
  if (index < input_shapes_.size())
    return input_shapes_[index].value_or(engine_->declared_shape(binding));
  if (!missing_inputs().empty()) return engine_->declared_shape(binding);
  const auto tensor = static_cast<size_t>(engine_->plan().bindings[index].tensor);
  read_symbols();
  check_values();
  if (!states_.empty() && states_.front()->stages[0].symbols == symbols_) {
    if (engine_->stages().tensors[tensor] == 0) return states_.front()->shapes[tensor];
    const std::lock_guard lock(run_mutex_);  // a run tells it
    return states_.front()->shapes[tensor];
  }
  check_dimensions();
  return shape_of(engine_->plan(), engine_->plan().bindings[index].tensor,
                  engine_->plan().shapes.evaluate(symbols_));
}

std::vector<Shape> Context::shapes_of_last_run() {
  wait();
  const std::lock_guard lock(run_mutex_);
  return states_.empty() ? std::vector<Shape>() : states_.front()->shapes;
}

// The values of all symbols at the current inputs, into symbols_.
void Context::read_symbols() {
  const auto missing = missing_input();
  if (missing >= 0) {
    const auto i = static_cast<size_t>(missing);
    const std::string& name = engine_->binding_tensor(missing).name;
    require(input_shapes_[i].has_value(), ErrorClass::kShape,
            "input '{}' has no shape yet: call setInputShape (its profile allows {} to {})", name,
            engine_->plan().profiles[static_cast<size_t>(profile_)].inputs[i].min,
            engine_->plan().profiles[static_cast<size_t>(profile_)].inputs[i].max);
    fail(ErrorClass::kAddress,
         "input '{}' decides shapes and has no address yet: call setTensorAddress with host memory",
         name);
  }
  const Plan& plan = engine_->plan();
  for (size_t i = 0; i < input_shapes_.size(); ++i)
    if (plan.bindings[i].is_shape) check_reach(static_cast<int>(i), bindings_.addresses[i]);
  for (size_t s = 0; s < plan.symbols.size(); ++s) {
    const PlanSymbol& symbol = plan.symbols[s];
    const auto binding = static_cast<size_t>(symbol.binding);
    if (symbol.is_data_dependent())
      symbols_[s].reset();
    else if (!symbol.is_element)
      symbols_[s] = (*input_shapes_[binding])[symbol.index];
    else if (plan.bindings[binding].is_shape && symbol.index < input_shapes_[binding]->volume())
      symbols_[s] = element_at(bindings_.addresses[binding],
                               engine_->binding_tensor(symbol.binding).type, symbol.index);
    else
      symbols_[s] = 0;
  }
}

// Inputs that share a named dimension must agree.
void Context::check_dimensions() const {
  const Plan& plan = engine_->plan();
  const auto values = plan.shapes.evaluate(symbols_);
  for (size_t i = 0; i < input_shapes_.size(); ++i) {
    const PlanBinding& binding = plan.bindings[i];
    const Shape expected = shape_of(plan, binding.tensor, values);
    for (int axis = 0; axis < expected.rank(); ++axis) {
      const auto label = static_cast<size_t>(axis) < binding.dimension_names.size()
                             ? binding.dimension_names[static_cast<size_t>(axis)]
                             : std::string();
      require(expected[axis] == (*input_shapes_[i])[axis],
              "input '{}': axis {} is {}, but the dimension '{}' is {} in another input",
              plan.tensors[static_cast<size_t>(binding.tensor)].name, axis,
              (*input_shapes_[i])[axis], label, expected[axis]);
    }
  }
}

// Shape inputs must be inside the profile.
void Context::check_values() const {
  const Plan& plan = engine_->plan();
  for (size_t s = 0; s < plan.symbols.size(); ++s) {
    const PlanSymbol& symbol = plan.symbols[s];
    if (!symbol.is_element || symbol.is_data_dependent()) continue;
    const auto& range =
        plan.profiles[static_cast<size_t>(profile_)].inputs[static_cast<size_t>(symbol.binding)];
    const auto at = static_cast<size_t>(symbol.index);
    if (at >= range.min_values.size()) continue;
    const int64_t value = symbols_[s].value();
    require(range.min_values[at] <= value && value <= range.max_values[at], ErrorClass::kShape,
            "shape input '{}': element {} is {}, outside profile {}, which allows {} to {}",
            engine_->binding_tensor(symbol.binding).name, at, value, profile_, range.min_values[at],
            range.max_values[at]);
  }
}

const std::shared_ptr<ShapeState>& Context::resolve(bool captured) {
  const bool values_may_change =
      std::any_of(engine_->plan().bindings.begin(), engine_->plan().bindings.end(),
                  [](const PlanBinding& b) { return b.is_input && b.is_shape; });
  if (!shapes_changed_ && !values_may_change) return states_.front();
  read_symbols();
  if (shapes_changed_) check_dimensions();
  check_values();
  const auto known = std::find_if(states_.begin(), states_.end(), [&](const auto& s) {
    return s->stages[0].symbols == symbols_ && holds_shape_inputs(*s);
  });
  if (known == states_.begin() && known != states_.end()) {
    shapes_changed_ = false;
    return *known;
  }
  require(on_host() || !captured,
          "a run with new shapes cannot be captured: call enqueueV3 with them once before");
  wait();  // work in flight uses the current memory
  if (known != states_.end()) {
    states_.splice(states_.begin(), states_, known);
  } else {
    auto made = make_shape_state(*engine_, symbols_,
                                 engine_->is_body() ? INT64_MAX : engine_->device_memory(profile_),
                                 states_.empty() ? nullptr : states_.front().get());
    place_shape_inputs(*made);
    states_.push_front(std::move(made));
    if (states_.size() > kKeptStates) states_.pop_back();
  }
  shapes_changed_ = false;
  return states_.front();
}

}  // namespace tenon
