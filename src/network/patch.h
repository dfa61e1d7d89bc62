// A change to a network that a pass proposes, and that is made later in one go.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "network/network.h"

namespace tenon {

/// Gathers what changes; the network stays as it is until apply(). Layers and tensors are those of
/// the network that the patch is applied to, which must not change in between.
class Patch {
 public:
  bool empty() const { return nodes_.empty() && replacements_.empty() && removed_.empty(); }

  /// A new weight, to be an input of new layers or the replacement of a tensor.
  Value& weight(Tensor tensor, std::string name, std::shared_ptr<const Folded> folded = nullptr);
  /// One new layer in the place of `merged`: its outputs replace those of the last, its name is
  /// "A + B" of all of theirs, and what was forced on the first holds for it.
  void fuse(std::unique_ptr<Op> op, std::vector<Value*> inputs, const std::vector<Node*>& merged);
  /// The same; its outputs replace `outputs`, of any of the layers, of which the first's is the
  /// place.
  void fuse(std::unique_ptr<Op> op, std::vector<Value*> inputs, const std::vector<Node*>& merged,
            std::vector<Value*> outputs);
  /// All users of `from`, also the list of network outputs, use `to`, which has the same type and
  /// shape. See can_replace().
  void replace(Value& from, Value& to);
  /// The layer goes; nobody may use its outputs after the replacements.
  void remove(Node& node) { removed_.insert(&node); }

  bool removes(const Node& node) const { return removed_.contains(&node); }

  /// Changes the network: O(layers of the network). The patch is used up.
  void apply(Network& network) &&;

 private:
  struct NewNode {
    std::unique_ptr<Op> op;
    std::vector<Value*> inputs;
    std::vector<Node*> merged;
    std::vector<Value*> outputs;  // which its own replace
  };
  std::deque<Value> weights_;  // apply() makes the network's own of them
  std::vector<NewNode> nodes_;
  std::unordered_map<Value*, Value*> replacements_;
  std::unordered_set<const Node*> removed_;
};

/// Whether `to` can stand for `from`: a network output must not become an input, a weight, or a
/// second name of another output.
bool can_replace(const Value& from, const Value& to);

}  // namespace tenon
