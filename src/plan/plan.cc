#include "plan/plan.h"

#include <algorithm>

#include "base/error.h"

namespace tenon {

int32_t Plan::input_count() const {
  return static_cast<int32_t>(
      std::count_if(bindings.begin(), bindings.end(), [](const auto& b) { return b.is_input; }));
}

int32_t Plan::root_of(int32_t i) const {
  while (tensors[static_cast<size_t>(i)].place == PlanTensor::Place::kAlias)
    i = tensors[static_cast<size_t>(i)].alias_of;
  return i;
}

std::vector<int64_t> symbol_values(const Plan& plan, const std::vector<Shape>& shapes,
                                   const std::vector<std::vector<int64_t>>& elements) {
  std::vector<int64_t> values;
  values.reserve(plan.symbols.size());
  for (const PlanSymbol& s : plan.symbols) {
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
    const int64_t extent = values[static_cast<size_t>(slot)].integer;
    require(extent >= 0, "tensor '{}' would have a negative extent ({})", t.name, extent);
    s.push_back(extent);
  }
  return s;
}

}  // namespace tenon
