// INetworkDefinition's functions that add layers.
#include "api/add_layer.h"
#include "ops/activation.h"
#include "ops/cast.h"
#include "ops/concatenation.h"
#include "ops/constant.h"
#include "ops/convolution.h"
#include "ops/deconvolution.h"
#include "ops/elementwise.h"
#include "ops/fully_connected.h"
#include "ops/gather.h"
#include "ops/identity.h"
#include "ops/matrix_multiply.h"
#include "ops/pooling.h"
#include "ops/reduce.h"
#include "ops/resize.h"
#include "ops/scale.h"
#include "ops/select.h"
#include "ops/shape_of.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "ops/softmax.h"
#include "ops/unary.h"
#include "plugin_layers/plugin.h"

namespace tenon {

using namespace nvinfer1;  // this file is a list of its classes
using Shape = tenon::Shape;

IActivationLayer* NetworkDefinition::addActivation(ITensor& input, ActivationType type) noexcept {
  return reporter_.guard<IActivationLayer*>(nullptr, [&] {
    Activation op;
    op.type = checked(type);
    return add<IActivationLayer>(op, {&value_of(input)});
  });
}

IElementWiseLayer* NetworkDefinition::addElementWise(ITensor& input1, ITensor& input2,
                                                     ElementWiseOperation operation) noexcept {
  return reporter_.guard<IElementWiseLayer*>(nullptr, [&] {
    ElementWise op;
    op.operation = checked(operation);
    return add<IElementWiseLayer>(op, {&value_of(input1), &value_of(input2)});
  });
}

IUnaryLayer* NetworkDefinition::addUnary(ITensor& input, UnaryOperation operation) noexcept {
  return reporter_.guard<IUnaryLayer*>(nullptr, [&] {
    Unary op;
    op.operation = checked(operation);
    return add<IUnaryLayer>(op, {&value_of(input)});
  });
}

IIdentityLayer* NetworkDefinition::addIdentity(ITensor& input) noexcept {
  return reporter_.guard<IIdentityLayer*>(
      nullptr, [&] { return add<IIdentityLayer>(Identity(), {&value_of(input)}); });
}

ICastLayer* NetworkDefinition::addCast(ITensor& input, DataType toType) noexcept {
  return reporter_.guard<ICastLayer*>(nullptr, [&] {
    Cast op;
    op.to = checked(toType);
    return add<ICastLayer>(op, {&value_of(input)});
  });
}

ISelectLayer* NetworkDefinition::addSelect(ITensor& condition, ITensor& thenInput,
                                           ITensor& elseInput) noexcept {
  return reporter_.guard<ISelectLayer*>(nullptr, [&] {
    return add<ISelectLayer>(Select(),
                             {&value_of(condition), &value_of(thenInput), &value_of(elseInput)});
  });
}

IScaleLayer* NetworkDefinition::addScale(ITensor& input, ScaleMode mode, Weights shift,
                                         Weights scale, Weights power) noexcept {
  // The channels are the first axis after the batch.
  return addScaleNd(input, mode, shift, scale, power, hasImplicitBatchDimension() ? 0 : 1);
}

IScaleLayer* NetworkDefinition::addScaleNd(ITensor& input, ScaleMode mode, Weights shift,
                                           Weights scale, Weights power,
                                           int32_t channelAxis) noexcept {
  return reporter_.guard<IScaleLayer*>(nullptr, [&] {
    Scale op;
    op.mode = checked(mode);
    require(channelAxis >= 0 && channelAxis < Shape::kMaxRank, "channel axis {} does not exist",
            channelAxis);
    op.channel_axis = channelAxis;
    Value& data = value_of(input);
    return add<IScaleLayer>(op, {&data, add_weights(shift, "the shift"),
                                 add_weights(scale, "the scale"), add_weights(power, "the power")});
  });
}

ISoftMaxLayer* NetworkDefinition::addSoftMax(ITensor& input) noexcept {
  return reporter_.guard<ISoftMaxLayer*>(nullptr, [&] {
    Value& data = value_of(input);
    Softmax op;
    op.axes = 1u << std::max(0, rank_of(data) - 3);
    return add<ISoftMaxLayer>(op, {&data});
  });
}

IReduceLayer* NetworkDefinition::addReduce(ITensor& input, ReduceOperation operation,
                                           uint32_t reduceAxes, bool keepDimensions) noexcept {
  return reporter_.guard<IReduceLayer*>(nullptr, [&] {
    Reduce op;
    op.operation = checked(operation);
    op.axes = reduceAxes;
    op.keep_dimensions = keepDimensions;
    Value& data = value_of(input);
    const int rank = rank_of(data);
    require(rank < 0 || reduceAxes >> rank == 0,
            "the axes {:#x} name one that tensor '{}' with {} dimensions does not have", reduceAxes,
            data.name, rank);
    return add<IReduceLayer>(op, {&data});
  });
}

IMatrixMultiplyLayer* NetworkDefinition::addMatrixMultiply(ITensor& input0,
                                                           MatrixOperation operation0,
                                                           ITensor& input1,
                                                           MatrixOperation operation1) noexcept {
  return reporter_.guard<IMatrixMultiplyLayer*>(nullptr, [&] {
    MatrixMultiply op;
    op.operation_a = checked(operation0);
    op.operation_b = checked(operation1);
    return add<IMatrixMultiplyLayer>(op, {&value_of(input0), &value_of(input1)});
  });
}

IConcatenationLayer* NetworkDefinition::addConcatenation(ITensor* const* inputs,
                                                         int32_t nbInputs) noexcept {
  return reporter_.guard<IConcatenationLayer*>(nullptr, [&] {
    require(nbInputs > 0, "{} inputs were given", nbInputs);
    std::vector<Value*> values = values_of(inputs, nbInputs, "inputs");
    Concatenation op;
    op.axis = std::max(0, rank_of(*values.front()) - 3);
    return add<IConcatenationLayer>(op, std::move(values));
  });
}

IShuffleLayer* NetworkDefinition::addShuffle(ITensor& input) noexcept {
  return reporter_.guard<IShuffleLayer*>(
      nullptr, [&] { return add<IShuffleLayer>(Shuffle(), {&value_of(input)}); });
}

IShapeLayer* NetworkDefinition::addShape(ITensor& input) noexcept {
  return reporter_.guard<IShapeLayer*>(
      nullptr, [&] { return add<IShapeLayer>(ShapeOf(), {&value_of(input)}); });
}

IResizeLayer* NetworkDefinition::addResize(ITensor& input) noexcept {
  return reporter_.guard<IResizeLayer*>(
      nullptr, [&] { return add<IResizeLayer>(Resize(), {&value_of(input)}); });
}

ISliceLayer* NetworkDefinition::addSlice(ITensor& input, const PublicDims& start,
                                         const PublicDims& size,
                                         const PublicDims& stride) noexcept {
  return reporter_.guard<ISliceLayer*>(nullptr, [&] {
    Slice op;
    op.start = Shape(start);
    op.size = Shape(size);
    op.stride = Shape(stride);
    require(op.start.rank() == op.size.rank() && op.size.rank() == op.stride.rank(),
            "start {}, size {} and stride {} have different lengths", op.start, op.size, op.stride);
    return add<ISliceLayer>(op, {&value_of(input)});
  });
}

IGatherLayer* NetworkDefinition::addGather(ITensor& data, ITensor& indices, int32_t axis) noexcept {
  return reporter_.guard<IGatherLayer*>(nullptr, [&] {
    Gather op;
    op.axis = axis;
    return add<IGatherLayer>(op, {&value_of(data), &value_of(indices)});
  });
}

IGatherLayer* NetworkDefinition::addGatherV2(ITensor& data, ITensor& indices,
                                             GatherMode mode) noexcept {
  return reporter_.guard<IGatherLayer*>(nullptr, [&] {
    Gather op;
    op.mode = checked(mode);
    return add<IGatherLayer>(op, {&value_of(data), &value_of(indices)});
  });
}

IConstantLayer* NetworkDefinition::addConstant(const PublicDims& dimensions,
                                               Weights weights) noexcept {
  return reporter_.guard<IConstantLayer*>(nullptr, [&] {
    Constant op;
    op.dimensions = Shape(dimensions);
    require(weights.count == op.dimensions.volume(), "{} weights do not fill the dimensions {}",
            weights.count, op.dimensions);
    if (weights.count == 0)
      return add<IConstantLayer>(
          op, {&network_->add_weight(Tensor(checked(weights.type), op.dimensions))});
    Value* value = add_weights(weights, "the weights");
    const Tensor shaped = value->constant->reshaped(op.dimensions);
    // Registered under the application's address, the copy takes the layer's shape.
    value = &network_->add_weight(shaped);
    weights_.emplace(weights.values, value);
    return add<IConstantLayer>(op, {value});
  });
}

namespace {

// Attributes that convolutions of both directions start with.
template <class Kind> Kind convolution(int64_t output_channels, const nvinfer1::Dims& kernel_size) {
  require(output_channels > 0, "{} output channels are not possible", output_channels);
  Kind op;
  op.output_channels = output_channels;
  op.kernel = spatial_extents(kernel_size, 1, "the kernel size");
  const int rank = op.kernel.rank();
  op.stride = op.dilation = Shape::filled(rank, 1);
  op.pre_padding = op.post_padding = Shape::filled(rank, 0);
  return op;
}

}  // namespace

IConvolutionLayer* NetworkDefinition::addConvolutionNd(ITensor& input, int64_t nbOutputMaps,
                                                       const PublicDims& kernelSize,
                                                       Weights kernelWeights,
                                                       Weights biasWeights) noexcept {
  return reporter_.guard<IConvolutionLayer*>(nullptr, [&] {
    auto op = convolution<Convolution>(nbOutputMaps, kernelSize);
    Value& data = value_of(input);
    return add<IConvolutionLayer>(op, {&data, add_weights(kernelWeights, "the kernel"),
                                       add_weights(biasWeights, "the bias")});
  });
}

IDeconvolutionLayer* NetworkDefinition::addDeconvolutionNd(ITensor& input, int64_t nbOutputMaps,
                                                           const PublicDims& kernelSize,
                                                           Weights kernelWeights,
                                                           Weights biasWeights) noexcept {
  return reporter_.guard<IDeconvolutionLayer*>(nullptr, [&] {
    auto op = convolution<Deconvolution>(nbOutputMaps, kernelSize);
    Value& data = value_of(input);
    return add<IDeconvolutionLayer>(op, {&data, add_weights(kernelWeights, "the kernel"),
                                         add_weights(biasWeights, "the bias")});
  });
}

IPoolingLayer* NetworkDefinition::addPoolingNd(ITensor& input, PoolingType type,
                                               const PublicDims& windowSize) noexcept {
  return reporter_.guard<IPoolingLayer*>(nullptr, [&] {
    Pooling op;
    op.type = checked(type);
    op.window = spatial_extents(windowSize, 1, "the window");
    op.stride = Shape::filled(op.window.rank(), 1);
    op.pre_padding = op.post_padding = Shape::filled(op.window.rank(), 0);
    return add<IPoolingLayer>(op, {&value_of(input)});
  });
}

IPluginV2Layer* NetworkDefinition::addPluginV2(ITensor* const* inputs, int32_t nbInputs,
                                               IPluginV2& plugin) noexcept {
  return reporter_.guard<IPluginV2Layer*>(nullptr, [&] {
    std::vector<Value*> values = values_of(inputs, nbInputs, "inputs");
    return add<IPluginV2Layer>(make_plugin_v2(plugin), std::move(values));
  });
}

IPluginV3Layer* NetworkDefinition::addPluginV3(ITensor* const* inputs, int32_t nbInputs,
                                               ITensor* const* shapeInputs, int32_t nbShapeInputs,
                                               IPluginV3& plugin) noexcept {
  return reporter_.guard<IPluginV3Layer*>(nullptr, [&] {
    std::vector<Value*> values = values_of(inputs, nbInputs, "inputs");
    for (Value* v : values_of(shapeInputs, nbShapeInputs, "shape inputs")) values.push_back(v);
    return add<IPluginV3Layer>(make_plugin_v3(plugin, nbShapeInputs), std::move(values));
  });
}

IFullyConnectedLayer* NetworkDefinition::add_fully_connected(const ITensor* input, int32_t outputs,
                                                             const Weights* kernel,
                                                             const Weights* bias) {
  require(input != nullptr, "the input is null");
  require(outputs > 0, "{} outputs are not possible", outputs);
  FullyConnected op;
  op.outputs = outputs;
  Value& data = value_of(*input);
  const auto copy = [&](const Weights* w, const char* what) {
    return w != nullptr ? add_weights(*w, what) : nullptr;
  };
  return add<IFullyConnectedLayer>(op, {&data, copy(kernel, "the kernel"), copy(bias, "the bias")});
}

}  // namespace tenon
