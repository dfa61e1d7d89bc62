// Which layers of a network a plan runs, in what order, and which tensors need none.
#pragma once

#include <climits>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_set>
#include <vector>

#include "network/network.h"

namespace tenon {

/// Calls visit(index) for each symbol of an expression; `seen` holds what needs no second visit.
template <class Visit> void for_each_symbol(Dim root, std::set<Dim>& seen, const Visit& visit) {
  std::vector<Dim> stack{root};
  while (!stack.empty()) {
    const Dim d = stack.back();
    stack.pop_back();
    if (d == nullptr || !seen.insert(d).second) continue;
    if (d->op == ExprOp::kSymbol) visit(d->payload);
    for (Dim child : {d->a, d->b, d->c}) stack.push_back(child);
  }
}

class Schedule {
 public:
  /// A position after the last layer.
  static constexpr int32_t kForever = INT32_MAX;

  /// The network must be as it is planned, and stay so. Shapes are inferred anew where sizes are
  /// data-dependent.
  explicit Schedule(Network& network);

  /// Those that outputs, or sizes, depend on, and those that check something. Layers whose sizes
  /// are known early come first, so that the others wait for as few as possible.
  const std::vector<Node*>& layers() const { return layers_; }
  /// Position in layers() of the last one that reads the value: kForever for network outputs, -1
  /// for none.
  int32_t last_use(const Value& v) const;
  /// Whether the elements of a value are known when shapes are set: it needs no kernel.
  bool on_host(const Value& v) const;
  /// Whether the elements of a network input decide shapes.
  bool is_shape_input(const Value& v) const;
  /// Whether running its layer tells an extent of the value.
  bool is_data_dependent(const Value& v) const;

 private:
  const Symbol& symbol(int64_t index) const {
    return network_.symbols()[static_cast<size_t>(index)];
  }
  template <class Visit> void for_each_data_dependent(const Value& v, const Visit& visit) const;
  void find_shape_symbols();
  void find_layers();
  void sort_by_stage();

  Network& network_;
  std::vector<Node*> layers_;
  std::map<const Value*, int32_t> last_use_;
  std::set<int64_t> shape_symbols_;
  std::unordered_set<const Value*> shape_inputs_;
  mutable std::map<const Value*, bool> on_host_;
  bool has_data_dependent_ = false;
};

}  // namespace tenon
