// IOptimizationProfile: ranges of shapes by input name.
#pragma once

#include <NvInfer.h>

#include <array>
#include <map>
#include <memory>
#include <optional>

#include "api/guard.h"
#include "api/live.h"
#include "plan/compile.h"

namespace tenon {

/// What a profile holds. Configurations share it, so that it outlives the builder that owns the
/// profile.
struct ProfileData {
  struct Input {
    std::array<std::optional<Shape>, 3> shapes;  // by OptProfileSelector
    std::array<std::vector<int64_t>, 3> values;
    std::array<std::vector<int32_t>, 3> int32_values;  // the same, for getShapeValues()
  };
  std::map<std::string, Input> inputs;
  float extra_memory = 0;

  /// What is wrong with it: "" when nothing is.
  std::string problem() const;
  ProfileRequest request() const;
};

class OptimizationProfile final : public nvinfer1::IOptimizationProfile,
                                  public nvinfer1::apiv::VOptimizationProfile,
                                  public Live<OptimizationProfile, nvinfer1::IOptimizationProfile> {
 public:
  explicit OptimizationProfile(const Reporter& reporter);
  std::shared_ptr<const ProfileData> data() const { return data_; }

  bool setDimensions(const char* inputName, nvinfer1::OptProfileSelector selector,
                     const nvinfer1::Dims& dimensions) noexcept override;
  nvinfer1::Dims getDimensions(const char* inputName,
                               nvinfer1::OptProfileSelector selector) const noexcept override;
  bool setShapeValues(const char* inputName, nvinfer1::OptProfileSelector selector,
                      const int32_t* values, int32_t nbValues) noexcept override;
  int32_t getNbShapeValues(const char* inputName) const noexcept override;
  const int32_t* getShapeValues(const char* inputName,
                                nvinfer1::OptProfileSelector selector) const noexcept override;
  bool setExtraMemoryTarget(float target) noexcept override;
  float getExtraMemoryTarget() const noexcept override { return data_->extra_memory; }
  bool isValid() const noexcept override;
  bool setShapeValuesV2(const char* inputName, nvinfer1::OptProfileSelector selector,
                        const int64_t* values, int32_t nbValues) noexcept override;
  const int64_t* getShapeValuesV2(const char* inputName,
                                  nvinfer1::OptProfileSelector selector) const noexcept override;

 private:
  ProfileData::Input& input(const char* name);
  const ProfileData::Input* find_input(const char* name) const noexcept;
  void set_values(const char* name, nvinfer1::OptProfileSelector selector,
                  std::vector<int64_t> values);

  Reporter reporter_;
  std::shared_ptr<ProfileData> data_;
};

}  // namespace tenon
