// Two bodies of which a condition chooses one.
#pragma once

#include <onnx_schema.pb.h>

#include <string>
#include <vector>

#include "import/node.h"

namespace tenon {

/// Body 0 runs when the condition is true. Both have captured the same tensors, in one order.
using Bodies = Body[2];

/// Whether both make tensors of the same ranks.
bool are_alike(const Bodies& bodies);

/// Adds the layer that runs one of them. With a refusal it is decided when the network is built:
/// Conditional::otherwise.
Node& add_conditional(NodeContext& n, Value& condition, Bodies& bodies,
                      const std::string& refusal = "");

/// For what has to be decided when the network is built.
struct Decision {
  std::string refusal;    // what is wrong when the condition is true, and was not known
  bool at_build = false;  // also where the ranks are the same in the end
  /// What the bodies go on with, before what is behind the node; empty for nothing.
  std::vector<onnx::NodeProto> first = {};
};

/// For bodies whose tensors differ in rank: both go on to the end of the graph, so that what is
/// behind the node is made for each rank. Where only one can, that one becomes layers of the
/// network, and an assertion demands it; else outputs of the model may keep two ranks, and are
/// decided when the network is built. Throws where neither can go on.
void import_separately(NodeContext& n, Value& condition, Bodies& bodies, const Decision& decision);

}  // namespace tenon
