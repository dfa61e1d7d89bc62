// If: one of two bodies.
#include <onnx_schema.pb.h>

#include "import/node.h"
#include "import/onnx/branches.h"

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

TENON_IMPORT(
    If, 1,
    "where branches make outputs of the model with several ranks, the condition is known at "
    "build") {
  n.expect_inputs(1, 1);
  onnx::GraphProto &then_graph = n.graph_in("then_branch"), &else_graph = n.graph_in("else_branch");
  for (const auto* graph : {&then_graph, &else_graph})
    require(graph->output_size() == n.output_count(), "branch '{}' has {} outputs; the node has {}",
            graph->name(), graph->output_size(), n.output_count());
  if (const auto condition = known_condition(n)) {
    const auto outputs = n.bodies().inline_body(*condition ? then_graph : else_graph, {});
    for (size_t i = 0; i < outputs.size(); ++i) n.set_output(static_cast<int>(i), outputs[i]);
    return;
  }
  Body bodies[2];
  bodies[0] = n.bodies().import_body(then_graph, {}, {}, {});
  bodies[1] = n.bodies().import_body(else_graph, {}, {}, bodies[0].captured);
  // Both bodies have the same inputs: what only the second reads is an input of the first too.
  n.bodies().capture(bodies[0], bodies[1].captured);
  if (!are_alike(bodies)) {
    const std::string refusal = fmt::format(
        "the condition of node '{}' (If) is true, and its branches make tensors of different "
        "ranks: the network was built for those of its else_branch, since no shape that all "
        "profiles fix decides the condition",
        n.node_name());
    return import_separately(n, n.input(0), bodies, {refusal, false});
  }
  Node& node = add_conditional(n, n.input(0), bodies);
  for (size_t i = 0; i < node.outputs.size(); ++i)
    n.set_output(static_cast<int>(i), *node.outputs[i]);
}

}  // namespace tenon
