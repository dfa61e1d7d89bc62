// Programs of float operations.
#include <algorithm>

#include "base/error.h"
#include "common/program_of.h"
#include "cuda/kernels.h"
#include "cuda/nvrtc/prelude.h"
#include "cuda/pointwise/layers.h"
#include "ops/elementwise.h"
#include "ops/support/private_operation.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ElementWiseOperation;
using Family = PointwiseStep::Family;

// evaluate() as expressions of a, b, alpha and beta, in the order of TensorRT's enums. Comparisons
// are written so that a NaN comes out as it went in.
constexpr std::string_view kUnary[] = {"expf(a)",   "logf(a)",
                                       "sqrtf(a)",  "1.f / a",
                                       "fabsf(a)",  "-a",
                                       "sinf(a)",   "cosf(a)",
                                       "tanf(a)",   "sinhf(a)",
                                       "coshf(a)",  "asinf(a)",
                                       "acosf(a)",  "atanf(a)",
                                       "asinhf(a)", "acoshf(a)",
                                       "atanhf(a)", "ceilf(a)",
                                       "floorf(a)", "erff(a)",
                                       "a == 0",    "a != a ? a : (a > 0) - (a < 0)",
                                       "rintf(a)",  "fabsf(a) == kInfinity",
                                       "a != a"};
constexpr std::string_view kActivation[] = {
    "a < 0 ? 0 : a",
    "1 / (1 + expf(-a))",
    "tanhf(a)",
    "a < 0 ? alpha * a : a",
    "a < 0 ? alpha * expm1f(a) : a",
    "a > 0 ? beta * a : beta * alpha * expm1f(a)",
    "a / (1 + fabsf(a))",
    "alpha * ((beta * a > 0 ? beta * a : 0) + log1pf(expf(-fabsf(beta * a))))",
    "a > beta ? (beta < alpha ? alpha : beta) : a < alpha ? alpha : a",
    "alpha * a + beta < 0 ? 0 : alpha * a + beta > 1 ? 1 : alpha * a + beta",
    "alpha * tanhf(beta * a)",
    "a <= alpha ? 0 : a",
    "0.5f * a * (1 + erff(a * 0.70710678118654752f))",
    "0.5f * a * (1 + tanhf(0.797884560802865f * (a + 0.044715f * a * a * a)))"};
constexpr std::string_view kElementWise[] = {"a + b",
                                             "a * b",
                                             "a > b || a != a ? a : b",
                                             "a < b || a != a ? a : b",
                                             "a - b",
                                             "a / b",
                                             "powf(a, b)",
                                             "floorf(a / b)",
                                             "a != 0 && b != 0",
                                             "a != 0 || b != 0",
                                             "(a != 0) != (b != 0)",
                                             "a == b",
                                             "a > b",
                                             "a < b"};

std::string_view expression_of(const PointwiseStep& step) {
  const auto i = static_cast<size_t>(step.function);
  switch (step.family) {
    case Family::kUnary:
      return kUnary[i];
    case Family::kActivation:
      return kActivation[i];
    case Family::kElementWise:
      return i == static_cast<size_t>(PrivateOperation::kRemainder) ? "fmodf(a, b)"
                                                                    : kElementWise[i];
  }
  fail(ErrorCode::kINTERNAL_ERROR, "unknown family of pointwise steps");
}

// Small whole exponents are products.
std::string_view power_expression(float exponent) {
  return exponent == 2 ? "a * a" : exponent == 3 ? "a * a * a" : exponent == 1 ? "a" : "powf(a, b)";
}

// Exponents are known as a rule, and most of them are small: they become constants of the program.
PointwiseProgram program_with_constants(const KernelRequest& request) {
  PointwiseProgram program = program_of(request);
  const auto* binary = dynamic_cast<const ElementWise*>(&request.op);
  if (binary == nullptr || binary->operation != ElementWiseOperation::kPOW) return program;
  const Tensor* exponent = request.constants[1];
  if (exponent == nullptr || exponent->count() != 1) return program;
  program.constants = {static_cast<float>(exponent->numbers()[0])};
  program.steps[0].b = program.constant_register(0);
  return program;
}

bool reads(const PointwiseProgram& program, int32_t input) {
  return std::any_of(program.steps.begin(), program.steps.end(), [&](const PointwiseStep& s) {
    return s.a == input || (s.family == Family::kElementWise && s.b == input);
  });
}

bool is_real(DataType type) {
  return type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16;
}

}  // namespace

ProgramText text_of(const PointwiseProgram& program) {
  ProgramText text;
  text.statements = "  const float kInfinity = __int_as_float(0x7f800000);\n  (void)kInfinity;\n";
  const auto name = [&](int32_t r) {
    if (r < program.inputs) return fmt::format("x{}", r);
    const auto i = static_cast<size_t>(r - program.inputs);
    return i < program.constants.size() ? literal(program.constants[i])
                                        : fmt::format("t{}", i - program.constants.size());
  };
  const auto constant = [&](int32_t r) -> const float* {
    const auto i = static_cast<size_t>(r - program.inputs);
    return r >= program.inputs && i < program.constants.size() ? &program.constants[i] : nullptr;
  };
  for (size_t s = 0; s < program.steps.size(); ++s) {
    const PointwiseStep& step = program.steps[s];
    const bool is_power =
        step.family == Family::kElementWise
        && static_cast<ElementWiseOperation>(step.function) == ElementWiseOperation::kPOW;
    const float* exponent = is_power ? constant(step.b) : nullptr;
    std::string operands = fmt::format("const float a = {};", name(step.a));
    if (step.family == Family::kElementWise)
      operands += fmt::format(" const float b = {}; (void)b;", name(step.b));
    if (step.family == Family::kActivation)
      operands += fmt::format(" const float alpha = {}, beta = {}; (void)alpha; (void)beta;",
                              literal(step.alpha), literal(step.beta));
    text.statements +=
        fmt::format("  float t{0};\n  {{ {1} t{0} = {2}; }}\n", s, operands,
                    exponent != nullptr ? power_expression(*exponent) : expression_of(step));
  }
  text.result = fmt::format("t{}", program.steps.size() - 1);
  return text;
}

namespace {

ElementOffer parametric_relu_layer(const KernelRequest& request) {
  ElementLayer layer;
  for (size_t i = 0; i < 2; ++i)
    layer.function.operands.push_back({i, std::string(element_of(request.inputs[i].type))});
  layer.function.result_type = element_of(request.outputs[0].type);
  layer.function.result = "x0 < 0 ? x0 * x1 : x0";
  return layer;
}

}  // namespace

ElementOffer program_layer(const KernelRequest& request) {
  const TensorSpec& out = request.outputs[0];
  for (const TensorSpec& x : request.inputs)
    if (x.present && !is_real(x.type)) return "only float32, float16 and bfloat16 are supported";
  if (request.op.kind() == LayerType::kPARAMETRIC_RELU) return parametric_relu_layer(request);
  const PointwiseProgram program = program_with_constants(request);
  if (program.empty()) return "there is nothing to compute";
  program.check();
  if (program.inputs != static_cast<int32_t>(request.inputs.size()))
    return "the number of inputs does not fit the program";
  ElementLayer layer;
  ElementFunction& f = layer.function;
  for (size_t i = 0; i < request.inputs.size(); ++i) {
    const TensorSpec& x = request.inputs[i];
    const bool is_constant =
        request.constants[i] != nullptr && !reads(program, static_cast<int32_t>(i));
    if (x.present && !is_constant) f.operands.push_back({i, std::string(element_of(x.type))});
  }
  f.result_type = element_of(out.type);
  const ProgramText text = text_of(program);
  f.statements = text.statements;
  f.result = text.result;
  if (const auto* scale = dynamic_cast<const Scale*>(&request.op)) {
    layer.data_inputs = 1;
    layer.view = [scale = *scale](size_t input, const Shape& shape, const Shape& result) {
      return OperandView{input == 0 ? shape : aligned_weights(scale, shape, result)};
    };
  }
  return layer;
}

Offer offer_pointwise(const KernelRequest& request) {
  return offer_elements(request, program_layer(request));
}

Offer load_pointwise(const KernelRequest& request, const StoredKernel& stored) {
  return load_elements(request, program_layer(request), stored);
}

}  // namespace tenon::cuda
