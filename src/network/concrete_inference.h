// Shape inference for one layer outside a network: extents and elements are numbers, or not known.
#pragma once

#include <optional>
#include <vector>

#include "network/op.h"

namespace tenon {

/// An input or output of a layer.
struct ConcreteTensor {
  DataType type = DataType::kFLOAT;
  Shape shape;          // -1 for an extent that is not known (yet)
  bool present = true;  // false: an optional input that was left out, or an output that was not set
  std::optional<std::vector<Number>> content;  // inputs: the elements, where the host has them
  const Tensor* constant = nullptr;            // inputs: the tensor, where it is at hand
};

/// A layer's input that is a tensor at hand; null for one left out.
ConcreteTensor concrete_tensor(const Tensor* tensor);

/// The elements of an integer or float32 tensor of at most `max_count`, as shape rules read them;
/// nothing for others.
std::optional<std::vector<Number>> elements_of(const Tensor& tensor, int64_t max_count);

/// Types and shapes of the outputs, by the op's shape rule. Throws where the rule refuses the
/// inputs or the attributes.
std::vector<ConcreteTensor> infer_concrete(const Op& op, size_t output_count,
                                           const std::vector<ConcreteTensor>& inputs);

}  // namespace tenon
