// Ranges of shapes that an engine is built for.
#ifndef TENON_API_PROFILE_H
#define TENON_API_PROFILE_H

#include "tenon/api/memory.h"

namespace nvinfer1 {

/// One of the three shapes of a profile.
enum class OptProfileSelector : int32_t {
  kMIN = 0,  ///< The smallest.
  kOPT = 1,  ///< The one that kernels are chosen for.
  kMAX = 2,  ///< The largest.
};

template <> struct impl::EnumMaxImpl<OptProfileSelector> {
  static constexpr int32_t kVALUE = 3;
};

/// The shapes that each input may have at run time, and those to be fast at. The builder owns it.
class IOptimizationProfile : public INoCopy {
 public:
  /// Sets a shape of an input; false if it has a dimension below 0 or contradicts one set before.
  bool setDimensions(const char* inputName, OptProfileSelector selector,
                     const Dims& dimensions) noexcept {
    return mImpl->setDimensions(inputName, selector, dimensions);
  }

  /// A shape of an input; nbDims is -1 if it was not set.
  Dims getDimensions(const char* inputName, OptProfileSelector selector) const noexcept {
    return mImpl->getDimensions(inputName, selector);
  }

  /// Sets values of a shape input, copied; false if they contradict ones set before.
  TENON_REMOVED_IN_11 bool setShapeValues(const char* inputName, OptProfileSelector selector,
                                          const int32_t* values, int32_t nbValues) noexcept {
    return mImpl->setShapeValues(inputName, selector, values, nbValues);
  }

  /// How many values were set for a shape input; -1 if none.
  int32_t getNbShapeValues(const char* inputName) const noexcept {
    return mImpl->getNbShapeValues(inputName);
  }

  /// Values set by setShapeValues(); null if none were.
  TENON_REMOVED_IN_11 const int32_t* getShapeValues(const char* inputName,
                                                    OptProfileSelector selector) const noexcept {
    return mImpl->getShapeValues(inputName, selector);
  }

  /// Sets how much more memory than needed may be used, from 0 to 1; false if it is out of range.
  bool setExtraMemoryTarget(float target) noexcept { return mImpl->setExtraMemoryTarget(target); }

  /// How much more memory than needed may be used.
  float getExtraMemoryTarget() const noexcept { return mImpl->getExtraMemoryTarget(); }

  /// Whether the three shapes of every input agree in rank and do not decrease.
  bool isValid() const noexcept { return mImpl->isValid(); }

  /// Sets values of a shape input, copied; false if they contradict ones set before.
  bool setShapeValuesV2(const char* inputName, OptProfileSelector selector, const int64_t* values,
                        int32_t nbValues) noexcept {
    return mImpl->setShapeValuesV2(inputName, selector, values, nbValues);
  }

  /// Values set by setShapeValuesV2(); null if none were.
  const int64_t* getShapeValuesV2(const char* inputName,
                                  OptProfileSelector selector) const noexcept {
    return mImpl->getShapeValuesV2(inputName, selector);
  }

 protected:
  ~IOptimizationProfile() noexcept override = default;
  apiv::VOptimizationProfile* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_PROFILE_H
