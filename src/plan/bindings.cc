#include "plan/bindings.h"

#include "ops/cast.h"
#include "ops/identity.h"
#include "plan/profiles.h"

namespace tenon {
namespace {

using Place = PlanTensor::Place;

void add_symbols(Draft& draft, const std::map<const Value*, int32_t>& bindings) {
  for (const Symbol& s : draft.network.symbols()) {
    const auto binding = bindings.find(s.value);
    draft.plan.symbols.push_back({binding != bindings.end() ? binding->second : -1,
                                  s.kind == Symbol::Kind::kElement, s.index});
  }
}

void add_shapes(Draft& draft) {
  for (const Node* node : draft.schedule.layers())
    for (const auto* list : {&node->inputs, &node->outputs})
      for (const Value* v : *list)
        if (v != nullptr) draft.add_shape(*v);
  for (const Value* v : draft.network.outputs()) draft.add_shape(*v);
  for (size_t s = 0; s < draft.plan.symbols.size(); ++s) {
    const Symbol& symbol = draft.network.symbols()[s];
    if (!symbol.is_data_dependent() || !draft.has_shape(*symbol.value)) continue;
    PlanSymbol& made_symbols = draft.plan.symbols[s];
    if (symbol.upper != nullptr) made_symbols.upper = draft.plan.shapes.add(symbol.upper);
    if (symbol.opt != nullptr) made_symbols.opt = draft.plan.shapes.add(symbol.opt);
  }
  draft.plan.shapes.symbol_count = static_cast<int64_t>(draft.plan.symbols.size());
}

void check_extents(const Draft& draft, const PlanProfile& profile, ProfilePoint point) {
  const auto values = draft.plan.shapes.evaluate(symbols_at(draft.plan, profile, point));
  for (const auto& [v, slots] : draft.extents())
    for (int32_t slot : slots) {
      const Number& extent = values[static_cast<size_t>(slot)];
      require(extent.integer >= 0 || !extent.is_known,
              "tensor '{}' would have a negative extent ({})", v->name, extent.integer);
    }
}

void check_output(const Draft& draft, const Value& v) {
  require((v.allowed_formats & 1u) != 0,
          "output '{}': only the linear format is supported yet; allow TensorFormat::kLINEAR",
          v.name);
  for (const Value* input : draft.network.inputs())
    require(input->name != v.name,
            "output '{}' has the name of an input, and inputs and outputs are found by name: "
            "mark an identity of it under another name",
            v.name);
}

int32_t copy_to_output(Draft& draft, const Value& v, int32_t source) {
  const int32_t linear = draft.in_layout(source, Layout::kLinear);
  PlanTensor t;
  t.name = v.name;
  t.type = v.requested_type.value_or(v.type);
  t.place = Place::kOutput;
  t.extents = draft.extents().at(&v);
  if (draft.schedule.on_host(v)) t.content = draft.contents(v);
  Cast cast;
  cast.to = t.type;
  const Identity identity;
  const int32_t out = draft.add_tensor(std::move(t));
  const bool converts = cast.to != v.type;
  draft.add_copy(converts ? static_cast<const Op&>(cast) : identity, linear, out,
                 fmt::format("Output {}", v.name));
  return out;
}

}  // namespace

void bind_inputs(Draft& draft) {
  std::map<const Value*, int32_t> bindings;
  for (const Value* v : draft.network.inputs()) {
    require((v->allowed_formats & 1u) != 0,
            "input '{}': only the linear format is supported yet; allow TensorFormat::kLINEAR",
            v->name);
    draft.add_shape(*v);
    PlanBinding b;
    b.is_input = true;
    b.is_shape = draft.schedule.is_shape_input(*v);
    b.declared = v->declared;
    b.dimension_names.assign(v->dimension_names.begin(),
                             v->dimension_names.begin() + v->declared.rank());
    b.tensor = draft.add_tensor(*v, Place::kInput, Layout::kLinear);
    bindings[v] = static_cast<int32_t>(draft.plan.bindings.size());
    draft.plan.bindings.push_back(std::move(b));
  }
  add_symbols(draft, bindings);
  add_shapes(draft);
}

void bind_profiles(Draft& draft) {
  std::vector<bool> is_shape;
  for (const PlanBinding& b : draft.plan.bindings) is_shape.push_back(b.is_shape);
  auto& profiles = draft.plan.profiles;
  profiles = resolve_profiles(draft.network, draft.options.profiles, is_shape);
  draft.set_estimates();
  if (draft.options.is_body) return;
  for (size_t p = 0; p < profiles.size(); ++p)
    for (const auto& [point, name] :
         {std::pair{ProfilePoint::kMin, "minimum"}, std::pair{ProfilePoint::kMax, "maximum"},
          std::pair{ProfilePoint::kOpt, "optimum"}})
      with_context(fmt::format("profile {} at its {}", p, name),
                   [&] { check_extents(draft, profiles[p], point); });
}

void bind_outputs(Draft& draft) {
  draft.position = Schedule::kForever;
  for (const Value* v : draft.network.outputs()) {
    check_output(draft, *v);
    const int32_t source = draft.source_of(*v);
    PlanBinding b;
    b.tensor =
        draft.at(source).place == Place::kOutput ? source : copy_to_output(draft, *v, source);
    b.is_shape = draft.schedule.on_host(*v);
    draft.plan.bindings.push_back(std::move(b));
  }
  for (size_t s = 0; s < draft.plan.symbols.size(); ++s)
    if (const Symbol& symbol = draft.network.symbols()[s]; symbol.is_data_dependent())
      draft.plan.symbols[s].tensor = draft.tensor_of(*symbol.value);
}

}  // namespace tenon
