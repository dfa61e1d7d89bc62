// Layers that run networks of their own: loops and conditionals.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/tensor_memory.h"
#include "network/network.h"

namespace tenon {

/// Runs body number `body` on tensors in the order of its inputs; gives its outputs, each in memory
/// of its own, which copies keep. The span holds until that body runs again.
using RunBody = FunctionRef<std::span<const Tensor>(size_t body, std::span<const Tensor> inputs)>;

/// What an op with bodies is besides an Op. Its reference() is never called.
class ControlFlow {
 public:
  virtual ~ControlFlow() = default;

  /// Runs the layer, again and again: what it needs memory for is kept from one run to the next.
  /// The op must outlive it.
  class Runner {
   public:
    virtual ~Runner() = default;
    /// The outputs of the layer, valid until the next run; null inputs were left out. It decides
    /// which body runs how often. All tensors lie in the runner's memory.
    virtual std::span<const Tensor> run(std::span<const Tensor* const> inputs,
                                        RunBody run_body) = 0;
  };
  virtual std::unique_ptr<Runner> make_runner(TensorMemory& memory) const = 0;

  /// Copies of an op share them; clone(Network) copies them. Empty in an op that a plan made.
  std::vector<std::shared_ptr<Network>> bodies;

  virtual size_t body_count() const = 0;
  /// The layer's input that body input i is, as a whole; -1 for one that the layer makes.
  virtual int layer_input(size_t body_input) const = 0;
};

/// Input 1 of a recurrence is what an iteration hands to the next: a layer does not wait for it,
/// and so loops are no cycles.
inline bool is_back_edge(const Node& node, size_t input) {
  return input == 1 && node.kind() == LayerType::kRECURRENCE;
}

/// The integers that `v` always holds, where all its elements follow from constant extents; nothing
/// for others.
std::optional<Tensor> constant_content(const Value& v);

/// Dimensions of a tensor outside as an input of a body declares them: extents that are one
/// expression outside are one symbol, of one name, inside.
struct BodyDims {
  Shape declared;
  std::array<std::string, Shape::kMaxRank> names;
};
BodyDims body_dims(const Dims& outside);

inline ControlFlow* control_flow_of(const Node& node) {
  return dynamic_cast<ControlFlow*>(node.op.get());
}

}  // namespace tenon
