#include "cuda/cublas/product_epilogue.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;

std::optional<EpilogueActivation> activation_of(const PointwiseStep& step) {
  if (step.family != PointwiseStep::Family::kActivation) return std::nullopt;
  switch (static_cast<ActivationType>(step.function)) {
    case ActivationType::kRELU:
      return EpilogueActivation::kRelu;
    case ActivationType::kGELU_ERF:
      return EpilogueActivation::kGeluErf;
    case ActivationType::kGELU_TANH:
      return EpilogueActivation::kGeluTanh;
    default:
      return std::nullopt;
  }
}

}  // namespace

std::optional<ProductEpilogue> product_epilogue(const PointwiseProgram& program) {
  ProductEpilogue epilogue;
  if (program.empty()) return epilogue;
  if (!program.constants.empty() || program.inputs > 2) return std::nullopt;
  int32_t value = 0;
  size_t at = 0;
  if (program.inputs == 2) {
    const PointwiseStep& step = program.steps[at];
    const bool adds = step.family == PointwiseStep::Family::kElementWise
                      && step.function == static_cast<int32_t>(ElementWiseOperation::kSUM)
                      && step.a + step.b == 1 && step.a * step.b == 0;
    if (!adds) return std::nullopt;
    epilogue.has_added = true;
    value = program.step_register(at++);
  }
  if (at < program.steps.size()) {
    const auto activation = activation_of(program.steps[at]);
    if (!activation || program.steps[at].a != value) return std::nullopt;
    epilogue.activation = *activation;
    ++at;
  }
  return at == program.steps.size() ? std::optional(epilogue) : std::nullopt;
}

}  // namespace tenon::cuda
