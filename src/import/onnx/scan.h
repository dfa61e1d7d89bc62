// A body for each slice of tensors.
#pragma once

#include <vector>

#include "import/node.h"

namespace tenon {

/// States, then what is scanned, as `graph` takes them and ONNX Scan means them. Empty lists mean
/// zeros.
struct ScanRequest {
  const onnx::GraphProto& graph;
  std::vector<Value*> inputs;
  int64_t scanned = 0;
  std::vector<int64_t> axes, directions, output_axes, output_directions;
};

/// Adds the layer; its outputs are the last states, then what the slices' bodies make.
Node& add_scan(NodeContext& n, const ScanRequest& request);

}  // namespace tenon
