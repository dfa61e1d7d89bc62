#include <map>
#include <string_view>

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

namespace {
std::map<std::string_view, MakeLayerView>& views() {
  static std::map<std::string_view, MakeLayerView> list;
  return list;
}
}  // namespace

bool register_view(std::string_view op, MakeLayerView make) {
  return views().emplace(op, make).second;
}

std::unique_ptr<LayerView> make_layer_view(NetworkDefinition& owner, Node& node) {
  const auto it = views().find(node.op->name());
  if (it == views().end()) return std::make_unique<OtherView>(owner, node);
  return it->second(owner, node);
}

}  // namespace tenon
