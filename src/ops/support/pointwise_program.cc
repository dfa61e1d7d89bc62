#include "ops/support/pointwise_program.h"

#include <cmath>
#include <limits>
#include <numbers>

#include "ops/support/private_operation.h"
#include "ops/support/reference.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;
using nvinfer1::UnaryOperation;
using Family = PointwiseStep::Family;

constexpr std::string_view kUnaryNames[] = {
    "exp",   "log",  "sqrt", "recip", "abs",   "neg",   "sin",   "cos",   "tan",
    "sinh",  "cosh", "asin", "acos",  "atan",  "asinh", "acosh", "atanh", "ceil",
    "floor", "erf",  "not",  "sign",  "round", "isinf", "isnan"};
constexpr std::string_view kActivationNames[] = {
    "relu",        "sigmoid",          "tanh",     "leaky_relu", "elu",
    "selu",        "softsign",         "softplus", "clip",       "hard_sigmoid",
    "scaled_tanh", "thresholded_relu", "gelu_erf", "gelu_tanh"};
constexpr std::string_view kElementWiseNames[] = {"sum", "prod",  "max",       "min", "sub",
                                                  "div", "pow",   "floor_div", "and", "or",
                                                  "xor", "equal", "greater",   "less"};

std::span<const std::string_view> names_of(Family family) {
  switch (family) {
    case Family::kUnary:
      return kUnaryNames;
    case Family::kActivation:
      return kActivationNames;
    case Family::kElementWise:
      return kElementWiseNames;
  }
  return {};
}

bool is_remainder(const PointwiseStep& step) {
  return step.family == Family::kElementWise
         && step.function == static_cast<int32_t>(PrivateOperation::kRemainder);
}

// "" for an unknown function.
std::string_view function_name(const PointwiseStep& step) {
  if (is_remainder(step)) return "remainder";
  const auto names = names_of(step.family);
  const auto function = static_cast<size_t>(step.function);  // a negative one becomes large
  return function < names.size() ? names[function] : std::string_view();
}

template <class Real> Real unary(UnaryOperation function, Real x) {
  switch (function) {
    case UnaryOperation::kEXP:
      return std::exp(x);
    case UnaryOperation::kLOG:
      return std::log(x);
    case UnaryOperation::kSQRT:
      return std::sqrt(x);
    case UnaryOperation::kRECIP:
      return 1 / x;
    case UnaryOperation::kABS:
      return std::fabs(x);
    case UnaryOperation::kNEG:
      return -x;
    case UnaryOperation::kSIN:
      return std::sin(x);
    case UnaryOperation::kCOS:
      return std::cos(x);
    case UnaryOperation::kTAN:
      return std::tan(x);
    case UnaryOperation::kSINH:
      return std::sinh(x);
    case UnaryOperation::kCOSH:
      return std::cosh(x);
    case UnaryOperation::kASIN:
      return std::asin(x);
    case UnaryOperation::kACOS:
      return std::acos(x);
    case UnaryOperation::kATAN:
      return std::atan(x);
    case UnaryOperation::kASINH:
      return std::asinh(x);
    case UnaryOperation::kACOSH:
      return std::acosh(x);
    case UnaryOperation::kATANH:
      return std::atanh(x);
    case UnaryOperation::kCEIL:
      return std::ceil(x);
    case UnaryOperation::kFLOOR:
      return std::floor(x);
    case UnaryOperation::kERF:
      return std::erf(x);
    case UnaryOperation::kNOT:
      return x == 0;
    case UnaryOperation::kSIGN:
      return std::isnan(x) ? x : static_cast<Real>((x > 0) - (x < 0));
    case UnaryOperation::kROUND:
      return std::nearbyint(x);  // ties to even
    case UnaryOperation::kISINF:
      return std::isinf(x);
    case UnaryOperation::kISNAN:
      return std::isnan(x);
  }
  return std::numeric_limits<Real>::quiet_NaN();
}

// Comparisons are written so that a NaN comes out as it went in.
template <class Real> Real activation(ActivationType function, Real x, Real alpha, Real beta) {
  constexpr Real kSqrtHalf = std::numbers::sqrt2_v<Real> / 2;
  constexpr Real kSqrtTwoOverPi = static_cast<Real>(0.7978845608028653559);
  switch (function) {
    case ActivationType::kRELU:
      return x < 0 ? 0 : x;
    case ActivationType::kSIGMOID:
      return 1 / (1 + std::exp(-x));
    case ActivationType::kTANH:
      return std::tanh(x);
    case ActivationType::kLEAKY_RELU:
      return x < 0 ? alpha * x : x;
    case ActivationType::kELU:
      return x < 0 ? alpha * std::expm1(x) : x;
    case ActivationType::kSELU:
      return x > 0 ? beta * x : beta * alpha * std::expm1(x);
    case ActivationType::kSOFTSIGN:
      return x / (1 + std::fabs(x));
    case ActivationType::kSOFTPLUS: {  // alpha * log(exp(beta*x) + 1), arranged not to overflow
      const Real y = beta * x;
      return alpha * ((y > 0 ? y : 0) + std::log1p(std::exp(-std::fabs(y))));
    }
    case ActivationType::kCLIP: {
      const Real y = x > beta ? beta : x;
      return y < alpha ? alpha : y;
    }
    case ActivationType::kHARD_SIGMOID: {
      const Real y = alpha * x + beta;
      return y < 0 ? 0 : y > 1 ? 1 : y;
    }
    case ActivationType::kSCALED_TANH:
      return alpha * std::tanh(beta * x);
    case ActivationType::kTHRESHOLDED_RELU:
      return x <= alpha ? 0 : x;
    case ActivationType::kGELU_ERF:
      return x / 2 * (1 + std::erf(x * kSqrtHalf));
    case ActivationType::kGELU_TANH:
      return x / 2
             * (1 + std::tanh(kSqrtTwoOverPi * (x + static_cast<Real>(0.044715) * x * x * x)));
  }
  return std::numeric_limits<Real>::quiet_NaN();
}

template <class Real> Real element_wise(ElementWiseOperation function, Real a, Real b) {
  switch (function) {
    case ElementWiseOperation::kSUM:
      return a + b;
    case ElementWiseOperation::kPROD:
      return a * b;
    case ElementWiseOperation::kMAX:
      return a > b || std::isnan(a) ? a : b;
    case ElementWiseOperation::kMIN:
      return a < b || std::isnan(a) ? a : b;
    case ElementWiseOperation::kSUB:
      return a - b;
    case ElementWiseOperation::kDIV:
      return a / b;
    case ElementWiseOperation::kPOW:
      return std::pow(a, b);
    case ElementWiseOperation::kFLOOR_DIV:
      return std::floor(a / b);
    case ElementWiseOperation::kAND:
      return a != 0 && b != 0;
    case ElementWiseOperation::kOR:
      return a != 0 || b != 0;
    case ElementWiseOperation::kXOR:
      return (a != 0) != (b != 0);
    case ElementWiseOperation::kEQUAL:
      return a == b;
    case ElementWiseOperation::kGREATER:
      return a > b;
    case ElementWiseOperation::kLESS:
      return a < b;
  }
  return std::numeric_limits<Real>::quiet_NaN();
}

template <class Real> Real value_of(const PointwiseStep& step, Real a, Real b) {
  switch (step.family) {
    case Family::kUnary:
      return unary<Real>(static_cast<UnaryOperation>(step.function), a);
    case Family::kActivation:
      return activation<Real>(static_cast<ActivationType>(step.function), a, step.alpha, step.beta);
    case Family::kElementWise:
      if (is_remainder(step)) return std::fmod(a, b);
      return element_wise<Real>(static_cast<ElementWiseOperation>(step.function), a, b);
  }
  return std::numeric_limits<Real>::quiet_NaN();
}

// Splits the steps into one list per member and joins them again.
template <class T> struct Column {
  const char* name;
  T PointwiseStep::* member;
};

template <class T>
void visit_column(FieldVisitor& v, const std::string& prefix, std::vector<PointwiseStep>& steps,
                  Column<T> column) {
  using Element = std::conditional_t<std::is_same_v<T, float>, float, int32_t>;
  std::vector<Element> list;
  for (const PointwiseStep& s : steps) list.push_back(static_cast<Element>(s.*column.member));
  v((prefix + column.name).c_str(), list);
  if (steps.empty()) steps.resize(list.size());
  require(list.size() == steps.size(), "attribute {}{} has {} entries, expected {}", prefix,
          column.name, list.size(), steps.size());
  for (size_t i = 0; i < list.size(); ++i) steps[i].*column.member = static_cast<T>(list[i]);
}

}  // namespace

void PointwiseProgram::visit(FieldVisitor& v, const std::string& prefix) {
  v((prefix + "inputs").c_str(), inputs);
  v((prefix + "constants").c_str(), constants);
  visit_column<Family>(v, prefix, steps, {"families", &PointwiseStep::family});
  visit_column<int32_t>(v, prefix, steps, {"functions", &PointwiseStep::function});
  visit_column<int32_t>(v, prefix, steps, {"a", &PointwiseStep::a});
  visit_column<int32_t>(v, prefix, steps, {"b", &PointwiseStep::b});
  visit_column<float>(v, prefix, steps, {"alpha", &PointwiseStep::alpha});
  visit_column<float>(v, prefix, steps, {"beta", &PointwiseStep::beta});
}

void PointwiseProgram::check() const {
  constexpr int32_t kMaxInputs = 1 << 24;  // so that numbers of registers fit
  require(inputs >= 1 && inputs <= kMaxInputs, "a pointwise program has 1 to {} inputs, found {}",
          kMaxInputs, inputs);
  for (size_t i = 0; i < steps.size(); ++i) {
    const PointwiseStep& s = steps[i];
    require(!names_of(s.family).empty(),
            "step {} of the pointwise program has an unknown family ({})", i,
            static_cast<int32_t>(s.family));
    require(!function_name(s).empty(),
            "step {} of the pointwise program has an unknown function ({})", i, s.function);
    const auto require_written = [&](int32_t r) {
      require(r >= 0 && r < step_register(i),
              "step {} of the pointwise program reads register {}; expected 0 to {}", i, r,
              step_register(i) - 1);
    };
    require_written(s.a);
    if (s.family == Family::kElementWise)
      require_written(s.b);
    else
      require(s.b == -1, "step {} of the pointwise program has an operand too many", i);
  }
}

std::string PointwiseProgram::str() const {
  const auto operand = [&](int32_t r) {
    if (r < inputs) return fmt::format("x{}", r);
    const auto i = static_cast<size_t>(r - inputs);
    return i < constants.size() ? fmt::format("{}", constants[i])
                                : fmt::format("t{}", i - constants.size());
  };
  std::string text;
  for (size_t i = 0; i < steps.size(); ++i) {
    const PointwiseStep& s = steps[i];
    const std::string_view name = function_name(s);
    text += fmt::format("{}t{} = {}({}", i == 0 ? "" : "; ", i, name.empty() ? "?" : name,
                        operand(s.a));
    if (s.family == Family::kElementWise) text += ", " + operand(s.b);
    if (s.family == Family::kActivation && (s.alpha != 0 || s.beta != 0))
      text += fmt::format(", {}, {}", s.alpha, s.beta);
    text += ")";
  }
  return text;
}

float evaluate(const PointwiseStep& step, float a, float b) {
  return value_of<float>(step, a, b);
}

double evaluate_float64(const PointwiseStep& step, double a, double b) {
  return value_of<double>(step, a, b);
}

namespace {

constexpr int64_t kChunk = 256;
using Registers = std::vector<std::array<float, kChunk>>;

void run_steps(const PointwiseProgram& program, Registers& registers, size_t count) {
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const PointwiseStep& step = program.steps[s];
    const auto& a = registers[static_cast<size_t>(step.a)];
    const auto& b = registers[static_cast<size_t>(step.b < 0 ? step.a : step.b)];
    auto& out = registers[static_cast<size_t>(program.step_register(s))];
    for (size_t i = 0; i < count; ++i) out[i] = evaluate(step, a[i], b[i]);
  }
}

template <class T>
void run_typed(const PointwiseProgram& program, std::span<const TensorView> inputs,
               const TensorView& output) {
  std::vector<Shape> strides;
  for (const TensorView& in : inputs) strides.push_back(broadcast_strides(in.shape, output.shape));
  const auto register_count = static_cast<size_t>(program.step_register(program.steps.size()));
  for_rows(output.shape, strides, [&](const Row& row) {
    Registers registers(register_count);
    for (size_t i = 0; i < program.constants.size(); ++i)
      registers[inputs.size() + i].fill(program.constants[i]);
    for (int64_t begin = 0; begin < row.length; begin += kChunk) {
      const auto count = static_cast<size_t>(std::min(kChunk, row.length - begin));
      for (size_t k = 0; k < inputs.size(); ++k) {
        const T* from = inputs[k].as<T>() + row.offset[k] + begin * row.step[k];
        for (size_t i = 0; i < count; ++i)
          registers[k][i] = load(from[static_cast<int64_t>(i) * row.step[k]]);
      }
      run_steps(program, registers, count);
      T* to = output.as<T>() + row.begin + begin;
      for (size_t i = 0; i < count; ++i) to[i] = store<T>(registers.back()[i]);
    }
  });
}

}  // namespace

void run_reference(const PointwiseProgram& program, std::span<const TensorView> inputs,
                   const TensorView& output) {
  program.check();
  require(static_cast<int32_t>(inputs.size()) == program.inputs,
          "the pointwise program has {} inputs, but {} were given", program.inputs, inputs.size());
  for (const TensorView& in : inputs)
    require(in.type == output.type, "expected inputs of type {}, found {}", name_of(output.type),
            name_of(in.type));
  with_float(output.type, [&](auto zero) { run_typed<decltype(zero)>(program, inputs, output); });
}

}  // namespace tenon
