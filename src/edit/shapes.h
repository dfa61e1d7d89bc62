// Types of values, as the engine's import infers them.
#pragma once

#include <tenon/onnx.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/tensor.h"
#include "edit/store.h"

namespace tenon::edit {

/// By names of one graph, as the store has them. Not in it: what is behind operators that nobody
/// knows, sequences, element types that the engine has not.
using Types = std::unordered_map<std::string_view, TensorType>;
using TypesOfGraphs = std::map<Id, Types>;

/// Of what a name means in a graph, there or in one around it; null where that is not known.
const TensorType* type_in(const Store& store, const TypesOfGraphs& types, Id graph,
                          std::string_view name);

struct Imported;

struct Inference {
  TypesOfGraphs types;  ///< in graphs inside nodes, extents are numbers or unknown
  /// Values that are the same in every run, and small, though no constants: what is computed of
  /// static extents.
  std::unordered_map<std::string_view, Tensor> constants;
  /// Of Reshapes of the main graph whose shape is computed: constants that mean the same, 0 for the
  /// extent that the data has there, -1 for one that follows from the others.
  std::map<Id, std::vector<int64_t>> targets;
  /// The first thing that keeps the engine from importing the model, but for operators that it does
  /// not know; "" when there is none.
  std::string problem;
  /// Where a second input was asked for: the engine's network.
  std::shared_ptr<Imported> imported;
};
/// Elements that the second input of a node is to have, by the extents of its first as they are
/// found; none where it stays.
using SecondInput =
    std::function<std::optional<std::vector<int64_t>>(Id node, const std::vector<Extent>& first)>;
Inference infer(Store& store, const SecondInput& second_input = {});
/// Shapes of the main graph's inputs.
using InputShapes = std::map<Id, std::vector<Extent>>;
/// Types of the main graph's outputs where open extents of inputs are these numbers, as the layers
/// of `open` make them: none where one does not work, or has a network of its own.
std::optional<Types> output_types_at(const Store& store, const Inference& open,
                                     const InputShapes& inputs);
/// Whether a body declares another rank of an output than was found: some exporters do with
/// scalars, and what the body says of its shapes is then of no use.
bool contradicts(const Store& store, Id graph, const Types& found);
/// Of the main graph alone.
inline Types infer_types(Store& store) {
  return infer(store).types[store.graph()];
}

}  // namespace tenon::edit
