#include "api/layers/attention.h"

namespace tenon {

using nvinfer1::ITensor;

bool AttentionView::Facade::setInput(int32_t index, ITensor& input) noexcept {
  return view_.reporter().run([&] {
    require(index >= 0 && index < 3, "an attention has no input {}", index);
    Value& value = view_.owner_.value_of(input);
    view_.change([&] { view_.put_input(static_cast<size_t>(index), &value); }, "setInput");
  });
}

ITensor* AttentionView::Facade::getInput(int32_t index) const noexcept {
  return index >= 0 && index < 3 ? view_.LayerView::getInput(index) : nullptr;
}

bool AttentionView::Facade::setName(const char* name) noexcept {
  return view_.reporter().run([&] {
    require(name != nullptr, "the name is null");
    view_.LayerView::setName(name);
  });
}

bool AttentionView::Facade::setNormalizationOperation(
    nvinfer1::AttentionNormalizationOp operation) noexcept {
  return view_.reporter().run([&] {
    checked(operation);
    view_.change([&] { view_.op().normalization = operation; }, "setNormalizationOperation");
  });
}

bool AttentionView::Facade::setCausal(bool causal) noexcept {
  return view_.reporter().run([&] {
    require(!causal || getMask() == nullptr, "an attention with a mask cannot be causal as well");
    view_.change([&] { view_.op().causal = causal; }, "setCausal");
  });
}

bool AttentionView::Facade::setMask(ITensor& mask) noexcept {
  return view_.reporter().run([&] {
    require(!view_.op().causal, "a causal attention cannot have a mask as well");
    Value& value = view_.owner_.value_of(mask);
    view_.change([&] { view_.put_input(Attention::kMask, &value); }, "setMask");
  });
}

ITensor* AttentionView::Facade::getMask() const noexcept {
  return view_.LayerView::getInput(Attention::kMask);
}

bool AttentionView::Facade::setDecomposable(bool decomposable) noexcept {
  return view_.reporter().run(
      [&] { view_.change([&] { view_.op().decomposable = decomposable; }, "setDecomposable"); });
}

bool AttentionView::Facade::setNormalizationQuantizeScale(ITensor&) noexcept {
  return view_.reporter().run(
      [] { fail(ErrorCode::kUNSUPPORTED_STATE, "quantised attention is not supported yet"); });
}

bool AttentionView::Facade::setNormalizationQuantizeToType(DataType) noexcept {
  return view_.reporter().run(
      [] { fail(ErrorCode::kUNSUPPORTED_STATE, "quantised attention is not supported yet"); });
}

bool AttentionView::Facade::setMetadata(const char* metadata) noexcept {
  return view_.reporter().run([&] {
    require(metadata != nullptr, "the metadata is null");
    view_.LayerView::setMetadata(metadata);
  });
}

}  // namespace tenon
