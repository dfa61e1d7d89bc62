// Networks with TensorRT 8's implicit batch, whose tensors are items of a batch, as networks in
// which the batch is a dimension.
#pragma once

#include <cstdint>

#include "network/network.h"

namespace tenon {

/// As network.infer(node), for a network with an implicit batch: types and dimensions of an item.
/// Throws, naming the layer, for kinds that have no form for batches yet.
void infer_item(Network& network, Node& node);

/// Every tensor of `network` gets the batch as its first dimension: of extent "batch", known at run
/// time, or 1 where it does not depend on inputs. Axes and extents that layers name move along.
/// infer_item() must have passed for every layer: a wrong rank may be right with the batch.
/// @param most the largest batch.
/// Throws, naming layer or tensor, where a network with the batch as a dimension would do something
/// else or nothing.
void make_batch_explicit(Network& network, int32_t max_batch);

}  // namespace tenon
