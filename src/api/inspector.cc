#include "api/inspector.h"

#include "api/execution_context.h"
#include "plan/engine_information.h"

namespace tenon {

using nvinfer1::LayerInformationFormat;

Inspector::Inspector(std::shared_ptr<const Engine> engine, const Reporter& reporter)
    : engine_(std::move(engine)), reporter_(reporter) {
  mImpl = this;
}

bool Inspector::setExecutionContext(const nvinfer1::IExecutionContext* context) noexcept {
  return reporter_.run([&] {
    const ContextView* ours = ContextView::find(context);
    require(context == nullptr || (ours != nullptr && ours->shared() == engine_),
            "the context is not one of this engine");
    context_ = context;
  });
}

std::vector<Shape> Inspector::shapes() const {
  const ContextView* context = ContextView::find(context_);
  return context != nullptr ? context->tensor_shapes() : std::vector<Shape>();
}

const char* Inspector::getLayerInformation(int32_t layerIndex,
                                           LayerInformationFormat format) const noexcept {
  return reporter_.guard<const char*>(nullptr, [&] {
    require(layerIndex >= 0 && static_cast<size_t>(layerIndex) < engine_->plan().steps.size(),
            "layer {} does not exist; the engine has {}", layerIndex, engine_->plan().steps.size());
    text_ = layer_information(engine_->plan(), static_cast<size_t>(layerIndex), shapes(),
                              checked(format));
    return text_.c_str();
  });
}

const char* Inspector::getEngineInformation(LayerInformationFormat format) const noexcept {
  return reporter_.guard<const char*>(nullptr, [&] {
    text_ = engine_information(engine_->plan(), shapes(), checked(format));
    return text_.c_str();
  });
}

}  // namespace tenon
