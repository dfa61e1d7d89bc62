#include "api/layer.h"
#include "api/layers/attention.h"
#include "api/layers/convolution.h"
#include "api/layers/detection.h"
#include "api/layers/flow.h"
#include "api/layers/indexing.h"
#include "api/layers/normalization.h"
#include "api/layers/plugin.h"
#include "api/layers/pointwise.h"
#include "api/layers/quantize.h"
#include "api/layers/reduce.h"
#include "api/layers/shape.h"

namespace tenon {

void FullyConnectedView::read(int32_t* outputs, nvinfer1::Weights* kernel,
                              nvinfer1::Weights* bias) const {
  if (outputs != nullptr) *outputs = static_cast<int32_t>(node_.as<FullyConnected>()->outputs);
  if (kernel != nullptr) *kernel = weights(1);
  if (bias != nullptr) *bias = weights(2);
}

void FullyConnectedView::write(int32_t outputs, const nvinfer1::Weights* kernel,
                               const nvinfer1::Weights* bias) {
  change(
      [&] {
        require(outputs > 0, "{} outputs are not possible", outputs);
        // A getter's answer that comes back unchanged is already there.
        const auto put = [&](size_t i, const nvinfer1::Weights* w, const char* what) {
          if (w == nullptr || w->values != weights(i).values || w->count != weights(i).count)
            put_weights(i, w != nullptr ? *w : nvinfer1::Weights{}, what);
        };
        put(1, kernel, "the kernel");
        put(2, bias, "the bias");
        node_.as<FullyConnected>()->outputs = outputs;
      },
      "IFullyConnectedLayer");
}

std::unique_ptr<LayerView> make_layer_view(NetworkDefinition& owner, Node& node) {
  switch (static_cast<int32_t>(node.kind())) {
#define TENON_VIEW(kind, View)     \
  case static_cast<int32_t>(kind): \
    return std::make_unique<View>(owner, node)
    TENON_VIEW(LayerType::kCONVOLUTION, ConvolutionView);
    TENON_VIEW(LayerType::kDECONVOLUTION, DeconvolutionView);
    TENON_VIEW(LayerType::kPOOLING, PoolingView);
    TENON_VIEW(LayerType::kACTIVATION, ActivationView);
    TENON_VIEW(LayerType::kELEMENTWISE, ElementWiseView);
    TENON_VIEW(LayerType::kUNARY, UnaryView);
    TENON_VIEW(LayerType::kSCALE, ScaleView);
    TENON_VIEW(LayerType::kCAST, CastView);
    TENON_VIEW(LayerType::kIDENTITY, IdentityView);
    TENON_VIEW(LayerType::kSELECT, SelectView);
    TENON_VIEW(LayerType::kSOFTMAX, SoftmaxView);
    TENON_VIEW(LayerType::kREDUCE, ReduceView);
    TENON_VIEW(LayerType::kMATRIX_MULTIPLY, MatrixMultiplyView);
    TENON_VIEW(LayerType::kCONCATENATION, ConcatenationView);
    TENON_VIEW(LayerType::kGATHER, GatherView);
    TENON_VIEW(LayerType::kSHAPE, ShapeView);
    TENON_VIEW(LayerType::kCONSTANT, ConstantView);
    TENON_VIEW(LayerType::kSHUFFLE, ShuffleView);
    TENON_VIEW(LayerType::kSLICE, SliceView);
    TENON_VIEW(LayerType::kRESIZE, ResizeView);
    TENON_VIEW(LayerType::kTOPK, TopKView);
    TENON_VIEW(LayerType::kNON_ZERO, NonZeroView);
    TENON_VIEW(LayerType::kSCATTER, ScatterView);
    TENON_VIEW(LayerType::kONE_HOT, OneHotView);
    TENON_VIEW(LayerType::kCUMULATIVE, CumulativeView);
    TENON_VIEW(LayerType::kREVERSE_SEQUENCE, ReverseSequenceView);
    TENON_VIEW(LayerType::kSQUEEZE, SqueezeView);
    TENON_VIEW(LayerType::kUNSQUEEZE, UnsqueezeView);
    TENON_VIEW(LayerType::kPADDING, PaddingView);
    TENON_VIEW(LayerType::kASSERTION, AssertionView);
    TENON_VIEW(LayerType::kFILL, FillView);
    TENON_VIEW(LayerType::kEINSUM, EinsumView);
    TENON_VIEW(LayerType::kATTENTION_OUTPUT, AttentionView);
    TENON_VIEW(LayerType::kROTARY_EMBEDDING, RotaryEmbeddingView);
    TENON_VIEW(LayerType::kKVCACHE_UPDATE, CacheUpdateView);
    TENON_VIEW(LayerType::kNORMALIZATION, NormalizationView);
    TENON_VIEW(LayerType::kLRN, LrnView);
    TENON_VIEW(LayerType::kRAGGED_SOFTMAX, RaggedSoftmaxView);
    TENON_VIEW(LayerType::kPARAMETRIC_RELU, ParametricReluView);
    TENON_VIEW(LayerType::kNMS, NmsView);
    TENON_VIEW(LayerType::kGRID_SAMPLE, GridSampleView);
    TENON_VIEW(LayerType::kQUANTIZE, QuantizeView);
    TENON_VIEW(LayerType::kDEQUANTIZE, DequantizeView);
    TENON_VIEW(LayerType::kDYNAMIC_QUANTIZE, DynamicQuantizeView);
    TENON_VIEW(LayerType::kRECURRENCE, RecurrenceView);
    TENON_VIEW(LayerType::kITERATOR, IteratorView);
    TENON_VIEW(LayerType::kTRIP_LIMIT, TripLimitView);
    TENON_VIEW(LayerType::kLOOP_OUTPUT, LoopOutputView);
    TENON_VIEW(LayerType::kCONDITION, ConditionView);
    TENON_VIEW(LayerType::kCONDITIONAL_INPUT, ConditionalInputView);
    TENON_VIEW(LayerType::kCONDITIONAL_OUTPUT, ConditionalOutputView);
    TENON_VIEW(LayerType::kPLUGIN_V2, PluginV2View);
    TENON_VIEW(LayerType::kPLUGIN_V3, PluginV3View);
    TENON_VIEW(PrivateLayer::kFullyConnected, FullyConnectedView);
#undef TENON_VIEW
    default:
      return std::make_unique<OtherView>(owner, node);
  }
}

}  // namespace tenon
