// Layers that compute each element by itself, and changes of type.
#include "bind.h"
#include "network/network_parts.h"

namespace tenon::python {

using namespace nvinfer1;

namespace {

void bind_scale(nb::module_& m) {
  auto scale = layer_class<IScaleLayer>(m, "IScaleLayer", "(x * scale + shift) ** power");
  property(scale, "mode", &IScaleLayer::getMode, &IScaleLayer::setMode,
           "What one shift, scale and power belong to.");
  weights_property(scale, "shift", &IScaleLayer::getShift, &IScaleLayer::setShift,
                   "What is added; empty for 0.");
  weights_property(scale, "scale", &IScaleLayer::getScale, &IScaleLayer::setScale,
                   "What is multiplied by; empty for 1.");
  weights_property(scale, "power", &IScaleLayer::getPower, &IScaleLayer::setPower,
                   "The power; empty for 1.");
  property(scale, "channel_axis", &IScaleLayer::getChannelAxis, &IScaleLayer::setChannelAxis,
           "The dimension of channels.");
}

template <class Layer> void bind_quantizing(nb::module_& m, const char* name, const char* doc) {
  auto layer = layer_class<Layer>(m, name, doc);
  property(layer, "axis", &Layer::getAxis, &Layer::setAxis,
           "The dimension along which scales differ.");
  property(layer, "block_shape", &Layer::getBlockShape, &Layer::setBlockShape,
           "The shape of what shares a scale.");
  property(layer, "to_type", &Layer::getToType, &Layer::setToType, "The type of the output.");
}

}  // namespace

void bind_pointwise_layers(nb::module_& m) {
  auto activation =
      layer_class<IActivationLayer>(m, "IActivationLayer", "A function of each element.");
  property(activation, "type", &IActivationLayer::getActivationType,
           &IActivationLayer::setActivationType, "The function.");
  property(activation, "alpha", &IActivationLayer::getAlpha, &IActivationLayer::setAlpha,
           "The first parameter of functions that have one.");
  property(activation, "beta", &IActivationLayer::getBeta, &IActivationLayer::setBeta,
           "The second parameter of functions that have one.");

  layer_class<IParametricReLULayer>(m, "IParametricReLULayer",
                                    "x where it is positive, x * slope elsewhere (ONNX PRelu).");
  bind_scale(m);

  auto elementwise = layer_class<IElementWiseLayer>(
      m, "IElementWiseLayer",
      "An operation of two tensors, whose dimensions of size 1 are repeated.");
  property(elementwise, "op", &IElementWiseLayer::getOperation, &IElementWiseLayer::setOperation,
           "The operation.");

  auto unary =
      layer_class<IUnaryLayer>(m, "IUnaryLayer", "A mathematical function of each element.");
  property(unary, "op", &IUnaryLayer::getOperation, &IUnaryLayer::setOperation, "The function.");

  layer_class<IIdentityLayer>(m, "IIdentityLayer", "A copy.");
  auto cast = layer_class<ICastLayer>(m, "ICastLayer", "A change of type (ONNX Cast).");
  property(cast, "to_type", &ICastLayer::getToType, &ICastLayer::setToType,
           "The type of the output.");

  layer_class<ISelectLayer>(m, "ISelectLayer", "A choice per element (ONNX Where).");
  auto assertion = layer_class<IAssertionLayer>(
      m, "IAssertionLayer", "A check, at build or run time, that fails with a message.");
  property(assertion, "message", &IAssertionLayer::getMessage, &IAssertionLayer::setMessage,
           "The message.");

  bind_quantizing<IQuantizeLayer>(m, "IQuantizeLayer",
                                  "Rounds x / scale (ONNX QuantizeLinear without a zero point).");
  bind_quantizing<IDequantizeLayer>(m, "IDequantizeLayer",
                                    "x * scale (ONNX DequantizeLinear without a zero point).");
  auto dynamic = layer_class<IDynamicQuantizeLayer>(
      m, "IDynamicQuantizeLayer", "Quantizes blocks with scales found from their values.");
  using D = IDynamicQuantizeLayer;
  property(dynamic, "axis", &D::getAxis, &D::setAxis, "The dimension that is cut into blocks.");
  property(dynamic, "block_size", &D::getBlockSize, &D::setBlockSize, "The length of a block.");
  property(dynamic, "block_shape", &D::getBlockShape, &D::setBlockShape, "The shape of a block.");
  property(dynamic, "to_type", &D::getToType, &D::setToType, "The type of the quantized values.");
  property(dynamic, "scale_type", &D::getScaleType, &D::setScaleType, "The type of the scales.");
}

}  // namespace tenon::python
