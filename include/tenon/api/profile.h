// Ranges of shapes that an engine is built for.
#ifndef TENON_API_PROFILE_H
#define TENON_API_PROFILE_H

#include "tenon/api/memory.h"

namespace nvinfer1 {

enum class OptProfileSelector : int32_t {
  kMIN = 0,
  kOPT = 1,
  kMAX = 2,
};

template <>
struct impl::EnumMaxImpl<OptProfileSelector> {
  static constexpr int32_t kVALUE = 3;
};

class IOptimizationProfile : public INoCopy {
 public:
  bool setDimensions(const char* inputName, OptProfileSelector selector,
                     const Dims& dimensions) noexcept {
    return mImpl->setDimensions(inputName, selector, dimensions);
  }
  Dims getDimensions(const char* inputName, OptProfileSelector selector) const noexcept {
    return mImpl->getDimensions(inputName, selector);
  }
  bool setShapeValues(const char* inputName, OptProfileSelector selector, const int32_t* values,
                      int32_t nbValues) noexcept {
    return mImpl->setShapeValues(inputName, selector, values, nbValues);
  }
  int32_t getNbShapeValues(const char* inputName) const noexcept {
    return mImpl->getNbShapeValues(inputName);
  }
  const int32_t* getShapeValues(const char* inputName, OptProfileSelector selector) const noexcept {
    return mImpl->getShapeValues(inputName, selector);
  }
  bool setExtraMemoryTarget(float target) noexcept { return mImpl->setExtraMemoryTarget(target); }
  float getExtraMemoryTarget() const noexcept { return mImpl->getExtraMemoryTarget(); }
  bool isValid() const noexcept { return mImpl->isValid(); }
  bool setShapeValuesV2(const char* inputName, OptProfileSelector selector, const int64_t* values,
                        int32_t nbValues) noexcept {
    return mImpl->setShapeValuesV2(inputName, selector, values, nbValues);
  }
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
