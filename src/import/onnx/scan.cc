// Scan: a body for each slice of its inputs.
#include "import/node.h"
#include "import/onnx/loop_parts.h"
#include "ops/infer.h"

namespace tenon {
namespace {

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
  settle(loop, [&](std::vector<BodyInput> inputs, bool&) {
    onnx::GraphProto copy = graph;
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
  loop.op->collect_axes = integers_or(n, "scan_output_axes", collected);
  loop.op->collect_reverse = integers_or(n, "scan_output_directions", collected);
  Node& node =
      add_loop(n, loop, sources, BodyExtent::of_input(sources[0].layer_input, sources[0].sliced));
  for (size_t i = 0; i < node.outputs.size(); ++i)
    n.set_output(static_cast<int>(i), *node.outputs[i]);
}

}  // namespace

TENON_IMPORT(Scan, 8, "not supported yet: it has a batch axis; convert the model to opset 9") {
  fail_import(nvonnxparser::ErrorCode::kUNSUPPORTED_NODE,
              "Scan of opset 8 is not supported yet: convert the model to opset 9 or later");
}
TENON_IMPORT_AS(Scan, 9, "states keep their rank", import_scan);

}  // namespace tenon
