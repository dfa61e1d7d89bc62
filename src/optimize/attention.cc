// Products, a softmax and another product that together are attention.
#include "ops/attention.h"

#include <algorithm>
#include <numeric>

#include "ops/elementwise.h"
#include "ops/matrix_multiply.h"
#include "ops/shuffle.h"
#include "ops/softmax.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

using nvinfer1::MatrixOperation;
using Operation = nvinfer1::ElementWiseOperation;

constexpr size_t kRank = 4;  // batches, heads, rows, elements
// Vectors that are longer keep a GPU's registers from holding results: then products are faster.
constexpr int64_t kLongest = 256;

bool is_usable(const Node* node) {
  return node != nullptr && is_plain(*node) && is_float_only(*node) && !is_on_host(*node);
}

bool is_one(Dim d) {
  return d->is_integer_constant() && d->value.integer == 1;
}

// A product without bias and epilogue.
const MatrixMultiply* bare_product(const Node* node) {
  const auto* op = is_usable(node) ? node->as<MatrixMultiply>() : nullptr;
  const bool is_bare = op != nullptr && op->epilogue.empty()
                       && op->operation_a == MatrixOperation::kNONE
                       && std::all_of(node->inputs.begin() + 2, node->inputs.end(),
                                      [](const Value* v) { return v == nullptr; });
  return is_bare ? op : nullptr;
}

struct Match {
  Value *query = nullptr, *key = nullptr, *value = nullptr, *mask = nullptr;
  Node* transposes_key = nullptr;  // a shuffle; none when the product transposes
  double scale = 1;
  std::vector<Node*> layers;  // the last one first
};

class Attentions {
 public:
  explicit Attentions(const Network& network) : network_(network), uses_(network) {}

  std::optional<Patch> run() {
    for (const auto& node : network_.nodes())
      if (auto match = find(*node)) fuse(std::move(*match));
    if (patch_.empty()) return std::nullopt;
    return std::move(patch_);
  }

 private:
  Node* only_producer(const Value& value) const {
    return value.producer != nullptr && uses_.only(value) != nullptr ? value.producer : nullptr;
  }

  // Without the factor that a layer of its own multiplies it with, if there is one.
  Value* without_factor(Value* value, Match& m) const {
    Node* node = only_producer(*value);
    const auto* op = is_usable(node) ? node->as<ElementWise>() : nullptr;
    if (op == nullptr || node->inputs.size() != 2) return value;
    const bool divides = op->operation == Operation::kDIV;
    if (!divides && op->operation != Operation::kPROD) return value;
    for (size_t i = divides ? 1 : 0; i < 2; ++i) {
      Value* rest = node->inputs[1 - i];
      const auto factor = scalar(node->inputs[i]);
      if (!factor || *factor == 0 || rest->dims != value->dims) continue;
      m.scale *= divides ? 1 / *factor : *factor;
      m.layers.push_back(node);
      return rest;
    }
    return value;
  }

  std::optional<Match> find(Node& node) const {
    Match m;
    const auto* second = bare_product(&node);
    if (second == nullptr || second->operation_b != MatrixOperation::kNONE) return std::nullopt;
    Node* softmax = only_producer(*node.inputs[0]);
    const auto* shares = is_usable(softmax) ? softmax->as<Softmax>() : nullptr;
    if (shares == nullptr || shares->axes != 1u << (kRank - 1)
        || softmax->inputs[0]->dims.size() != kRank || node.inputs[1]->dims.size() != kRank)
      return std::nullopt;
    m.value = node.inputs[1];
    m.layers = {&node, softmax};
    if (!take_scores(*softmax->inputs[0], m) && !take_masked_scores(*softmax->inputs[0], m))
      return std::nullopt;
    return fits(m, *node.outputs[0]) ? std::optional(m) : std::nullopt;
  }

  bool take_masked_scores(Value& scores, Match& m) const {
    Node* sum = only_producer(scores);
    const auto* op = is_usable(sum) ? sum->as<ElementWise>() : nullptr;
    if (op == nullptr || op->operation != Operation::kSUM) return false;
    for (const size_t i : {0u, 1u}) {
      Match with = m;
      with.layers.push_back(sum);
      with.mask = sum->inputs[1 - i];
      if (sum->inputs[i]->dims != scores.dims || !is_mask(*with.mask, scores)
          || !take_scores(*sum->inputs[i], with))
        continue;
      m = std::move(with);
      return true;
    }
    return false;
  }

  static bool is_mask(const Value& mask, const Value& scores) {
    if (mask.type != scores.type || mask.dims.size() != kRank) return false;
    for (size_t i = 0; i < kRank; ++i)
      if (mask.dims[i] != scores.dims[i] && !is_one(mask.dims[i])) return false;
    return true;
  }

  bool take_scores(Value& scores, Match& m) const {
    Match with = m;
    Value* product = without_factor(&scores, with);
    Node* node = only_producer(*product);
    const auto* op = bare_product(node);
    if (op == nullptr || op->operation_b == MatrixOperation::kVECTOR) return false;
    with.layers.push_back(node);
    with.query = without_factor(node->inputs[0], with);
    with.key = without_factor(node->inputs[1], with);
    if (op->operation_b == MatrixOperation::kNONE) {
      with.transposes_key = only_producer(*with.key);
      if (with.transposes_key == nullptr || with.transposes_key->as<Shuffle>() == nullptr
          || !is_plain(*with.transposes_key) || patch_.removes(*with.transposes_key))
        return false;
    }
    m = std::move(with);
    return true;
  }

  // Heads and batches are not repeated, and vectors are short.
  static bool fits(const Match& m, const Value& result) {
    const auto is_short = [](const Value* v) {
      const Dim size = v->dims.back();
      return size->is_integer_constant() && size->value.integer <= kLongest;
    };
    for (const Value* v : {m.query, m.key, m.value})
      if (v->dims.size() != kRank || v->dims[0] != result.dims[0] || v->dims[1] != result.dims[1])
        return false;
    // The key may still be transposed.
    return is_short(m.query) && is_short(m.value);
  }

  void fuse(Match m) {
    const auto taken = [&](const Node* n) { return patch_.removes(*n); };
    if (std::any_of(m.layers.begin(), m.layers.end(), taken)) return;
    if (m.transposes_key != nullptr) untranspose(*m.transposes_key);
    auto op = std::make_unique<Attention>();
    op->scale = static_cast<float>(m.scale);
    std::vector<Value*> inputs{m.query, m.key, m.value};
    if (m.mask != nullptr) inputs.push_back(m.mask);
    std::reverse(m.layers.begin(), m.layers.end());
    patch_.fuse(std::move(op), std::move(inputs), m.layers);
  }

  // The shuffle gives the keys as rows.
  void untranspose(Node& node) {
    auto op = std::make_unique<Shuffle>(*node.as<Shuffle>());
    std::vector<int32_t>& order = op->second_transpose;
    const size_t given = order.size();
    order.resize(kRank);
    std::iota(order.begin() + static_cast<ptrdiff_t>(given), order.end(),
              static_cast<int32_t>(given));
    std::swap(order[kRank - 2], order[kRank - 1]);
    patch_.fuse(std::move(op), node.inputs, {&node});
  }

  const Network& network_;
  Uses uses_;
  Patch patch_;
};

}  // namespace

std::optional<Patch> attention(const Network& network, const Target& target) {
  if (!target.fuses(Attention(), {})) return std::nullopt;
  return Attentions(network).run();
}

}  // namespace tenon
