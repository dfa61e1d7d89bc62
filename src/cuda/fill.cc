// Tensors made from nothing, or from indices.
#include "ops/fill.h"

#include "base/cuda_stream.h"
#include "base/error.h"
#include "cuda/fill.h"
#include "cuda/kernels.h"
#include "cuda/launch_kernel.h"
#include "ops/one_hot.h"

namespace tenon::cuda {
namespace {

using nvinfer1::FillOperation;

// Input 0 holds the dimensions, which the output tells, too.
constexpr size_t kAlpha = 1, kBeta = 2;

// `real` as integers are made of it: towards zero, and the nearest that fits.
FillNumber number_of(const Fill& op, double real, int64_t integer) {
  if (op.integers) return {nullptr, static_cast<double>(integer), integer};
  const int64_t whole = std::isnan(real) ? 0
                        : real >= 0x1p63 ? INT64_MAX
                        : real < -0x1p63 ? INT64_MIN
                                         : static_cast<int64_t>(real);
  return {nullptr, real, whole};
}

LaunchExecution prepare_fill(const Op& op, std::span<const TensorSpec> inputs,
                             std::span<const TensorSpec> outputs) {
  const auto& fill = static_cast<const Fill&>(op);
  const bool has_alpha = is_given(inputs, kAlpha), has_beta = is_given(inputs, kBeta);
  const Shape& shape = outputs[0].shape;
  const auto type = static_cast<int32_t>(outputs[0].type);
  const int64_t count = shape.volume();
  const FillNumber alpha = number_of(fill, fill.alpha, fill.alpha_integer);
  const FillNumber beta = number_of(fill, fill.beta, fill.beta_integer);
  const auto numbers = [=](const RunArguments& arguments) {
    std::pair both{alpha, beta};
    if (has_alpha) both.first.data = arguments.inputs[kAlpha];
    if (has_beta) both.second.data = arguments.inputs[kBeta];
    return both;
  };
  if (fill.operation == FillOperation::kLINSPACE) {
    require(has_beta ? inputs[kBeta].shape.volume() == shape.rank() || shape.rank() == 0
                     : shape.rank() <= 1,
            "expected {} steps (beta), one for each axis", shape.rank());
    EvenSpacing spacing{nullptr, type, count, shape.rank(), {}, {}, {}};
    std::copy(shape.begin(), shape.end(), spacing.extents);
    return LaunchExecution([=](const RunArguments& arguments) mutable {
      if (count == 0) return;
      spacing.target = arguments.outputs[0];
      std::tie(spacing.start, spacing.step) = numbers(arguments);
      launch_even_spacing(spacing, to_cuda(arguments.stream));
      check_launch("an even spacing");
    });
  }
  return LaunchExecution([=, seed = static_cast<uint64_t>(fill.seed),
                          is_uniform = fill.operation == FillOperation::kRANDOM_UNIFORM](
                             const RunArguments& arguments) {
    if (count == 0) return;
    const auto [first, second] = numbers(arguments);
    launch_random({arguments.outputs[0], type, count, first, second, is_uniform, seed},
                  to_cuda(arguments.stream));
    check_launch("random numbers");
  });
}

LaunchExecution prepare_one_hot(const Op& op, std::span<const TensorSpec> inputs,
                                std::span<const TensorSpec> outputs) {
  const Shape& shape = outputs[0].shape;
  const int axis = normalized_axis(static_cast<const OneHot&>(op).axis, shape.rank());
  const OneHotVectors vectors{nullptr,
                              inputs[0].type == DataType::kINT64,
                              nullptr,
                              nullptr,
                              static_cast<int64_t>(bytes_of(outputs[0].type, 1)),
                              shape.volume(0, axis),
                              shape[axis],
                              shape.volume(axis + 1, shape.rank())};
  return LaunchExecution([=](const RunArguments& arguments) {
    if (vectors.outer * vectors.depth * vectors.inner == 0) return;
    OneHotVectors v = vectors;
    v.indices = arguments.inputs[0];
    v.values = arguments.inputs[1];
    v.target = arguments.outputs[0];
    launch_one_hot(v, to_cuda(arguments.stream));
    check_launch("one-hot vectors");
  });
}

}  // namespace

Offer offer_fill(const KernelRequest& request) {
  if (!has_element_kernels(request.outputs[0].type))
    return "elements of this type are not supported";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_fill);
  if (!request.inputs.empty()) kernel->input_on_host = {true};
  return kernel;
}

Offer offer_one_hot(const KernelRequest& request) {
  if (bits_of(request.outputs[0].type) < 8)
    return "elements narrower than a byte are not supported";
  auto kernel = std::make_unique<LaunchKernel>(request.op, prepare_one_hot);
  kernel->input_on_host = {false, false, true};
  return kernel;
}

}  // namespace tenon::cuda
