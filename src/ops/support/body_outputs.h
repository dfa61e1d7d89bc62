// Types and shapes of what a body makes, as the layer that runs it states them.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "network/network.h"

namespace tenon {

/// An axis of a layer's output: a number, an extent of one of the layer's inputs, the number that
/// an input of one element holds (0 for a negative one), or data-dependent.
struct BodyExtent {
  static constexpr int64_t kDataDependent = -1;
  static constexpr int64_t kFirstElement = INT64_MIN;
  int64_t code = kDataDependent;

  static BodyExtent of(int64_t extent) { return {extent}; }
  static BodyExtent of_input(int input, int axis) {
    return {-2 - (input * Shape::kMaxRank + axis)};
  }
  static BodyExtent of_element(int input) { return {kFirstElement + input}; }
  Dim dim(Inference& c, int output, int axis) const;
  /// The input whose element it is; -1 for none.
  int element_input() const;
  /// For inputs at hand; 0 for a data-dependent extent.
  int64_t extent(std::span<const Tensor* const> inputs) const;
  friend bool operator==(const BodyExtent&, const BodyExtent&) = default;
};

struct BodyOutput {
  DataType type = DataType::kFLOAT;
  std::vector<BodyExtent> extents;
};

/// Where an input of a body comes from: input `layer_input` of the layer, as a whole or a slice of
/// it at some position of axis `sliced`.
struct BodySource {
  int layer_input = -1;
  int sliced = -1;
};

/// Output i of the body as the layer sees it. `sources` has an entry for each input of the body
/// that comes from the layer's inputs.
BodyOutput body_output(const Network& body, size_t i,
                       const std::map<const Value*, BodySource>& sources);
/// What holds for both: extents that differ are data-dependent. Throws when types or ranks differ.
BodyOutput common(const BodyOutput& a, const BodyOutput& b);

/// The outputs of a layer with bodies as three attributes, "output_types" and so on.
struct BodyOutputs {
  std::vector<int64_t> types, ranks, extents;

  void add(const BodyOutput& output);
  size_t count() const { return types.size(); }
  BodyOutput at(size_t i) const;
  void visit(FieldVisitor& v, const char* types_name = "output_types",
             const char* ranks_name = "output_ranks", const char* extents_name = "output_extents");
  /// Whether an extent is the element of that input.
  bool reads(int input) const;
  /// Sets all outputs of the layer.
  void infer(Inference& c) const;
};

}  // namespace tenon
