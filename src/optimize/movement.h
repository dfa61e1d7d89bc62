// Layers that only move elements, followed as steps through the tensor that they begin with.
#pragma once

#include <optional>
#include <vector>

#include "network/network.h"

namespace tenon {

/// How the elements of a tensor of constant shape lie in another one's memory: each axis is a mixed
/// number of digits, each with a step.
class Movement {
 public:
  /// The tensor itself.
  explicit Movement(const Shape& shape);
  /// What a layer (Shuffle, Gather of one position, Slice) makes of it; false, and then the object
  /// is of no use, when that cannot be said with steps.
  bool apply(const Node& node);

  /// The extents, and the step of each axis; none when an axis has several.
  struct Strided {
    Shape extents, steps;
    int64_t offset;
  };
  std::optional<Strided> strided() const;
  /// Of a movement that loses no element: where the elements of the first tensor, of shape `shape`,
  /// lie in the moved one.
  std::optional<Strided> inverse(const Shape& shape) const;

 private:
  struct Digit {
    int64_t extent, step;
  };
  using Axis = std::vector<Digit>;  // the outermost digit first

  bool transpose(const std::vector<int32_t>& order);
  bool reshape(const Shape& shape);
  bool shuffle(const Node& node);
  bool gather(const Node& node);
  bool slice(const Node& node);
  /// One digit where several are walked evenly.
  static Axis joined(const Axis& axis);

  std::vector<Axis> axes_;
  int64_t offset_ = 0;
};

/// Whether Movement::apply may know the layer.
bool is_movement(const Node& node);

}  // namespace tenon
