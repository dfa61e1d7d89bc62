// Types of values, as the engine's import infers them.
#pragma once

#include <tenon/onnx.h>

#include <map>
#include <string>

#include "base/tensor.h"
#include "edit/store.h"

namespace tenon::edit {

/// By names of the main graph. Not in it: what is behind operators that nobody knows, sequences,
/// element types that the engine has not.
using Types = std::map<std::string, TensorType>;

struct Inference {
  Types types;
  std::map<Id, Types> inner;  ///< of graphs inside nodes, by graph; extents are numbers or unknown
  /// Values that are the same in every run, and small, though no constants: what is computed of
  /// static extents.
  std::map<std::string, Tensor> constants;
  /// The first thing that keeps the engine from importing the model, but for operators that it does
  /// not know; "" when there is none.
  std::string problem;
};
Inference infer(Store& store);
/// Whether a body declares another rank of an output than was found: some exporters do with
/// scalars, and what the body says of its shapes is then of no use.
bool contradicts(const Store& store, Id graph, const Types& found);
inline Types infer_types(Store& store) {
  return infer(store).types;
}

}  // namespace tenon::edit
