// An order in which the nodes of a graph can run.
#pragma once

#include <vector>

#include "onnx_model/model.h"

namespace tenon {

/// Positions of the nodes, each behind those that make what it reads, or what graphs inside it
/// read: the order in which they stand where that is one (ONNX asks for it, but not all exporters
/// and editors keep it), else one that changes it as little as it can. Nodes of a cycle, and those
/// behind it, come last as they stand. Takes time linear in the nodes and edges, but for a heap.
std::vector<int> node_order(const google::protobuf::RepeatedPtrField<onnx::NodeProto>& nodes);

}  // namespace tenon
