// The 8.x layers of INetworkDefinition that need more than one call.
#ifndef TENON_COMPAT8_NETWORK_H
#define TENON_COMPAT8_NETWORK_H

#include "tenon/api/builder.h"

#if TENON_TRT_OLDER_NAMES
namespace nvinfer1 {
namespace impl {

// Reshapes (.., C, H, W) to (.., C*H*W), with a leading 1 where nothing precedes C.
inline ITensor* flattenLastThree(INetworkDefinition& network, ITensor& input,
                                 int64_t volume) noexcept {
  const int32_t leading = input.getDimensions().nbDims - 3;
  Dims flat{leading > 0 ? leading + 1 : 2, {}};
  if (leading == 0) flat.d[0] = 1;
  flat.d[flat.nbDims - 1] = volume;
  IShuffleLayer* layer = network.addShuffle(input);
  if (layer == nullptr) return nullptr;
  layer->setReshapeDimensions(flat);
  return layer->getOutput(0);
}

inline ITensor* addMatrixConstant(INetworkDefinition& network, int32_t nbDims, int64_t rows,
                                  int64_t columns, Weights weights) noexcept {
  Dims shape{nbDims, {}};
  for (int32_t i = 0; i < nbDims; ++i) shape.d[i] = 1;
  shape.d[nbDims - 2] = rows;
  shape.d[nbDims - 1] = columns;
  IConstantLayer* layer = network.addConstant(shape, weights);
  return layer == nullptr ? nullptr : layer->getOutput(0);
}

// A fully connected layer made of others; the last one, which reshapes to (.., outputs, 1, 1).
inline ILayer* composeFullyConnected(INetworkDefinition& network, ITensor& input, int32_t nbOutputs,
                                     Weights kernel, Weights bias) noexcept {
  const int32_t nbDims = input.getDimensions().nbDims;
  if (nbDims < 3 || nbOutputs <= 0 || kernel.count % nbOutputs != 0) return nullptr;
  const int64_t volume = kernel.count / nbOutputs;
  ITensor* flat = flattenLastThree(network, input, volume);
  if (flat == nullptr) return nullptr;
  const int32_t rank = nbDims > 3 ? nbDims - 2 : 2;
  ITensor* weights = addMatrixConstant(network, rank, nbOutputs, volume, kernel);
  if (weights == nullptr) return nullptr;
  ILayer* layer = network.addMatrixMultiply(*flat, MatrixOperation::kNONE, *weights,
                                            MatrixOperation::kTRANSPOSE);
  if (layer != nullptr && bias.count > 0) {
    ITensor* shift = addMatrixConstant(network, rank, 1, nbOutputs, bias);
    if (shift == nullptr) return nullptr;
    layer = network.addElementWise(*layer->getOutput(0), *shift, ElementWiseOperation::kSUM);
  }
  if (layer == nullptr) return nullptr;
  IShuffleLayer* result = network.addShuffle(*layer->getOutput(0));
  if (result == nullptr) return nullptr;
  Dims shape{nbDims, {}};
  shape.d[nbDims - 3] = nbOutputs;
  shape.d[nbDims - 2] = 1;
  shape.d[nbDims - 1] = 1;
  result->setReshapeDimensions(shape);
  return result;
}

}  // namespace impl

inline IFullyConnectedLayer* INetworkDefinition::addFullyConnected(ITensor& input,
                                                                   int32_t nbOutputs,
                                                                   Weights kernelWeights,
                                                                   Weights biasWeights) noexcept {
  if (tenonAddFullyConnected != nullptr) {
    return tenonAddFullyConnected(this, &input, nbOutputs, &kernelWeights, &biasWeights);
  }
  // IFullyConnectedLayer has no members of its own, so that any layer can stand in for one.
  return static_cast<IFullyConnectedLayer*>(
      impl::composeFullyConnected(*this, input, nbOutputs, kernelWeights, biasWeights));
}

inline IRNNv2Layer* INetworkDefinition::addRNNv2(ITensor&, int32_t, int32_t, int32_t,
                                                 RNNOperation) noexcept {
  if (ILogger* logger = getBuilder().getLogger()) {
    logger->log(ILogger::Severity::kERROR,
                "addRNNv2 of TensorRT 8.x is not supported: write the recurrence with addLoop");
  }
  return nullptr;
}

}  // namespace nvinfer1
#endif  // TENON_TRT_OLDER_NAMES

#endif  // TENON_COMPAT8_NETWORK_H
