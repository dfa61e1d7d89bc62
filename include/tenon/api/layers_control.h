// Loops and conditionals.
#ifndef TENON_API_LAYERS_CONTROL_H
#define TENON_API_LAYERS_CONTROL_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

/// Base of the layers on the border of a loop.
class ILoopBoundaryLayer : public ILayer {
 public:
  /// The loop.
  ILoop* getLoop() const noexcept { return mBoundary->getLoop(); }

 protected:
  ~ILoopBoundaryLayer() noexcept override = default;
  apiv::VLoopBoundaryLayer* mBoundary;
};

/// What comes out of a loop.
enum class LoopOutput : int32_t {
  kLAST_VALUE = 0,   ///< The value of the last pass.
  kCONCATENATE = 1,  ///< The values of all passes, in order.
  kREVERSE = 2,      ///< The values of all passes, last first.
};

template <> struct impl::EnumMaxImpl<LoopOutput> {
  static constexpr int32_t kVALUE = 3;
};

/// What ends a loop.
enum class TripLimit : int32_t {
  kCOUNT = 0,  ///< A number of passes, a scalar kINT32 or kINT64 from outside.
  kWHILE = 1,  ///< A kBOOL scalar of the loop being false.
};

template <> struct impl::EnumMaxImpl<TripLimit> {
  static constexpr int32_t kVALUE = 2;
};

/// A value that a pass hands to the next. Input 0 is its first value, from outside; input 1, set
/// later, the next one.
class IRecurrenceLayer : public ILoopBoundaryLayer {
 protected:
  ~IRecurrenceLayer() noexcept override = default;
  apiv::VRecurrenceLayer* mImpl;
};

/// A value that leaves a loop. Input 1 is the number of passes for kCONCATENATE and kREVERSE.
class ILoopOutputLayer : public ILoopBoundaryLayer {
 public:
  /// What comes out.
  LoopOutput getLoopOutput() const noexcept { return mImpl->getLoopOutput(); }

  /// Sets the dimension that passes are laid along.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  /// The dimension that passes are laid along.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

 protected:
  ~ILoopOutputLayer() noexcept override = default;
  apiv::VLoopOutputLayer* mImpl;
};

/// What ends a loop. It has no output.
class ITripLimitLayer : public ILoopBoundaryLayer {
 public:
  /// What ends the loop.
  TripLimit getTripLimit() const noexcept { return mImpl->getTripLimit(); }

 protected:
  ~ITripLimitLayer() noexcept override = default;
  apiv::VTripLimitLayer* mImpl;
};

/// One slice of a tensor per pass.
class IIteratorLayer : public ILoopBoundaryLayer {
 public:
  /// Sets the dimension that is walked along.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  /// The dimension that is walked along.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

  /// Sets whether it goes from the last slice to the first.
  void setReverse(bool reverse) noexcept { mImpl->setReverse(reverse); }

  /// Whether it goes from the last slice to the first.
  bool getReverse() const noexcept { return mImpl->getReverse(); }

 protected:
  ~IIteratorLayer() noexcept override = default;
  apiv::VIteratorLayer* mImpl;
};

/// A part of the network that is repeated. The network owns it.
class ILoop : public INoCopy {
 public:
  /// Adds a value handed from pass to pass; null on failure.
  IRecurrenceLayer* addRecurrence(ITensor& initialValue) noexcept {
    return mImpl->addRecurrence(initialValue);
  }

  /// Adds what ends the loop; null on failure. A loop has one kCOUNT, one kWHILE, or both.
  ITripLimitLayer* addTripLimit(ITensor& tensor, TripLimit limit) noexcept {
    return mImpl->addTripLimit(tensor, limit);
  }

  /// Adds the slices of a tensor along `axis`, one per pass; null on failure.
  IIteratorLayer* addIterator(ITensor& tensor, int32_t axis = 0, bool reverse = false) noexcept {
    return mImpl->addIterator(tensor, axis, reverse);
  }

  /// Adds a value that leaves the loop; null on failure.
  ILoopOutputLayer* addLoopOutput(ITensor& tensor, LoopOutput outputKind,
                                  int32_t axis = 0) noexcept {
    return mImpl->addLoopOutput(tensor, outputKind, axis);
  }

  /// Sets a name for messages; the text is copied.
  void setName(const char* name) noexcept { mImpl->setName(name); }

  /// The name; never null.
  const char* getName() const noexcept { return mImpl->getName(); }

 protected:
  ~ILoop() noexcept override = default;
  apiv::VLoop* mImpl;
};

/// Base of the layers on the border of a conditional.
class IIfConditionalBoundaryLayer : public ILayer {
 public:
  /// The conditional.
  IIfConditional* getConditional() const noexcept { return mBoundary->getConditional(); }

 protected:
  ~IIfConditionalBoundaryLayer() noexcept override = default;
  apiv::VConditionalBoundaryLayer* mBoundary;
};

/// What decides a conditional. It has no output.
class IConditionLayer : public IIfConditionalBoundaryLayer {
 protected:
  ~IConditionLayer() noexcept override = default;
  apiv::VConditionLayer* mImpl;
};

/// The value of the branch taken.
class IIfConditionalOutputLayer : public IIfConditionalBoundaryLayer {
 protected:
  ~IIfConditionalOutputLayer() noexcept override = default;
  apiv::VConditionalOutputLayer* mImpl;
};

/// A value that enters the branches.
class IIfConditionalInputLayer : public IIfConditionalBoundaryLayer {
 protected:
  ~IIfConditionalInputLayer() noexcept override = default;
  apiv::VConditionalInputLayer* mImpl;
};

/// Two parts of the network of which one is run. The network owns it.
class IIfConditional : public INoCopy {
 public:
  /// Sets what decides, a scalar kBOOL; null on failure.
  IConditionLayer* setCondition(ITensor& condition) noexcept {
    return mImpl->setCondition(condition);
  }

  /// Adds a value of the branch taken; both have the same shape and type. Null on failure.
  IIfConditionalOutputLayer* addOutput(ITensor& trueSubgraphOutput,
                                       ITensor& falseSubgraphOutput) noexcept {
    return mImpl->addOutput(trueSubgraphOutput, falseSubgraphOutput);
  }

  /// Adds a value that the branches use; null on failure.
  IIfConditionalInputLayer* addInput(ITensor& input) noexcept { return mImpl->addInput(input); }

  /// Sets a name for messages; the text is copied.
  void setName(const char* name) noexcept { mImpl->setName(name); }

  /// The name; never null.
  const char* getName() const noexcept { return mImpl->getName(); }

 protected:
  ~IIfConditional() noexcept override = default;
  apiv::VIfConditional* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_CONTROL_H
