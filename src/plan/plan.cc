#include "plan/plan.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

int32_t Plan::input_count() const {
  const auto end = std::partition_point(bindings.begin(), bindings.end(),
                                        [](const auto& b) { return b.is_input; });
  return static_cast<int32_t>(end - bindings.begin());
}

int32_t Plan::root_of(int32_t i) const {
  while (tensors[static_cast<size_t>(i)].place == PlanTensor::Place::kAlias)
    i = tensors[static_cast<size_t>(i)].alias_of;
  return i;
}

std::vector<SymbolValue> symbol_values(const Plan& plan, const std::vector<Shape>& shapes,
                                       const std::vector<std::vector<int64_t>>& elements) {
  std::vector<SymbolValue> values;
  values.reserve(plan.symbols.size());
  for (const PlanSymbol& s : plan.symbols) {
    if (s.is_data_dependent()) {
      values.push_back(std::nullopt);
      continue;
    }
    const auto binding = static_cast<size_t>(s.binding);
    if (!s.is_element) {
      values.push_back(shapes[binding][s.index]);
      continue;
    }
    const auto& list = elements[binding];
    values.push_back(static_cast<size_t>(s.index) < list.size() ? list[static_cast<size_t>(s.index)]
                                                                : 0);
  }
  return values;
}

Shape shape_of(const Plan& plan, int32_t tensor, std::span<const Number> values) {
  const PlanTensor& t = plan.tensors[static_cast<size_t>(tensor)];
  Shape s;
  for (int32_t slot : t.extents) {
    const Number& value = values[static_cast<size_t>(slot)];
    const int64_t extent = value.is_known ? value.integer : -1;
    require(extent >= 0 || !value.is_known, "tensor '{}' would have a negative extent ({})", t.name,
            extent);
    s.push_back(extent);
  }
  return s;
}

namespace {

// The symbols, with data-dependent ones at what a slot says of them. That may depend on another
// data-dependent symbol, so each round makes more of them known.
std::vector<SymbolValue> with_data_dependent(const Plan& plan, std::vector<SymbolValue> symbols,
                                             int32_t PlanSymbol::* slot) {
  for (bool again = true; again;) {
    again = false;
    const auto values = plan.shapes.evaluate(symbols);
    for (size_t i = 0; i < symbols.size(); ++i) {
      const int32_t at = plan.symbols[i].*slot;
      if (symbols[i] || at < 0) continue;
      const Number& value = values[static_cast<size_t>(at)];
      if (!value.is_known) continue;
      symbols[i] = value.integer;
      again = true;
    }
  }
  return symbols;
}

}  // namespace

std::vector<Number> largest_slots(const Plan& plan, std::vector<SymbolValue> symbols) {
  return plan.shapes.evaluate(with_data_dependent(plan, std::move(symbols), &PlanSymbol::upper));
}

Shape largest_shape(const Plan& plan, int32_t tensor, std::vector<SymbolValue> symbols) {
  return shape_of(plan, tensor, largest_slots(plan, std::move(symbols)));
}

std::vector<Number> estimated_slots(const Plan& plan, std::span<const SymbolValue> symbols,
                                    bool all_guessed) {
  std::vector<SymbolValue> guessed =
      with_data_dependent(plan, {symbols.begin(), symbols.end()}, &PlanSymbol::opt);
  bool all_known = !all_guessed;
  for (size_t i = 0; i < guessed.size(); ++i) {
    all_known &= symbols[i].has_value();
    if (guessed[i]) continue;
    guessed[i] = plan.symbols[i].is_element ? 1 : kGuessedCount;
  }
  if (all_known) return plan.shapes.evaluate(symbols);
  std::vector<SymbolValue> unknown(symbols.begin(), symbols.end());
  if (all_guessed) std::fill(unknown.begin(), unknown.end(), std::nullopt);
  const std::vector<Number> known = plan.shapes.evaluate(unknown);
  std::vector<Number> slots = plan.shapes.estimate(guessed);
  for (size_t i = 0; i < slots.size(); ++i)
    if (!known[i].is_known && !slots[i].is_float && slots[i].integer < 1) slots[i] = Number::of(1);
  return slots;
}

}  // namespace tenon
