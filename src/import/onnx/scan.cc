// Scan: a body for each slice of its inputs.
#include "import/onnx/scan.h"

#include <onnx_schema.pb.h>

#include <algorithm>

#include "import/onnx/loop_parts.h"
#include "ops/support/infer.h"

namespace tenon {
namespace {

std::vector<int64_t> filled(std::vector<int64_t> values, const char* what, size_t count) {
  if (values.empty()) values.assign(count, 0);
  require(values.size() == count, "{} has {} elements; expected {}", what, values.size(), count);
  return values;
}

std::vector<Value*> inputs_from(NodeContext& n, int first) {
  std::vector<Value*> inputs;
  for (int i = first; i < n.input_count(); ++i) inputs.push_back(&n.input(i));
  return inputs;
}

void import_scan(NodeContext& n, const ScanRequest& request) {
  const Node& node = add_scan(n, request);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    n.set_output(static_cast<int>(i), *node.outputs[i]);
}

}  // namespace

Node& add_scan(NodeContext& n, const ScanRequest& request) {
  const auto count = static_cast<int>(request.inputs.size());
  const int64_t scanned = request.scanned;
  require(scanned >= 1 && scanned <= count,
          "num_scan_inputs is {}; the node has {} "
          "inputs",
          scanned, count);
  LoopParts loop;
  const int states = count - static_cast<int>(scanned);
  loop.op->state_count = states;
  loop.inputs = {nullptr, nullptr};
  loop.inputs.insert(loop.inputs.end(), request.inputs.begin(), request.inputs.end());
  const auto scans = static_cast<size_t>(scanned);
  loop.op->scan_axes = filled(request.axes, "scan_input_axes", scans);
  loop.op->scan_reverse = filled(request.directions, "scan_input_directions", scans);
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
  settle(n, loop, [&](std::vector<BodyInput> inputs, bool&) {
    onnx::GraphProto copy = request.graph;
    inputs.insert(inputs.end(), slices.begin(), slices.end());
    const BodyInput own[] = {kIteration, kCondition};
    Body body = n.bodies().import_body(copy, own, inputs, {});
    require(static_cast<int>(body.outputs.size()) >= states,
            "the body has {} outputs; expected at least {} states", body.outputs.size(), states);
    mark_body_output(body, *body.network->inputs()[1]);  // it goes on
    for (const Item& item : body.outputs)
      mark_body_output(body, *as_tensor(item, "what an iteration makes"));
    return body;
  });
  const size_t collected = loop.body.outputs.size() - static_cast<size_t>(states);
  loop.op->collect_axes = filled(request.output_axes, "scan_output_axes", collected);
  loop.op->collect_reverse = filled(request.output_directions, "scan_output_directions", collected);
  return add_loop(n, loop, sources,
                  BodyExtent::of_input(sources[0].layer_input, sources[0].sliced));
}

namespace {

void import_scan_9(NodeContext& n) {
  import_scan(n, {n.graph_in("body"), inputs_from(n, 0), n.integer("num_scan_inputs"),
                  n.integers_in("scan_input_axes"), n.integers_in("scan_input_directions"),
                  n.integers_in("scan_output_axes"), n.integers_in("scan_output_directions")});
}

// A graph of one node that does for one element of the batch what a Scan of opset 8 does for all:
// the same Scan as opset 9 has it, by which the attribute scan_input_axes tells it.
onnx::GraphProto without_batch(NodeContext& n, const onnx::GraphProto& body, int inputs) {
  onnx::GraphProto graph;
  graph.set_name(n.node_name() + " [batch]");
  auto& scan = *graph.add_node();
  scan.set_op_type("Scan");
  const auto name = [&](const char* kind, int i) {
    return fmt::format("{} [{} {}]", n.node_name(), kind, i);
  };
  for (int i = 0; i < inputs; ++i) {
    graph.add_input()->set_name(name("in", i));
    scan.add_input(name("in", i));
  }
  for (int i = 0; i < body.output_size(); ++i) {
    graph.add_output()->set_name(name("out", i));
    scan.add_output(name("out", i));
  }
  const auto attribute = [&](const char* key, onnx::AttributeProto::AttributeType type) {
    auto& a = *scan.add_attribute();
    a.set_name(key);
    a.set_type(type);
    return &a;
  };
  const int64_t scanned = n.integer("num_scan_inputs");
  *attribute("body", onnx::AttributeProto::GRAPH)->mutable_g() = body;
  attribute("num_scan_inputs", onnx::AttributeProto::INT)->set_i(scanned);
  auto* axes = attribute("scan_input_axes", onnx::AttributeProto::INTS);
  for (int64_t i = 0; i < std::min<int64_t>(scanned, inputs); ++i) axes->add_ints(0);
  auto* directions = attribute("scan_input_directions", onnx::AttributeProto::INTS);
  for (int64_t direction : n.integers_in("directions")) directions->add_ints(direction);
  return graph;
}

}  // namespace

TENON_IMPORT(Scan, 8, "no lengths of sequences; states keep their rank") {
  if (n.has("scan_input_axes")) {
    import_scan_9(n);
    return;
  }
  if (n.has_input(0))
    fail_import(nvonnxparser::ErrorCode::kUNSUPPORTED_NODE_INPUT,
                "lengths of sequences are not supported yet");
  const int inputs = n.input_count() - 1;
  onnx::GraphProto graph = without_batch(n, n.graph_in("body"), inputs);
  import_scan(n, {graph, inputs_from(n, 1), inputs, {}, {}, {}, {}});
}
TENON_IMPORT_AS(Scan, 9, "states keep their rank", import_scan_9);

}  // namespace tenon
