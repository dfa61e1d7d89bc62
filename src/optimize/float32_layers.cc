#include "optimize/float32_layers.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "ops/convolution.h"
#include "ops/fourier.h"
#include "optimize/match.h"
#include "optimize/program_builder.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;
using Family = PointwiseStep::Family;

bool grows(UnaryOperation function, bool wide, bool is_half) {
  switch (function) {
    case UnaryOperation::kEXP:
    case UnaryOperation::kSINH:
    case UnaryOperation::kCOSH:
    case UnaryOperation::kTAN:
      return wide || is_half;
    case UnaryOperation::kRECIP:
    case UnaryOperation::kABS:
    case UnaryOperation::kNEG:
    case UnaryOperation::kCEIL:
    case UnaryOperation::kFLOOR:
    case UnaryOperation::kROUND:
      return wide;
    default:  // roots, logarithms, angles, signs: ordinary numbers
      return false;
  }
}

bool grows(ActivationType function, bool wide) {
  switch (function) {
    case ActivationType::kSIGMOID:
    case ActivationType::kTANH:
    case ActivationType::kSOFTSIGN:
    case ActivationType::kHARD_SIGMOID:
    case ActivationType::kSCALED_TANH:
      return false;
    default:
      return wide;
  }
}

// Which of the program's registers hold wide numbers; at first those of inputs and constants.
bool last_is_wide(const PointwiseProgram& program, std::vector<bool> wide, bool is_half) {
  for (const PointwiseStep& step : program.steps) {
    const auto of = [&](int32_t r) { return r >= 0 && wide[static_cast<size_t>(r)]; };
    const bool a = of(step.a), b = of(step.b);
    bool result = a || b;
    if (step.family == Family::kUnary) {
      result = grows(static_cast<UnaryOperation>(step.function), a, is_half);
    } else if (step.family == Family::kActivation) {
      result = grows(static_cast<ActivationType>(step.function), a);
    } else {
      switch (static_cast<ElementWiseOperation>(step.function)) {
        case ElementWiseOperation::kPROD:  // a square
          result |= is_half && step.a == step.b;
          break;
        case ElementWiseOperation::kPOW:
          result |= is_half;
          break;
        case ElementWiseOperation::kDIV:
        case ElementWiseOperation::kFLOOR_DIV:
          result = a && !b;
          break;
        default:
          break;
      }
    }
    wide.push_back(result);
  }
  return wide.back();
}

// Long filters over one signal.
bool is_filter_bank(const Node& node) {
  if (node.as<Fourier>() != nullptr) return true;
  const auto* op = node.as<Convolution>();
  if (op == nullptr || op->groups != 1) return false;
  constexpr int64_t kLong = 64;
  const Dim channels = node.inputs[0]->dims[1];
  const int64_t taps = op->kernel.volume();
  return channels->is_integer_constant() && channels->value.integer == 1 && taps >= kLong
         && std::find(op->kernel.begin(), op->kernel.end(), taps) != op->kernel.end();
}

}  // namespace

Float32Layers::Float32Layers(DataType reduced, std::span<Node* const> order) : reduced_(reduced) {
  // Room for sums of what is at the border; what is below the least number would become 0.
  const bool is_half = reduced == DataType::kHALF;
  max_ = is_half ? 65504.f / 4 : std::numeric_limits<float>::max();
  min_ = is_half ? 5.9604645e-8f : std::numeric_limits<float>::denorm_min();
  for (const Node* node : order) reasons_[node] = visit(*node);
  go_back(order);
}

bool Float32Layers::is_wide(float number) const {
  const float size = std::fabs(number);
  return std::isfinite(number) && (size > max_ || (size > 0 && size < min_));
}

// Weights of sums may be as small as they like; operands of element-wise layers that vanish would
// turn a division by almost nothing into one by nothing.
void Float32Layers::look_at_constants(const Node& node) {
  const bool small_matters = is_pointwise(node);
  for (const Value* v : node.inputs) {
    if (v == nullptr || !v->constant || v->type != DataType::kFLOAT || !seen_.insert(v).second)
      continue;
    const auto* numbers = v->constant->data<float>();
    for (int64_t i = 0; i < v->constant->count(); ++i)
      if (is_wide(numbers[i]) && (small_matters || std::fabs(numbers[i]) > max_)) {
        wide_.insert(v);
        break;
      }
  }
}

bool Float32Layers::has_wide_input(const Node& node) const {
  return std::any_of(node.inputs.begin(), node.inputs.end(),
                     [&](const Value* v) { return v != nullptr && is_wide(v); });
}

// Whether the layer's result is, before its epilogue.
bool Float32Layers::sum_is_wide(const Node& node) const {
  switch (node.op->magnitude(node, reduced_)) {
    case Magnitude::kOrdinary:
      return false;
    case Magnitude::kLarge:
      return true;
    default:
      return has_wide_input(node);
  }
}

bool Float32Layers::result_is_wide(const Node& node) const {
  const bool is_half = reduced_ == DataType::kHALF;
  const auto with_constants = [&](const PointwiseProgram& program, std::vector<bool> wide) {
    for (float number : program.constants) wide.push_back(is_wide(number));
    return last_is_wide(program, std::move(wide), is_half);
  };
  if (is_pointwise(node)) {
    ProgramBuilder builder;
    builder.append(node);
    if (builder.step_count() == 0) return has_wide_input(node);
    std::vector<bool> wide;
    for (const Value* v : builder.inputs()) wide.push_back(is_wide(v));
    return with_constants(builder.program(), std::move(wide));
  }
  const bool sum = sum_is_wide(node);
  const PointwiseProgram* epilogue = epilogue_of(std::as_const(*node.op));
  if (epilogue == nullptr || epilogue->empty()) return sum;
  std::vector<bool> wide{sum};
  const size_t first = node.inputs.size() + 1 - static_cast<size_t>(epilogue->inputs);
  for (size_t i = first; i < node.inputs.size(); ++i) wide.push_back(is_wide(node.inputs[i]));
  return with_constants(*epilogue, std::move(wide));
}

// From banks of filters back to where their signals come from.
void Float32Layers::go_back(std::span<Node* const> order) {
  std::unordered_set<const Value*> signals;
  for (auto it = order.rbegin(); it != order.rend(); ++it) {
    const Node& node = **it;
    const bool makes_signal = std::any_of(node.outputs.begin(), node.outputs.end(),
                                          [&](const Value* v) { return signals.contains(v); });
    const bool filters = is_filter_bank(node);
    if (!filters && (!makes_signal || node.op->magnitude(node, reduced_) == Magnitude::kOrdinary))
      continue;
    for (const Value* v : node.inputs)
      if (v != nullptr && v->type == DataType::kFLOAT) signals.insert(v);
    if (reasons_[&node].empty())
      reasons_[&node] =
          filters ? "its filter bank needs the relative precision of float32"
                  : "its output feeds a filter bank, which needs the relative precision of float32";
  }
}

std::string Float32Layers::visit(const Node& node) {
  look_at_constants(node);
  const bool result = result_is_wide(node);
  if (result)
    for (const Value* out : node.outputs)
      if (out->type == DataType::kFLOAT) wide_.insert(out);
  for (const Value* v : node.inputs)
    if (v != nullptr && is_wide(v))
      return fmt::format("{} '{}' has elements beyond the range or precision of the 16-bit type",
                         v->constant ? "constant" : "tensor", v->name);
  return result ? "its output may be beyond the range or precision of the 16-bit type" : "";
}

}  // namespace tenon
