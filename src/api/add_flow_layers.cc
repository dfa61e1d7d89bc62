// INetworkDefinition's functions that add loops and conditionals, and what these add.
#include "api/flow.h"
#include "api/layer.h"

namespace tenon {

using nvinfer1::ITensor;

LayerView& NetworkDefinition::add_layer(std::unique_ptr<Op> op, std::vector<Value*> inputs) {
  return layer_view(network_->add_node(std::move(op), std::move(inputs)));
}

nvinfer1::ILoop* NetworkDefinition::addLoop() noexcept {
  return reporter_.guard<nvinfer1::ILoop*>(nullptr, [&] {
    flows_.push_back(std::make_unique<LoopView>(*this, static_cast<int32_t>(flows_.size())));
    return flows_.back()->loop();
  });
}

nvinfer1::IIfConditional* NetworkDefinition::addIfConditional() noexcept {
  return reporter_.guard<nvinfer1::IIfConditional*>(nullptr, [&] {
    flows_.push_back(std::make_unique<ConditionalView>(*this, static_cast<int32_t>(flows_.size())));
    return flows_.back()->conditional();
  });
}

namespace {

FlowBoundary* boundary_of(Node& node, int32_t flow) {
  auto* border = dynamic_cast<FlowBoundary*>(node.op.get());
  return border != nullptr && border->flow == flow ? border : nullptr;
}

}  // namespace

void FlowView::rename(const char* name) noexcept {
  reporter().run(
      [&] {
        require(name != nullptr, "'{}': the new name is null", name_);
        name_ = name;
        for (const auto& node : owner_.network().nodes())
          if (FlowBoundary* border = boundary_of(*node, number_)) border->flow_name = name_;
      },
      "setName");
}

bool FlowView::has(LayerType kind, std::optional<nvinfer1::TripLimit> limit) const {
  for (const auto& node : owner_.network().nodes())
    if (node->kind() == kind && boundary_of(*node, number_) != nullptr
        && (!limit || node->as<LoopLimit>()->limit == *limit))
      return true;
  return false;
}

template <class Handle, class Kind, class... Tensors>
Handle* FlowView::add(Kind op, const char* where, Tensors&... tensors) noexcept {
  return reporter().guard<Handle*>(
      nullptr,
      [&] {
        op.flow = number_;
        op.flow_name = name_;
        LayerView& view =
            owner_.add_layer(std::make_unique<Kind>(std::move(op)), {&owner_.value_of(tensors)...});
        return static_cast<Handle*>(&view.handle());
      },
      where);
}

nvinfer1::IRecurrenceLayer* LoopView::addRecurrence(ITensor& initialValue) noexcept {
  return add<nvinfer1::IRecurrenceLayer>(Recurrence(), "addRecurrence", initialValue);
}

nvinfer1::ITripLimitLayer* LoopView::addTripLimit(ITensor& tensor,
                                                  nvinfer1::TripLimit limit) noexcept {
  return reporter().guard<nvinfer1::ITripLimitLayer*>(nullptr, [&] {
    require(!has(LayerType::kTRIP_LIMIT, checked(limit)), "loop '{}' has such a trip limit already",
            name_);
    LoopLimit op;
    op.limit = limit;
    return add<nvinfer1::ITripLimitLayer>(std::move(op), "addTripLimit", tensor);
  });
}

nvinfer1::IIteratorLayer* LoopView::addIterator(ITensor& tensor, int32_t axis,
                                                bool reverse) noexcept {
  LoopIterator op;
  op.axis = axis;
  op.reverse = reverse;
  return add<nvinfer1::IIteratorLayer>(std::move(op), "addIterator", tensor);
}

nvinfer1::ILoopOutputLayer* LoopView::addLoopOutput(ITensor& tensor,
                                                    nvinfer1::LoopOutput outputKind,
                                                    int32_t axis) noexcept {
  return reporter().guard<nvinfer1::ILoopOutputLayer*>(nullptr, [&] {
    LoopExit op;
    op.output = checked(outputKind);
    op.axis = axis;
    return add<nvinfer1::ILoopOutputLayer>(std::move(op), "addLoopOutput", tensor);
  });
}

nvinfer1::IConditionLayer* ConditionalView::setCondition(ITensor& condition) noexcept {
  return reporter().guard<nvinfer1::IConditionLayer*>(nullptr, [&] {
    require(!has(LayerType::kCONDITION), "conditional '{}' has a condition already", name_);
    return add<nvinfer1::IConditionLayer>(BranchCondition(), "setCondition", condition);
  });
}

nvinfer1::IIfConditionalInputLayer* ConditionalView::addInput(ITensor& input) noexcept {
  return add<nvinfer1::IIfConditionalInputLayer>(BranchInput(), "addInput", input);
}

nvinfer1::IIfConditionalOutputLayer* ConditionalView::addOutput(
    ITensor& trueSubgraphOutput, ITensor& falseSubgraphOutput) noexcept {
  return add<nvinfer1::IIfConditionalOutputLayer>(BranchOutput(), "addOutput", trueSubgraphOutput,
                                                  falseSubgraphOutput);
}

}  // namespace tenon
