#include "network/network_parts.h"

#include <unordered_map>

namespace tenon::python {

using namespace nvinfer1;

namespace {

/// The networks of all parts that Python has an object of.
std::unordered_map<PyObject*, PyObject*>& networks() {
  static auto* const all = new std::unordered_map<PyObject*, PyObject*>;  // Outlives all objects.
  return *all;
}

template <class Layer> nb::object as(ILayer* layer) {
  if (!nb::type<Layer>().is_valid()) return nb::cast(layer, nb::rv_policy::reference);
  return nb::cast(static_cast<Layer*>(layer), nb::rv_policy::reference);
}

nb::object in_own_class(ILayer* layer) {
  switch (layer->getType()) {
    case LayerType::kCONVOLUTION:
      return as<IConvolutionLayer>(layer);
    case LayerType::kCAST:
      return as<ICastLayer>(layer);
    case LayerType::kACTIVATION:
      return as<IActivationLayer>(layer);
    case LayerType::kPOOLING:
      return as<IPoolingLayer>(layer);
    case LayerType::kLRN:
      return as<ILRNLayer>(layer);
    case LayerType::kSCALE:
      return as<IScaleLayer>(layer);
    case LayerType::kSOFTMAX:
      return as<ISoftMaxLayer>(layer);
    case LayerType::kDECONVOLUTION:
      return as<IDeconvolutionLayer>(layer);
    case LayerType::kCONCATENATION:
      return as<IConcatenationLayer>(layer);
    case LayerType::kELEMENTWISE:
      return as<IElementWiseLayer>(layer);
    case LayerType::kUNARY:
      return as<IUnaryLayer>(layer);
    case LayerType::kPADDING:
      return as<IPaddingLayer>(layer);
    case LayerType::kSHUFFLE:
      return as<IShuffleLayer>(layer);
    case LayerType::kREDUCE:
      return as<IReduceLayer>(layer);
    case LayerType::kTOPK:
      return as<ITopKLayer>(layer);
    case LayerType::kGATHER:
      return as<IGatherLayer>(layer);
    case LayerType::kMATRIX_MULTIPLY:
      return as<IMatrixMultiplyLayer>(layer);
    case LayerType::kRAGGED_SOFTMAX:
      return as<IRaggedSoftMaxLayer>(layer);
    case LayerType::kCONSTANT:
      return as<IConstantLayer>(layer);
    case LayerType::kIDENTITY:
      return as<IIdentityLayer>(layer);
    case LayerType::kPLUGIN_V2:
      return as<IPluginV2Layer>(layer);
    case LayerType::kSLICE:
      return as<ISliceLayer>(layer);
    case LayerType::kSHAPE:
      return as<IShapeLayer>(layer);
    case LayerType::kPARAMETRIC_RELU:
      return as<IParametricReLULayer>(layer);
    case LayerType::kRESIZE:
      return as<IResizeLayer>(layer);
    case LayerType::kTRIP_LIMIT:
      return as<ITripLimitLayer>(layer);
    case LayerType::kRECURRENCE:
      return as<IRecurrenceLayer>(layer);
    case LayerType::kITERATOR:
      return as<IIteratorLayer>(layer);
    case LayerType::kLOOP_OUTPUT:
      return as<ILoopOutputLayer>(layer);
    case LayerType::kSELECT:
      return as<ISelectLayer>(layer);
    case LayerType::kFILL:
      return as<IFillLayer>(layer);
    case LayerType::kQUANTIZE:
      return as<IQuantizeLayer>(layer);
    case LayerType::kDEQUANTIZE:
      return as<IDequantizeLayer>(layer);
    case LayerType::kCONDITION:
      return as<IConditionLayer>(layer);
    case LayerType::kCONDITIONAL_INPUT:
      return as<IIfConditionalInputLayer>(layer);
    case LayerType::kCONDITIONAL_OUTPUT:
      return as<IIfConditionalOutputLayer>(layer);
    case LayerType::kSCATTER:
      return as<IScatterLayer>(layer);
    case LayerType::kEINSUM:
      return as<IEinsumLayer>(layer);
    case LayerType::kASSERTION:
      return as<IAssertionLayer>(layer);
    case LayerType::kONE_HOT:
      return as<IOneHotLayer>(layer);
    case LayerType::kNON_ZERO:
      return as<INonZeroLayer>(layer);
    case LayerType::kGRID_SAMPLE:
      return as<IGridSampleLayer>(layer);
    case LayerType::kNMS:
      return as<INMSLayer>(layer);
    case LayerType::kREVERSE_SEQUENCE:
      return as<IReverseSequenceLayer>(layer);
    case LayerType::kNORMALIZATION:
      return as<INormalizationLayer>(layer);
    case LayerType::kPLUGIN_V3:
      return as<IPluginV3Layer>(layer);
    case LayerType::kSQUEEZE:
      return as<ISqueezeLayer>(layer);
    case LayerType::kUNSQUEEZE:
      return as<IUnsqueezeLayer>(layer);
    case LayerType::kCUMULATIVE:
      return as<ICumulativeLayer>(layer);
    case LayerType::kDYNAMIC_QUANTIZE:
      return as<IDynamicQuantizeLayer>(layer);
    case LayerType::kATTENTION_INPUT:
      return as<IAttentionInputLayer>(layer);
    case LayerType::kATTENTION_OUTPUT:
      return as<IAttentionOutputLayer>(layer);
    case LayerType::kROTARY_EMBEDDING:
      return as<IRotaryEmbeddingLayer>(layer);
    case LayerType::kKVCACHE_UPDATE:
      return as<IKVCacheUpdateLayer>(layer);
    case LayerType::kMOE:
      return as<IMoELayer>(layer);
    case LayerType::kDIST_COLLECTIVE:
      return as<IDistCollectiveLayer>(layer);
    case LayerType::kFULLY_CONNECTED:
      return as<IFullyConnectedLayer>(layer);
    case LayerType::kPLUGIN:
    case LayerType::kRNN_V2:
      break;
  }
  return nb::cast(layer, nb::rv_policy::reference);
}

}  // namespace

nb::handle network_of(nb::handle part) {
  const auto found = networks().find(part.ptr());
  return found == networks().end() ? part : nb::handle(found->second);
}

void join_network(nb::handle part, nb::handle owner) {
  if (part.is_none() || !nb::type_check(part.type())) return;
  const nb::handle network = network_of(owner);
  if (part.is(network) || !networks().emplace(part.ptr(), network.ptr()).second) return;
  nb::keep_alive_obj(part, network);
  nb::keep_alive_cb(part, part.ptr(),
                    [](void* gone) noexcept { networks().erase(static_cast<PyObject*>(gone)); });
}

nb::object layer_object(ILayer* layer, nb::handle owner) {
  if (layer == nullptr) return nb::none();
  nb::object object = in_own_class(layer);
  join_network(object, owner);
  return object;
}

int visit_network(PyObject* part, visitproc visit, void* arg) {
  Py_VISIT(Py_TYPE(part));
  const auto found = networks().find(part);
  if (found != networks().end()) Py_VISIT(found->second);
  return 0;
}

}  // namespace tenon::python
