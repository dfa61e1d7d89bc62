// If: one of two bodies.
#include "ops/conditional.h"

#include <onnx_schema.pb.h>

#include "import/node.h"
#include "import/onnx/loop_parts.h"
#include "ops/support/infer.h"

namespace tenon {
namespace {

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

}  // namespace

TENON_IMPORT(If, 1, "branches make tensors of the same type and rank") {
  n.expect_inputs(1, 1);
  onnx::GraphProto &then_graph = n.graph_in("then_branch"), &else_graph = n.graph_in("else_branch");
  for (const auto* graph : {&then_graph, &else_graph})
    require(graph->output_size() == n.output_count(), "branch '{}' has {} outputs; the node has {}",
            graph->name(), graph->output_size(), n.output_count());
  if (const auto condition = known_condition(n)) {
    const auto outputs = n.bodies().inline_body(*condition ? then_graph : else_graph);
    for (size_t i = 0; i < outputs.size(); ++i) n.set_output(static_cast<int>(i), outputs[i]);
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
    for (const Item& item : body.outputs)
      mark_body_output(body, *as_tensor(item, "what a branch makes"));
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

}  // namespace tenon
