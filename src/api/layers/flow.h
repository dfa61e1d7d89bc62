// The layers on the borders of loops and conditionals.
#pragma once

#include "api/flow.h"
#include "api/layer.h"

namespace tenon {

template <class Handle, class Virtual, class Attributes>
class LoopBoundaryView : public LayerOf<Handle, Virtual, Attributes>,
                         public nvinfer1::apiv::VLoopBoundaryLayer {
 public:
  LoopBoundaryView(NetworkDefinition& owner, Node& node)
      : LayerOf<Handle, Virtual, Attributes>(owner, node) {
    this->mBoundary = this;
  }
  nvinfer1::ILoop* getLoop() const noexcept override {
    return this->owner_.flow_view(this->op().flow).loop();
  }
};

template <class Handle, class Virtual, class Attributes>
class ConditionalBoundaryView : public LayerOf<Handle, Virtual, Attributes>,
                                public nvinfer1::apiv::VConditionalBoundaryLayer {
 public:
  ConditionalBoundaryView(NetworkDefinition& owner, Node& node)
      : LayerOf<Handle, Virtual, Attributes>(owner, node) {
    this->mBoundary = this;
  }
  nvinfer1::IIfConditional* getConditional() const noexcept override {
    return this->owner_.flow_view(this->op().flow).conditional();
  }
};

/// Input 1, the value for the next iteration, is set when it exists.
class RecurrenceView final : public LoopBoundaryView<nvinfer1::IRecurrenceLayer,
                                                     nvinfer1::apiv::VRecurrenceLayer, Recurrence> {
 public:
  using LoopBoundaryView::LoopBoundaryView;

 protected:
  bool takes_input(int32_t index) const override { return index < 2; }
};
TENON_VIEW(Recurrence, RecurrenceView);

class IteratorView final : public LoopBoundaryView<nvinfer1::IIteratorLayer,
                                                   nvinfer1::apiv::VIteratorLayer, LoopIterator> {
 public:
  using LoopBoundaryView::LoopBoundaryView;
  void setAxis(int32_t axis) noexcept override { set(&LoopIterator::axis, axis); }
  int32_t getAxis() const noexcept override { return op().axis; }
  void setReverse(bool reverse) noexcept override { set(&LoopIterator::reverse, reverse); }
  bool getReverse() const noexcept override { return op().reverse; }
};
TENON_VIEW(LoopIterator, IteratorView);

class TripLimitView final : public LoopBoundaryView<nvinfer1::ITripLimitLayer,
                                                    nvinfer1::apiv::VTripLimitLayer, LoopLimit> {
 public:
  using LoopBoundaryView::LoopBoundaryView;
  nvinfer1::TripLimit getTripLimit() const noexcept override { return op().limit; }
};
TENON_VIEW(LoopLimit, TripLimitView);

/// Input 1 is the extent of the new axis, of outputs that collect.
class LoopOutputView final : public LoopBoundaryView<nvinfer1::ILoopOutputLayer,
                                                     nvinfer1::apiv::VLoopOutputLayer, LoopExit> {
 public:
  using LoopBoundaryView::LoopBoundaryView;
  nvinfer1::LoopOutput getLoopOutput() const noexcept override { return op().output; }
  void setAxis(int32_t axis) noexcept override { set(&LoopExit::axis, axis); }
  int32_t getAxis() const noexcept override { return op().axis; }

 protected:
  bool takes_input(int32_t index) const override { return index < (op().collects() ? 2 : 1); }
};
TENON_VIEW(LoopExit, LoopOutputView);

class ConditionView final
    : public ConditionalBoundaryView<nvinfer1::IConditionLayer, nvinfer1::apiv::VConditionLayer,
                                     BranchCondition> {
 public:
  using ConditionalBoundaryView::ConditionalBoundaryView;
};
TENON_VIEW(BranchCondition, ConditionView);

class ConditionalInputView final
    : public ConditionalBoundaryView<nvinfer1::IIfConditionalInputLayer,
                                     nvinfer1::apiv::VConditionalInputLayer, BranchInput> {
 public:
  using ConditionalBoundaryView::ConditionalBoundaryView;
};
TENON_VIEW(BranchInput, ConditionalInputView);

class ConditionalOutputView final
    : public ConditionalBoundaryView<nvinfer1::IIfConditionalOutputLayer,
                                     nvinfer1::apiv::VConditionalOutputLayer, BranchOutput> {
 public:
  using ConditionalBoundaryView::ConditionalBoundaryView;
};
TENON_VIEW(BranchOutput, ConditionalOutputView);

}  // namespace tenon
