// Shuffles and slices around attention become steps with which it reads and writes vectors.
#include "ops/attention.h"
#include "optimize/match.h"
#include "optimize/movement.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

constexpr size_t kMaxMovingLayers = 8;  // that move a tensor, one after the other

// Elements of a vector are neighbours, and vectors lie at multiples of so many elements: what
// kernels of a GPU need to read them in one piece.
bool suits(const Movement::Strided& s) {
  constexpr int64_t kVectorMultiple = 8;
  if (s.extents.rank() != 4 || (s.steps[3] != 1 && s.extents[3] != 1)
      || s.offset % kVectorMultiple != 0)
    return false;
  for (int i = 0; i < 3; ++i)
    if (s.steps[i] % kVectorMultiple != 0) return false;
  return s.extents.volume() > 0;
}

AttentionVectors vectors_of(const Movement::Strided& s) {
  AttentionVectors v{s.extents, s.steps, s.offset};
  v.steps[3] = 1;
  return v;
}

class Strides {
 public:
  explicit Strides(const Network& network) : network_(network), uses_(network) {}

  std::optional<Patch> run() {
    for (const auto& node : network_.nodes())
      if (node->as<Attention>() != nullptr && is_plain(*node)) take(*node);
    if (patch_.empty()) return std::nullopt;
    return std::move(patch_);
  }

 private:
  void take(Node& node) {
    const auto& op = *node.as<Attention>();
    if (op.scores != AttentionScores::kNone) return;
    auto changed = std::make_unique<Attention>(op);
    std::vector<Value*> inputs = node.inputs;
    std::vector<Node*> merged{&node};
    bool any = false;
    for (size_t i = 0; i < 3; ++i)
      any |= op.vectors[i].is_tensor() && take_operand(inputs[i], changed->vectors[i]);
    if (op.vectors[Attention::kResult].is_tensor())
      any |= take_result(*node.outputs[0], *changed, merged);
    if (any) patch_.fuse(std::move(changed), std::move(inputs), merged);
  }

  // From the furthest tensor that steps can be told of.
  static bool take_operand(Value*& operand, AttentionVectors& vectors) {
    std::vector<const Node*> layers;  // the last one first
    Value* furthest = operand;
    std::optional<Movement::Strided> best;
    for (Value* v = operand; v->producer != nullptr && layers.size() < kMaxMovingLayers;) {
      const Node& node = *v->producer;
      if (!is_movement(node)) break;
      layers.push_back(&node);
      v = node.inputs[0];
      const auto shape = constant_shape(v->dims);
      if (!shape || v->constant) break;
      if (auto strided = follow(*shape, layers)) {
        best = strided;
        furthest = v;
      }
    }
    if (!best) return false;
    operand = furthest;
    vectors = vectors_of(*best);
    return true;
  }

  static std::optional<Movement::Strided> follow(const Shape& shape,
                                                 const std::vector<const Node*>& layers) {
    Movement movement(shape);
    for (auto node = layers.rbegin(); node != layers.rend(); ++node)
      if (!movement.apply(**node)) return std::nullopt;
    const auto strided = movement.strided();
    return strided && suits(*strided) ? strided : std::nullopt;
  }

  // Into the furthest tensor that only this one becomes.
  bool take_result(Value& result, Attention& op, std::vector<Node*>& merged) const {
    const auto shape = constant_shape(result.dims);
    if (!shape) return false;
    Movement movement(*shape);
    std::vector<Node*> layers;
    size_t taken = 0;
    for (Node* next = uses_.only(result); next != nullptr && layers.size() < kMaxMovingLayers;
         next = uses_.only(*next->outputs[0])) {
      if (patch_.removes(*next) || !movement.apply(*next)) break;
      layers.push_back(next);
      const auto places = movement.inverse(*shape);
      if (!places || !suits(*places)) continue;
      op.vectors[Attention::kResult] = vectors_of(*places);
      op.result_shape = *constant_shape(next->outputs[0]->dims);
      taken = layers.size();
    }
    merged.insert(merged.end(), layers.begin(), layers.begin() + static_cast<ptrdiff_t>(taken));
    return taken > 0;
  }

  const Network& network_;
  Uses uses_;
  Patch patch_;
};

}  // namespace

std::optional<Patch> attention_strides(const Network& network, const Target& target) {
  if (!target.fuses(Attention(), {})) return std::nullopt;
  return Strides(network).run();
}

}  // namespace tenon
