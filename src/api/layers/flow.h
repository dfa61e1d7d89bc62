// The layers on the borders of loops and conditionals.
#pragma once

#include "api/flow.h"
#include "api/layer.h"

namespace tenon {

template <class Handle, class Virtual, class Attributes>
class LoopBorderView : public LayerOf<Handle, Virtual, Attributes>,
                       public nvinfer1::apiv::VLoopBoundaryLayer {
 public:
  LoopBorderView(NetworkDefinition& owner, Node& node)
      : LayerOf<Handle, Virtual, Attributes>(owner, node) {
    this->mBoundary = this;
  }
  nvinfer1::ILoop* getLoop() const noexcept override {
    return this->owner_.flow_view(this->op().flow).loop();
  }
};

template <class Handle, class Virtual, class Attributes>
class ConditionalBorderView : public LayerOf<Handle, Virtual, Attributes>,
                              public nvinfer1::apiv::VConditionalBoundaryLayer {
 public:
  ConditionalBorderView(NetworkDefinition& owner, Node& node)
      : LayerOf<Handle, Virtual, Attributes>(owner, node) {
    this->mBoundary = this;
  }
  nvinfer1::IIfConditional* getConditional() const noexcept override {
    return this->owner_.flow_view(this->op().flow).conditional();
  }
};

/// Input 1, the value for the next iteration, is set when it exists.
class RecurrenceView final : public LoopBorderView<nvinfer1::IRecurrenceLayer,
                                                   nvinfer1::apiv::VRecurrenceLayer, Recurrence> {
 public:
  using LoopBorderView::LoopBorderView;

 protected:
  bool takes_input(int32_t index) const override { return index < 2; }
};

class IteratorView final : public LoopBorderView<nvinfer1::IIteratorLayer,
                                                 nvinfer1::apiv::VIteratorLayer, LoopIterator> {
 public:
  using LoopBorderView::LoopBorderView;
  void setAxis(int32_t axis) noexcept override { set(&LoopIterator::axis, axis); }
  int32_t getAxis() const noexcept override { return op().axis; }
  void setReverse(bool reverse) noexcept override { set(&LoopIterator::reverse, reverse); }
  bool getReverse() const noexcept override { return op().reverse; }
};

class TripLimitView final
    : public LoopBorderView<nvinfer1::ITripLimitLayer, nvinfer1::apiv::VTripLimitLayer, LoopLimit> {
 public:
  using LoopBorderView::LoopBorderView;
  nvinfer1::TripLimit getTripLimit() const noexcept override { return op().limit; }
};

/// Input 1 is the extent of the new axis, of outputs that collect.
class LoopOutputView final : public LoopBorderView<nvinfer1::ILoopOutputLayer,
                                                   nvinfer1::apiv::VLoopOutputLayer, LoopExit> {
 public:
  using LoopBorderView::LoopBorderView;
  nvinfer1::LoopOutput getLoopOutput() const noexcept override { return op().output; }
  void setAxis(int32_t axis) noexcept override { set(&LoopExit::axis, axis); }
  int32_t getAxis() const noexcept override { return op().axis; }

 protected:
  bool takes_input(int32_t index) const override { return index < (op().collects() ? 2 : 1); }
};

class ConditionView final
    : public ConditionalBorderView<nvinfer1::IConditionLayer, nvinfer1::apiv::VConditionLayer,
                                   BranchCondition> {
 public:
  using ConditionalBorderView::ConditionalBorderView;
};

class ConditionalInputView final
    : public ConditionalBorderView<nvinfer1::IIfConditionalInputLayer,
                                   nvinfer1::apiv::VConditionalInputLayer, BranchInput> {
 public:
  using ConditionalBorderView::ConditionalBorderView;
};

class ConditionalOutputView final
    : public ConditionalBorderView<nvinfer1::IIfConditionalOutputLayer,
                                   nvinfer1::apiv::VConditionalOutputLayer, BranchOutput> {
 public:
  using ConditionalBorderView::ConditionalBorderView;
};

}  // namespace tenon
