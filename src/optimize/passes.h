// The passes: each looks at the network and proposes a patch, or nothing.
#pragma once

#include <optional>

#include "backend/target.h"
#include "network/patch.h"

namespace tenon {

/// Layers that no output needs, and weights that no layer uses.
std::optional<Patch> dead_layers(const Network& network, const Target& target);
/// Convolutions and matrix products of dequantised tensors become products of integers, or of fp8,
/// where the target is fast at them; a Quantize behind becomes part of them. What they compute
/// differs by the rounding of one quantised step at most.
std::optional<Patch> quantized_products(const Network& network, const Target& target);
/// Sums of quantised tensors become part of the convolutions of integers before them, where the
/// target takes them in. What they compute stays the same.
std::optional<Patch> quantized_sums(const Network& network, const Target& target);
/// Maximum pooling between a Dequantize and the Quantize that undoes it is done on the integers.
std::optional<Patch> pooling_of_bytes(const Network& network, const Target& target);
/// Layers whose result is always the same become weights.
std::optional<Patch> constant_folding(const Network& network, const Target& target);
/// Layers that change nothing.
std::optional<Patch> identities(const Network& network, const Target& target);
/// Shuffles in a row become one, and so do casts of which the first loses nothing.
std::optional<Patch> merge_pairs(const Network& network, const Target& target);
/// Zero padding before convolution and pooling becomes theirs.
std::optional<Patch> padding_into_convolution(const Network& network, const Target& target);
/// Hard sigmoid, hard swish and GELU, spelled out, become activations.
std::optional<Patch> known_activations(const Network& network, const Target& target);
/// Means, differences and quotients become layer normalisations.
std::optional<Patch> layer_normalization(const Network& network, const Target& target);
/// Products, a softmax and another product become attention, where the target is fast at it. Only
/// queries that see no key differ: their result is 0, not NaN.
std::optional<Patch> attention(const Network& network, const Target& target);
/// Shuffles between which a matrix product stands, and that reorder its rows only, come together.
std::optional<Patch> shuffles_past_products(const Network& network, const Target& target);
/// An activation behind the shuffle of a convolution's or product's result comes before it.
std::optional<Patch> shuffles_past_activations(const Network& network, const Target& target);
/// Shuffles, slices and gathers of one position around attention become part of it.
std::optional<Patch> attention_strides(const Network& network, const Target& target);
/// A Quantize to bytes behind an attention becomes part of it, where the target takes it in.
std::optional<Patch> attention_bytes(const Network& network, const Target& target);
/// Products with constants that make operands of an attention from the same tensor become one, of
/// whose result each is a part.
std::optional<Patch> attention_projections(const Network& network, const Target& target);
/// Per-channel multiplications and additions after layers with weights go into the weights.
std::optional<Patch> fold_scale(const Network& network, const Target& target);
/// Constants added to matrix products become their bias.
std::optional<Patch> bias(const Network& network, const Target& target);
/// Element-wise layers after convolutions and matrix products become their epilogues.
std::optional<Patch> convolution_epilogue(const Network& network, const Target& target);
/// Depthwise convolutions and the 1x1 convolutions of their results become one layer, where the
/// target is fast at it.
std::optional<Patch> separable_convolution(const Network& network, const Target& target);
/// Trees of element-wise layers become one layer.
std::optional<Patch> pointwise_chains(const Network& network, const Target& target);
/// Quantized layers whose float32 result is only cast to a 16-bit type give that type.
std::optional<Patch> quantized_casts(const Network& network, const Target& target);
/// An element-wise layer of one tensor between a quantized layer and a Quantize becomes its
/// epilogue, and the Quantize part of it.
std::optional<Patch> quantized_epilogues(const Network& network, const Target& target);
/// Trees of element-wise layers between tensors of bytes become one layer, with the Dequantize and
/// Quantize around and between them, where the target is fast at it. Only a NaN that a Quantize
/// between them makes a number of differs: it stays one.
std::optional<Patch> byte_chains(const Network& network, const Target& target);
/// A sum before a normalisation and a Quantize behind it become part of it, where the target takes
/// them in.
std::optional<Patch> normalization_neighbours(const Network& network, const Target& target);

}  // namespace tenon
