// Layers that detectors need: choice of boxes, sampling at given positions.
#pragma once

#include "api/layer.h"
#include "ops/grid_sample.h"
#include "ops/nms.h"

namespace tenon {

/// Inputs 3 and 4 may give the largest overlap and what scores must exceed.
class NmsView final : public LayerOf<nvinfer1::INMSLayer, nvinfer1::apiv::VNMSLayer, Nms> {
 public:
  using LayerOf::LayerOf;
  void setBoundingBoxFormat(BoundingBoxFormat format) noexcept override {
    set(&Nms::format, format);
  }
  BoundingBoxFormat getBoundingBoxFormat() const noexcept override { return op().format; }
  void setTopKBoxLimit(int32_t limit) noexcept override {
    change([&] {
      require(limit > 0, "a limit of {} boxes is not possible", limit);
      op().top_k_box_limit = limit;
    });
  }
  int32_t getTopKBoxLimit() const noexcept override { return op().top_k_box_limit; }
  bool setIndicesType(DataType type) noexcept override {
    change([&] {
      require(type == DataType::kINT32 || type == DataType::kINT64,
              "expected indices of type int32 or int64, found {}", name_of(checked(type)));
      op().indices_type = type;
    });
    return op().indices_type == type;
  }
  DataType getIndicesType() const noexcept override { return op().indices_type; }

 private:
  bool takes_input(int32_t index) const override { return index < 5; }
};
TENON_VIEW(Nms, NmsView);

class GridSampleView final
    : public LayerOf<nvinfer1::IGridSampleLayer, nvinfer1::apiv::VGridSampleLayer, GridSample> {
 public:
  using LayerOf::LayerOf;
  void setInterpolationMode(nvinfer1::InterpolationMode mode) noexcept override {
    set(&GridSample::mode, mode);
  }
  nvinfer1::InterpolationMode getInterpolationMode() const noexcept override { return op().mode; }
  void setAlignCorners(bool alignCorners) noexcept override {
    set(&GridSample::align_corners, alignCorners);
  }
  bool getAlignCorners() const noexcept override { return op().align_corners; }
  bool setSampleMode(nvinfer1::SampleMode mode) noexcept override {
    using nvinfer1::SampleMode;
    change([&] {
      require(
          mode == SampleMode::kFILL || mode == SampleMode::kCLAMP || mode == SampleMode::kREFLECT,
          "expected the sample mode kFILL, kCLAMP or kREFLECT, found {}",
          static_cast<int32_t>(mode));
      op().outside = mode;
    });
    return op().outside == mode;
  }
  nvinfer1::SampleMode getSampleMode() const noexcept override { return op().outside; }
};
TENON_VIEW(GridSample, GridSampleView);

}  // namespace tenon
