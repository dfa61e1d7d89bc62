#include "plan/bindings.h"

#include "ops/cast.h"
#include "ops/identity.h"
#include "ops/reorder.h"
#include "plan/io_format.h"
#include "plan/profiles.h"

namespace tenon {
namespace {

using Place = PlanTensor::Place;

void add_symbols(PlanBuilder& builder, const std::map<const Value*, int32_t>& bindings) {
  for (const Symbol& s : builder.network.symbols()) {
    const auto binding = bindings.find(s.value);
    builder.plan.symbols.push_back({binding != bindings.end() ? binding->second : -1,
                                    s.kind == Symbol::Kind::kElement, s.index});
  }
}

void add_shapes(PlanBuilder& builder) {
  for (const Node* node : builder.schedule.layers())
    for (const auto* list : {&node->inputs, &node->outputs})
      for (const Value* v : *list)
        if (v != nullptr) builder.add_shape(*v);
  for (const Value* v : builder.network.outputs()) builder.add_shape(*v);
  for (size_t s = 0; s < builder.plan.symbols.size(); ++s) {
    const Symbol& symbol = builder.network.symbols()[s];
    if (!symbol.is_data_dependent() || !builder.has_shape(*symbol.value)) continue;
    PlanSymbol& made_symbols = builder.plan.symbols[s];
    if (symbol.upper != nullptr) made_symbols.upper = builder.plan.shapes.add(symbol.upper);
    if (symbol.opt != nullptr) made_symbols.opt = builder.plan.shapes.add(symbol.opt);
  }
  builder.plan.shapes.symbol_count = static_cast<int64_t>(builder.plan.symbols.size());
}

void check_extents(const PlanBuilder& builder, const PlanProfile& profile, ProfilePoint point) {
  const auto values = builder.plan.shapes.evaluate(symbols_at(builder.plan, profile, point));
  for (const auto& [v, slots] : builder.extents())
    for (int32_t slot : slots) {
      const Number& extent = values[static_cast<size_t>(slot)];
      require(extent.integer >= 0 || !extent.is_known,
              "tensor '{}' would have a negative extent ({})", v->name, extent.integer);
    }
}

void check_output(const PlanBuilder& builder, const Value& v) {
  for (const Value* input : builder.network.inputs())
    require(input->name != v.name,
            "output '{}' has the name of an input, and inputs and outputs are found by name: "
            "mark an identity of it under another name",
            v.name);
}

int32_t copy_to_output(PlanBuilder& builder, const Value& v, int32_t source) {
  PlanTensor t;
  t.name = v.name;
  t.type = v.requested_type.value_or(v.type);
  t.layout = io_layout(v, builder.plan.max_batch);
  t.place = Place::kOutput;
  t.extents = builder.extents().at(&v);
  if (builder.schedule.on_host(v)) t.content = builder.contents(v);
  const std::string name = fmt::format("Output {}", v.name);
  Cast cast;
  cast.to = t.type;
  const bool converts = t.type != v.type, reorders = t.layout != Layout::kLinear;
  if (converts || !reorders || channel_axis(t.layout) == 0)
    source = builder.in_layout(source, Layout::kLinear);
  if (converts && reorders) {
    PlanTensor converted = builder.at(source);
    converted.name = fmt::format("{} [{}]", v.name, name_of(t.type));
    converted.type = t.type;
    converted.place = Place::kArena;
    const int32_t linear = builder.add_tensor(std::move(converted));
    builder.add_copy(cast, source, linear, fmt::format("Convert {}", v.name));
    source = linear;
  }
  Reorder reorder;
  reorder.from = builder.at(source).layout;
  reorder.to = t.layout;
  const Identity identity;
  const Op& copy = reorders   ? static_cast<const Op&>(reorder)
                   : converts ? static_cast<const Op&>(cast)
                              : identity;
  const int32_t out = builder.add_tensor(std::move(t));
  builder.add_copy(copy, source, out, name);
  return out;
}

}  // namespace

void bind_inputs(PlanBuilder& builder) {
  std::map<const Value*, int32_t> bindings;
  for (const Value* v : builder.network.inputs()) {
    builder.add_shape(*v);
    PlanBinding b;
    b.is_input = true;
    b.is_shape = builder.schedule.is_shape_input(*v);
    b.declared = v->declared;
    b.dimension_names.assign(v->dimension_names.begin(),
                             v->dimension_names.begin() + v->declared.rank());
    b.tensor = builder.add_tensor(*v, Place::kInput, io_layout(*v, builder.plan.max_batch));
    builder.set_foreign(*v);
    bindings[v] = static_cast<int32_t>(builder.plan.bindings.size());
    builder.plan.bindings.push_back(std::move(b));
  }
  add_symbols(builder, bindings);
  add_shapes(builder);
}

void bind_profiles(PlanBuilder& builder) {
  std::vector<bool> is_shape;
  for (const PlanBinding& b : builder.plan.bindings) is_shape.push_back(b.is_shape);
  auto& profiles = builder.plan.profiles;
  profiles = resolve_profiles(builder.network, builder.options.profiles, is_shape);
  builder.set_estimates();
  if (builder.options.is_body) return;
  for (size_t p = 0; p < profiles.size(); ++p)
    for (const auto& [point, name] :
         {std::pair{ProfilePoint::kMin, "minimum"}, std::pair{ProfilePoint::kMax, "maximum"},
          std::pair{ProfilePoint::kOpt, "optimum"}})
      with_context(fmt::format("profile {} at its {}", p, name),
                   [&] { check_extents(builder, profiles[p], point); });
}

void bind_outputs(PlanBuilder& builder) {
  builder.position = Schedule::kForever;
  for (const Value* v : builder.network.outputs()) {
    check_output(builder, *v);
    PlanBinding b;
    const int32_t root = builder.plan.root_of(builder.source_of(*v));
    b.tensor = builder.at(root).place == Place::kOutput
                   ? root
                   : copy_to_output(builder, *v, builder.readable_of(*v));
    b.is_shape = builder.schedule.on_host(*v);
    builder.plan.bindings.push_back(std::move(b));
  }
  for (size_t s = 0; s < builder.plan.symbols.size(); ++s)
    if (const Symbol& symbol = builder.network.symbols()[s]; symbol.is_data_dependent())
      builder.plan.symbols[s].tensor = builder.tensor_of(*symbol.value);
}

}  // namespace tenon
