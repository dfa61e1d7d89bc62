// A graph of ONNX Runtime as an ONNX model.
#pragma once

#include <tenon/onnx.h>

#include <cstdint>
#include <string>
#include <vector>

#include "api.h"

namespace tenon::ort {

/// An input of a graph.
struct GraphInput {
  std::string name;
  size_t index = 0;                ///< among the inputs that were asked for
  int type = 0;                    ///< as ONNX numbers it
  bool has_shape = false;          ///< a scalar has none
  std::vector<int64_t> shape;      ///< -1 for extents that vary
  std::vector<std::string> names;  ///< of extents that vary: those of one name are equal
};

/// A graph without its inputs' shapes, which may only be known when it runs.
struct GraphModel {
  edit::Model model;  ///< nodes, initializers and outputs
  std::vector<GraphInput> inputs;
  std::vector<std::string> outputs;

  /// The model, with inputs of these shapes. One thread at a time.
  std::string bytes(const std::vector<GraphInput>& inputs);
};

/// The extents of a tensor.
std::vector<int64_t> shape_of(const Api& api, const OrtValue* value);

/// Nodes with bodies are written as an operator that nobody knows. Initializers that are no
/// constants are inputs. Throws Error.
/// @param input_names in this order; empty for the graph's own order.
GraphModel write_graph(const Api& api, const OrtGraph* graph,
                       const std::vector<std::string>& input_names = {});

}  // namespace tenon::ort
