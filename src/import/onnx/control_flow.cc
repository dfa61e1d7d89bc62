// If, Loop and Scan: layers with bodies.
#include "import/node.h"
#include "ops/body_outputs.h"
#include "ops/conditional.h"
#include "ops/identity.h"
#include "ops/infer.h"
#include "ops/loop.h"

namespace tenon {
namespace {

// What a body may know of a tensor that it is given: nothing of the axes that vary from one
// iteration to the next.
BodyInput known_input(const Value& v, const std::vector<bool>& varies) {
  BodyDims dims = body_dims(v.dims);
  for (size_t axis = 0; axis < varies.size(); ++axis) {
    if (!varies[axis]) continue;
    dims.declared[static_cast<int>(axis)] = -1;
    dims.names[axis].clear();
  }
  return {v.type, dims.declared, dims.names};
}

const BodyInput kIteration{DataType::kINT64, Shape(), {}};
const BodyInput kCondition{DataType::kBOOL, Shape(), {}};

// Some exporters declare the iteration and the condition as tensors of one element.
void fit_rank(onnx::GraphProto& graph, int i, BodyInput& input) {
  if (i >= graph.input_size()) return;
  const auto& type = graph.input(i).type().tensor_type();
  if (type.has_shape() && type.shape().dim_size() == 1) input.declared = {1};
}

std::map<const Value*, BodySource> sources_of(const Network& body, const ControlFlow& layer) {
  std::map<const Value*, BodySource> sources;
  for (size_t i = 0; i < body.inputs().size(); ++i)
    if (const int from = layer.layer_input(i); from >= 0) sources[body.inputs()[i]] = {from, -1};
  return sources;
}

// A condition that is a constant, or that follows from extents which are.
std::optional<bool> known_condition(NodeContext& n) {
  if (const Tensor* known = n.constant_input(0)) {
    require(known->count() == 1, "the condition has {} elements; expected one", known->count());
    return known->numbers()[0] != 0;
  }
  const auto& content = n.input(0).content;
  if (!content || content->size() != 1 || !content->front()->is_constant()) return std::nullopt;
  return content->front()->value.as_double() != 0;
}

void import_if(NodeContext& n) {
  n.expect_inputs(1, 1);
  onnx::GraphProto &then_graph = n.graph_in("then_branch"), &else_graph = n.graph_in("else_branch");
  for (const auto* graph : {&then_graph, &else_graph})
    require(graph->output_size() == n.output_count(), "branch '{}' has {} outputs; the node has {}",
            graph->name(), graph->output_size(), n.output_count());
  if (const auto condition = known_condition(n)) {
    const auto outputs = n.bodies().inline_body(*condition ? then_graph : else_graph);
    for (size_t i = 0; i < outputs.size(); ++i) n.set_output(static_cast<int>(i), *outputs[i]);
    return;
  }
  Body bodies[2];
  bodies[0] = n.bodies().import_body(then_graph, {}, {}, {});
  bodies[1] = n.bodies().import_body(else_graph, {}, {}, bodies[0].captured);
  // Both bodies have the same inputs: what only the second reads is an input of the first too.
  for (size_t i = bodies[0].captured.size(); i < bodies[1].captured.size(); ++i) {
    const Value& v = *bodies[1].network->inputs()[i];
    bodies[0].network->add_input(fmt::format("{} [unused {}]", v.name, i), v.type, v.declared,
                                 v.dimension_names);
  }
  auto op = std::make_unique<Conditional>();
  for (Body& body : bodies) {
    for (Value* v : body.outputs) mark_body_output(body, *v);
    op->bodies.push_back(body.network);
  }
  for (size_t i = 0; i < bodies[0].outputs.size(); ++i)
    with_context(fmt::format("output {}", i), [&] {
      op->outputs.add(common(body_output(*op->bodies[0], i, sources_of(*op->bodies[0], *op)),
                             body_output(*op->bodies[1], i, sources_of(*op->bodies[1], *op))));
    });
  std::vector<Value*> inputs{&n.input(0)};
  inputs.insert(inputs.end(), bodies[1].captured.begin(), bodies[1].captured.end());
  Node& node = n.add_node(std::move(op), std::move(inputs));
  for (size_t i = 0; i < node.outputs.size(); ++i)
    n.set_output(static_cast<int>(i), *node.outputs[i]);
}

// A loop whose body is known, before its outputs are described.
struct LoopParts {
  std::unique_ptr<Loop> op = std::make_unique<Loop>();
  Body body;
  std::vector<Value*> inputs;             // of the layer, without what the body captures
  std::vector<std::vector<bool>> varies;  // per state, per axis
};

// Imports the body with what holds for its states in every iteration: an extent that an iteration
// changes is not known in the body, which may change others.
template <class Import> void settle(LoopParts& loop, const Import& import_with) {
  const auto states = static_cast<size_t>(loop.op->state_count);
  for (size_t i = 0; i < states; ++i)
    loop.varies.emplace_back(loop.inputs[Loop::kFirstState + i]->dims.size(), false);
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<BodyInput> known;
    for (size_t i = 0; i < states; ++i)
      known.push_back(known_input(*loop.inputs[Loop::kFirstState + i], loop.varies[i]));
    loop.body = import_with(known);
    for (size_t i = 0; i < states; ++i) {
      const Value& before = *loop.body.network->inputs()[Loop::kFirstState + i];
      const Value& after = *loop.body.network->outputs()[1 + i];
      require(before.type == after.type, "state {} is {} before an iteration and {} after it", i,
              name_of(before.type), name_of(after.type));
      require(before.dims.size() == after.dims.size(),
              "state {} has {} dimensions before an iteration and {} after it: states that change "
              "their rank are not supported yet",
              i, before.dims.size(), after.dims.size());
      for (size_t axis = 0; axis < before.dims.size(); ++axis) {
        if (before.dims[axis] == after.dims[axis] || loop.varies[i][axis]) continue;
        loop.varies[i][axis] = changed = true;
      }
    }
  }
}

// Adds the layer: the last states, then what is collected over `trips` iterations.
Node& finish(NodeContext& n, LoopParts& loop, const std::vector<BodySource>& scans,
             BodyExtent trips) {
  auto sources = sources_of(*loop.body.network, *loop.op);
  const auto states = static_cast<size_t>(loop.op->state_count);
  for (size_t i = 0; i < scans.size(); ++i)
    sources[loop.body.network->inputs()[Loop::kFirstState + states + i]] = scans[i];
  for (size_t i = 0; i < states; ++i) {
    const Value& initial = *loop.inputs[Loop::kFirstState + i];
    BodyOutput output{initial.type, {}};
    for (size_t axis = 0; axis < initial.dims.size(); ++axis)
      output.extents.push_back(loop.varies[i][axis]
                                   ? BodyExtent()
                                   : BodyExtent::of_input(static_cast<int>(Loop::kFirstState + i),
                                                          static_cast<int>(axis)));
    loop.op->outputs.add(output);
  }
  for (size_t i = 0; i < loop.op->collect_axes.size(); ++i) {
    BodyOutput output = body_output(*loop.body.network, 1 + states + i, sources);
    int64_t& axis = loop.op->collect_axes[i];
    const auto rank = static_cast<int>(output.extents.size()) + 1;
    axis = normalized_axis(axis, rank);
    output.extents.insert(output.extents.begin() + axis, trips);
    loop.op->outputs.add(output);
  }
  loop.op->bodies.push_back(loop.body.network);
  loop.inputs.insert(loop.inputs.end(), loop.body.captured.begin(), loop.body.captured.end());
  return n.add_node(std::move(loop.op), std::move(loop.inputs));
}

// Whether the condition that the body makes is the one it was given, or always true.
bool never_stops(const Body& body) {
  const Value* v = body.network->outputs()[0];
  while (v->producer != nullptr && v->producer->as<Identity>() != nullptr)
    v = v->producer->inputs[0];
  if (v == body.network->inputs()[1]) return true;
  return v->constant && v->constant->count() == 1 && v->constant->numbers()[0] != 0;
}

void import_loop(NodeContext& n) {
  onnx::GraphProto& graph = n.graph_in("body");
  LoopParts loop;
  const int states = std::max(0, n.input_count() - 2);
  loop.op->state_count = states;
  for (int i = 0; i < 2; ++i) loop.inputs.push_back(n.optional_input(i));
  for (int i = 0; i < states; ++i) loop.inputs.push_back(&n.input(2 + i));
  settle(loop, [&](const std::vector<BodyInput>& known) {
    onnx::GraphProto copy = graph;  // importing uses it up
    std::vector<BodyInput> inputs{kIteration, kCondition};
    fit_rank(copy, 0, inputs[0]);
    fit_rank(copy, 1, inputs[1]);
    inputs.insert(inputs.end(), known.begin(), known.end());
    Body body = n.bodies().import_body(copy, {}, inputs, {});
    require(static_cast<int>(body.outputs.size()) > states,
            "the body has {} outputs; expected a condition, {} states, and what is collected",
            body.outputs.size(), states);
    for (Value* v : body.outputs) mark_body_output(body, *v);
    return body;
  });
  const auto collected =
      static_cast<size_t>(loop.body.outputs.size()) - 1 - static_cast<size_t>(states);
  loop.op->collect_axes.assign(collected, 0);
  loop.op->collect_reverse.assign(collected, 0);
  const Tensor* trips = n.has_input(0) ? n.constant_input(0) : nullptr;
  const Tensor* first = n.has_input(1) ? n.constant_input(1) : nullptr;
  const bool always = never_stops(loop.body)
                      && (!n.has_input(1) || (first != nullptr && first->numbers().at(0) != 0));
  require(n.has_input(0) || !always,
          "the loop never ends: it has no trip count, and its condition "
          "is always true");
  const bool counted = trips != nullptr && always;
  Node& node = finish(
      n, loop, {},
      counted ? BodyExtent::of(std::max<int64_t>(0, trips->integers().at(0))) : BodyExtent());
  for (size_t i = 0; i < node.outputs.size(); ++i)
    n.set_output(static_cast<int>(i), *node.outputs[i]);
}

std::vector<int64_t> integers_or(NodeContext& n, const char* attribute, size_t count) {
  std::vector<int64_t> values = n.integers_in(attribute);
  if (values.empty()) values.assign(count, 0);
  require(values.size() == count, "attribute '{}' has {} elements; expected {}", attribute,
          values.size(), count);
  return values;
}

void import_scan(NodeContext& n) {
  onnx::GraphProto& graph = n.graph_in("body");
  const int64_t scanned = n.integer("num_scan_inputs");
  require(scanned >= 1 && scanned <= n.input_count(),
          "num_scan_inputs is {}; the node has {} "
          "inputs",
          scanned, n.input_count());
  LoopParts loop;
  const int states = n.input_count() - static_cast<int>(scanned);
  loop.op->state_count = states;
  loop.inputs = {nullptr, nullptr};
  for (int i = 0; i < n.input_count(); ++i) loop.inputs.push_back(&n.input(i));
  const auto scans = static_cast<size_t>(scanned);
  loop.op->scan_axes = integers_or(n, "scan_input_axes", scans);
  loop.op->scan_reverse = integers_or(n, "scan_input_directions", scans);
  std::vector<BodySource> sources;
  std::vector<BodyInput> slices;
  for (size_t i = 0; i < scans; ++i) {
    const int layer_input = static_cast<int>(Loop::kFirstState) + states + static_cast<int>(i);
    const Value& v = *loop.inputs[static_cast<size_t>(layer_input)];
    int64_t& axis = loop.op->scan_axes[i];
    axis = normalized_axis(axis, n.rank(v));
    BodyInput slice = known_input(v, std::vector<bool>(v.dims.size(), false));
    BodyInput rest{v.type, {}, {}};
    for (int k = 0; k < slice.declared.rank(); ++k) {
      if (k == axis) continue;
      rest.declared.push_back(slice.declared[k]);
    }
    slices.push_back(rest);
    sources.push_back({layer_input, static_cast<int>(axis)});
  }
  settle(loop, [&](std::vector<BodyInput> inputs) {
    onnx::GraphProto copy = graph;
    inputs.insert(inputs.end(), slices.begin(), slices.end());
    const BodyInput own[] = {kIteration, kCondition};
    Body body = n.bodies().import_body(copy, own, inputs, {});
    require(static_cast<int>(body.outputs.size()) >= states,
            "the body has {} outputs; expected at least {} states", body.outputs.size(), states);
    mark_body_output(body, *body.network->inputs()[1]);  // it goes on
    for (Value* v : body.outputs) mark_body_output(body, *v);
    return body;
  });
  const size_t collected = loop.body.outputs.size() - static_cast<size_t>(states);
  loop.op->collect_axes = integers_or(n, "scan_output_axes", collected);
  loop.op->collect_reverse = integers_or(n, "scan_output_directions", collected);
  Node& node =
      finish(n, loop, sources, BodyExtent::of_input(sources[0].layer_input, sources[0].sliced));
  for (size_t i = 0; i < node.outputs.size(); ++i)
    n.set_output(static_cast<int>(i), *node.outputs[i]);
}

}  // namespace

TENON_IMPORT_AS(If, 1, "", import_if);
TENON_IMPORT_AS(Loop, 1, "states keep their rank", import_loop);
TENON_IMPORT(Scan, 8, "not supported yet: it has a batch axis; convert the model to opset 9") {
  fail_import(nvonnxparser::ErrorCode::kUNSUPPORTED_NODE,
              "Scan of opset 8 is not supported yet: convert the model to opset 9 or later");
}
TENON_IMPORT_AS(Scan, 9, "states keep their rank", import_scan);

}  // namespace tenon
