// ILoop and IIfConditional: they add the layers of one border, and name them.
#pragma once

#include <NvInfer.h>

#include "api/network_definition.h"
#include "ops/flow_boundary.h"

namespace tenon {

/// What loops and conditionals share. The network definition owns them; their layers know their
/// number.
class FlowView {
 public:
  FlowView(NetworkDefinition& owner, int32_t number, std::string name)
      : owner_(owner), number_(number), name_(std::move(name)) {}
  virtual ~FlowView() = default;
  /// Null when it is a conditional.
  virtual nvinfer1::ILoop* loop() { return nullptr; }
  /// Null when it is a loop.
  virtual nvinfer1::IIfConditional* conditional() { return nullptr; }

 protected:
  void rename(const char* name) noexcept;
  const Reporter& reporter() const { return owner_.reporter(); }
  /// Adds a layer of the border; null, after a report, when that fails.
  template <class Handle, class Kind, class... Tensors>
  Handle* add(Kind op, const char* where, Tensors&... tensors) noexcept;
  /// Whether the border has a layer of that kind, and in loops of that limit.
  bool has(LayerType kind, std::optional<nvinfer1::TripLimit> limit = std::nullopt) const;

  NetworkDefinition& owner_;
  int32_t number_;
  std::string name_;
};

class LoopView final : public FlowView, public nvinfer1::ILoop, public nvinfer1::apiv::VLoop {
 public:
  LoopView(NetworkDefinition& owner, int32_t number)
      : FlowView(owner, number, fmt::format("(Unnamed Loop* {})", number)) {
    mImpl = this;
  }
  nvinfer1::ILoop* loop() override { return this; }
  nvinfer1::IRecurrenceLayer* addRecurrence(nvinfer1::ITensor& initialValue) noexcept override;
  nvinfer1::ITripLimitLayer* addTripLimit(nvinfer1::ITensor& tensor,
                                          nvinfer1::TripLimit limit) noexcept override;
  nvinfer1::IIteratorLayer* addIterator(nvinfer1::ITensor& tensor, int32_t axis,
                                        bool reverse) noexcept override;
  nvinfer1::ILoopOutputLayer* addLoopOutput(nvinfer1::ITensor& tensor,
                                            nvinfer1::LoopOutput outputKind,
                                            int32_t axis) noexcept override;
  void setName(const char* name) noexcept override { rename(name); }
  const char* getName() const noexcept override { return name_.c_str(); }
};

class ConditionalView final : public FlowView,
                              public nvinfer1::IIfConditional,
                              public nvinfer1::apiv::VIfConditional {
 public:
  ConditionalView(NetworkDefinition& owner, int32_t number)
      : FlowView(owner, number, fmt::format("(Unnamed Conditional* {})", number)) {
    mImpl = this;
  }
  nvinfer1::IIfConditional* conditional() override { return this; }
  nvinfer1::IConditionLayer* setCondition(nvinfer1::ITensor& condition) noexcept override;
  nvinfer1::IIfConditionalInputLayer* addInput(nvinfer1::ITensor& input) noexcept override;
  nvinfer1::IIfConditionalOutputLayer* addOutput(
      nvinfer1::ITensor& trueSubgraphOutput,
      nvinfer1::ITensor& falseSubgraphOutput) noexcept override;
  void setName(const char* name) noexcept override { rename(name); }
  const char* getName() const noexcept override { return name_.c_str(); }
};

}  // namespace tenon
