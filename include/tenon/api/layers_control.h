// Loops and conditionals.
#ifndef TENON_API_LAYERS_CONTROL_H
#define TENON_API_LAYERS_CONTROL_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

class ILoopBoundaryLayer : public ILayer {
 public:
  ILoop* getLoop() const noexcept { return mBoundary->getLoop(); }

 protected:
  ~ILoopBoundaryLayer() noexcept override = default;
  apiv::VLoopBoundaryLayer* mBoundary;
};

enum class LoopOutput : int32_t {
  kLAST_VALUE = 0,
  kCONCATENATE = 1,
  kREVERSE = 2,
};

template <> struct impl::EnumMaxImpl<LoopOutput> {
  static constexpr int32_t kVALUE = 3;
};

enum class TripLimit : int32_t {
  kCOUNT = 0,
  kWHILE = 1,
};

template <> struct impl::EnumMaxImpl<TripLimit> {
  static constexpr int32_t kVALUE = 2;
};

class IRecurrenceLayer : public ILoopBoundaryLayer {
 protected:
  ~IRecurrenceLayer() noexcept override = default;
  apiv::VRecurrenceLayer* mImpl;
};

class ILoopOutputLayer : public ILoopBoundaryLayer {
 public:
  LoopOutput getLoopOutput() const noexcept { return mImpl->getLoopOutput(); }
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

 protected:
  ~ILoopOutputLayer() noexcept override = default;
  apiv::VLoopOutputLayer* mImpl;
};

class ITripLimitLayer : public ILoopBoundaryLayer {
 public:
  TripLimit getTripLimit() const noexcept { return mImpl->getTripLimit(); }

 protected:
  ~ITripLimitLayer() noexcept override = default;
  apiv::VTripLimitLayer* mImpl;
};

class IIteratorLayer : public ILoopBoundaryLayer {
 public:
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }
  void setReverse(bool reverse) noexcept { mImpl->setReverse(reverse); }
  bool getReverse() const noexcept { return mImpl->getReverse(); }

 protected:
  ~IIteratorLayer() noexcept override = default;
  apiv::VIteratorLayer* mImpl;
};

class ILoop : public INoCopy {
 public:
  IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept {
    return mImpl->addRecurrence(initialValue);
  }
  ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept {
    return mImpl->addTripLimit(tensor, limit);
  }
  IIteratorLayer* addIterator(ITensor& tensor, int32_t axis = 0, bool reverse = false) noexcept {
    return mImpl->addIterator(tensor, axis, reverse);
  }
  ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind,
                                  int32_t axis = 0) noexcept {
    return mImpl->addLoopOutput(tensor, outputKind, axis);
  }
  void setName(const char* name) noexcept { mImpl->setName(name); }
  const char* getName() const noexcept { return mImpl->getName(); }

 protected:
  ~ILoop() noexcept override = default;
  apiv::VLoop* mImpl;
};

class IIfConditionalBoundaryLayer : public ILayer {
 public:
  IIfConditional* getConditional() const noexcept { return mBoundary->getConditional(); }

 protected:
  ~IIfConditionalBoundaryLayer() noexcept override = default;
  apiv::VConditionalBoundaryLayer* mBoundary;
};

class IConditionLayer : public IIfConditionalBoundaryLayer {
 protected:
  ~IConditionLayer() noexcept override = default;
  apiv::VConditionLayer* mImpl;
};

class IIfConditionalOutputLayer : public IIfConditionalBoundaryLayer {
 protected:
  ~IIfConditionalOutputLayer() noexcept override = default;
  apiv::VConditionalOutputLayer* mImpl;
};

class IIfConditionalInputLayer : public IIfConditionalBoundaryLayer {
 protected:
  ~IIfConditionalInputLayer() noexcept override = default;
  apiv::VConditionalInputLayer* mImpl;
};

class IIfConditional : public INoCopy {
 public:
  IConditionLayer* setCondition(ITensor& condition) noexcept {
    return mImpl->setCondition(condition);
  }
  IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput,
                                       ITensor& falseSubgraphOutput) noexcept {
    return mImpl->addOutput(trueSubgraphOutput, falseSubgraphOutput);
  }
  IIfConditionalInputLayer* addInput(ITensor& input) noexcept { return mImpl->addInput(input); }
  void setName(const char* name) noexcept { mImpl->setName(name); }
  const char* getName() const noexcept { return mImpl->getName(); }

 protected:
  ~IIfConditional() noexcept override = default;
  apiv::VIfConditional* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_CONTROL_H
