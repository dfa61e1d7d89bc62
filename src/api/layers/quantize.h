// Layers that quantise, and what takes it back.
#pragma once

#include "api/layer.h"
#include "ops/dequantize.h"
#include "ops/dynamic_quantize.h"
#include "ops/quantize.h"

namespace tenon {

/// A block's extents: positive, or -1 for a whole axis. Throws for others.
inline Shape checked_block(const nvinfer1::Dims& block) {
  const Shape extents(block);
  for (int64_t extent : extents)
    require(extent > 0 || extent == -1,
            "the block shape is {}; each extent must be positive, or -1 for a whole axis", extents);
  return extents;
}

/// Quantize and Dequantize have the same attributes. Input 1 is the scale, input 2 may be a zero
/// point.
template <class Handle, class Virtual, class Kind>
class ScaledView final : public LayerOf<Handle, Virtual, Kind> {
 public:
  using LayerOf<Handle, Virtual, Kind>::LayerOf;
  int32_t getAxis() const noexcept override { return this->op().layout.axis; }
  void setAxis(int32_t axis) noexcept override {
    this->change([&] {
      require(axis >= -1 && axis < Shape::kMaxRank, "axis {} does not exist", axis);
      this->op().layout.axis = axis;
    });
  }
  DataType getToType() const noexcept override { return this->op().to; }
  void setToType(DataType type) noexcept override { this->set(&Kind::to, type); }
  nvinfer1::Dims getBlockShape() const noexcept override { return this->op().layout.block.dims(); }
  bool setBlockShape(const nvinfer1::Dims& block) noexcept override {
    return this->reporter().run([&] {
      const Shape extents =
          with_context("layer " + describe(this->node_), [&] { return checked_block(block); });
      const Value* data = this->input(0);
      require(data == nullptr || extents.rank() == static_cast<int>(data->dims.size())
                  || extents.rank() == 0,
              "layer {}: the block shape {} does not fit data with {} dimensions",
              describe(this->node_), extents, data->dims.size());
      this->op().layout.block = extents;
      this->owner_.changed(this->node_);
    });
  }

 private:
  bool takes_input(int32_t index) const override { return index < 3; }
};
using QuantizeView = ScaledView<nvinfer1::IQuantizeLayer, nvinfer1::apiv::VQuantizeLayer, Quantize>;
TENON_VIEW(Quantize, QuantizeView);
using DequantizeView =
    ScaledView<nvinfer1::IDequantizeLayer, nvinfer1::apiv::VDequantizeLayer, Dequantize>;
TENON_VIEW(Dequantize, DequantizeView);

/// Input 1 may be a scale of the scales.
class DynamicQuantizeView final
    : public LayerOf<nvinfer1::IDynamicQuantizeLayer, nvinfer1::apiv::VDynamicQuantizeLayer,
                     DynamicQuantize> {
 public:
  using LayerOf::LayerOf;
  int32_t getAxis() const noexcept override { return op().axis; }
  void setAxis(int32_t axis) noexcept override {
    change([&] {
      require(axis >= -1 && axis < Shape::kMaxRank, "axis {} does not exist", axis);
      op().axis = axis;
    });
  }
  int32_t getBlockSize() const noexcept override { return op().block_size; }
  void setBlockSize(int32_t size) noexcept override {
    change([&] {
      require(size > 0, "the block size is {}; it must be positive", size);
      op().block_size = size;
    });
  }
  DataType getScaleType() const noexcept override { return op().scale_type; }
  void setScaleType(DataType type) noexcept override { set(&DynamicQuantize::scale_type, type); }
  DataType getToType() const noexcept override { return op().to; }
  void setToType(DataType type) noexcept override { set(&DynamicQuantize::to, type); }
  nvinfer1::Dims getBlockShape() const noexcept override { return op().block.dims(); }
  void setBlockShape(const nvinfer1::Dims& block) noexcept override {
    change([&] { op().block = checked_block(block); });
  }

 private:
  bool takes_input(int32_t index) const override { return index < 2; }
};
TENON_VIEW(DynamicQuantize, DynamicQuantizeView);

}  // namespace tenon
