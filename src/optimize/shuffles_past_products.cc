// Shuffles before and behind a matrix product, that only reorder its rows, come together.
#include "ops/matrix_multiply.h"
#include "optimize/match.h"
#include "optimize/passes.h"
#include "optimize/permutation.h"

namespace tenon {
namespace {

using nvinfer1::MatrixOperation;

constexpr size_t kProductBias = 2, kAdded = 3;  // inputs

// Whether each row of the result depends on one row of the data, and all in the same way.
bool treats_rows_alike(const Node& node) {
  const auto* op = node.as<MatrixMultiply>();
  if (op == nullptr || !is_plain(node) || op->operation_a != MatrixOperation::kNONE
      || op->operation_b == MatrixOperation::kVECTOR || node.inputs.size() > kAdded)
    return false;
  const Tensor* weights = float_constant(node.inputs[1]);
  if (weights == nullptr || weights->shape().rank() < 2
      || weights->shape().volume(0, weights->shape().rank() - 2) != 1)
    return false;
  if (node.inputs.size() <= kProductBias || node.inputs[kProductBias] == nullptr) return true;
  const Tensor* bias = float_constant(node.inputs[kProductBias]);
  return bias != nullptr && bias->shape().rank() > 0 && bias->shape().back() == bias->count();
}

Shuffle* shuffle_of(Node* node) {
  return node != nullptr && is_plain(*node) && !is_on_host(*node) ? node->as<Shuffle>() : nullptr;
}

bool keeps_last(const Permutation& p) {
  return !p.empty() && p.back() == static_cast<int32_t>(p.size()) - 1;
}

class Shuffles {
 public:
  explicit Shuffles(const Network& network) : network_(network), uses_(network) {}

  std::optional<Patch> run() {
    for (const auto& node : network_.nodes()) {
      if (!treats_rows_alike(*node)) continue;
      Node* before = node->inputs[0]->producer;
      if (shuffle_of(before) == nullptr || uses_.only(*node->inputs[0]) == nullptr
          || patch_.removes(*before))
        continue;
      if (!move_behind(*before, *node)) move_before(*before, *node);
    }
    if (patch_.empty()) return std::nullopt;
    return std::move(patch_);
  }

 private:
  // A transposition of rows goes into the shuffles that follow.
  bool move_behind(Node& before, Node& product) {
    const ShuffleOrder order(before);
    if (order.reshapes || !keeps_last(order.first)) return false;
    const auto& users = uses_.of(*product.outputs[0]);
    if (users.empty() || product.outputs[0]->is_output) return false;
    for (Node* user : users)
      if (shuffle_of(user) == nullptr || user->inputs[0] != product.outputs[0]
          || patch_.removes(*user))
        return false;
    std::vector<Value*> inputs = product.inputs;
    inputs[0] = before.inputs[0];
    patch_.fuse(product.op->clone(), std::move(inputs), {&before, &product});
    for (Node* user : users) {
      auto op = std::make_unique<Shuffle>(*user->as<Shuffle>());
      op->first_transpose = then(order.first, full(op->first_transpose, order.first.size()));
      patch_.fuse(std::move(op), user->inputs, {user});
    }
    return true;
  }

  // A shuffle of the result's rows becomes one of the data's.
  bool move_before(Node& before, Node& product) {
    Node* after = uses_.only(*product.outputs[0]);
    if (shuffle_of(after) == nullptr || patch_.removes(*after)) return false;
    const ShuffleOrder first(before), second(*after);
    const auto result = constant_shape(after->outputs[0]->dims);
    const Dim columns = product.outputs[0]->dims.back(), depth = product.inputs[0]->dims.back();
    if (!result || result->volume() == 0 || !columns->is_integer_constant()
        || !depth->is_integer_constant() || !is_identity(first.second) || !is_identity(second.first)
        || is_identity(second.second) || !keeps_last(second.second)
        || result->back() != columns->value.integer)
      return false;
    auto shuffle = std::make_unique<Shuffle>();
    shuffle->first_transpose = first.first;
    shuffle->second_transpose = second.second;
    shuffle->has_reshape = true;
    shuffle->reshape = *result;
    for (size_t i = 0; i < second.second.size(); ++i)
      shuffle->reshape[second.second[i]] = (*result)[static_cast<int>(i)];
    shuffle->reshape[result->rank() - 1] = depth->value.integer;
    patch_.fuse(std::move(shuffle), {before.inputs[0]}, {&before});
    std::vector<Value*> inputs = product.inputs;
    for (size_t i = 1; i < inputs.size(); ++i)
      if (inputs[i] != nullptr) inputs[i] = &in_rank(*inputs[i], result->rank());
    patch_.fuse(product.op->clone(), std::move(inputs), {&product, after});
    return true;
  }

  // A constant with axes of extent 1 in front, as many as its rank lacks, or fewer of them.
  Value& in_rank(const Value& value, int rank) {
    const Shape& own = value.constant->shape();
    Shape shape = Shape::filled(rank, 1);
    for (int i = 1; i <= std::min(rank, own.rank()); ++i) shape[rank - i] = own[own.rank() - i];
    return patch_.weight(value.constant->reshaped(shape), value.name);
  }

  const Network& network_;
  Uses uses_;
  Patch patch_;
};

}  // namespace

std::optional<Patch> shuffles_past_products(const Network& network, const Target&) {
  return Shuffles(network).run();
}

}  // namespace tenon
