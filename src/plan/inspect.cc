#include "plan/inspect.h"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "base/dtype.h"
#include "base/text.h"
#include "plan/streams.h"

namespace tenon {
namespace {

using nlohmann::ordered_json;

// The input extent or element that a symbol stands for: "input.2", "sizes[0]", or its name.
std::string symbol_text(const Plan& plan, const PlanSymbol& s) {
  const auto at = static_cast<size_t>(s.index);
  if (s.is_data_dependent()) {
    if (s.tensor < 0) return "?";
    const std::string& name = plan.tensors[static_cast<size_t>(s.tensor)].name;
    return s.is_element ? fmt::format("{}[{}]", name, at) : fmt::format("{}.{}", name, at);
  }
  const PlanBinding& b = plan.bindings[static_cast<size_t>(s.binding)];
  const std::string& name = plan.tensors[static_cast<size_t>(b.tensor)].name;
  if (s.is_element) return fmt::format("{}[{}]", name, at);
  if (at < b.dimension_names.size() && !b.dimension_names[at].empty()) return b.dimension_names[at];
  return fmt::format("{}.{}", name, at);
}

// An extent as a number where it is fixed, as an expression of input extents where it is not; deep
// expressions are cut short.
std::string extent_text(const Plan& plan, int32_t slot, int depth = 0) {
  const auto& i = plan.shapes.instructions[static_cast<size_t>(slot)];
  if (i.op == ExprOp::kConstant) return fmt::format("{}", i.value.integer);
  if (i.op == ExprOp::kSymbol)
    return symbol_text(plan, plan.symbols[static_cast<size_t>(i.payload)]);
  const char* infix = i.op == ExprOp::kAdd        ? "+"
                      : i.op == ExprOp::kSub      ? "-"
                      : i.op == ExprOp::kMul      ? "*"
                      : i.op == ExprOp::kFloorDiv ? "/"
                                                  : nullptr;
  if (infix == nullptr || depth > 3) return "?";
  return fmt::format("({}{}{})", extent_text(plan, i.a, depth + 1), infix,
                     extent_text(plan, i.b, depth + 1));
}

std::vector<std::string> extents_of(const Plan& plan, const PlanTensor& t) {
  std::vector<std::string> extents;
  for (int32_t slot : t.extents) extents.push_back(extent_text(plan, slot));
  return extents;
}

std::string shape_text(const Plan& plan, int32_t tensor) {
  const auto extents = extents_of(plan, plan.tensors[static_cast<size_t>(tensor)]);
  return extents.empty() ? "scalar" : fmt::format("{}", fmt::join(extents, "x"));
}

std::string format_text(const PlanTensor& t) {
  return fmt::format("{} {}", name_of(t.layout), name_of(t.type));
}

ordered_json tensor_json(const Plan& plan, int32_t tensor) {
  if (tensor < 0) return nullptr;
  const PlanTensor& t = plan.tensors[static_cast<size_t>(tensor)];
  ordered_json dims = ordered_json::array();
  for (int32_t slot : t.extents) {
    const auto& i = plan.shapes.instructions[static_cast<size_t>(slot)];
    dims.push_back(i.op == ExprOp::kConstant ? ordered_json(i.value.integer)
                                             : ordered_json(extent_text(plan, slot)));
  }
  return {{"Name", t.name},
          {"Location", t.place == PlanTensor::Place::kHost ? "Host" : "Device"},
          {"Dimensions", dims},
          {"Format/Datatype", format_text(t)}};
}

ordered_json field_json(const FieldValue& value) {
  return std::visit(
      [](const auto& v) -> ordered_json {
        if constexpr (std::is_same_v<std::decay_t<decltype(v)>, std::string>) {
          for (char c : v)  // a plugin's state may be any bytes
            if (static_cast<unsigned char>(c) < 32 || static_cast<unsigned char>(c) > 126)
              return fmt::format("<{} bytes>", v.size());
        }
        return v;
      },
      value);
}

ordered_json step_json(const Plan& plan, const PlanStep& step) {
  ordered_json inputs = ordered_json::array(), outputs = ordered_json::array();
  for (int32_t t : step.inputs)
    if (t >= 0) inputs.push_back(tensor_json(plan, t));
  for (int32_t t : step.outputs) outputs.push_back(tensor_json(plan, t));
  ordered_json layer = {{"Name", step.name},         {"LayerType", step.op},
                        {"Inputs", inputs},          {"Outputs", outputs},
                        {"TacticName", step.kernel}, {"Metadata", step.metadata}};
  for (const auto& [name, value] : step.attributes) layer["Attributes"][name] = field_json(value);
  for (const Plan& body : step.bodies) {
    ordered_json layers = ordered_json::array();
    for (const PlanStep& inner : body.steps) layers.push_back(step_json(body, inner));
    layer["Bodies"].push_back(layers);
  }
  return layer;
}

std::string place_text(const Shape& min, const Shape& opt, const Shape& max) {
  return min == max ? min.str()
                    : fmt::format("min {}, opt {}, max {}", min.str(), opt.str(), max.str());
}

double mebibytes(double bytes) {
  return bytes / (1 << 20);
}

// Plans of bodies share weights with the plan around them.
int64_t weight_bytes(const Plan& plan, std::set<const void*>& seen) {
  int64_t bytes = 0;
  for (const Tensor& w : plan.weights)
    if (seen.insert(w.data()).second) bytes += static_cast<int64_t>(w.bytes());
  for (const PlanStep& step : plan.steps)
    for (const Plan& body : step.bodies) bytes += weight_bytes(body, seen);
  return bytes;
}
int64_t weight_bytes(const Plan& plan) {
  std::set<const void*> seen;
  return weight_bytes(plan, seen);
}

struct StepRow {
  std::string position;  // "38", and "38.0.2" for layer 2 of body 0 of layer 38
  const Plan& plan;
  const PlanStep& step;
  std::string name = one_line(step.name), op = one_line(step.op), kernel = one_line(step.kernel);
};

// A line of text with names from a file in it.
template <class... Args> std::string line(fmt::format_string<Args...> text, Args&&... args) {
  return one_line(fmt::format(text, std::forward<Args>(args)...)) + "\n";
}

void add_rows(const Plan& plan, const std::string& prefix, std::vector<StepRow>& rows) {
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    rows.push_back(
        {.position = fmt::format("{}{}", prefix, i), .plan = plan, .step = plan.steps[i]});
    const std::string position = rows.back().position;
    for (size_t k = 0; k < plan.steps[i].bodies.size(); ++k)
      add_rows(plan.steps[i].bodies[k], fmt::format("{}.{}.", position, k), rows);
  }
}

std::string layer_table(const Plan& plan) {
  std::vector<StepRow> rows;
  add_rows(plan, "", rows);
  size_t position_width = 4, name_width = 5, op_width = 4, kernel_width = 6;
  for (const StepRow& r : rows) {
    position_width = std::max(position_width, r.position.size());
    name_width = std::min<size_t>(48, std::max(name_width, r.name.size()));
    op_width = std::max(op_width, r.op.size());
    kernel_width = std::max(kernel_width, r.kernel.size());
  }
  std::string out =
      fmt::format("  {:>{}}  {:<{}}  {:<{}}  {:<{}}  {}\n", "", position_width, "layer", name_width,
                  "kind", op_width, "kernel", kernel_width, "output");
  for (const StepRow& r : rows) {
    std::string name = r.name;
    if (name.size() > name_width) name = name.substr(0, name_width - 3) + "...";
    const int32_t t = r.step.outputs.empty() ? -1 : r.step.outputs[0];
    out += line("  {:>{}}  {:<{}}  {:<{}}  {:<{}}  {}", r.position, position_width, name,
                name_width, r.op, op_width, r.kernel, kernel_width,
                t < 0 ? "-"
                      : fmt::format("{} {}", shape_text(r.plan, t),
                                    format_text(r.plan.tensors[static_cast<size_t>(t)])));
  }
  return out;
}

// Names come from models and plans, and may hold any bytes.
std::string text_of(const ordered_json& json) {
  return json.dump(2, ' ', false, ordered_json::error_handler_t::replace);
}

}  // namespace

std::string plan_json(const Plan& plan) {
  ordered_json bindings = ordered_json::array(), profiles = ordered_json::array(),
               plugins = ordered_json::array(), libraries = ordered_json::array(),
               layers = ordered_json::array();
  for (const PlanBinding& b : plan.bindings) {
    ordered_json row = tensor_json(plan, b.tensor);
    row["Mode"] = b.is_input ? "input" : "output";
    row["IsShape"] = b.is_shape;
    bindings.push_back(row);
  }
  for (const PlanProfile& p : plan.profiles) {
    ordered_json row = {{"DeviceMemory", p.device_memory}};
    for (size_t i = 0; i < p.inputs.size(); ++i) {
      const auto& name = plan.tensors[static_cast<size_t>(plan.bindings[i].tensor)].name;
      row["Inputs"][name] = {{"min", p.inputs[i].min.str()},
                             {"opt", p.inputs[i].opt.str()},
                             {"max", p.inputs[i].max.str()}};
    }
    profiles.push_back(row);
  }
  for (const RequiredPlugin& p : plan.plugins)
    plugins.push_back({{"name", p.name}, {"version", p.version}, {"namespace", p.name_space}});
  for (const PlanLibrary& l : plan.libraries)
    libraries.push_back({{"name", l.name}, {"bytes", l.bytes.bytes()}});
  const Streams streams = streams_of(plan);
  for (size_t i = 0; i < plan.steps.size(); ++i) {
    layers.push_back(step_json(plan, plan.steps[i]));
    layers.back()["StreamId"] = streams.steps[i].stream;
  }
  return text_of({{"Name", plan.name},
                  {"Target", plan.target},
                  {"InstructionSet", plan.instruction_set},
                  {"TimedOn", plan.fingerprint},
                  {"Portable", plan.is_portable()},
                  {"Refittable", plan.is_refittable()},
                  {"WeightBytes", weight_bytes(plan)},
                  {"Bindings", bindings},
                  {"Profiles", profiles},
                  {"Plugins", plugins},
                  {"PluginLibraries", libraries},
                  {"Layers", layers}});
}

std::string plan_text(const Plan& plan) {
  std::string out =
      line("Plan \"{}\" for the target {} ({})", plan.name, plan.target, plan.instruction_set);
  out += line("  timed on      {}", plan.fingerprint);
  if (plan.is_portable()) out += "  portable      yes: other machines build it again\n";
  if (plan.is_refittable()) out += "  refittable    yes: its weights can be replaced\n";
  if (plan.is_stripped) out += "  stripped      yes: it runs once it has been refitted\n";
  out += line("  weights       {:.2f} MiB", mebibytes(static_cast<double>(weight_bytes(plan))));
  for (const PlanBinding& b : plan.bindings)
    out += line("  {:<13} {}  {} {}{}", b.is_input ? "input" : "output",
                plan.tensors[static_cast<size_t>(b.tensor)].name,
                name_of(plan.tensors[static_cast<size_t>(b.tensor)].type),
                shape_text(plan, b.tensor), b.is_shape ? "  (shape tensor)" : "");
  for (size_t p = 0; p < plan.profiles.size(); ++p) {
    out += line("  profile {}     {:.2f} MiB of device memory", p,
                mebibytes(static_cast<double>(plan.profiles[p].device_memory)));
    for (size_t i = 0; i < plan.profiles[p].inputs.size(); ++i) {
      const auto& r = plan.profiles[p].inputs[i];
      out += line("                {}: {}",
                  plan.tensors[static_cast<size_t>(plan.bindings[i].tensor)].name,
                  place_text(r.min, r.opt, r.max));
    }
  }
  for (const RequiredPlugin& p : plan.plugins)
    out += line("  needs plugin  {} version {}{}", p.name, p.version,
                p.name_space.empty() ? "" : fmt::format(" namespace {}", p.name_space));
  for (const PlanLibrary& l : plan.libraries)
    out += line("  holds library {} ({:.2f} MiB): code that runs where it is loaded", l.name,
                mebibytes(static_cast<double>(l.bytes.bytes())));
  if (const int32_t auxiliary = streams_of(plan).auxiliary; auxiliary > 0)
    out += line("  streams       {} auxiliary", auxiliary);
  out += line("  layers        {}", plan.steps.size());
  return out + "\n" + layer_table(plan);
}

}  // namespace tenon
