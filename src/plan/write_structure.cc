// A plan as the FlatBuffers structure of a plan file.
#include "plan/plan_generated.h"
#include "plan/stored_network.h"
#include "plan/structure.h"
#include "plan/structure_writer.h"

namespace tenon {
namespace {

auto write_instructions(fb::FlatBufferBuilder& b, const ShapeProgram& program) {
  std::vector<schema::Instruction> list;
  for (const auto& i : program.instructions)
    list.emplace_back(static_cast<uint8_t>(i.op), i.is_float,
                      schema::Number(i.value.is_float, i.value.integer, i.value.real), i.payload,
                      i.a, i.b, i.c);
  return b.CreateVectorOfStructs(list);
}

auto write_profiles(fb::FlatBufferBuilder& b, const Plan& plan) {
  std::vector<fb::Offset<schema::Profile>> list;
  for (const PlanProfile& p : plan.profiles) {
    std::vector<fb::Offset<schema::Range>> ranges;
    for (const auto& r : p.inputs) {
      const auto min = list_of(r.min), opt = list_of(r.opt), max = list_of(r.max);
      ranges.push_back(schema::CreateRangeDirect(b, &min, &opt, &max, &r.min_values, &r.opt_values,
                                                 &r.max_values));
    }
    list.push_back(schema::CreateProfileDirect(b, &ranges, p.device_memory));
  }
  return b.CreateVector(list);
}

fb::Offset<schema::Plan> write_table(fb::FlatBufferBuilder& b, const Plan& plan,
                                     WeightSection& section);

auto write_steps(fb::FlatBufferBuilder& b, const Plan& plan, WeightSection& section) {
  std::vector<fb::Offset<schema::Step>> list;
  for (const PlanStep& s : plan.steps) {
    const auto attributes = write_fields(b, s.attributes);
    const auto state = write_fields(b, s.state);
    std::vector<fb::Offset<schema::Plan>> bodies;
    for (const Plan& body : s.bodies) bodies.push_back(write_table(b, body, section));
    list.push_back(schema::CreateStep(
        b, b.CreateString(s.name), b.CreateString(s.metadata), b.CreateString(s.op), attributes,
        static_cast<int32_t>(s.layer), b.CreateString(s.kernel), state, b.CreateVector(s.packed),
        b.CreateVector(s.inputs), b.CreateVector(s.outputs), b.CreateVector(bodies), s.debug,
        b.CreateString(s.variant), s.largest_error, s.rms_error));
  }
  return b.CreateVector(list);
}

fb::Offset<schema::Plan> write_table(fb::FlatBufferBuilder& b, const Plan& plan,
                                     WeightSection& section) {
  std::vector<fb::Offset<schema::Tensor>> tensors;
  for (const PlanTensor& t : plan.tensors)
    tensors.push_back(schema::CreateTensorDirect(
        b, t.name.c_str(), static_cast<int32_t>(t.type), static_cast<uint8_t>(t.layout),
        static_cast<uint8_t>(t.place), &t.extents, &t.content, t.alias_of, t.weight));
  std::vector<fb::Offset<schema::Binding>> bindings;
  for (const PlanBinding& p : plan.bindings) {
    const auto declared = list_of(p.declared);
    const auto names = b.CreateVectorOfStrings(p.dimension_names);
    bindings.push_back(schema::CreateBinding(b, p.tensor, p.is_input, p.is_shape,
                                             b.CreateVector(declared), names));
  }
  std::vector<schema::Symbol> symbols;
  for (const PlanSymbol& s : plan.symbols)
    symbols.emplace_back(s.binding, s.is_element, s.index, s.tensor, s.upper, s.opt);
  std::vector<fb::Offset<schema::Plugin>> plugins;
  for (const RequiredPlugin& p : plan.plugins)
    plugins.push_back(
        schema::CreatePluginDirect(b, p.name.c_str(), p.version.c_str(), p.name_space.c_str()));
  std::vector<fb::Offset<schema::DebugTensor>> debug_tensors;
  for (const PlanDebugTensor& t : plan.debug_tensors)
    debug_tensors.push_back(schema::CreateDebugTensorDirect(b, t.name.c_str(), t.unfused));
  std::vector<fb::Offset<schema::Weight>> weights;
  for (const Tensor& t : plan.weights) weights.push_back(write_weight(b, t, section));
  std::vector<fb::Offset<schema::Library>> libraries;
  for (const PlanLibrary& library : plan.libraries) {
    const auto bytes = write_weight(b, library.bytes, section);
    libraries.push_back(schema::CreateLibraryDirect(b, library.name.c_str(), bytes));
  }
  const auto steps = write_steps(b, plan, section);
  const auto profiles = write_profiles(b, plan);
  const auto instructions = write_instructions(b, plan.shapes);
  return schema::CreatePlan(
      b, b.CreateString(plan.name), b.CreateString(plan.target), b.CreateString(plan.fingerprint),
      b.CreateString(plan.instruction_set), static_cast<int32_t>(plan.verbosity), plan.max_batch,
      plan.tf32, instructions, b.CreateVectorOfStructs(symbols), b.CreateVector(tensors), steps,
      b.CreateVector(bindings), profiles, b.CreateVector(plugins), b.CreateVector(weights),
      plan.source != nullptr ? write_source(b, *plan.source, section)
                             : fb::Offset<schema::Source>(),
      plan.aux_streams, b.CreateVector(debug_tensors), b.CreateVector(libraries), plan.is_stripped);
}

}  // namespace

size_t WeightSection::add(const Tensor& tensor) {
  const auto [it, fresh] = places_.try_emplace({tensor.data(), tensor.bytes()}, bytes_);
  if (!fresh) return it->second;
  tensors_.push_back({bytes_, tensor});
  bytes_ = (bytes_ + tensor.bytes() + kPlanAlignment - 1) / kPlanAlignment * kPlanAlignment;
  return it->second;
}

std::vector<uint8_t> write_structure(const Plan& plan, WeightSection& weights) {
  fb::FlatBufferBuilder b(1 << 16);
  b.Finish(write_table(b, plan, weights));
  return {b.GetBufferPointer(), b.GetBufferPointer() + b.GetSize()};
}

}  // namespace tenon
