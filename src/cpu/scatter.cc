// Scattered updates by the kernels that plugins use: replacements of any type, and sums, products
// and extrema of floats.
#include "ops/scatter.h"

#include "cpu/kernels.h"
#include "cpu/shared_kernel.h"
#include "cpu/words.h"
#include "tenon/kernels/scatter.h"

namespace tenon::cpu {
namespace {

using kernels::Reduction;

static_assert(static_cast<int>(Reduction::kNone) == static_cast<int>(ScatterReduction::kNone)
              && static_cast<int>(Reduction::kMax) == static_cast<int>(ScatterReduction::kMax));

// Calls f(element, index, reduction), of which the types and the constant count.
template <class F>
void with_kinds(DataType element, DataType index, ScatterReduction reduction, const F& f) {
  const auto with_index = [&](auto e, auto constant) {
    if (index == DataType::kINT64)
      f(e, int64_t{}, constant);
    else
      f(e, int32_t{}, constant);
  };
  if (reduction != ScatterReduction::kNone)
    return kernels::with_reduction(static_cast<Reduction>(reduction),
                                   [&](auto constant) { with_index(float{}, constant); });
  with_word(static_cast<int64_t>(bytes_of(element, 1)), [&](auto word) {
    with_index(word, std::integral_constant<Reduction, Reduction::kNone>{});
  });
}

SharedExecution prepare(const Scatter& op, std::span<const TensorSpec> inputs, const TensorSpec&) {
  const kit::Shape data{inputs[0].shape.dims()}, indices{inputs[1].shape.dims()},
      updates{inputs[2].shape.dims()};
  const auto run = [element = inputs[0].type, index = inputs[1].type, reduction = op.reduction](
                       const RunArguments& arguments, const auto& scatter) {
    with_kinds(element, index, reduction, [&](auto e, auto i, auto constant) {
      using E = decltype(e);
      scatter(constant, static_cast<const E*>(arguments.inputs[0]),
              static_cast<const decltype(i)*>(arguments.inputs[1]),
              static_cast<const E*>(arguments.inputs[2]), static_cast<E*>(arguments.outputs[0]));
    });
  };
  if (op.mode == nvinfer1::ScatterMode::kELEMENT) {
    const auto shape = kernels::ScatterElementsShape::of(data, indices, updates, op.axis);
    return {0, [=](const kit::Device& device, const RunArguments& arguments) {
              run(arguments, [&](auto reduction, auto* from, auto* at, auto* by, auto* to) {
                kernels::scatter_elements<reduction.value>(device, shape, from, at, by, to);
              });
            }};
  }
  const auto shape = kernels::ScatterBlocksShape::of(data, indices, updates);
  return {shape.workspace(), [=](const kit::Device& device, const RunArguments& arguments) {
            run(arguments, [&](auto reduction, auto* from, auto* at, auto* by, auto* to) {
              kernels::scatter_blocks<reduction.value>(device, shape, from, at, by,
                                                       arguments.scratch, to);
            });
          }};
}

}  // namespace

Offer offer_scatter(const KernelRequest& request) {
  const auto& op = static_cast<const Scatter&>(request.op);
  const DataType type = request.inputs[0].type;
  if (bits_of(type) < 8) return "elements narrower than a byte are not supported";
  if (op.reduction != ScatterReduction::kNone && type != DataType::kFLOAT)
    return "reductions are of float only";
  return std::make_unique<SharedKernel<Scatter>>(op, prepare);
}

}  // namespace tenon::cpu
