// Convolutions and their transposes, as kernels on a device see them.
#pragma once

#include <optional>
#include <vector>

#include "backend/target.h"
#include "cuda/convolution/direct_convolution.h"
#include "cuda/simple_epilogue.h"
#include "ops/support/convolution_shared.h"

namespace tenon::cuda {

/// Inputs of both ops: data, weights, bias, and what the epilogue reads.
enum : size_t { kDataInput, kWeightsInput, kBiasInput, kFirstOperand };

/// A Convolution or a Deconvolution; a copy of its attributes.
struct SlidingOp {
  ConvolutionAttributes attributes;
  Shape output_padding;  // of a deconvolution; empty means zeros
  bool transposed = false;

  explicit SlidingOp(const Op& op);
  /// With the padding that they have for these shapes of data and result.
  std::vector<Window> windows(const Shape& data, const Shape& result) const;
  /// Why no kernel of ours takes the request, "" if one may.
  std::string refusal(const KernelRequest& request) const;
  /// The same, and why it is no product of matrices with a row for each position, channels last.
  std::string product_refusal(const KernelRequest& request) const;
};

/// Elements to skip for a step along batch, channel and three spatial axes, of which missing ones
/// come first.
struct Steps {
  int64_t axis[kAxes] = {};
  Steps(const Shape& shape, Layout layout);
};

/// The bias and the epilogue as a kernel runs them, without addresses. Operands lie in the layout
/// of the result, or are broadcast. Throws when the program is too long for kernels.
EpilogueParameters epilogue_parameters(const PointwiseProgram& program,
                                       std::span<const TensorSpec> inputs,
                                       const TensorSpec& result);
/// The program, if it is one of the simple ones.
std::optional<SimpleEpilogue> match_simple_epilogue(const PointwiseProgram& program);
/// Where the bias and the operands are.
void set_operands(EpilogueParameters& p, std::span<const void* const> inputs);

/// Weights of (outer, inner, taps) elements as (outer, taps, inner).
Tensor with_channels_last(const Tensor& weights, int64_t outer, int64_t inner);

/// Weights as (K, C/groups, kernel…), or with the channels last: (K, kernel…, C/groups); in
/// deconvolutions K is the data's channels and C/groups the result's.
DirectConvolution direct_parameters(const SlidingOp& op, std::span<const TensorSpec> inputs,
                                    const TensorSpec& result, Layout weights);

/// The plain sums, ready to run. The weights are the kernel's first packed tensor, or an input.
std::unique_ptr<Execution> direct_execution(const DirectConvolution& parameters, bool is_packed);

}  // namespace tenon::cuda
