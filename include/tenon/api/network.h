// The network definition: every layer is added here.
#ifndef TENON_API_NETWORK_H
#define TENON_API_NETWORK_H

#include "tenon/api/layers_attention.h"
#include "tenon/api/layers_control.h"
#include "tenon/api/layers_convolution.h"
#include "tenon/api/layers_gather.h"
#include "tenon/api/layers_plugin.h"
#include "tenon/api/layers_pointwise.h"
#include "tenon/api/layers_quantize.h"
#include "tenon/api/layers_reduce.h"
#include "tenon/api/layers_resize.h"
#include "tenon/api/layers_shape.h"
#include "tenon/compat8/layers.h"

namespace nvinfer1 {

/// How a network is meant, one bit each.
enum class NetworkDefinitionCreationFlag : int32_t {
  /// The batch is a dimension like others; always so, unless TENON_TRT_API is 8.
  kEXPLICIT_BATCH TENON_REMOVED_IN_11 = 0,
  /// Types follow from inputs and layers alone; builder flags of precision are not used.
  kSTRONGLY_TYPED = 1,
  kPREFER_JIT_PYTHON_PLUGINS = 2,  ///< Of Python plugins the one compiled at run time.
  kPREFER_AOT_PYTHON_PLUGINS = 3,  ///< Of Python plugins the one compiled at build time.

  // 8.x name, which changes nothing. Bit 31 is kImplicitBatchFlag of tenon/extensions.h.
  kEXPLICIT_PRECISION TENON_REMOVED_IN_11 = 30,
};

template <> struct impl::EnumMaxImpl<NetworkDefinitionCreationFlag> {
  static constexpr int32_t kVALUE = 4;
};

/// A network: inputs, layers, outputs. It owns its tensors and layers; weights are not copied and
/// must stay until it is built. The add.. methods return null, and log why, if the arguments do not
/// fit. The caller deletes it.
class INetworkDefinition : public INoCopy {
 public:
  ~INetworkDefinition() noexcept override = default;

  /// Adds an input; -1 stands for dimensions that vary. The name is copied and must be new.
  ITensor* addInput(const char* name, DataType type, const Dims& dimensions) noexcept {
    return mImpl->addInput(name, type, dimensions);
  }

  /// Makes a tensor an output.
  void markOutput(ITensor& tensor) noexcept { mImpl->markOutput(tensor); }

  /// Marks a tensor to be given to debug listeners; false on failure.
  bool markDebug(ITensor& tensor) noexcept { return mImpl->markDebug(tensor); }

  /// Undoes markDebug(); false on failure.
  bool unmarkDebug(ITensor& tensor) noexcept { return mImpl->unmarkDebug(tensor); }

  /// Whether a tensor is marked for debugging.
  bool isDebugTensor(const ITensor& tensor) const noexcept { return mImpl->isDebugTensor(tensor); }

  /// Marks all tensors that are left after optimization; false on failure.
  bool markUnfusedTensorsAsDebugTensors() noexcept {
    return mImpl->markUnfusedTensorsAsDebugTensors();
  }

  /// Undoes that; false on failure.
  bool unmarkUnfusedTensorsAsDebugTensors() noexcept {
    return mImpl->unmarkUnfusedTensorsAsDebugTensors();
  }

  /// Adds a function of each element.
  IActivationLayer* addActivation(ITensor& input, ActivationType type) noexcept {
    return mImpl->addActivation(input, type);
  }

  /// Adds a normalization over `window` neighbouring channels.
  ILRNLayer* addLRN(ITensor& input, int64_t window, float alpha, float beta, float k) noexcept {
    return mImpl->addLRN(input, window, alpha, beta, k);
  }

  /// Adds (x * scale + shift) ^ power; channels are dimension 1. Empty weights stand for 1, 0 and
  /// 1.
  IScaleLayer* addScale(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                        Weights power) noexcept {
    return mImpl->addScale(input, mode, shift, scale, power);
  }

  /// Adds a softmax.
  ISoftMaxLayer* addSoftMax(ITensor& input) noexcept { return mImpl->addSoftMax(input); }

  /// Adds the joining of `nbInputs` tensors.
  IConcatenationLayer* addConcatenation(ITensor* const* inputs, int32_t nbInputs) noexcept {
    return mImpl->addConcatenation(inputs, nbInputs);
  }

  /// Adds a function of two tensors of the same rank.
  IElementWiseLayer* addElementWise(ITensor& input1, ITensor& input2,
                                    ElementWiseOperation operation) noexcept {
    return mImpl->addElementWise(input1, input2, operation);
  }

  /// Adds a function without parameters.
  IUnaryLayer* addUnary(ITensor& input, UnaryOperation operation) noexcept {
    return mImpl->addUnary(input, operation);
  }

  /// Adds a reshape with transposes before and after, none of which is set yet.
  IShuffleLayer* addShuffle(ITensor& input) noexcept { return mImpl->addShuffle(input); }

  /// Adds a dimension with one element of `values[1]` per index, the others being `values[0]`.
  IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth,
                          int32_t axis) noexcept {
    return mImpl->addOneHot(indices, values, depth, axis);
  }

  /// The number of layers.
  int32_t getNbLayers() const noexcept { return mImpl->getNbLayers(); }

  /// Layer `index`, in the order they were added; null if it is out of range.
  ILayer* getLayer(int32_t index) const noexcept { return mImpl->getLayer(index); }

  /// The number of inputs.
  int32_t getNbInputs() const noexcept { return mImpl->getNbInputs(); }

  /// Input `index`; null if it is out of range.
  ITensor* getInput(int32_t index) const noexcept { return mImpl->getInput(index); }

  /// The number of outputs.
  int32_t getNbOutputs() const noexcept { return mImpl->getNbOutputs(); }

  /// Output `index`; null if it is out of range.
  ITensor* getOutput(int32_t index) const noexcept { return mImpl->getOutput(index); }

  /// Adds a reduction of the dimensions whose bits are set.
  IReduceLayer* addReduce(ITensor& input, ReduceOperation operation, uint32_t reduceAxes,
                          bool keepDimensions) noexcept {
    return mImpl->addReduce(input, operation, reduceAxes, keepDimensions);
  }

  /// Adds the search for the k largest or smallest elements, with indices of type kINT32.
  ITopKLayer* addTopK(ITensor& input, TopKOperation operation, int32_t k,
                      uint32_t reduceAxes) noexcept {
    return mImpl->addTopK(input, operation, k, reduceAxes);
  }

  /// The same with indices of type kINT32 or kINT64.
  ITopKLayer* addTopK(ITensor& input, TopKOperation operation, int32_t k, uint32_t reduceAxes,
                      DataType indicesType) noexcept {
    return mImpl->addTopKV2(input, operation, k, reduceAxes, indicesType);
  }

  /// Adds the picking of slices along `axis`.
  IGatherLayer* addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept {
    return mImpl->addGather(data, indices, axis);
  }

  /// Adds the picking of slices, elements or coordinates.
  IGatherLayer* addGatherV2(ITensor& data, ITensor& indices, GatherMode mode) noexcept {
    return mImpl->addGatherV2(data, indices, mode);
  }

  /// Adds a softmax of sequences of the lengths in `bounds`.
  IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept {
    return mImpl->addRaggedSoftMax(input, bounds);
  }

  /// Adds a product of matrices.
  IMatrixMultiplyLayer* addMatrixMultiply(ITensor& input0, MatrixOperation operation0,
                                          ITensor& input1, MatrixOperation operation1) noexcept {
    return mImpl->addMatrixMultiply(input0, operation0, input1, operation1);
  }

  /// Adds the search for elements that are not zero, with coordinates of type kINT32.
  INonZeroLayer* addNonZero(ITensor& input) noexcept { return mImpl->addNonZero(input); }

  /// The same with coordinates of type kINT32 or kINT64.
  INonZeroLayer* addNonZero(ITensor& input, DataType indicesType) noexcept {
    return mImpl->addNonZeroV2(input, indicesType);
  }

  /// Adds fixed values; their count is the volume of the shape.
  IConstantLayer* addConstant(const Dims& dimensions, Weights weights) noexcept {
    return mImpl->addConstant(dimensions, weights);
  }

  /// Adds a copy.
  IIdentityLayer* addIdentity(ITensor& input) noexcept { return mImpl->addIdentity(input); }

  /// Adds a change of type.
  ICastLayer* addCast(ITensor& input, DataType toType) noexcept {
    return mImpl->addCast(input, toType);
  }

  /// Takes a tensor out of the inputs and outputs of the network; it stays valid.
  void removeTensor(ITensor& tensor) noexcept { mImpl->removeTensor(tensor); }

  /// Makes a tensor no longer an output.
  void unmarkOutput(ITensor& tensor) noexcept { mImpl->unmarkOutput(tensor); }

  /// Adds a plugin of version 2, of which the layer takes a clone.
  IPluginV2Layer* addPluginV2(ITensor* const* inputs, int32_t nbInputs,
                              IPluginV2& plugin) noexcept {
    return mImpl->addPluginV2(inputs, nbInputs, plugin);
  }

  /// Adds a plugin of version 3, of which the layer takes a clone; `shapeInputs` are tensors whose
  /// values decide shapes.
  IPluginV3Layer* addPluginV3(ITensor* const* inputs, int32_t nbInputs, ITensor* const* shapeInputs,
                              int32_t nbShapeInputs, IPluginV3& plugin) noexcept {
    return mImpl->addPluginV3(inputs, nbInputs, shapeInputs, nbShapeInputs, plugin);
  }

  /// Adds the picking of every stride-th element.
  ISliceLayer* addSlice(ITensor& input, const Dims& start, const Dims& size,
                        const Dims& stride) noexcept {
    return mImpl->addSlice(input, start, size, stride);
  }

  /// Sets the name, which the engine keeps; the text is copied.
  void setName(const char* name) noexcept { mImpl->setName(name); }

  /// The name; never null.
  const char* getName() const noexcept { return mImpl->getName(); }

  /// Adds the shape of a tensor, as kINT64.
  IShapeLayer* addShape(ITensor& input) noexcept { return mImpl->addShape(input); }

  /// Whether the batch is not a dimension of the tensors; only with TENON_TRT_API 8.
  bool hasImplicitBatchDimension() const noexcept { return mImpl->hasImplicitBatchDimension(); }

  /// The flags that the network was made with.
  NetworkDefinitionCreationFlags getFlags() const noexcept { return mImpl->getFlags(); }

  /// Whether the network was made with a flag.
  bool getFlag(NetworkDefinitionCreationFlag flag) const noexcept { return mImpl->getFlag(flag); }

  /// Makes the value of a shape tensor an output on the host; false on failure.
  bool markOutputForShapes(ITensor& tensor) noexcept { return mImpl->markOutputForShapes(tensor); }

  /// Undoes markOutputForShapes(); false on failure.
  bool unmarkOutputForShapes(ITensor& tensor) noexcept {
    return mImpl->unmarkOutputForShapes(tensor);
  }

  /// Adds a leaky ReLU with one slope per element or channel.
  IParametricReLULayer* addParametricReLU(ITensor& input, ITensor& slope) noexcept {
    return mImpl->addParametricReLU(input, slope);
  }

  /// Adds a 2-D or 3-D convolution; the kernel is (outputs, inputs / groups, spatial..), the bias
  /// may be empty.
  IConvolutionLayer* addConvolutionNd(ITensor& input, int64_t nbOutputMaps, const Dims& kernelSize,
                                      Weights kernelWeights, Weights biasWeights) noexcept {
    return mImpl->addConvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
  }

  /// Adds a 2-D or 3-D pooling.
  IPoolingLayer* addPoolingNd(ITensor& input, PoolingType type, const Dims& windowSize) noexcept {
    return mImpl->addPoolingNd(input, type, windowSize);
  }

  /// Adds a 2-D or 3-D deconvolution; the kernel is (inputs, outputs / groups, spatial..), the bias
  /// may be empty.
  IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, int64_t nbOutputMaps, Dims kernelSize,
                                          Weights kernelWeights, Weights biasWeights) noexcept {
    return mImpl->addDeconvolutionNd(input, nbOutputMaps, kernelSize, kernelWeights, biasWeights);
  }

  /// Adds (x * scale + shift) ^ power with channels in dimension `channelAxis`.
  IScaleLayer* addScaleNd(ITensor& input, ScaleMode mode, Weights shift, Weights scale,
                          Weights power, int32_t channelAxis) noexcept {
    return mImpl->addScaleNd(input, mode, shift, scale, power, channelAxis);
  }

  /// Adds a resize whose size is not set yet.
  IResizeLayer* addResize(ITensor& input) noexcept { return mImpl->addResize(input); }

  /// Adds an empty loop.
  ILoop* addLoop() noexcept { return mImpl->addLoop(); }

  /// Adds an empty conditional.
  IIfConditional* addIfConditional() noexcept { return mImpl->addIfConditional(); }

  /// Adds a choice per element.
  ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput, ITensor& elseInput) noexcept {
    return mImpl->addSelect(condition, thenInput, elseInput);
  }

  /// Adds a check that fails with `message`, which is copied.
  IAssertionLayer* addAssertion(ITensor& condition, const char* message) noexcept {
    return mImpl->addAssertion(condition, message);
  }

  /// Adds a tensor with computed values of type kFLOAT, or kINT32 if alpha and beta come from
  /// inputs of that type.
  TENON_REMOVED_IN_11 IFillLayer* addFill(const Dims& dimensions,
                                          FillOperation operation) noexcept {
    return mImpl->addFill(dimensions, operation);
  }

  /// Adds a tensor with computed values of a type.
  IFillLayer* addFill(const Dims& dimensions, FillOperation operation,
                      DataType outputType) noexcept {
    return mImpl->addFillV2(dimensions, operation, outputType);
  }

  /// Adds zeros around the last two dimensions, or cuts from them where the padding is negative.
  IPaddingLayer* addPaddingNd(ITensor& input, const Dims& prePadding,
                              const Dims& postPadding) noexcept {
    return mImpl->addPaddingNd(input, prePadding, postPadding);
  }

  /// Names weights already used in the network, for refitting; false if they are not. The text is
  /// copied.
  bool setWeightsName(Weights weights, const char* name) noexcept {
    return mImpl->setWeightsName(weights, name);
  }

  /// Sets where errors are recorded, instead of the one set before; null for none.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  /// The recorder that was set; null if none.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  /// Adds a dequantization to kFLOAT.
  TENON_REMOVED_IN_11 IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale) noexcept {
    return mImpl->addDequantize(input, scale);
  }

  /// Adds a dequantization to a type.
  IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale, DataType outputType) noexcept {
    return mImpl->addDequantizeV2(input, scale, outputType);
  }

  /// Adds the writing of elements by index.
  IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates,
                            ScatterMode mode) noexcept {
    return mImpl->addScatter(data, indices, updates, mode);
  }

  /// Adds a quantization to kINT8.
  TENON_REMOVED_IN_11 IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale) noexcept {
    return mImpl->addQuantize(input, scale);
  }

  /// Adds a quantization to a type.
  IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale, DataType outputType) noexcept {
    return mImpl->addQuantizeV2(input, scale, outputType);
  }

  /// Adds a quantization of blocks of `blockSize` elements along `axis`.
  IDynamicQuantizeLayer* addDynamicQuantize(ITensor& input, int32_t axis, int32_t blockSize,
                                            DataType outputType, DataType scaleType) noexcept {
    return mImpl->addDynamicQuantize(input, axis, blockSize, outputType, scaleType);
  }

  /// Adds a quantization of blocks of a shape.
  IDynamicQuantizeLayer* addDynamicQuantizeV2(ITensor& input, const Dims& blockShape,
                                              DataType outputType, DataType scaleType) noexcept {
    return mImpl->addDynamicQuantizeV2(input, blockShape, outputType, scaleType);
  }

  /// Adds a sum of products as an equation says.
  IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs, const char* equation) noexcept {
    return mImpl->addEinsum(inputs, nbInputs, equation);
  }

  /// Adds the reading of an image at given places.
  IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept {
    return mImpl->addGridSample(input, grid);
  }

  /// Adds the choice of the best of overlapping boxes, with indices of type kINT32.
  INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass) noexcept {
    return mImpl->addNMS(boxes, scores, maxOutputBoxesPerClass);
  }

  /// The same with indices of type kINT32 or kINT64.
  INMSLayer* addNMS(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
                    DataType indicesType) noexcept {
    return mImpl->addNMSV2(boxes, scores, maxOutputBoxesPerClass, indicesType);
  }

  /// Adds the reversal of sequences.
  IReverseSequenceLayer* addReverseSequence(ITensor& input, ITensor& sequenceLengths) noexcept {
    return mImpl->addReverseSequence(input, sequenceLengths);
  }

  /// Adds a normalization over the dimensions whose bits are set; scale and bias have the rank of
  /// the input and size 1 where they are the same for all.
  INormalizationLayer* addNormalization(ITensor& input, ITensor& scale, ITensor& bias,
                                        uint32_t axesMask) noexcept {
    return mImpl->addNormalization(input, scale, bias, axesMask);
  }

  /// Adds an accumulation along the dimension that `axis`, a scalar, says.
  ICumulativeLayer* addCumulative(ITensor& input, ITensor& axis, CumulativeOperation operation,
                                  bool exclusive, bool reverse) noexcept {
    return mImpl->addCumulative(input, axis, operation, exclusive, reverse);
  }

  /// Adds an attention of tensors (N, heads, length, size).
  IAttention* addAttention(ITensor& query, ITensor& key, ITensor& value,
                           AttentionNormalizationOp normalization, bool causal) noexcept {
    return mImpl->addAttention(query, key, value, normalization, causal);
  }

  /// The same with an 11.x name; kLOWER_RIGHT wants query and keys known to be equally many.
  IAttention* addAttentionV2(ITensor& query, ITensor& key, ITensor& value,
                             AttentionNormalizationOp normalization,
                             CausalMaskKind causalKind) noexcept;

  /// Adds a rotation of pairs of elements.
  IRotaryEmbeddingLayer* addRotaryEmbedding(ITensor& input, ITensor& cosCache, ITensor& sinCache,
                                            bool interleaved, int32_t rotaryEmbeddingDim) noexcept {
    return mImpl->addRotaryEmbedding(input, cosCache, sinCache, interleaved, rotaryEmbeddingDim);
  }

  /// Adds the writing of new keys or values into a cache.
  IKVCacheUpdateLayer* addKVCacheUpdate(ITensor& cache, ITensor& update, ITensor& writeIndices,
                                        KVCacheMode cacheMode) noexcept {
    return mImpl->addKVCacheUpdate(cache, update, writeIndices, cacheMode);
  }

  /// Adds a mixture of experts, whose weights are not set yet.
  IMoELayer* addMoE(ITensor& hiddenStates, ITensor& selectedExperts,
                    ITensor& expertScores) noexcept {
    return mImpl->addMoE(hiddenStates, selectedExperts, expertScores);
  }

  /// Adds an operation of several devices; `root` is the one device that matters, or -1, and
  /// `groups` holds `groupSize` of them, or is null for all.
  IDistCollectiveLayer* addDistCollective(ITensor& input, CollectiveOperation operation,
                                          ReduceOperation reduceOperation, int64_t root,
                                          int64_t* groups, int64_t groupSize) noexcept {
    return mImpl->addDistCollective(input, operation, reduceOperation, root, groups, groupSize);
  }

  /// The builder that made the network.
  virtual IBuilder& getBuilder() const noexcept { return mImpl->getBuilder(); }

  /// Makes weights of this name refittable; false if there are none.
  bool markWeightsRefittable(const char* name) noexcept {
    return mImpl->markWeightsRefittable(name);
  }

  /// Undoes markWeightsRefittable(); false if there are none.
  bool unmarkWeightsRefittable(const char* name) noexcept {
    return mImpl->unmarkWeightsRefittable(name);
  }

  /// Whether weights of this name were made refittable.
  bool areWeightsMarkedRefittable(const char* name) const noexcept {
    return mImpl->areWeightsMarkedRefittable(name);
  }

  /// Adds the removal of dimensions of size 1.
  ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept {
    return mImpl->addSqueeze(input, axes);
  }

  /// Adds the insertion of dimensions of size 1.
  IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept {
    return mImpl->addUnsqueeze(input, axes);
  }

  /// Like addNormalization(); with groups, scale and bias have one value per channel.
  INormalizationLayer* addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                          uint32_t axesMask) noexcept {
    return mImpl->addNormalizationV2(input, scale, bias, axesMask);
  }

#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/INetworkDefinition.inl"
#endif
 protected:
  apiv::VNetworkDefinition* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_NETWORK_H
