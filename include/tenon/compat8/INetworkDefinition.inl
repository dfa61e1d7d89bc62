// 8.x names of INetworkDefinition: windows as (height, width).

/// Deletes the network; plans and engines built from it stay valid.
void destroy() noexcept { delete this; }

/// Always false: quantization is written with quantize and dequantize layers.
bool hasExplicitPrecision() const noexcept { return false; }

/// Adds a 2-D convolution; null if the arguments do not fit.
IConvolutionLayer* addConvolution(ITensor& input, int32_t nbOutputMaps, DimsHW kernelSize,
                                  Weights kernelWeights, Weights biasWeights) noexcept {
  return addConvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
}

/// Adds a 2-D deconvolution; null if the arguments do not fit.
IDeconvolutionLayer* addDeconvolution(ITensor& input, int32_t nbOutputMaps, DimsHW kernelSize,
                                      Weights kernelWeights, Weights biasWeights) noexcept {
  return addDeconvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
}

/// Adds a 2-D pooling; null if the arguments do not fit.
IPoolingLayer* addPooling(ITensor& input, PoolingType type, DimsHW windowSize) noexcept {
  return addPoolingNd(input, type, windowSize);
}

/// Adds zeros around, or cuts from, the two last dimensions; null if the arguments do not fit.
IPaddingLayer* addPadding(ITensor& input, DimsHW prePadding, DimsHW postPadding) noexcept {
  return addPaddingNd(input, prePadding, postPadding);
}

/// Adds a product with weights (nbOutputs, C*H*W) over the last three dimensions of `input`, giving
/// (.., nbOutputs, 1, 1); null if the arguments do not fit. On libraries without this layer it is
/// made of a matrix product and a sum.
IFullyConnectedLayer* addFullyConnected(ITensor& input, int32_t nbOutputs, Weights kernelWeights,
                                        Weights biasWeights) noexcept;

/// Recurrent layers of 8.x are not supported: logs an error and returns null; use addLoop.
IRNNv2Layer* addRNNv2(ITensor& input, int32_t layerCount, int32_t hiddenSize,
                      int32_t maxSequenceLength, RNNOperation operation) noexcept;
