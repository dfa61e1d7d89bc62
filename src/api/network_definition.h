// INetworkDefinition: a view of the one Network, with a facade for each of its layers and tensors.
#pragma once

#include <NvInfer.h>
#include <tenon/extensions.h>

#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "api/guard.h"
#include "api/live.h"
#include "api/tensor.h"
#include "network/network.h"

namespace tenon {

class FlowView;
class LayerView;

/// The network behind an INetworkDefinition; null when the object is not (or no longer) ours.
Network* network_of(nvinfer1::INetworkDefinition& definition);

class NetworkDefinition final : public nvinfer1::INetworkDefinition,
                                public nvinfer1::apiv::VNetworkDefinition,
                                public Live<NetworkDefinition, nvinfer1::INetworkDefinition> {
 public:
  using ILayer = nvinfer1::ILayer;
  using ITensor = nvinfer1::ITensor;
  using Weights = nvinfer1::Weights;
  using PublicDims = nvinfer1::Dims;

  NetworkDefinition(nvinfer1::IBuilder& builder, const Reporter& reporter,
                    nvinfer1::NetworkDefinitionCreationFlags flags);
  ~NetworkDefinition() noexcept override;

  // For the other facades.
  Network& network() const { return *network_; }
  const Reporter& reporter() const { return reporter_; }
  bool strongly_typed() const;
  /// The facade of a value or layer: made at first use, the same pointer ever after.
  NetworkTensor& tensor_view(Value& value) const;
  LayerView& layer_view(Node& node) const;
  /// The loop or conditional of that number.
  FlowView& flow_view(int32_t flow) const { return *flows_.at(static_cast<size_t>(flow)); }
  /// The value behind a tensor; throws when it is not one of this network.
  Value& value_of(const ITensor& tensor) const;
  /// Adds a layer of `op` and returns its facade, as the class that its kind has.
  LayerView& add_layer(std::unique_ptr<Op> op, std::vector<Value*> inputs);
  /// A private copy of weights; null for none. Throws for a count that does not fit the pointer.
  Value* add_weights(Weights weights, const char* what);
  /// What the application passed where it differs: null or a value of add_weights().
  static Weights weights_of(const Value* value);
  /// Throws unless no other input or output has that name.
  void check_io_name(const std::string& name, const Value* self) const;
  /// Type and shape of `value` become known; throws, naming the layer, when they cannot.
  void infer(Value& value) const;
  /// Something changed that shapes depend on.
  void touch();
  /// An attribute or input of `node` has changed.
  void changed(Node& node);
  /// The rank of a value, -1 while it cannot be inferred.
  int rank_of(Value& value) const noexcept;
  nvinfer1::IFullyConnectedLayer* add_fully_connected(const ITensor* input, int32_t outputs,
                                                      const Weights* kernel, const Weights* bias);

  // nvinfer1::apiv::VNetworkDefinition.
  ITensor* addInput(const char* name, DataType type,
                    const PublicDims& dimensions) noexcept override;
  void markOutput(ITensor& tensor) noexcept override;
  nvinfer1::IActivationLayer* addActivation(ITensor& input,
                                            nvinfer1::ActivationType type) noexcept override;
  nvinfer1::ILRNLayer* addLRN(ITensor& input, int64_t window, float alpha, float beta,
                              float k) noexcept override;
  nvinfer1::IScaleLayer* addScale(ITensor& input, nvinfer1::ScaleMode mode, Weights shift,
                                  Weights scale, Weights power) noexcept override;
  nvinfer1::ISoftMaxLayer* addSoftMax(ITensor& input) noexcept override;
  nvinfer1::IConcatenationLayer* addConcatenation(ITensor* const* inputs,
                                                  int32_t nbInputs) noexcept override;
  nvinfer1::IElementWiseLayer* addElementWise(
      ITensor& input1, ITensor& input2, nvinfer1::ElementWiseOperation operation) noexcept override;
  nvinfer1::IUnaryLayer* addUnary(ITensor& input,
                                  nvinfer1::UnaryOperation operation) noexcept override;
  nvinfer1::IShuffleLayer* addShuffle(ITensor& input) noexcept override;
  int32_t getNbLayers() const noexcept override;
  ILayer* getLayer(int32_t index) const noexcept override;
  int32_t getNbInputs() const noexcept override;
  ITensor* getInput(int32_t index) const noexcept override;
  int32_t getNbOutputs() const noexcept override;
  ITensor* getOutput(int32_t index) const noexcept override;
  nvinfer1::IReduceLayer* addReduce(ITensor& input, nvinfer1::ReduceOperation operation,
                                    uint32_t reduceAxes, bool keepDimensions) noexcept override;
  nvinfer1::ITopKLayer* addTopK(ITensor& input, nvinfer1::TopKOperation operation, int32_t k,
                                uint32_t reduceAxes) noexcept override;
  nvinfer1::IGatherLayer* addGather(ITensor& data, ITensor& indices,
                                    int32_t axis) noexcept override;
  nvinfer1::IRaggedSoftMaxLayer* addRaggedSoftMax(ITensor& input,
                                                  ITensor& bounds) noexcept override;
  nvinfer1::IMatrixMultiplyLayer* addMatrixMultiply(
      ITensor& input0, nvinfer1::MatrixOperation operation0, ITensor& input1,
      nvinfer1::MatrixOperation operation1) noexcept override;
  nvinfer1::IConstantLayer* addConstant(const PublicDims& dimensions,
                                        Weights weights) noexcept override;
  nvinfer1::IIdentityLayer* addIdentity(ITensor& input) noexcept override;
  void removeTensor(ITensor& tensor) noexcept override;
  void unmarkOutput(ITensor& tensor) noexcept override;
  nvinfer1::IPluginV2Layer* addPluginV2(ITensor* const* inputs, int32_t nbInputs,
                                        nvinfer1::IPluginV2& plugin) noexcept override;
  nvinfer1::IPluginV3Layer* addPluginV3(ITensor* const* inputs, int32_t nbInputs,
                                        ITensor* const* shapeInputs, int32_t nbShapeInputs,
                                        nvinfer1::IPluginV3& plugin) noexcept override;
  nvinfer1::ISliceLayer* addSlice(ITensor& input, const PublicDims& start, const PublicDims& size,
                                  const PublicDims& stride) noexcept override;
  void setName(const char* name) noexcept override;
  const char* getName() const noexcept override;
  nvinfer1::IShapeLayer* addShape(ITensor& input) noexcept override;
  bool hasImplicitBatchDimension() const noexcept override {
    return (flags_ & kImplicitBatchFlag) != 0;
  }
  bool markOutputForShapes(ITensor& tensor) noexcept override;
  bool unmarkOutputForShapes(ITensor& tensor) noexcept override;
  nvinfer1::IParametricReLULayer* addParametricReLU(ITensor& input,
                                                    ITensor& slope) noexcept override;
  nvinfer1::IConvolutionLayer* addConvolutionNd(ITensor& input, int64_t nbOutputMaps,
                                                const PublicDims& kernelSize, Weights kernelWeights,
                                                Weights biasWeights) noexcept override;
  nvinfer1::IPoolingLayer* addPoolingNd(ITensor& input, nvinfer1::PoolingType type,
                                        const PublicDims& windowSize) noexcept override;
  nvinfer1::IDeconvolutionLayer* addDeconvolutionNd(ITensor& input, int64_t nbOutputMaps,
                                                    const PublicDims& kernelSize,
                                                    Weights kernelWeights,
                                                    Weights biasWeights) noexcept override;
  nvinfer1::IScaleLayer* addScaleNd(ITensor& input, nvinfer1::ScaleMode mode, Weights shift,
                                    Weights scale, Weights power,
                                    int32_t channelAxis) noexcept override;
  nvinfer1::IResizeLayer* addResize(ITensor& input) noexcept override;
  nvinfer1::ILoop* addLoop() noexcept override;
  nvinfer1::ISelectLayer* addSelect(ITensor& condition, ITensor& thenInput,
                                    ITensor& elseInput) noexcept override;
  nvinfer1::IFillLayer* addFill(const PublicDims& dimensions,
                                nvinfer1::FillOperation operation) noexcept override;
  nvinfer1::IPaddingLayer* addPaddingNd(ITensor& input, const PublicDims& prePadding,
                                        const PublicDims& postPadding) noexcept override;
  bool setWeightsName(Weights weights, const char* name) noexcept override;
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override;
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override;
  nvinfer1::IDequantizeLayer* addDequantize(ITensor& input, ITensor& scale) noexcept override;
  nvinfer1::IQuantizeLayer* addQuantize(ITensor& input, ITensor& scale) noexcept override;
  nvinfer1::IGatherLayer* addGatherV2(ITensor& data, ITensor& indices,
                                      nvinfer1::GatherMode mode) noexcept override;
  nvinfer1::IIfConditional* addIfConditional() noexcept override;
  nvinfer1::IScatterLayer* addScatter(ITensor& data, ITensor& indices, ITensor& updates,
                                      nvinfer1::ScatterMode mode) noexcept override;
  nvinfer1::IEinsumLayer* addEinsum(ITensor* const* inputs, int32_t nbInputs,
                                    const char* equation) noexcept override;
  nvinfer1::IAssertionLayer* addAssertion(ITensor& condition,
                                          const char* message) noexcept override;
  nvinfer1::IOneHotLayer* addOneHot(ITensor& indices, ITensor& values, ITensor& depth,
                                    int32_t axis) noexcept override;
  nvinfer1::INonZeroLayer* addNonZero(ITensor& input) noexcept override;
  nvinfer1::IGridSampleLayer* addGridSample(ITensor& input, ITensor& grid) noexcept override;
  nvinfer1::INMSLayer* addNMS(ITensor& boxes, ITensor& scores,
                              ITensor& maxOutputBoxesPerClass) noexcept override;
  nvinfer1::IReverseSequenceLayer* addReverseSequence(ITensor& input,
                                                      ITensor& sequenceLengths) noexcept override;
  nvinfer1::INormalizationLayer* addNormalization(ITensor& input, ITensor& scale, ITensor& bias,
                                                  uint32_t axesMask) noexcept override;
  nvinfer1::ICastLayer* addCast(ITensor& input, DataType toType) noexcept override;
  nvinfer1::IBuilder& getBuilder() const noexcept override { return builder_; }
  nvinfer1::NetworkDefinitionCreationFlags getFlags() const noexcept override { return flags_; }
  bool getFlag(nvinfer1::NetworkDefinitionCreationFlag flag) const noexcept override;
  nvinfer1::IQuantizeLayer* addQuantizeV2(ITensor& input, ITensor& scale,
                                          DataType outputType) noexcept override;
  nvinfer1::IDequantizeLayer* addDequantizeV2(ITensor& input, ITensor& scale,
                                              DataType outputType) noexcept override;
  nvinfer1::IFillLayer* addFillV2(const PublicDims& dimensions, nvinfer1::FillOperation operation,
                                  DataType outputType) noexcept override;
  bool markDebug(ITensor& tensor) noexcept override;
  bool unmarkDebug(ITensor& tensor) noexcept override;
  bool isDebugTensor(const ITensor& tensor) const noexcept override;
  bool markWeightsRefittable(const char* name) noexcept override;
  bool unmarkWeightsRefittable(const char* name) noexcept override;
  bool areWeightsMarkedRefittable(const char* name) const noexcept override;
  nvinfer1::ISqueezeLayer* addSqueeze(ITensor& input, ITensor& axes) noexcept override;
  nvinfer1::IUnsqueezeLayer* addUnsqueeze(ITensor& input, ITensor& axes) noexcept override;
  nvinfer1::IDynamicQuantizeLayer* addDynamicQuantize(ITensor& input, int32_t axis,
                                                      int32_t blockSize, DataType toType,
                                                      DataType scaleType) noexcept override;
  nvinfer1::ICumulativeLayer* addCumulative(ITensor& input, ITensor& axis,
                                            nvinfer1::CumulativeOperation operation, bool exclusive,
                                            bool reverse) noexcept override;
  bool markUnfusedTensorsAsDebugTensors() noexcept override;
  bool unmarkUnfusedTensorsAsDebugTensors() noexcept override;
  nvinfer1::ITopKLayer* addTopKV2(ITensor& input, nvinfer1::TopKOperation operation, int32_t k,
                                  uint32_t reduceAxes, DataType indicesType) noexcept override;
  nvinfer1::INonZeroLayer* addNonZeroV2(ITensor& input, DataType indicesType) noexcept override;
  nvinfer1::INMSLayer* addNMSV2(ITensor& boxes, ITensor& scores, ITensor& maxOutputBoxesPerClass,
                                DataType indicesType) noexcept override;
  nvinfer1::IAttention* addAttention(ITensor& query, ITensor& key, ITensor& value,
                                     nvinfer1::AttentionNormalizationOp normalization,
                                     bool isCausal) noexcept override;
  nvinfer1::IRotaryEmbeddingLayer* addRotaryEmbedding(ITensor& input, ITensor& cosCache,
                                                      ITensor& sinCache, bool interleaved,
                                                      int32_t rotaryEmbeddingDim) noexcept override;
  nvinfer1::IDynamicQuantizeLayer* addDynamicQuantizeV2(ITensor& input,
                                                        const PublicDims& blockShape,
                                                        DataType toType,
                                                        DataType scaleType) noexcept override;
  nvinfer1::IKVCacheUpdateLayer* addKVCacheUpdate(
      ITensor& cache, ITensor& update, ITensor& writeIndices,
      nvinfer1::KVCacheMode cacheMode) noexcept override;
  nvinfer1::INormalizationLayer* addNormalizationV2(ITensor& input, ITensor& scale, ITensor& bias,
                                                    uint32_t axesMask) noexcept override;
  nvinfer1::IMoELayer* addMoE(ITensor& hiddenStates, ITensor& selectedExperts,
                              ITensor& expertScores) noexcept override;
  nvinfer1::IDistCollectiveLayer* addDistCollective(ITensor& input,
                                                    nvinfer1::CollectiveOperation operation,
                                                    nvinfer1::ReduceOperation reduceOperation,
                                                    int64_t root, int64_t* groups,
                                                    int64_t groupSize) noexcept override;

 private:
  void infer_layer(Node& node) const;
  /// The layer's public facade, as the class that its kind has.
  template <class Handle, class Op> Handle* add(Op op, std::vector<Value*> inputs);
  /// Throws when there are none.
  std::vector<Value*> weights_named(const char* name) const;
  std::vector<Value*> values_of(ITensor* const* inputs, int32_t count, const char* what) const;

  nvinfer1::IBuilder& builder_;
  Reporter reporter_;
  nvinfer1::NetworkDefinitionCreationFlags flags_;
  std::unique_ptr<Network> network_;
  mutable std::unordered_map<const Value*, std::unique_ptr<NetworkTensor>> tensors_;
  mutable std::unordered_map<const ITensor*, NetworkTensor*> known_tensors_;
  mutable std::unordered_map<const Node*, std::unique_ptr<LayerView>> layers_;
  std::vector<std::unique_ptr<FlowView>> flows_;
  /// Copies of weights by the address they came from, for setWeightsName.
  std::unordered_multimap<const void*, Value*> weights_;
};

}  // namespace tenon
