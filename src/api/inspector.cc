#include "api/inspector.h"

#include <algorithm>

#include "api/execution_context.h"
#include "plan/inspect.h"

namespace tenon {
namespace {

using nvinfer1::LayerInformationFormat;

// kONELINE: JSON without its line breaks.
std::string formatted(std::string json, LayerInformationFormat format) {
  if (checked(format) == LayerInformationFormat::kJSON) return json;
  std::string line;
  for (char c : json) {
    const bool space = c == '\n' || c == ' ';
    if (!space)
      line += c;
    else if (!line.empty() && line.back() != ' ')
      line += ' ';
  }
  return line + "\n";
}

}  // namespace

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
    text_ =
        formatted(layer_json(engine_->plan(), static_cast<size_t>(layerIndex), shapes()), format);
    return text_.c_str();
  });
}

const char* Inspector::getEngineInformation(LayerInformationFormat format) const noexcept {
  return reporter_.guard<const char*>(nullptr, [&] {
    if (format == LayerInformationFormat::kONELINE) {
      std::string lines;
      const auto concrete = shapes();
      for (size_t i = 0; i < engine_->plan().steps.size(); ++i)
        lines += formatted(layer_json(engine_->plan(), i, concrete), format);
      text_ = std::move(lines);
    } else {
      text_ = formatted(engine_json(engine_->plan(), shapes()), format);
    }
    return text_.c_str();
  });
}

}  // namespace tenon
