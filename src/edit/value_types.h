// Types of values in all graphs of a model, as far as the model or the engine says them.
#pragma once

#include <tenon/onnx.h>

#include <string_view>
#include <vector>

#include "edit/shapes.h"
#include "edit/store.h"
#include "edit/values.h"

namespace tenon::edit {

/// The main graph and those inside its nodes, outer ones first; graphs of functions are not among
/// them.
std::vector<Id> graphs_outside_functions(const Store& store);

/// As the model was when this was made.
class ValueTypes {
 public:
  explicit ValueTypes(Store& store);

  /// Of what a name means in a graph; null where that is not known.
  const TensorType* type_of(Id graph, std::string_view name) const {
    return type_in(store_, types_, graph, name);
  }
  /// ONNX's number of the element type; 0 where it is not known.
  int32_t element_of(Id graph, std::string_view name) const;
  bool is_float(Id graph, std::string_view name) const {
    return element_of(graph, name) == kFloat32;
  }
  /// A value of float32 that an edit has made.
  void add_float(Id graph, std::string_view name) { types_[graph][name] = {kFloat32, false, {}}; }

 private:
  const Store& store_;
  TypesOfGraphs types_;
};

}  // namespace tenon::edit
