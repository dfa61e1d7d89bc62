// Good plans with something changed that their writer never would: for tests and for fuzz targets.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "plan/plan.h"

namespace tenon::testing {

/// Changes one field of a plan at random: of a step, a tensor, the shape program, a binding or a
/// profile, at any depth of bodies.
class PlanMutator {
 public:
  explicit PlanMutator(uint64_t seed) : random_(seed) {}

  void mutate(Plan& plan) {
    // Steps are most of what a reader trusts.
    switch (below(8)) {
      case 0:
        return mutate_tensor(plan);
      case 1:
        return mutate_program(plan);
      case 2:
        return mutate_border(plan);
      default:
        if (!plan.steps.empty()) mutate_step(plan, pick(plan.steps));
    }
  }

 private:
  size_t below(size_t count) { return random_() % count; }
  template <class List> auto pick(List& list) -> decltype((list[0])) {
    return list[below(std::size(list))];
  }

  int64_t number(int64_t near) {
    constexpr int64_t kEdges[] = {0,         1,         -1,        2,         -2,       64,
                                  INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN, 1L << 40, 1L << 62};
    if (below(3) == 0) return pick(kEdges);
    // Unsigned, as what is near may be the largest number.
    return static_cast<int64_t>(static_cast<uint64_t>(near) + below(7) - 3);
  }
  double real(double near) {
    constexpr double kEdges[] = {0, -1, 1e300, -1e300, HUGE_VAL, NAN};
    return below(2) == 0 ? -2 * near : pick(kEdges);
  }
  template <class T, class Value> void mutate_list(std::vector<T>& list, const Value& value) {
    const size_t at = below(list.size() + 1);
    if (at == list.size() || below(4) == 0)
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(at), value());
    else if (below(3) == 0)
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(at));
    else
      list[at] = value();
  }
  int32_t index(size_t count) { return static_cast<int32_t>(below(count + 1)) - 1; }
  void mutate_indices(std::vector<int32_t>& list, size_t count) {
    mutate_list(list, [&] { return index(count); });
  }
  void mutate_shape(Shape& shape) {
    if (shape.rank() > 0) {
      int64_t& extent = shape[static_cast<int>(below(static_cast<size_t>(shape.rank())))];
      extent = number(extent);
    }
  }

  void mutate_fields(FieldList& fields) {
    if (fields.empty()) return;
    FieldValue& value = pick(fields).second;
    if (auto* flag = std::get_if<bool>(&value)) *flag = !*flag;
    if (auto* integer = std::get_if<int64_t>(&value)) *integer = number(*integer);
    if (auto* floating = std::get_if<double>(&value)) *floating = real(*floating);
    if (auto* text = std::get_if<std::string>(&value)) text->resize(below(text->size() + 2), 'x');
    if (auto* list = std::get_if<std::vector<int64_t>>(&value))
      mutate_list(*list, [&] { return number(list->empty() ? 0 : pick(*list)); });
    if (auto* list = std::get_if<std::vector<double>>(&value))
      mutate_list(*list, [&] { return real(list->empty() ? 1 : pick(*list)); });
  }

  void mutate_step(Plan& plan, PlanStep& step) {
    if (!step.bodies.empty() && below(2) == 0) return mutate(pick(step.bodies));
    switch (below(7)) {
      case 0:
        return mutate_indices(step.inputs, plan.tensors.size());
      case 1:
        return mutate_indices(step.outputs, plan.tensors.size());
      case 2:
        return mutate_indices(step.packed, plan.weights.size());
      case 3:
        return mutate_fields(step.state);
      case 4:
        step.kernel = pick(plan.steps).kernel;
        return;
      case 5: {  // another layer's kind and attributes, with this one's tensors
        const PlanStep& other = pick(plan.steps);
        step.op = other.op, step.attributes = other.attributes, step.kernel = other.kernel;
        step.state = other.state, step.bodies = std::vector<Plan>(other.bodies);
        return;
      }
      default:
        return mutate_fields(step.attributes);
    }
  }

  void mutate_tensor(Plan& plan) {
    if (plan.tensors.empty()) return;
    PlanTensor& t = pick(plan.tensors);
    switch (below(6)) {
      case 0:
        t.type = pick(plan.tensors).type;
        return;
      case 1:
        t.layout = static_cast<Layout>(below(4));
        return;
      case 2:
        t.place = static_cast<PlanTensor::Place>(below(8));
        return;
      case 3:
        return mutate_indices(t.content, plan.shapes.instructions.size());
      case 4:
        t.alias_of = index(plan.tensors.size()), t.weight = index(plan.weights.size());
        return;
      default:
        return mutate_indices(t.extents, plan.shapes.instructions.size());
    }
  }

  void mutate_program(Plan& plan) {
    if (!plan.symbols.empty() && below(3) == 0) {
      PlanSymbol& s = pick(plan.symbols);
      int32_t* const fields[] = {&s.binding, &s.index, &s.tensor, &s.upper, &s.opt};
      *pick(fields) = index(plan.tensors.size());
      return;
    }
    if (plan.shapes.instructions.empty()) return;
    auto& in = pick(plan.shapes.instructions);
    int32_t* const operands[] = {&in.a, &in.b, &in.c};
    switch (below(3)) {
      case 0:
        in.op = pick(plan.shapes.instructions).op;
        return;
      case 1:
        *pick(operands) = index(plan.shapes.instructions.size());
        return;
      default:
        in.value.integer = number(in.value.integer);
    }
  }

  void mutate_border(Plan& plan) {
    if (!plan.bindings.empty() && below(2) == 0) {
      PlanBinding& b = pick(plan.bindings);
      if (below(2) == 0) return mutate_shape(b.declared);
      b.tensor = index(plan.tensors.size()), b.is_shape = below(2) == 0;
      return;
    }
    if (plan.profiles.empty() || plan.profiles[0].inputs.empty()) return;
    auto& range = pick(plan.profiles[0].inputs);
    Shape* const shapes[] = {&range.min, &range.opt, &range.max};
    if (below(2) == 0) return mutate_shape(*pick(shapes));
    mutate_list(range.opt_values, [&] { return number(1); });
  }

  std::mt19937_64 random_;
};

}  // namespace tenon::testing
