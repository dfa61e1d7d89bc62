#include "calibration/placement.h"

#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "calibration/lower_bound.h"
#include "calibration/range_search.h"
#include "ops/activation.h"
#include "ops/convolution.h"
#include "ops/deconvolution.h"
#include "ops/dequantize.h"
#include "ops/elementwise.h"
#include "ops/fully_connected.h"
#include "ops/matrix_multiply.h"
#include "ops/pooling.h"
#include "ops/quantize.h"
#include "ops/quantized_matrix_multiply.h"
#include "ops/reduce.h"
#include "ops/support/data_movement.h"
#include "optimize/match.h"
#include "optimize/quantization.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::MatrixOperation;
using nvinfer1::PoolingType;

// Where a tensor is never far below 0, the steps of its bytes are spent on what it is: with its
// lowest value at 0 of uint8, and 255 for the end of the range.
Placement::Activation quantized_by(Value& value, float scale) {
  constexpr double kLargestUint8 = 255, kWorthIt = 0.9;
  const double range = scale * kLargestInt8, lowest = std::min(lower_bound_of(value), 0.0);
  if (lowest <= -kWorthIt * range) return {&value, DataType::kINT8, scale, 0, {}};
  const double step = (range - lowest) / kLargestUint8;
  const auto zero = static_cast<uint8_t>(std::lround(-lowest / step));
  return {&value, DataType::kUINT8, static_cast<float>(step), zero, {}};
}

bool is_constant_float(const Value* value) {
  return value != nullptr && value->constant && value->type == DataType::kFLOAT
         && value->constant->count() > 0;
}

class Placer {
 public:
  Placer(const Network& network, const Scales& scales, const Target& target,
         Precision::Constraints constraints)
      : scales_(scales),
        target_(target),
        constraints_(constraints),
        uses_(network),
        order_(network.sorted()) {}

  Placement run() && {
    for (Node* node : order_) decide_product(*node);
    // Users come first: whether a sum is worth it depends on who reads it.
    for (auto node = order_.rbegin(); node != order_.rend(); ++node) {
      if (products_.contains(*node)) use_product(**node);
      if (is_sum(**node)) use_sum(**node);
      if (is_maximum_pooling(**node)) use_pooling(**node);
    }
    share_scales_of_pooling();
    for (Node* node : order_)
      for (const Value* output : node->outputs) take(output);
    for (auto& [value, activation] : activations_)
      if (value->producer == nullptr) placement_.activations.push_back(std::move(activation));
    return std::move(placement_);
  }

 private:
  static bool has_weights(const Node& node) {
    return node.as<Convolution>() != nullptr || node.as<MatrixMultiply>() != nullptr
           || node.as<Deconvolution>() != nullptr || node.as<FullyConnected>() != nullptr;
  }

  void decide_product(Node& node) {
    if (!has_weights(node) || node.inputs.size() < 2) return;
    std::string reason = why_float(node);
    if (reason.empty()) products_.insert(&node);
    placement_.outcomes.push_back({&node, std::move(reason)});
  }

  std::string why_float(const Node& node) {
    if (node.precision && is_float(*node.precision)
        && (constraints_ != Precision::Constraints::kHint || *node.precision == DataType::kFLOAT))
      return fmt::format("its precision was set to {}", name_of(*node.precision));
    if (const auto type = node.output_types[0];
        type && is_float(*type) && *type != DataType::kFLOAT)
      return fmt::format("its output's type was set to {}", name_of(*type));
    const Value& data = *node.inputs[0];
    if (data.type != DataType::kFLOAT)
      return fmt::format("its input '{}' is {}", data.name, name_of(data.type));
    if (!is_constant_float(node.inputs[1])) return "its weights are not constants of float32";
    if (node.inputs.size() > 2 && node.inputs[2] != nullptr && !is_constant_float(node.inputs[2]))
      return "its bias is not a constant";
    if (!target_multiplies(node))
      return fmt::format("the target {} has no int8 kernel for it", target_.name());
    if (is_dequantized(data) || scale_of(data) != nullptr) return "";
    if (std::ranges::find(placement_.without_scale, data.name) == placement_.without_scale.end())
      placement_.without_scale.push_back(data.name);
    return fmt::format("its input '{}' has no range", data.name);
  }

  bool target_multiplies(const Node& node) const {
    if (const auto* op = node.as<Convolution>())
      return op->epilogue.empty() && target_.fuses(*quantized_form(*op), {});
    const auto* op = node.as<MatrixMultiply>();
    return op != nullptr && op->epilogue.empty() && op->operation_a == MatrixOperation::kNONE
           && op->operation_b != MatrixOperation::kVECTOR
           && target_.fuses(QuantizedMatrixMultiply(), {});
  }

  static bool is_dequantized(const Value& data) {
    return data.producer != nullptr && data.producer->as<Dequantize>() != nullptr
           && is_byte(data.producer->inputs[0]->type);
  }

  const float* scale_of(const Value& value) const {
    const auto found = scales_.find(value.name);
    return value.type == DataType::kFLOAT && !value.constant && found != scales_.end()
               ? &found->second
               : nullptr;
  }

  void use(Value& value, Node& node, size_t input) {
    if (is_dequantized(value)) return;
    const float scale = *scale_of(value);
    const auto [entry, is_new] = activations_.try_emplace(&value);
    Placement::Activation& activation = entry->second;
    if (is_new) activation = quantized_by(value, scale);
    activation.uses.push_back({&node, input});
  }

  void use_product(Node& node) {
    use(*node.inputs[0], node, 0);
    const Shape& stored = node.inputs[1]->constant->shape();
    if (const auto* op = node.as<Convolution>()) {
      Shape shape{op->output_channels, stored.volume() / op->output_channels / op->kernel.volume()};
      for (const int64_t extent : op->kernel) shape.push_back(extent);
      placement_.weights.push_back({{&node, 1}, shape, 0});
    } else {
      const bool is_transposed =
          node.as<MatrixMultiply>()->operation_b == MatrixOperation::kTRANSPOSE;
      placement_.weights.push_back({{&node, 1}, stored, stored.rank() - (is_transposed ? 2 : 1)});
    }
  }

  static bool is_sum(const Node& node) {
    const auto* op = node.as<ElementWise>();
    return op != nullptr && op->operation == ElementWiseOperation::kSUM;
  }

  static bool is_maximum_pooling(const Node& node) {
    const auto* op = node.as<Pooling>();
    return op != nullptr && op->type == PoolingType::kMAX && op->indices == PoolingIndices::kNone;
  }

  static bool is_relu(const Node& node) {
    const auto* op = node.as<Activation>();
    return op != nullptr && op->type == ActivationType::kRELU;
  }

  // Behind a layer, and the ReLU that is its only user if there is one.
  Value& result_of(const Node& node) const {
    const Node* next = uses_.only(*node.outputs[0]);
    return next != nullptr && is_relu(*next) ? *next->outputs[0] : *node.outputs[0];
  }

  // Whether layers read the tensor as bytes, perhaps behind others that only move elements: the
  // Quantize goes in front of these.
  bool becomes_bytes(const Value& value, int depth = 4) const {
    if (activations_.contains(&value)) return true;
    return depth > 0 && std::ranges::any_of(uses_.of(value), [&](const Node* user) {
             return moved_inputs(*user) > 0 && becomes_bytes(*user->outputs[0], depth - 1);
           });
  }

  // The mean over whole pictures that alone reads the tensor, and becomes bytes: what many bytes
  // lose is small in it. Null for none.
  Node* mean_of(const Value& value) const {
    Node* node = uses_.only(value);
    const auto* op = node != nullptr ? node->as<Reduce>() : nullptr;
    constexpr uint32_t kBatchAndChannels = 3;
    return op != nullptr && op->operation == nvinfer1::ReduceOperation::kAVG
                   && (op->axes & kBatchAndChannels) == 0 && scale_of(value) != nullptr
                   && becomes_bytes(*node->outputs[0])
               ? node
               : nullptr;
  }

  // What an activation is computed of, or x * activation(x) as SiLU is, where nothing else reads
  // it. A ReLU is a bound of bytes.
  const Value* activated(const Node& node) const {
    const auto read_by = [&](size_t readers, const Value& x) {
      return uses_.of(x).size() == readers && !x.is_output ? &x : nullptr;
    };
    if (node.as<Activation>() != nullptr)
      return is_relu(node) ? nullptr : read_by(1, *node.inputs[0]);
    const auto* product = node.as<ElementWise>();
    if (product == nullptr || product->operation != ElementWiseOperation::kPROD) return nullptr;
    for (const size_t i : {0, 1}) {
      const Value &factor = *node.inputs[i], &x = *node.inputs[1 - i];
      const Node* from = factor.producer;
      if (from != nullptr && from->as<Activation>() != nullptr && from->inputs[0] == &x
          && uses_.only(factor) == &node)
        return read_by(2, x);
    }
    return nullptr;
  }

  // Whether a convolution makes the operand, for this sum alone and through an activation, and its
  // epilogue can add bytes.
  bool is_activated(const Value& operand, const Node& sum) const {
    if (operand.producer == nullptr || uses_.only(operand) != &sum) return false;
    const Value* const numbers = activated(*operand.producer);
    const Node* const node = numbers != nullptr ? numbers->producer : nullptr;
    if (node == nullptr || !products_.contains(node) || node->as<Convolution>() == nullptr)
      return false;
    const auto op = quantized_form(*node->as<Convolution>());
    op->to = DataType::kINT8;
    op->epilogue = {2,
                    {},
                    {{PointwiseStep::Family::kElementWise,
                      static_cast<int32_t>(ElementWiseOperation::kSUM), 0, 1}}};
    return target_.fuses(*op, op->epilogue);
  }

  // Whether a convolution of integers makes the operand, for this sum alone, and can add the other.
  bool can_add_to(const Value& operand, const Node& sum) const {
    const Node* node = operand.producer;
    if (node == nullptr || uses_.only(operand) != &sum) return false;
    if (is_relu(*node) && uses_.only(*node->inputs[0]) == node) node = node->inputs[0]->producer;
    if (node == nullptr || !products_.contains(node) || node->as<Convolution>() == nullptr)
      return false;
    const auto op = quantized_form(*node->as<Convolution>());
    op->sum.used = true;
    return target_.fuses(*op, {});
  }

  void use_sum(Node& sum) {
    Value &a = *sum.inputs[0], &b = *sum.inputs[1];
    Value& result = result_of(sum);
    Node* const mean = mean_of(result);
    if (&a == &b || a.dims != b.dims || (mean == nullptr && !becomes_bytes(result))) return;
    const bool is_first = is_activated(a, sum);
    if (is_first || is_activated(b, sum)) {
      Value& other = is_first ? b : a;
      if (is_dequantized(other) || scale_of(other) != nullptr) {
        use(other, sum, is_first ? 1 : 0);
        if (mean != nullptr) use(result, *mean, 0);
      }
      return;
    }
    if (!is_dequantized(a) && scale_of(a) == nullptr) return;
    if (!is_dequantized(b) && scale_of(b) == nullptr) return;
    if (!can_add_to(a, sum) && !can_add_to(b, sum)) return;
    use(a, sum, 0);
    use(b, sum, 1);
    if (mean != nullptr) use(result, *mean, 0);
  }

  void use_pooling(Node& node) {
    Value& data = *node.inputs[0];
    if (!activations_.contains(node.outputs[0]) || scale_of(data) == nullptr || is_dequantized(data)
        || !target_.fuses(*node.op, {}))
      return;
    use(data, node, 0);
    pooled_.push_back(&node);
  }

  // The results of maximum pooling are quantized as its data is.
  void share_scales_of_pooling() {
    for (auto node = pooled_.rbegin(); node != pooled_.rend(); ++node) {
      const Placement::Activation& data = activations_.at((*node)->inputs[0]);
      Placement::Activation& result = activations_.at((*node)->outputs[0]);
      result.type = data.type;
      result.scale = data.scale;
      result.zero_point = data.zero_point;
    }
  }

  void take(const Value* value) {
    const auto found = activations_.find(value);
    if (found != activations_.end()) placement_.activations.push_back(std::move(found->second));
  }

  const Scales& scales_;
  const Target& target_;
  Precision::Constraints constraints_;
  Uses uses_;
  std::vector<Node*> order_;
  std::unordered_set<const Node*> products_;
  std::unordered_map<const Value*, Placement::Activation> activations_;
  std::vector<Node*> pooled_;  // users first
  Placement placement_;
};

}  // namespace

Placement place_quantization(const Network& network, const Scales& scales, const Target& target,
                             Precision::Constraints constraints) {
  return Placer(network, scales, target, constraints).run();
}

}  // namespace tenon
