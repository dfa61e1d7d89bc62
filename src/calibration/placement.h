// Which tensors of a network become int8, and for which layers.
#pragma once

#include <string>
#include <unordered_map>
#include <vector>

#include "backend/target.h"
#include "network/network.h"
#include "network/precision.h"

namespace tenon {

/// Real numbers per step of a symmetric int8, above 0, by the tensor's name.
using Scales = std::unordered_map<std::string, float>;

/// Where quantized layers go. Layers and tensors are those of the network that it was made for.
struct Placement {
  struct Use {
    Node* node;
    size_t input;
  };
  /// A float32 tensor that some of its users read quantized; the others read it as it is.
  struct Activation {
    Value* tensor;
    DataType type;       // kINT8, or kUINT8 where the tensor is never far below 0
    float scale;         // of that type
    uint8_t zero_point;  // of kUINT8; 0 for kINT8
    std::vector<Use> uses;
  };
  /// Constant weights, with a scale for each position along `axis` of `shape`.
  struct Weights {
    Use use;
    Shape shape;  // that the layer takes them in
    int axis;
  };
  /// What becomes of a layer that multiplies by weights.
  struct Outcome {
    const Node* node;
    std::string why_float;  // "" for one that runs in int8
  };

  std::vector<Activation> activations;
  std::vector<Weights> weights;
  std::vector<Outcome> outcomes;           // in the order of layers
  std::vector<std::string> without_scale;  // tensors for want of whose scale layers stay in float
};

/// Quantizes what `target` computes in integers: convolutions and matrix products of float32 by
/// constant weights whose data has a scale; sums of two tensors, one of which such a convolution
/// makes, before a quantized tensor, or before the mean over pictures that becomes one, which reads
/// bytes then; maximum pooling before one, whose result keeps the scale of its data. Layers that
/// were given a float type stay in it, where `constraints` has types followed or the type is
/// float32.
/// @param network with known shapes.
Placement place_quantization(const Network& network, const Scales& scales, const Target& target,
                             Precision::Constraints constraints);

}  // namespace tenon
