// The border of a model: the initializers, inputs and outputs of its graph.
#pragma once

#include <string>

#include "import/import.h"
#include "import/layers.h"
#include "onnx_model/model.h"
#include "onnx_model/tensors.h"

namespace tenon {

struct Scope;

/// Makes weights of stored tensors, and takes the bytes out of them.
struct WeightSource {
  const ImportOptions& options;
  TensorSource tensors;
  /// With the bytes that the options give for its name, if they do.
  Value& add(ImportState& state, onnx::TensorProto& tensor);
};

/// Throws for a name that is empty or no UTF-8; `what` bears it.
void check_name(const std::string& name, const char* what);
/// Makes a graph's initializers known by name. Nodes that use one make it a weight.
void list_initializers(onnx::GraphProto& graph, Scope& scope);
/// The graph's inputs become those of the network, but for weights, which old models list among
/// them. Throws for one that is no tensor, or optional tensor, of a type that becomes one of
/// TensorRT's.
void add_inputs(const onnx::GraphProto& graph, Scope& scope, const Log& log);
/// The graph's outputs become those of the network, through a copy where a tensor is one already.
/// An input of an output's name is renamed: "x" becomes "__x", as TensorRT's parser has it. A
/// sequence of known length becomes an output for each element: "y_0", "y_1".
void mark_outputs(const onnx::GraphProto& graph, Scope& scope, const Log& log);

}  // namespace tenon
