// The FlatBuffers structure of a plan file as a plan. The verifier has checked that offsets stay
// inside the section; everything that is an index, an enum or a count is checked here.
#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "ops/reorder.h"
#include "plan/plan_generated.h"
#include "plan/stored_network.h"
#include "plan/structure.h"
#include "plan/structure_reader.h"
#include "plugin_layers/plugin.h"

namespace tenon {
namespace {

// Bodies inside bodies: as deep as the importer allows, with two tables for each.
constexpr fb::uoffset_t kMaxTableDepth = 2 * kMaxBodyDepth + 8;

int operand_count(ExprOp op) {
  if (op <= ExprOp::kSymbol) return 0;
  if (op == ExprOp::kSelect) return 3;
  return op == ExprOp::kDivide || op < ExprOp::kNot ? 2 : 1;
}

void read_program(const schema::Plan& in, Plan& plan) {
  if (checked(in.instructions(), alignof(schema::Instruction)) != nullptr)
    for (const schema::Instruction* i : *in.instructions()) {
      require(i->op() <= static_cast<uint8_t>(ExprOp::kFromFloat64), "unknown shape operation {}",
              i->op());
      const auto position = static_cast<int32_t>(plan.shapes.instructions.size());
      int needed = operand_count(static_cast<ExprOp>(i->op()));
      for (int32_t slot : {i->a(), i->b(), i->c()}) {
        require(slot >= 0 || needed <= 0, "a shape operation lacks an operand");
        require(slot >= -1 && slot < position, "a shape operation uses slot {} before it is set",
                slot);
        --needed;
      }
      const schema::Number& v = i->value();
      plan.shapes.instructions.push_back({static_cast<ExprOp>(i->op()), i->is_float(),
                                          Number{v.is_float(), v.integer(), v.real()}, i->payload(),
                                          i->a(), i->b(), i->c()});
    }
  if (checked(in.symbols(), alignof(schema::Symbol)) != nullptr)
    for (const schema::Symbol* s : *in.symbols())
      plan.symbols.push_back(
          {s->binding(), s->is_element(), s->index(), s->tensor(), s->upper(), s->opt()});
  plan.shapes.symbol_count = static_cast<int64_t>(plan.symbols.size());
  for (const auto& i : plan.shapes.instructions)
    if (i.op == ExprOp::kSymbol) check_index(i.payload, plan.symbols.size(), "symbol");
}

void read_tensors(const schema::Plan& in, Plan& plan) {
  const size_t slots = plan.shapes.instructions.size();
  for_each(in.tensors(), [&](const schema::Tensor& t) {
    PlanTensor out;
    out.name = text_from(t.name());
    out.type = type_from(t.type());
    require(t.layout() <= static_cast<uint8_t>(kLastLayout), "tensor '{}': unknown layout {}",
            out.name, t.layout());
    require(t.place() <= static_cast<uint8_t>(PlanTensor::Place::kDataDependent),
            "tensor '{}': unknown place {}", out.name, t.place());
    out.layout = static_cast<Layout>(t.layout());
    out.place = static_cast<PlanTensor::Place>(t.place());
    out.extents = list_from(t.extents());
    out.content = list_from(t.content());
    require(out.extents.size() <= Shape::kMaxRank, "tensor '{}' has {} dimensions", out.name,
            out.extents.size());
    require(out.layout == Layout::kLinear || out.extents.size() >= 2,
            "tensor '{}' has no channel axis", out.name);
    for (int32_t slot : out.extents) check_index(slot, slots, "shape slot");
    for (int32_t slot : out.content) check_index(slot, slots, "shape slot");
    out.alias_of = t.alias_of();
    out.weight = t.weight();
    plan.tensors.push_back(std::move(out));
  });
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& t = plan.tensors[i];
    if (t.place == PlanTensor::Place::kWeight) {
      check_index(t.weight, plan.weights.size(), "weight");
      require(plan.weights[static_cast<size_t>(t.weight)].type() == t.type,
              "tensor '{}' and its weights have different types", t.name);
    }
    if (t.place != PlanTensor::Place::kAlias) continue;
    check_index(t.alias_of, plan.tensors.size(), "tensor");
    int32_t at = static_cast<int32_t>(i);
    for (size_t hops = 0; plan.tensors[static_cast<size_t>(at)].place == PlanTensor::Place::kAlias;
         ++hops) {
      require(hops <= plan.tensors.size(), "tensor '{}' is an alias of itself", t.name);
      at = plan.tensors[static_cast<size_t>(at)].alias_of;
      check_index(at, plan.tensors.size(), "tensor");
    }
  }
}

// Those of callers and plugins, too.
bool knows_all_layouts(std::string_view op) {
  return op == Reorder::kName || op == PluginV2Layer::kName || op == PluginV3Layer::kName;
}

// Where weights lie, and how deep in bodies their plan is.
struct Surroundings {
  std::span<const std::byte> weights;
  const std::shared_ptr<const void>& owner;
  bool is_stripped = false;
  int depth = 0;

  Surroundings of_body() const { return {weights, owner, is_stripped, depth + 1}; }
};

Plan read_table(const schema::Plan& in, const Surroundings& around);

void read_steps(const schema::Plan& in, const Surroundings& around, Plan& plan) {
  for_each(in.steps(), [&](const schema::Step& s) {
    PlanStep out;
    out.name = text_from(s.name());
    out.metadata = text_from(s.metadata());
    out.op = text_from(s.op());
    out.attributes = fields_from(s.attributes());
    out.layer = static_cast<LayerType>(s.layer());
    out.kernel = text_from(s.kernel());
    out.state = fields_from(s.state());
    out.packed = list_from(s.packed());
    out.inputs = list_from(s.inputs());
    out.outputs = list_from(s.outputs());
    out.variant = text_from(s.variant());
    out.largest_error = s.largest_error();
    out.rms_error = s.rms_error();
    for (const float error : {out.largest_error, out.rms_error})
      require(std::isfinite(error) && (error >= 0 || error == -1), "layer {} has an error of {}",
              out.name, error);
    out.debug = s.debug();
    if (out.debug != -1) check_index(out.debug, plan.debug_tensors.size(), "debug tensor");
    for_each(s.bodies(), [&](const schema::Plan& body) {
      out.bodies.push_back(read_table(body, around.of_body()));
    });
    for (int32_t w : out.packed) check_index(w, plan.weights.size(), "weight");
    for (int32_t t : out.inputs)
      if (t != -1) check_index(t, plan.tensors.size(), "tensor");
    for (int32_t t : out.outputs) {
      check_index(t, plan.tensors.size(), "tensor");
      const auto place = plan.tensors[static_cast<size_t>(plan.root_of(t))].place;
      require(place == PlanTensor::Place::kArena || place == PlanTensor::Place::kOutput
                  || place == PlanTensor::Place::kDataDependent,
              "layer {} writes to tensor '{}', which is not memory of the network", out.name,
              plan.tensors[static_cast<size_t>(t)].name);
    }
    for (const auto* list : {&out.inputs, &out.outputs})
      for (int32_t t : *list) {
        if (t == -1 || knows_all_layouts(out.op)) continue;
        const PlanTensor& tensor = plan.tensors[static_cast<size_t>(t)];
        require(!is_io_only(tensor.layout), "layer {} cannot use tensor '{}' in the layout \"{}\"",
                out.name, tensor.name, name_of(tensor.layout));
      }
    plan.steps.push_back(std::move(out));
  });
}

void check_data_dependent_symbol(const Plan& plan, const PlanSymbol& s) {
  if (s.tensor == -1) return;
  check_index(s.tensor, plan.tensors.size(), "tensor");
  const PlanTensor& t = plan.tensors[static_cast<size_t>(s.tensor)];
  const auto place = plan.tensors[static_cast<size_t>(plan.root_of(s.tensor))].place;
  if (s.is_element) {
    const bool integers =
        t.type == DataType::kINT32 || t.type == DataType::kINT64 || t.type == DataType::kBOOL;
    require(integers && t.layout == Layout::kLinear
                && (place == PlanTensor::Place::kArena || place == PlanTensor::Place::kOutput
                    || place == PlanTensor::Place::kDataDependent),
            "tensor '{}' cannot decide shapes", t.name);
  } else {
    require(t.place == PlanTensor::Place::kDataDependent,
            "the size of tensor '{}' is known earlier", t.name);
    check_index(s.index, t.extents.size(), "axis");
  }
}

void read_bindings(const schema::Plan& in, Plan& plan) {
  bool inputs_over = false;
  for_each(in.bindings(), [&](const schema::Binding& b) {
    PlanBinding out;
    out.tensor = b.tensor();
    out.is_input = b.is_input();
    out.is_shape = b.is_shape();
    check_index(out.tensor, plan.tensors.size(), "tensor");
    const PlanTensor& t = plan.tensors[static_cast<size_t>(out.tensor)];
    const auto place = out.is_input ? PlanTensor::Place::kInput : PlanTensor::Place::kOutput;
    require(t.place == place, "binding '{}' is no input or output", t.name);
    require(t.layout == Layout::kLinear || !out.is_shape,
            "binding '{}' decides shapes, and has the layout \"{}\"", t.name, name_of(t.layout));
    inputs_over |= !out.is_input;
    require(!inputs_over || !out.is_input, "input '{}' follows an output", t.name);
    if (out.is_input) {
      out.declared = shape_from(b.declared());
      require(out.declared.rank() == static_cast<int>(t.extents.size()),
              "input '{}': declared rank differs", t.name);
      if (b.dimension_names() != nullptr)
        for (const fb::String* name : *b.dimension_names())
          out.dimension_names.push_back(text_from(name));
    }
    require(plan.max_batch == 0 || !t.extents.empty(), "binding '{}' has no batch", t.name);
    plan.bindings.push_back(std::move(out));
  });
  std::vector<int> bound(plan.tensors.size(), 0);
  for (const PlanBinding& b : plan.bindings) ++bound[static_cast<size_t>(b.tensor)];
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const auto place = plan.tensors[i].place;
    const bool is_io = place == PlanTensor::Place::kInput || place == PlanTensor::Place::kOutput;
    require(bound[i] == (is_io ? 1 : 0), "tensor '{}' is bound {} times", plan.tensors[i].name,
            bound[i]);
  }
  for (const PlanSymbol& s : plan.symbols) {
    require(s.index >= 0, "symbol index {} is negative", s.index);
    for (int32_t slot : {s.upper, s.opt})
      if (slot != -1) check_index(slot, plan.shapes.instructions.size(), "shape slot");
    if (s.is_data_dependent()) {
      check_data_dependent_symbol(plan, s);
      continue;
    }
    check_index(s.binding, static_cast<size_t>(plan.input_count()), "input");
    const Shape& declared = plan.bindings[static_cast<size_t>(s.binding)].declared;
    if (!s.is_element) check_index(s.index, static_cast<size_t>(declared.rank()), "axis");
  }
}

void read_profiles(const schema::Plan& in, Plan& plan) {
  const auto inputs = static_cast<size_t>(plan.input_count());
  for_each(in.profiles(), [&](const schema::Profile& p) {
    PlanProfile out;
    out.device_memory = p.device_memory();
    require(out.device_memory >= 0, "a profile needs {} bytes", out.device_memory);
    for_each(p.inputs(), [&](const schema::Range& r) {
      out.inputs.push_back({shape_from(r.min()), shape_from(r.opt()), shape_from(r.max()),
                            list_from(r.min_values()), list_from(r.opt_values()),
                            list_from(r.max_values())});
      const PlanProfile::Range& range = out.inputs.back();
      const size_t count = range.min_values.size();
      require(range.opt_values.size() == count && range.max_values.size() == count,
              "a profile has {}, {} and {} values of an input", count, range.opt_values.size(),
              range.max_values.size());
    });
    require(out.inputs.size() == inputs, "a profile has {} inputs; the plan has {}",
            out.inputs.size(), inputs);
    for (size_t i = 0; i < inputs; ++i)
      for (const Shape& s : {out.inputs[i].min, out.inputs[i].opt, out.inputs[i].max})
        require(s.rank() == plan.bindings[i].declared.rank(), "a profile has another rank");
    plan.profiles.push_back(std::move(out));
  });
  require(!plan.profiles.empty(), "there is no profile");
}

void read_weights(const schema::Plan& in, const Surroundings& around, Plan& plan) {
  for_each(in.weights(), [&](const schema::Weight& w) {
    plan.weights.push_back(weight_from(w, around.weights, around.owner, around.is_stripped));
  });
}

Plan read_table(const schema::Plan& in, const Surroundings& around) {
  require(around.depth <= kMaxBodyDepth, "the plan is damaged: bodies are nested more than {} deep",
          kMaxBodyDepth);
  Plan plan;
  plan.name = text_from(in.name());
  plan.target = text_from(in.target());
  plan.fingerprint = text_from(in.fingerprint());
  plan.instruction_set = text_from(in.instruction_set());
  require(in.verbosity() >= 0 && in.verbosity() <= 2, "unknown profiling verbosity {}",
          in.verbosity());
  plan.verbosity = static_cast<nvinfer1::ProfilingVerbosity>(in.verbosity());
  plan.max_batch = in.max_batch();
  plan.tf32 = in.tf32();
  require(plan.max_batch >= 0, "a largest batch of {}", plan.max_batch);
  plan.aux_streams = in.aux_streams();
  require(plan.aux_streams >= 0 && plan.aux_streams <= Plan::kMaxAuxStreams,
          "{} auxiliary streams; expected 0 to {}", plan.aux_streams, Plan::kMaxAuxStreams);
  read_weights(in, around, plan);
  read_program(in, plan);
  read_tensors(in, plan);
  for_each(in.debug_tensors(), [&](const schema::DebugTensor& t) {
    plan.debug_tensors.push_back({text_from(t.name()), t.unfused()});
  });
  read_steps(in, around, plan);
  read_bindings(in, plan);
  read_profiles(in, plan);
  for_each(in.plugins(), [&](const schema::Plugin& p) {
    plan.plugins.push_back(
        {text_from(p.name()), text_from(p.version()), text_from(p.name_space())});
  });
  for_each(in.libraries(), [&](const schema::Library& l) {
    require(l.bytes() != nullptr, "a plugin library has no bytes");
    plan.libraries.push_back(
        {text_from(l.name()), weight_from(*l.bytes(), around.weights, around.owner)});
  });
  if (in.source() != nullptr)
    plan.source = read_source(*in.source(), around.weights, around.owner, around.is_stripped);
  plan.is_stripped = around.is_stripped;
  require(!plan.is_stripped || around.depth > 0 || plan.is_refittable(),
          "the plan is stripped of its weights, and is not refittable");
  return plan;
}

}  // namespace

Plan read_structure(std::span<const std::byte> structure, std::span<const std::byte> weights,
                    const std::shared_ptr<const void>& owner) {
  const auto* data = reinterpret_cast<const uint8_t*>(structure.data());
  // Each table takes at least 8 bytes with the offset to it. Bodies that share one table would be
  // more than that, and could grow without bound when they are read.
  const auto max_tables =
      static_cast<fb::uoffset_t>(std::min<size_t>(structure.size() / 8, 100'000'000));
  fb::Verifier verifier(data, structure.size(), kMaxTableDepth, max_tables);
  require(schema::VerifyPlanBuffer(verifier), "the plan is damaged: its structure is not valid");
  const schema::Plan& plan = *schema::GetPlan(data);
  return read_table(plan, {weights, owner, plan.is_stripped()});
}

}  // namespace tenon
