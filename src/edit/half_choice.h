// Which nodes stay in float32 when a model becomes one of float16, and why.
#pragma once

#include <tenon/onnx.h>

#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "edit/store.h"

namespace tenon::edit {

/// The largest finite number of float16.
constexpr float kLargestHalf = 65504;

/// The main graph and those inside its nodes, outer ones first; graphs of functions are not among
/// them.
std::vector<Id> graphs_outside_functions(const Store& store);

/// Element types of values, as far as the model or the engine says them.
class ElementTypes {
 public:
  explicit ElementTypes(Store& store);

  /// ONNX's number of what a name means in a graph; 0 where that is not known.
  int32_t of(Id graph, std::string_view name) const;
  bool is_float(Id graph, std::string_view name) const;
  /// A value that an edit has made.
  void add_float(Id graph, std::string_view name);

 private:
  const Store& store_;
  std::unordered_map<Id, std::unordered_map<std::string_view, int32_t>> types_;
};

struct HalfChoice {
  std::unordered_set<Id> kept;       // nodes that stay float32
  std::vector<std::string> reasons;  // of those that could have become float16
};
/// Kept are operators that have no form in float16, what `options` name, what has graphs inside
/// (the nodes in these choose for themselves), nodes with weights that float16 cannot hold, and
/// chains: squares and exponentials up to the root, logarithm or quotient that brings them back,
/// integers up to what must tell them apart, and masks up to their Softmax.
HalfChoice choose_half(Store& store, const ElementTypes& types, const HalfOptions& options);

}  // namespace tenon::edit
