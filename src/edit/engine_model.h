// A model, or some of its nodes, as the engine imports it: nodes named by their ids, weights left
// where they lie.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "edit/store.h"
#include "import/import.h"

namespace tenon::edit {

struct EngineModel {
  std::vector<Id> nodes;  // of the main graph, in their order
  std::vector<Id> initializers;
  std::vector<std::string> inputs;   // ValueInfoProtos
  std::vector<std::string> outputs;  // ValueInfoProtos
  /// Elements that a node's second input has instead, as the first is now; none to leave it.
  std::function<std::optional<std::vector<int64_t>>(Id node, const tenon::Value& first)>
      second_input;
};

/// The engine's network of it, as far as the engine knows the operators.
struct Imported {
  Network network;
  ImportReport report;

  /// The engine's tensors for the outputs of a node; none where it could not be imported.
  const std::vector<tenon::Value*>* outputs_of(Id node) const;
  /// What a node of an inner graph gives; none where it could not be imported.
  const std::vector<std::optional<InnerTensor>>* inner_outputs_of(Id node) const;
};
void import_nodes(Store& store, const EngineModel& model, Imported& imported);

/// A message of the import, in which nodes have the names of the model.
std::string with_node_names(const Store& store, const std::string& message);

/// Names whose values have types that the engine replaces by others (float64), or are computed from
/// such, in the main graph or in one inside it: a name that is one in any of them.
std::unordered_set<std::string_view> inexact_values(const Store& store);

}  // namespace tenon::edit
