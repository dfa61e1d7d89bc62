// Makes a body of layers of the network around it.
#pragma once

#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "network/network.h"

namespace tenon {

class BodyBuilder {
 public:
  explicit BodyBuilder(const std::string& name);

  /// An input that the layer makes: the iteration, a state, a slice. Extents that are one
  /// expression outside are one symbol inside.
  Value& add_input(DataType type, const Dims& dims);
  /// Inside, `outer` is `inner`.
  void define(const Value& outer, Value& inner) { inside_[&outer] = &inner; }
  /// Inside, `outer` is what `same` is.
  void alias(const Value& outer, Value& same) { aliases_[&outer] = &same; }
  /// What `outer` is inside: a constant as a weight, else an input of its own.
  Value& of(Value& outer);
  /// Its place in captured(), also for a constant.
  size_t capture(Value& outer);
  /// Copies of layers, in an order in which inputs come first.
  void copy(const std::vector<Node*>& nodes);
  /// The next output; by a copy where it cannot be one itself.
  Value& mark_output(Value& inner);

  const std::shared_ptr<Network>& network() const { return network_; }
  /// The tensors outside that the last inputs are, in their order.
  const std::vector<Value*>& captured() const { return captured_; }

 private:
  std::shared_ptr<Network> network_;
  std::vector<Value*> captured_;
  std::unordered_map<const Value*, Value*> inside_, aliases_;
};

}  // namespace tenon
