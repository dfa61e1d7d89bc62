// Layers that move elements and change shapes.
#pragma once

#include "api/layer.h"
#include "ops/concatenation.h"
#include "ops/constant.h"
#include "ops/gather.h"
#include "ops/resize.h"
#include "ops/shape_of.h"
#include "ops/shuffle.h"
#include "ops/slice.h"

namespace tenon {

/// "Not given": what getters answer when a tensor decides.
inline constexpr nvinfer1::Dims kNoDims{-1, {}};

class ConcatenationView final : public LayerOf<nvinfer1::IConcatenationLayer,
                                               nvinfer1::apiv::VConcatenationLayer, Concatenation> {
 public:
  using LayerOf::LayerOf;
  void setAxis(int32_t axis) noexcept override { set(&Concatenation::axis, axis); }
  int32_t getAxis() const noexcept override { return op().axis; }
};
TENON_VIEW(Concatenation, ConcatenationView);

class GatherView final
    : public LayerOf<nvinfer1::IGatherLayer, nvinfer1::apiv::VGatherLayer, Gather> {
 public:
  using LayerOf::LayerOf;
  void setGatherAxis(int32_t axis) noexcept override { set(&Gather::axis, axis); }
  int32_t getGatherAxis() const noexcept override { return op().axis; }
  void setNbElementWiseDims(int32_t count) noexcept override { set(&Gather::batch_axes, count); }
  int32_t getNbElementWiseDims() const noexcept override { return op().batch_axes; }
  void setMode(nvinfer1::GatherMode mode) noexcept override { set(&Gather::mode, mode); }
  nvinfer1::GatherMode getMode() const noexcept override { return op().mode; }
};
TENON_VIEW(Gather, GatherView);

class ShapeView final
    : public LayerOf<nvinfer1::IShapeLayer, nvinfer1::apiv::VShapeLayer, ShapeOf> {
 public:
  using LayerOf::LayerOf;
};
TENON_VIEW(ShapeOf, ShapeView);

class ConstantView final
    : public LayerOf<nvinfer1::IConstantLayer, nvinfer1::apiv::VConstantLayer, Constant> {
 public:
  using LayerOf::LayerOf;
  void setWeights(nvinfer1::Weights weights) noexcept override;
  nvinfer1::Weights getWeights() const noexcept override { return weights(0); }
  void setDimensions(const nvinfer1::Dims& dimensions) noexcept override;
  nvinfer1::Dims getDimensions() const noexcept override { return op().dimensions.dims(); }

 private:
  bool takes_input(int32_t) const override { return false; }
  bool holds_weights(int32_t) const override { return true; }
};
TENON_VIEW(Constant, ConstantView);

/// Input 1 may give the dimensions. The transposes are kept as the application gave them, because
/// how many of their entries count follows from ranks that may change.
class ShuffleView final
    : public LayerOf<nvinfer1::IShuffleLayer, nvinfer1::apiv::VShuffleLayer, Shuffle> {
 public:
  ShuffleView(NetworkDefinition& owner, Node& node);
  void setFirstTranspose(const nvinfer1::Permutation& permutation) noexcept override;
  const nvinfer1::Permutation& getFirstTranspose() const noexcept override { return first_; }
  void setReshapeDimensions(const nvinfer1::Dims& dimensions) noexcept override;
  nvinfer1::Dims getReshapeDimensions() const noexcept override;
  void setSecondTranspose(const nvinfer1::Permutation& permutation) noexcept override;
  const nvinfer1::Permutation& getSecondTranspose() const noexcept override { return second_; }
  void setZeroIsPlaceholder(bool zero) noexcept override {
    set(&Shuffle::zero_is_placeholder, zero);
  }
  bool getZeroIsPlaceholder() const noexcept override { return op().zero_is_placeholder; }

 private:
  bool takes_input(int32_t index) const override { return index < 2; }
  void input_was_set(int32_t) override { fit_transposes(); }
  /// -1 while it is not known, or follows from the input alone.
  int reshaped_rank() const;
  void fit_transposes();

  nvinfer1::Permutation first_, second_;
  bool has_first_ = false, has_second_ = false;
};
TENON_VIEW(Shuffle, ShuffleView);

/// Inputs 1 to 3 may give start, size and stride, input 4 the fill value, input 5 the axes.
class SliceView final : public LayerOf<nvinfer1::ISliceLayer, nvinfer1::apiv::VSliceLayer, Slice> {
 public:
  using LayerOf::LayerOf;
  void setStart(const nvinfer1::Dims& v) noexcept override { take(&Slice::start, 1, v); }
  nvinfer1::Dims getStart() const noexcept override { return give(op().start, 1); }
  void setSize(const nvinfer1::Dims& v) noexcept override { take(&Slice::size, 2, v); }
  nvinfer1::Dims getSize() const noexcept override { return give(op().size, 2); }
  void setStride(const nvinfer1::Dims& v) noexcept override { take(&Slice::stride, 3, v); }
  nvinfer1::Dims getStride() const noexcept override { return give(op().stride, 3); }
  void setMode(nvinfer1::SampleMode mode) noexcept override { set(&Slice::mode, mode); }
  nvinfer1::SampleMode getMode() const noexcept override { return op().mode; }
  void setAxes(const nvinfer1::Dims& v) noexcept override { take(&Slice::axes, 5, v); }
  nvinfer1::Dims getAxes() const noexcept override { return give(op().axes, 5); }

 private:
  bool takes_input(int32_t index) const override { return index < 6; }
  void take(Shape Slice::* field, size_t input_index, const nvinfer1::Dims& dims,
            const char* where = __builtin_FUNCTION()) {
    change(
        [&] {
          op().*field = Shape(dims);
          put_input(input_index, nullptr);
        },
        where);
  }
  nvinfer1::Dims give(const Shape& attribute, size_t input_index) const {
    return input(input_index) != nullptr ? kNoDims : attribute.dims();
  }
};
TENON_VIEW(Slice, SliceView);

/// Input 1 may give the output dimensions.
class ResizeView final
    : public LayerOf<nvinfer1::IResizeLayer, nvinfer1::apiv::VResizeLayer, Resize> {
 public:
  using LayerOf::LayerOf;
  void setOutputDimensions(const nvinfer1::Dims& dimensions) noexcept override;
  nvinfer1::Dims getOutputDimensions() const noexcept override;
  void setScales(const float* scales, int32_t count) noexcept override;
  int32_t getScales(int32_t size, float* scales) const noexcept override;
  void setResizeMode(nvinfer1::InterpolationMode mode) noexcept override {
    set(&Resize::mode, mode);
  }
  nvinfer1::InterpolationMode getResizeMode() const noexcept override { return op().mode; }
  void setCoordinateTransformation(
      nvinfer1::ResizeCoordinateTransformation transformation) noexcept override {
    set(&Resize::coordinates, transformation);
  }
  nvinfer1::ResizeCoordinateTransformation getCoordinateTransformation() const noexcept override {
    return op().coordinates;
  }
  void setSelectorForSinglePixel(nvinfer1::ResizeSelector selector) noexcept override {
    set(&Resize::selector, selector);
  }
  nvinfer1::ResizeSelector getSelectorForSinglePixel() const noexcept override {
    return op().selector;
  }
  void setNearestRounding(nvinfer1::ResizeRoundMode mode) noexcept override {
    set(&Resize::rounding, mode);
  }
  nvinfer1::ResizeRoundMode getNearestRounding() const noexcept override { return op().rounding; }
  void setCubicCoeff(float value) noexcept override { set(&Resize::cubic_coefficient, value); }
  float getCubicCoeff() const noexcept override { return op().cubic_coefficient; }
  void setExcludeOutside(bool value) noexcept override { set(&Resize::exclude_outside, value); }
  bool getExcludeOutside() const noexcept override { return op().exclude_outside; }

 private:
  bool takes_input(int32_t index) const override { return index < 2; }
  void input_was_set(int32_t index) override {
    if (index == 1) op().input_is_scales = false;
  }
};
TENON_VIEW(Resize, ResizeView);

}  // namespace tenon
