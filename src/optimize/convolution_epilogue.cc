#include <algorithm>

#include "optimize/match.h"
#include "optimize/passes.h"
#include "optimize/program_builder.h"

namespace tenon {
namespace {

// How far a region of layers may grow before all its paths meet again.
constexpr size_t kMaxEpilogueLayers = 12;
constexpr size_t kMaxUsers = 4;
constexpr size_t kMaxOperands = 4;
// Inputs of the layers with epilogues: data, kernel, bias.
constexpr size_t kFirstOperand = 3;

class Epilogues {
 public:
  Epilogues(const Network& network, const Target& target)
      : target_(target), uses_(network), order_(network.sorted()) {
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  }

  std::optional<Patch> run() {
    // The later of two convolutions whose results are added takes the sum: the other is done then.
    for (auto it = order_.rbegin(); it != order_.rend(); ++it) {
      Node& node = **it;
      if (epilogue_of(*node.op) != nullptr && !patch_.removes(node) && is_plain(node)
          && is_float_only(node))
        extend(node);
    }
    if (patch_.empty()) return std::nullopt;
    return std::move(patch_);
  }

 private:
  // Adds layers in order of execution. Where a single tensor leads out of the region, what was
  // added until there can be the epilogue: nothing else then depends on the region.
  void extend(Node& main) {
    const auto first = main.inputs.size() < kFirstOperand ? main.inputs.size() : kFirstOperand;
    std::vector<Value*> operands(main.inputs.begin() + static_cast<int64_t>(first),
                                 main.inputs.end());
    Value& result = *main.outputs[0];
    ProgramBuilder builder(result, *epilogue_of(*main.op), std::move(operands));
    std::vector<Node*> region{&main};
    std::optional<ProgramBuilder> best;
    size_t best_size = 0;
    while (region.size() <= kMaxEpilogueLayers) {
      Node* next = next_layer(region, result);
      if (next == nullptr) break;
      region.push_back(next);
      builder.append(*next);
      if (builder.inputs().size() > 1 + kMaxOperands) break;
      if (!is_closed(region) || !target_.fuses(*main.op, builder.program())) continue;
      best = builder;
      best_size = region.size();
    }
    if (!best) return;
    region.resize(best_size);
    fuse(main, *best, region);
  }

  // The earliest layer that uses what the region makes; null unless all users but those of the last
  // tensor could join.
  Node* next_layer(const std::vector<Node*>& region, const Value& result) const {
    Node* earliest = nullptr;
    for (const Node* member : region) {
      const Value& made = *member->outputs[0];
      const auto& users = uses_.of(made);
      if (made.is_output || users.size() > kMaxUsers) return nullptr;
      for (Node* user : users) {
        if (contains(region, user)) continue;
        if (!can_join(*user, region, result)) return nullptr;
        if (earliest == nullptr || position_.at(user) < position_.at(earliest)) earliest = user;
      }
    }
    return earliest;
  }

  bool can_join(const Node& node, const std::vector<Node*>& region, const Value& result) const {
    if (!is_pointwise(node) || patch_.removes(node)) return false;
    if (node.outputs[0]->dims != result.dims || node.outputs[0]->type != result.type) return false;
    for (const Value* in : node.inputs) {
      if (in == nullptr || scalar(in) || contains(region, in->producer)) continue;
      if (in->dims != result.dims || in->content) return false;
    }
    return true;
  }

  static bool contains(const std::vector<Node*>& region, const Node* node) {
    return node != nullptr && std::find(region.begin(), region.end(), node) != region.end();
  }

  // Whether only the last layer's tensor is used outside.
  bool is_closed(const std::vector<Node*>& region) const {
    for (const Node* member : region) {
      if (member == region.back()) continue;
      for (const Node* user : uses_.of(*member->outputs[0]))
        if (!contains(region, user)) return false;
    }
    return true;
  }

  void fuse(Node& main, const ProgramBuilder& builder, const std::vector<Node*>& merged) {
    auto op = main.op->clone();
    *epilogue_of(*op) = builder.program();
    std::vector<Value*> inputs(main.inputs);
    inputs.resize(kFirstOperand);
    inputs.insert(inputs.end(), builder.inputs().begin() + 1, builder.inputs().end());
    patch_.fuse(std::move(op), std::move(inputs), merged);
  }

  const Target& target_;
  Uses uses_;
  std::vector<Node*> order_;
  std::unordered_map<const Node*, size_t> position_;
  Patch patch_;
};

}  // namespace

std::optional<Patch> convolution_epilogue(const Network& network, const Target& target) {
  return Epilogues(network, target).run();
}

}  // namespace tenon
