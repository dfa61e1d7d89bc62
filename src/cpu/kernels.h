// The implementations that the CPU target's lists are made of.
#pragma once

#include "backend/target.h"
#include "common/reference.h"
#include "ops/quantized_convolution.h"

namespace tenon::cpu {

// Our own loops.
Offer offer_pointwise(const KernelRequest& request);
Offer load_pointwise(const KernelRequest& request, const StoredKernel& stored);
Offer offer_softmax(const KernelRequest& request);
Offer offer_reorder(const KernelRequest& request);
Offer offer_concatenation(const KernelRequest& request);
Offer load_concatenation(const KernelRequest& request, const StoredKernel& stored);
Offer offer_spatial_mean(const KernelRequest& request);
Offer offer_maximum_pooling(const KernelRequest& request);
Offer offer_quantize(const KernelRequest& request);
Offer load_quantize(const KernelRequest& request, const StoredKernel& stored);
Offer offer_recurrent(const KernelRequest& request);
Offer load_recurrent(const KernelRequest& request, const StoredKernel& stored);
Offer offer_attention(const KernelRequest& request);
Offer offer_reduce(const KernelRequest& request);
Offer offer_resize(const KernelRequest& request);
Offer load_resize(const KernelRequest& request, const StoredKernel& stored);
Offer offer_shuffle(const KernelRequest& request);
Offer offer_slice(const KernelRequest& request);
Offer load_slice(const KernelRequest& request, const StoredKernel& stored);
Offer offer_gather(const KernelRequest& request);
Offer offer_scatter(const KernelRequest& request);
Offer offer_nms(const KernelRequest& request);
/// Of weights that a Dequantize of constants made: they stay quantized in memory.
Offer offer_quantized_matrix_multiply(const KernelRequest& request);
Offer load_quantized_matrix_multiply(const KernelRequest& request, const StoredKernel& stored);
Offer offer_direct_matrix_multiply(const KernelRequest& request);
Offer load_direct_matrix_multiply(const KernelRequest& request, const StoredKernel& stored);
/// Those of products in bfloat16 refuse layers that are not marked for it, and other processors.
Offer offer_bfloat_matrix_multiply(const KernelRequest& request);
Offer load_bfloat_matrix_multiply(const KernelRequest& request, const StoredKernel& stored);
Offer offer_bfloat_convolution(const KernelRequest& request);
Offer load_bfloat_convolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_bfloat_attention(const KernelRequest& request);
Offer load_bfloat_attention(const KernelRequest& request, const StoredKernel& stored);
Offer offer_normalization(const KernelRequest& request);
Offer offer_grid_sample(const KernelRequest& request);
Offer offer_roi_align(const KernelRequest& request);
Offer offer_deformable_convolution(const KernelRequest& request);
Offer offer_select(const KernelRequest& request);
Offer offer_typed_pointwise(const KernelRequest& request);
Offer offer_byte_pointwise(const KernelRequest& request);
Offer offer_convolution(const KernelRequest& request);
/// The same, only for results whose rows are one pixel wide.
Offer offer_line_convolution(const KernelRequest& request);
Offer offer_few_channel_convolution(const KernelRequest& request);
Offer offer_dot_convolution(const KernelRequest& request);
Offer load_dot_convolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_direct_convolution(const KernelRequest& request);
Offer load_direct_convolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_packed_convolution(const KernelRequest& request);
Offer load_packed_convolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_depthwise_convolution(const KernelRequest& request);
Offer load_depthwise_convolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_separable_convolution(const KernelRequest& request);
Offer load_separable_convolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_winograd(const KernelRequest& request);
Offer load_winograd(const KernelRequest& request, const StoredKernel& stored);
Offer offer_integer_winograd(const KernelRequest& request);
Offer load_integer_winograd(const KernelRequest& request, const StoredKernel& stored);
Offer offer_integer_depthwise(const KernelRequest& request);
Offer load_integer_depthwise(const KernelRequest& request, const StoredKernel& stored);
Offer offer_integer_convolution(const KernelRequest& request);
Offer load_integer_convolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_integer_matrix_multiply(const KernelRequest& request);
Offer load_integer_matrix_multiply(const KernelRequest& request, const StoredKernel& stored);
Offer offer_direct_deconvolution(const KernelRequest& request);
Offer load_direct_deconvolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_deconvolution(const KernelRequest& request);
Offer load_deconvolution(const KernelRequest& request, const StoredKernel& stored);

// oneDNN's primitives. Builds that do not have it refuse them all.
Offer offer_onednn_convolution(const KernelRequest& request);
Offer load_onednn_convolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_onednn_deconvolution(const KernelRequest& request);
Offer load_onednn_deconvolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_onednn_matrix_multiply(const KernelRequest& request);
Offer load_onednn_matrix_multiply(const KernelRequest& request, const StoredKernel& stored);
Offer offer_onednn_fully_connected(const KernelRequest& request);
Offer load_onednn_fully_connected(const KernelRequest& request, const StoredKernel& stored);
Offer offer_onednn_pooling(const KernelRequest& request);
Offer offer_onednn_reorder(const KernelRequest& request);
Offer offer_onednn_integer_convolution(const KernelRequest& request);
Offer load_onednn_integer_convolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_onednn_integer_matrix_multiply(const KernelRequest& request);
Offer load_onednn_integer_matrix_multiply(const KernelRequest& request, const StoredKernel& stored);

/// Whether oneDNN computes the op with that epilogue at no extra pass over memory.
bool onednn_fuses(const Op& op, const PointwiseProgram& epilogue);
/// Whether oneDNN multiplies 8-bit integers exactly on this machine.
bool onednn_multiplies_integers();
/// Whether our own kernel may take the convolution of integers, and quantize a sum at no extra pass
/// over memory: two axes, one group. Which weights it takes is for the offer to say.
bool convolves_integers(const QuantizedConvolution& op);
/// "AVX-512": what oneDNN makes code for on this machine; "" in builds without it.
std::string onednn_instruction_set();
/// "2.5.0", or "none".
std::string onednn_version();

/// The kernel made ready for the tensors of a request, in the layouts that it wants. Throws Error
/// when they do not fit it.
std::unique_ptr<Execution> prepare_for(const KernelRequest& request, const Kernel& kernel);

/// Whether all tensors that are there have this type.
bool all_of_type(const KernelRequest& request, DataType type);

}  // namespace tenon::cpu
