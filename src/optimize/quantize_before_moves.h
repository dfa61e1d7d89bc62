// Tensors that are only moved before they are quantized are quantized first.
#pragma once

#include "backend/target.h"
#include "network/network.h"

namespace tenon {

/// A Quantize to bytes behind a Concatenation, a maximum pooling, slices or a nearest-neighbour
/// Resize that nobody else reads goes in front of it, to each input: what moves are bytes then, and
/// the layers before can end with them. Where a tensor is sliced all slices become the same bytes.
/// The results are the same to the bit. A tensor gets one such Quantize, and none where it was
/// dequantized from such bytes; in front of a Shuffle it goes only there.
void quantize_before_moves(Network& network, const Target& target);

}  // namespace tenon
