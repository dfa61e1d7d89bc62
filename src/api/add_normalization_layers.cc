// INetworkDefinition's functions that add layers that normalise, and parametric ReLU.
#include "api/add_layer.h"
#include "ops/lrn.h"
#include "ops/normalization.h"
#include "ops/parametric_relu.h"
#include "ops/ragged_softmax.h"

namespace tenon {

using namespace nvinfer1;  // this file is a list of its classes

namespace {

Normalization normalization(uint32_t axes, bool is_v2) {
  Normalization op;
  op.axes = axes;
  op.is_v2 = is_v2;
  return op;
}

}  // namespace

INormalizationLayer* NetworkDefinition::addNormalization(ITensor& input, ITensor& scale,
                                                         ITensor& bias,
                                                         uint32_t axesMask) noexcept {
  return reporter_.guard<INormalizationLayer*>(nullptr, [&] {
    return add<INormalizationLayer>(normalization(axesMask, false),
                                    {&value_of(input), &value_of(scale), &value_of(bias)});
  });
}

INormalizationLayer* NetworkDefinition::addNormalizationV2(ITensor& input, ITensor& scale,
                                                           ITensor& bias,
                                                           uint32_t axesMask) noexcept {
  return reporter_.guard<INormalizationLayer*>(nullptr, [&] {
    return add<INormalizationLayer>(normalization(axesMask, true),
                                    {&value_of(input), &value_of(scale), &value_of(bias)});
  });
}

ILRNLayer* NetworkDefinition::addLRN(ITensor& input, int64_t window, float alpha, float beta,
                                     float k) noexcept {
  return reporter_.guard<ILRNLayer*>(nullptr, [&] {
    require(window >= 1 && window % 2 == 1, "the window {} is not an odd number", window);
    Lrn op;
    op.window = window;
    op.alpha = alpha;
    op.beta = beta;
    op.bias = k;
    return add<ILRNLayer>(op, {&value_of(input)});
  });
}

IRaggedSoftMaxLayer* NetworkDefinition::addRaggedSoftMax(ITensor& input, ITensor& bounds) noexcept {
  return reporter_.guard<IRaggedSoftMaxLayer*>(nullptr, [&] {
    return add<IRaggedSoftMaxLayer>(RaggedSoftmax(), {&value_of(input), &value_of(bounds)});
  });
}

IParametricReLULayer* NetworkDefinition::addParametricReLU(ITensor& input,
                                                           ITensor& slope) noexcept {
  return reporter_.guard<IParametricReLULayer*>(nullptr, [&] {
    return add<IParametricReLULayer>(ParametricRelu(), {&value_of(input), &value_of(slope)});
  });
}

}  // namespace tenon
