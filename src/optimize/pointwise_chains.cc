#include <algorithm>

#include "ops/pointwise.h"
#include "optimize/match.h"
#include "optimize/passes.h"
#include "optimize/program_builder.h"

namespace tenon {
namespace {

constexpr size_t kMaxInputs = 8;
constexpr size_t kMaxSteps = 32;

class Chains {
 public:
  explicit Chains(const Network& network) : uses_(network), order_(network.sorted()) {
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  }

  std::optional<Patch> run() {
    for (auto it = order_.rbegin(); it != order_.rend(); ++it)
      if (can_join(**it)) grow(**it);
    if (patch_.empty()) return std::nullopt;
    return std::move(patch_);
  }

 private:
  bool can_join(const Node& node) const { return is_pointwise(node) && !patch_.removes(node); }

  // From the last layer upwards: a layer joins when all its users have.
  void grow(Node& last) {
    std::vector<Node*> members{&last};
    ProgramBuilder best = built(members);
    std::vector<Node*> open{&last};
    while (!open.empty()) {
      const Node& user = *open.back();
      open.pop_back();
      for (const Value* in : user.inputs) {
        Node* node = in == nullptr ? nullptr : in->producer;
        if (node == nullptr || !joins(*node, last, members)) continue;
        std::vector<Node*> more = members;
        more.insert(
            std::find_if(more.begin(), more.end(),
                         [&](const Node* m) { return position_.at(m) > position_.at(node); }),
            node);
        ProgramBuilder larger = built(more);
        if (larger.inputs().size() > kMaxInputs || larger.step_count() > kMaxSteps) continue;
        members = std::move(more);
        best = std::move(larger);
        open.push_back(node);
      }
    }
    if (members.size() < 2 || best.step_count() == 0 || best.inputs().empty()) return;
    auto op = std::make_unique<Pointwise>();
    op->program = best.program();
    patch_.fuse(std::move(op), best.inputs(), members);
  }

  bool joins(const Node& node, const Node& last, const std::vector<Node*>& members) const {
    if (!can_join(node)) return false;
    const Value& out = *node.outputs[0];
    if (out.is_output || out.dims != last.outputs[0]->dims) return false;
    const auto is_member = [&](const Node* n) {
      return std::find(members.begin(), members.end(), n) != members.end();
    };
    const auto& users = uses_.of(out);
    return !is_member(&node) && users.size() <= members.size()
           && std::all_of(users.begin(), users.end(), is_member);
  }

  static ProgramBuilder built(const std::vector<Node*>& members) {
    ProgramBuilder builder;
    for (const Node* node : members) builder.append(*node);
    return builder;
  }

  Uses uses_;
  std::vector<Node*> order_;
  std::unordered_map<const Node*, size_t> position_;
  Patch patch_;
};

}  // namespace

std::optional<Patch> pointwise_chains(const Network& network, const Target&) {
  return Chains(network).run();
}

}  // namespace tenon
