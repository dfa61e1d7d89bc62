// Trees of element-wise layers that read or make quantized tensors become one layer, with the
// Dequantize and Quantize around them and between: no float of theirs goes to memory. What depends
// on one tensor of bytes alone is a table of 256 results, however long it is.
#include <algorithm>

#include "ops/byte_pointwise.h"
#include "ops/dequantize.h"
#include "optimize/passes.h"
#include "optimize/program_builder.h"
#include "optimize/quantization.h"

namespace tenon {
namespace {

constexpr size_t kMaxInputs = 8;
constexpr size_t kMaxSteps = 32;
constexpr size_t kMaxTableSteps = 128;

// A Quantize of float32 to bytes.
std::optional<QuantizedBytes> quantization_of(const Node& node) {
  if (node.as<Quantize>() == nullptr || node.inputs[0]->type != DataType::kFLOAT)
    return std::nullopt;
  const auto bytes = quantized_bytes(node);
  return bytes && is_byte(bytes->to) ? bytes : std::nullopt;
}

bool is_float32_pointwise(const Node& node) {
  return is_pointwise(node) && node.outputs[0]->type == DataType::kFLOAT;
}

// Layers in the order of execution, of which the last gives the result.
struct Tree {
  std::vector<Node*> members;
  ProgramBuilder builder;

  bool is_table() const {
    return builder.inputs().size() == 1 && is_byte(builder.inputs()[0]->type)
           && builder.step_count() > 0 && builder.step_count() <= kMaxTableSteps;
  }
  bool is_small() const {
    return builder.inputs().size() <= kMaxInputs && builder.step_count() <= kMaxSteps;
  }
  bool has(const Node* node) const { return std::ranges::find(members, node) != members.end(); }
};

class ByteChains {
 public:
  ByteChains(const Network& network, const Target& target)
      : target_(target), uses_(network), order_(network.sorted()) {
    for (size_t i = 0; i < order_.size(); ++i) position_[order_[i]] = i;
  }

  // Tables first: in a longer chain each of their layers would be computed for each element.
  std::optional<Patch> run() {
    for (const bool is_table : {true, false}) {
      for (auto it = order_.rbegin(); it != order_.rend(); ++it)
        if (!patch_.removes(**it)) fuse(**it, is_table);
      if (!patch_.empty()) return std::move(patch_);
    }
    return std::nullopt;
  }

 private:
  void fuse(Node& last, bool is_table) {
    const auto bytes = quantization_of(last);
    if (!bytes && (is_table || (!is_float32_pointwise(last) && !dequantized(last)))) return;
    const Tree tree = grown(last, is_table);
    const bool has_bytes =
        std::ranges::any_of(tree.members, [](const Node* n) { return !is_float32_pointwise(*n); });
    if (tree.members.size() < 2 || !has_bytes || tree.builder.step_count() == 0
        || !(is_table ? tree.is_table() : tree.is_small()))
      return;
    auto op = std::make_unique<BytePointwise>();
    op->program = tree.builder.program();
    if (bytes) op->bytes = *bytes;
    // A table takes any program.
    if (!target_.fuses(*op, is_table ? PointwiseProgram() : op->program)) return;
    std::vector<Node*> merged = tree.members;
    std::erase_if(merged, [&](const Node* n) { return n != &last && !is_inner(*n, tree); });
    read_.insert(tree.builder.inputs().begin(), tree.builder.inputs().end());
    patch_.fuse(std::move(op), tree.builder.inputs(), merged);
  }

  // From the last layer upwards, the latest first: all that reads a tensor has joined before what
  // makes it does.
  Tree grown(Node& last, bool is_table) const {
    Tree tree = built({&last}), best = tree;
    while (Node* next = candidate(tree, last)) {
      std::vector<Node*> more = tree.members;
      more.insert(std::ranges::find_if(
                      more, [&](const Node* m) { return position_.at(m) > position_.at(next); }),
                  next);
      tree = built(std::move(more));
      if (tree.builder.step_count() > kMaxTableSteps) break;
      if (is_table ? tree.is_table() : tree.is_small()) best = tree;
      if (!is_table && !tree.is_small()) break;
    }
    return best;
  }

  // The latest layer before the tree that can join it.
  Node* candidate(const Tree& tree, const Node& last) const {
    Node* latest = nullptr;
    for (const Node* member : tree.members)
      for (const Value* in : member->inputs) {
        Node* node = in == nullptr ? nullptr : in->producer;
        if (node != nullptr && !tree.has(node) && joins(*node, last, tree)
            && (latest == nullptr || position_.at(node) > position_.at(latest)))
          latest = node;
      }
    return latest;
  }

  bool joins(const Node& node, const Node& last, const Tree& tree) const {
    if (patch_.removes(node)) return false;
    // Bytes are as easily read again as the floats that others make of them.
    if (dequantized(node)) return true;
    return node.outputs[0]->dims == last.outputs[0]->dims && is_inner(node, tree)
           && (is_float32_pointwise(node) || is_undone(node, tree));
  }

  // Whether nothing else reads what the layer makes.
  bool is_inner(const Node& node, const Tree& tree) const {
    const Value& out = *node.outputs[0];
    return !out.is_output && !out.is_debug && !read_.contains(&out)
           && std::ranges::all_of(uses_.of(out), [&](const Node* n) { return tree.has(n); });
  }

  // Whether a Quantize only rounds numbers, since all that reads its bytes makes numbers of them.
  bool is_undone(const Node& quantize, const Tree& tree) const {
    return quantization_of(quantize)
           && std::ranges::all_of(uses_.of(*quantize.outputs[0]), [&](const Node* n) {
                const auto numbers = dequantized(*n);
                return numbers && numbers->scale.equals(*uniform_of(quantize))
                       && (tree.members.back() == n || is_inner(*n, tree));
              });
  }

  static std::optional<Dequantized> dequantized(const Node& node) {
    return node.outputs.size() == 1 ? dequantized_bytes(node.outputs[0]) : std::nullopt;
  }

  static Tree built(std::vector<Node*> members) {
    Tree tree{std::move(members), {}};
    for (const Node* node : tree.members) {
      if (const auto numbers = dequantized(*node)) {
        tree.builder.dequantize(*node, numbers->scale.scale, numbers->scale.zero_number);
      } else if (const auto bytes = quantization_of(*node)) {
        if (node != tree.members.back()) tree.builder.quantize(*node, *bytes);
      } else {
        tree.builder.append(*node);
      }
    }
    return tree;
  }

  const Target& target_;
  Uses uses_;
  std::vector<Node*> order_;
  std::unordered_map<const Node*, size_t> position_;
  std::unordered_set<const Value*> read_;  // by new layers
  Patch patch_;
};

}  // namespace

std::optional<Patch> byte_chains(const Network& network, const Target& target) {
  return ByteChains(network, target).run();
}

}  // namespace tenon
