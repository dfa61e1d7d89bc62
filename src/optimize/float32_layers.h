// Which layers need float32: what 16 bits cannot hold, and where it goes.
#pragma once

#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "network/network.h"

namespace tenon {

/// Follows numbers that a 16-bit type would spoil through the network, until a layer brings them
/// back to ordinary ones: masks of -1e9, exponentials, squares and sums, which float16 cannot hold,
/// and positions counted in float32, which 16 bits round to their neighbours. And back from banks
/// of filters, as of a spectrum: what is quiet beside something loud would drown in its rounding.
/// Kernels compute in float32 inside, so what matters is what lies between layers.
class Float32Layers {
 public:
  /// @param reduced kHALF or kBF16.
  /// @param order  all layers, inputs first.
  Float32Layers(DataType reduced, std::span<Node* const> order);

  /// Why the layer must stay in float32, "" when it need not.
  const std::string& reason(const Node& node) const { return reasons_.at(&node); }

 private:
  std::string visit(const Node& node);
  void go_back(std::span<Node* const> order);
  bool is_wide(const Value* v) const { return wide_.contains(v); }
  bool is_wide(float number) const;
  bool has_wide_input(const Node& node) const;
  bool result_is_wide(const Node& node) const;
  bool sum_is_wide(const Node& node) const;
  void look_at_constants(const Node& node);

  DataType reduced_;
  float max_, min_;
  std::unordered_set<const Value*> wide_, seen_;
  std::unordered_map<const Node*, std::string> reasons_;
};

}  // namespace tenon
