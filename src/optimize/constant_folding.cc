#include <algorithm>

#include "network/reference_run.h"
#include "ops/constant.h"
#include "ops/dequantize.h"
#include "ops/matrix_multiply.h"
#include "ops/shuffle.h"
#include "optimize/match.h"
#include "optimize/passes.h"

namespace tenon {
namespace {

// No folded tensor is larger, and none above kSmall takes more than kGrowth times its inputs.
constexpr size_t kLargest = size_t{256} << 20;
constexpr size_t kSmall = size_t{64} << 20;
constexpr size_t kGrowth = 16;
// What one sweep may hold; the next one goes on.
constexpr size_t kLargestSweep = size_t{1} << 30;
// Products of matrices and convolutions fold only below this many multiplications.
constexpr double kMaxWork = 1e9;

class Folding {
 public:
  Folding(const Network& network, const Target& target)
      : network_(network), uses_(network), stores_int4_(target.stores_int4_weights()) {}

  std::optional<Patch> run() {
    for (Node* node : network_.sorted())
      if (held_ < kLargestSweep && fold(*node)) folded_.push_back(node);
    for (Node* node : folded_) replace(*node);
    if (patch_.empty()) return std::nullopt;
    return std::move(patch_);
  }

 private:
  const Tensor* known(const Value* v) const {
    if (v->constant) return &*v->constant;
    const auto it = results_.find(v);
    return it == results_.end() ? nullptr : &it->second;
  }

  bool fold(Node& node) {
    if (node.op->is_plugin() || node.outputs.empty() || !node.outputs[0]->known) return false;
    if (node.outputs.size() > 1)
      for (const Value* out : node.outputs)
        if (out->is_output) return false;
    return fold_content(node) || fold_inputs(node);
  }

  // Elements that are constant expressions, whatever the inputs are: the shape of a tensor.
  bool fold_content(Node& node) {
    if (node.outputs.size() != 1) return false;
    const Value& out = *node.outputs[0];
    const auto shape = constant_shape(out.dims);
    if (!out.content || !shape) return false;
    std::vector<double> reals;
    std::vector<int64_t> integers;
    for (Dim d : *out.content) {
      if (!d->is_constant()) return false;
      reals.push_back(d->value.as_double());
      integers.push_back(d->value.integer);
    }
    Tensor tensor(out.type, *shape);
    switch (out.type) {
      case DataType::kINT32:
        std::copy(integers.begin(), integers.end(), tensor.mutable_data<int32_t>());
        break;
      case DataType::kINT64:
        std::copy(integers.begin(), integers.end(), tensor.mutable_data<int64_t>());
        break;
      case DataType::kBOOL:
        std::copy(integers.begin(), integers.end(), tensor.mutable_data<bool>());
        break;
      case DataType::kFLOAT:
        std::copy(reals.begin(), reals.end(), tensor.mutable_data<float>());
        break;
      default:
        return false;
    }
    keep(out, std::move(tensor));
    return true;
  }

  bool fold_inputs(Node& node) {
    if (node.inputs.empty()) return false;
    std::vector<const Tensor*> inputs;
    size_t bytes = 0;
    const auto* constant = node.as<Constant>();
    const bool may_be_int4 = constant != nullptr || (stores_int4_ && is_matrix_of_products(node));
    for (const Value* in : node.inputs) {
      inputs.push_back(in == nullptr ? nullptr : known(in));
      if (in == nullptr) continue;
      if (inputs.back() == nullptr || (bits_of(in->type) < 8 && !may_be_int4)) return false;
      bytes += inputs.back()->bytes();
    }
    if (constant != nullptr) {
      results_[node.outputs[0]] = inputs[0]->reshaped(constant->dimensions);
      return true;
    }
    if (const auto* shuffle = node.as<Shuffle>(); shuffle != nullptr && shuffle->only_reshapes())
      if (const auto shape = constant_shape(node.outputs[0]->dims)) {
        results_[node.outputs[0]] = inputs[0]->reshaped(*shape);  // holds no memory of its own
        origins_[node.outputs[0]] = origin_of(node.inputs[0]);
        return true;
      }
    for (const Value* out : node.outputs) {
      const auto shape = constant_shape(out->dims);
      if (!shape || shape->volume() > INT64_MAX / 8) return false;
      const size_t size = bytes_of(out->type, shape->volume());
      if (size > kLargest || (size > kSmall && size / kGrowth > bytes)) return false;
      if (is_heavy(node, inputs, *shape)) return false;
    }
    std::vector<Tensor> outputs = run_reference(node, inputs, kLargest);
    for (size_t i = 0; i < outputs.size(); ++i) keep(*node.outputs[i], std::move(outputs[i]));
    if (node.as<Dequantize>() != nullptr) origins_[node.outputs[0]] = origin(node, inputs);
    return true;
  }

  // Whether nothing but matrix products multiplies with it, perhaps reshaped.
  bool is_matrix_of_products(const Node& dequantize) const {
    if (dequantize.as<Dequantize>() == nullptr) return false;
    const Value* matrix = dequantize.outputs[0];
    const Node* user = uses_.only(*matrix);
    if (user != nullptr && user->as<Shuffle>() != nullptr && user->as<Shuffle>()->only_reshapes())
      matrix = user->outputs[0];
    const auto& users = uses_.of(*matrix);
    return !matrix->is_output && !users.empty()
           && std::all_of(users.begin(), users.end(), [&](const Node* node) {
                return node->as<MatrixMultiply>() != nullptr && node->inputs[1] == matrix
                       && node->inputs[0] != matrix;
              });
  }

  static std::shared_ptr<const Folded> origin(const Node& node,
                                              const std::vector<const Tensor*>& inputs) {
    auto folded = std::make_shared<Folded>();
    folded->op = node.op->clone();
    for (const Tensor* input : inputs)
      folded->inputs.push_back(input == nullptr ? Tensor() : *input);
    return folded;
  }

  std::shared_ptr<const Folded> origin_of(const Value* v) const {
    const auto it = origins_.find(v);
    return it == origins_.end() ? v->folded : it->second;
  }

  static bool is_heavy(const Node& node, const std::vector<const Tensor*>& inputs,
                       const Shape& output) {
    const Traits& traits = node.op->traits();
    if (traits.runs != Runs::kKernel) return true;
    return traits.work == Work::kProducts
           && static_cast<double>(output.volume()) * static_cast<double>(inputs[1]->count())
                  > kMaxWork;
  }

  void keep(const Value& value, Tensor tensor) {
    held_ += tensor.bytes();
    results_[&value] = std::move(tensor);
  }

  bool is_needed(const Value& value) const {
    if (value.is_output) return true;
    for (const Node* user : uses_.of(value)) {
      if (user->outputs.empty()) return true;  // an assertion
      for (const Value* out : user->outputs)
        if (!results_.contains(out)) return true;
    }
    return false;
  }

  // A network output stays the output of a layer: a Constant.
  void replace(Node& node) {
    if (node.outputs[0]->is_output) {
      if (node.as<Constant>() != nullptr) return;
      const Tensor& tensor = results_[node.outputs[0]];
      auto constant = std::make_unique<Constant>();
      constant->dimensions = tensor.shape();
      patch_.fuse(std::move(constant), {&patch_.weight(tensor, node.name)}, {&node});
      return;
    }
    for (Value* out : node.outputs)
      if (is_needed(*out))
        patch_.replace(*out, patch_.weight(results_[out], out->name, origin_of(out)));
    patch_.remove(node);
  }

  const Network& network_;
  Uses uses_;
  bool stores_int4_;
  std::unordered_map<const Value*, Tensor> results_;
  std::unordered_map<const Value*, std::shared_ptr<const Folded>> origins_;  // of dequantized ones
  std::vector<Node*> folded_;
  size_t held_ = 0;
  Patch patch_;
};

}  // namespace

std::optional<Patch> constant_folding(const Network& network, const Target& target) {
  return Folding(network, target).run();
}

}  // namespace tenon
