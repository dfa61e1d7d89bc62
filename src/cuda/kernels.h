// The implementations that the CUDA target's lists are made of.
#pragma once

#include "backend/target.h"
#include "ops/quantized_convolution.h"

namespace tenon::cuda {

/// Runs the op's reference kernel on the host, with copies there and back; any op, linear layout.
Offer offer_host(const KernelRequest& request);
/// Runs a plugin that is for the host alone there, in the same way.
Offer offer_host_plugin(const KernelRequest& request);
Offer load_host_plugin(const KernelRequest& request, const StoredKernel& stored);
/// A reorder from a layout to the same one.
Offer offer_copy(const KernelRequest& request);
/// A reorder between rows and channels last.
Offer offer_reorder(const KernelRequest& request);

// Convolutions and their transposes.
Offer offer_cudnn_convolution(const KernelRequest& request);
Offer load_cudnn_convolution(const KernelRequest& request, const StoredKernel& stored);
/// Windows of one element, as a product of matrices: by a kernel of our own, and by cuBLASLt.
Offer offer_fused_product_convolution(const KernelRequest& request);
Offer load_fused_product_convolution(const KernelRequest& request, const StoredKernel& stored);
Offer offer_product_convolution(const KernelRequest& request);
Offer load_product_convolution(const KernelRequest& request, const StoredKernel& stored);
/// Images of few channels.
Offer offer_im2col_convolution(const KernelRequest& request);
Offer load_im2col_convolution(const KernelRequest& request, const StoredKernel& stored);
/// One window for each channel.
Offer offer_depthwise_convolution(const KernelRequest& request);
Offer load_depthwise_convolution(const KernelRequest& request, const StoredKernel& stored);
/// Plain sums, of any shape.
Offer offer_direct_convolution(const KernelRequest& request);
/// The same of bytes.
Offer offer_integer_convolution(const KernelRequest& request);
/// One window of bytes for each channel.
Offer offer_integer_depthwise(const KernelRequest& request);
Offer load_integer_depthwise(const KernelRequest& request, const StoredKernel& stored);
/// Whether a kernel for tensor cores, or for depthwise convolutions, makes it.
bool has_fast_kernel(const QuantizedConvolution& op);
/// What times of convolutions depend on: the libraries' versions.
std::string convolution_timing_id();
/// Whether cuDNN may compute the program as part of the convolution before it.
bool cudnn_fuses(const PointwiseProgram& epilogue);

Offer offer_pooling(const KernelRequest& request);
/// Averages over all spatial axes.
Offer offer_spatial_mean(const KernelRequest& request);

// Products of matrices by cuBLASLt.
/// For MatrixMultiply and FullyConnected.
Offer offer_cublas_product(const KernelRequest& request);
Offer load_cublas_product(const KernelRequest& request, const StoredKernel& stored);
/// For sums over named axes that are products of matrices.
Offer offer_cublas_einsum(const KernelRequest& request);
Offer load_cublas_einsum(const KernelRequest& request, const StoredKernel& stored);
/// Whether the products of floats take over this epilogue.
bool cublas_fuses(const PointwiseProgram& epilogue);

// Our own kernels.
Offer offer_attention(const KernelRequest& request);
Offer offer_warpgroup_attention(const KernelRequest& request);
/// Convolutions and products with constant weights of bytes.
Offer offer_quantized_gemm(const KernelRequest& request);
Offer load_quantized_gemm(const KernelRequest& request, const StoredKernel& stored);
/// Products of any matrices of bytes.
Offer offer_integer_matrix_multiply(const KernelRequest& request);
Offer offer_normalization(const KernelRequest& request);
Offer offer_ragged_softmax(const KernelRequest& request);
Offer offer_recurrent(const KernelRequest& request);
Offer offer_softmax(const KernelRequest& request);

// Layers whose elements depend on one element of each operand, as generated code.
/// Operations of floats, in any mixture of types.
Offer offer_pointwise(const KernelRequest& request);
Offer load_pointwise(const KernelRequest& request, const StoredKernel& stored);
/// Operations of integers and booleans.
Offer offer_integer_pointwise(const KernelRequest& request);
Offer load_integer_pointwise(const KernelRequest& request, const StoredKernel& stored);
/// Select, Cast, Identity, BitCast.
Offer offer_move(const KernelRequest& request);
Offer load_move(const KernelRequest& request, const StoredKernel& stored);
/// Quantize of pictures, whose channels are last in the result.
Offer offer_quantize_pictures(const KernelRequest& request);
/// Quantize and Dequantize.
Offer offer_quantize(const KernelRequest& request);
Offer load_quantize(const KernelRequest& request, const StoredKernel& stored);

// What moves, indexes and selects elements.
Offer offer_shuffle(const KernelRequest& request);
/// A copy of what is only seen in another shape.
Offer offer_same_bytes(const KernelRequest& request);
Offer offer_slice(const KernelRequest& request);
Offer offer_padding(const KernelRequest& request);
Offer offer_concatenation(const KernelRequest& request);
Offer load_concatenation(const KernelRequest& request, const StoredKernel& stored);
Offer offer_gather(const KernelRequest& request);
Offer offer_scatter(const KernelRequest& request);
Offer offer_max_unpool(const KernelRequest& request);
Offer offer_fill(const KernelRequest& request);
Offer offer_one_hot(const KernelRequest& request);
Offer offer_top_k(const KernelRequest& request);
Offer offer_non_zero(const KernelRequest& request);
Offer offer_nms(const KernelRequest& request);
Offer offer_resize(const KernelRequest& request);
Offer load_resize(const KernelRequest& request, const StoredKernel& stored);
Offer offer_grid_sample(const KernelRequest& request);
Offer offer_roi_align(const KernelRequest& request);
Offer offer_max_roi_pool(const KernelRequest& request);
Offer offer_deformable_convolution(const KernelRequest& request);
Offer offer_reverse_sequence(const KernelRequest& request);
Offer offer_cache_update(const KernelRequest& request);
Offer offer_rotary_embedding(const KernelRequest& request);

// Layers whose elements depend on several of one operand, as generated code.
Offer offer_reduce(const KernelRequest& request);
Offer load_reduce(const KernelRequest& request, const StoredKernel& stored);
Offer offer_cumulative(const KernelRequest& request);
Offer load_cumulative(const KernelRequest& request, const StoredKernel& stored);
Offer offer_lrn(const KernelRequest& request);
Offer load_lrn(const KernelRequest& request, const StoredKernel& stored);
Offer offer_dynamic_quantize(const KernelRequest& request);
Offer load_dynamic_quantize(const KernelRequest& request, const StoredKernel& stored);

}  // namespace tenon::cuda
