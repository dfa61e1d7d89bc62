// What Tenon's library offers beyond TensorRT 10.16's interface, so that 8.x programs keep working.
//
// All functions are weak: with another library behind the headers their addresses are null.
#ifndef TENON_EXTENSIONS_H
#define TENON_EXTENSIONS_H

#include "tenon/api/forward.h"

#define TENON_EXTENSION extern "C" __attribute__((weak, visibility("default")))

namespace tenon {

/// Flag of createNetworkV2 (TENON_TRT_API=8): the batch is not a dimension of the tensors.
constexpr uint32_t kImplicitBatchFlag = 1U << 31;

}  // namespace tenon

/// Sets the largest batch that `builder` builds networks with an implicit batch for.
TENON_EXTENSION void tenonSetMaxBatchSize(nvinfer1::IBuilder* builder, int32_t batchSize) noexcept;

/// The largest batch set on `builder`; 1 if none was.
TENON_EXTENSION int32_t tenonGetMaxBatchSize(const nvinfer1::IBuilder* builder) noexcept;

/// The largest batch of `engine` if its batch is implicit; 1 otherwise.
TENON_EXTENSION int32_t tenonGetEngineMaxBatchSize(const nvinfer1::ICudaEngine* engine) noexcept;

/// Sets how many items the next run of a context of an engine with an implicit batch has; false
/// if the batch is not implicit or larger than the largest one.
TENON_EXTENSION bool tenonSetBatchSize(nvinfer1::IExecutionContext* context,
                                       int32_t batchSize) noexcept;

/// Sets the values of shape input `name`, one per element of its shape, whatever its integer type
/// is. They are copied; false if there is no such input or `values` is null.
TENON_EXTENSION bool tenonSetShapeValues(nvinfer1::IExecutionContext* context, const char* name,
                                         const int32_t* values) noexcept;

/// Adds a layer of type LayerType::kFULLY_CONNECTED with weights (nbOutputs, C*H*W) and `bias` of
/// nbOutputs values or none. The network owns it; null if the arguments do not fit.
TENON_EXTENSION nvinfer1::IFullyConnectedLayer* tenonAddFullyConnected(
    nvinfer1::INetworkDefinition* network, nvinfer1::ITensor* input, int32_t nbOutputs,
    const nvinfer1::Weights* kernel, const nvinfer1::Weights* bias) noexcept;

/// Reads the attributes of a fully connected layer; false if it is of another type.
TENON_EXTENSION bool tenonGetFullyConnected(const nvinfer1::ILayer* layer, int32_t* nbOutputs,
                                            nvinfer1::Weights* kernel,
                                            nvinfer1::Weights* bias) noexcept;

/// Replaces the attributes of a fully connected layer; false if it is of another type.
TENON_EXTENSION bool tenonSetFullyConnected(nvinfer1::ILayer* layer, int32_t nbOutputs,
                                            const nvinfer1::Weights* kernel,
                                            const nvinfer1::Weights* bias) noexcept;

#endif  // TENON_EXTENSIONS_H
