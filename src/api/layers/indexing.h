// Layers that gather, scatter and fill, and those that add and remove axes.
#pragma once

#include <limits>

#include "api/layer.h"
#include "ops/assertion.h"
#include "ops/cumulative.h"
#include "ops/fill.h"
#include "ops/non_zero.h"
#include "ops/one_hot.h"
#include "ops/padding.h"
#include "ops/reverse_sequence.h"
#include "ops/scatter.h"
#include "ops/squeeze.h"
#include "ops/top_k.h"

namespace tenon {

/// Throws unless `type` is one that indices have.
inline DataType index_type(DataType type) {
  require(type == DataType::kINT32 || type == DataType::kINT64,
          "expected indices of type int32 or int64, found {}", name_of(checked(type)));
  return type;
}

/// The paddings of the last two axes.
inline Shape two_paddings(const nvinfer1::Dims& padding) {
  require(padding.nbDims == 2, "the padding has {} entries; 2 are possible", padding.nbDims);
  return Shape(padding);
}

/// Input 1 may give k.
class TopKView final : public LayerOf<nvinfer1::ITopKLayer, nvinfer1::apiv::VTopKLayer, TopK> {
 public:
  using LayerOf::LayerOf;
  void setOperation(nvinfer1::TopKOperation operation) noexcept override {
    set(&TopK::operation, operation);
  }
  nvinfer1::TopKOperation getOperation() const noexcept override { return op().operation; }
  void setK(int32_t k) noexcept override {
    change([&] {
      require(k >= 0, "{} elements are not possible", k);
      op().k = k;
      put_input(1, nullptr);
    });
  }
  int32_t getK() const noexcept override {
    return input(1) != nullptr ? -1 : static_cast<int32_t>(op().k);
  }
  void setReduceAxes(uint32_t axes) noexcept override { set(&TopK::axes, axes); }
  uint32_t getReduceAxes() const noexcept override { return op().axes; }
  bool setIndicesType(DataType type) noexcept override {
    change([&] { op().index_type = index_type(type); });
    return op().index_type == type;
  }
  DataType getIndicesType() const noexcept override { return op().index_type; }

 private:
  bool takes_input(int32_t index) const override { return index < 2; }
};
TENON_VIEW(TopK, TopKView);

class NonZeroView final
    : public LayerOf<nvinfer1::INonZeroLayer, nvinfer1::apiv::VNonZeroLayer, NonZero> {
 public:
  using LayerOf::LayerOf;
  bool setIndicesType(DataType type) noexcept override {
    change([&] { op().index_type = index_type(type); });
    return op().index_type == type;
  }
  DataType getIndicesType() const noexcept override { return op().index_type; }
};
TENON_VIEW(NonZero, NonZeroView);

class ScatterView final
    : public LayerOf<nvinfer1::IScatterLayer, nvinfer1::apiv::VScatterLayer, Scatter> {
 public:
  using LayerOf::LayerOf;
  void setMode(nvinfer1::ScatterMode mode) noexcept override { set(&Scatter::mode, mode); }
  nvinfer1::ScatterMode getMode() const noexcept override { return op().mode; }
  void setAxis(int32_t axis) noexcept override { set(&Scatter::axis, axis); }
  int32_t getAxis() const noexcept override { return op().axis; }
};
TENON_VIEW(Scatter, ScatterView);

class OneHotView final
    : public LayerOf<nvinfer1::IOneHotLayer, nvinfer1::apiv::VOneHotLayer, OneHot> {
 public:
  using LayerOf::LayerOf;
  void setAxis(int32_t axis) noexcept override { set(&OneHot::axis, axis); }
  int32_t getAxis() const noexcept override { return op().axis; }
};
TENON_VIEW(OneHot, OneHotView);

class CumulativeView final
    : public LayerOf<nvinfer1::ICumulativeLayer, nvinfer1::apiv::VCumulativeLayer, Cumulative> {
 public:
  using LayerOf::LayerOf;
  bool setOperation(nvinfer1::CumulativeOperation operation) noexcept override {
    change([&] { op().operation = static_cast<CumulativeKind>(checked(operation)); });
    return getOperation() == operation;
  }
  nvinfer1::CumulativeOperation getOperation() const noexcept override {
    return static_cast<nvinfer1::CumulativeOperation>(op().operation);
  }
  void setExclusive(bool exclusive) noexcept override { set(&Cumulative::exclusive, exclusive); }
  bool getExclusive() const noexcept override { return op().exclusive; }
  void setReverse(bool reverse) noexcept override { set(&Cumulative::reverse, reverse); }
  bool getReverse() const noexcept override { return op().reverse; }
};
TENON_VIEW(Cumulative, CumulativeView);

class ReverseSequenceView final
    : public LayerOf<nvinfer1::IReverseSequenceLayer, nvinfer1::apiv::VReverseSequenceLayer,
                     ReverseSequence> {
 public:
  using LayerOf::LayerOf;
  void setBatchAxis(int32_t axis) noexcept override { set(&ReverseSequence::batch_axis, axis); }
  int32_t getBatchAxis() const noexcept override { return op().batch_axis; }
  void setSequenceAxis(int32_t axis) noexcept override {
    set(&ReverseSequence::sequence_axis, axis);
  }
  int32_t getSequenceAxis() const noexcept override { return op().sequence_axis; }
};
TENON_VIEW(ReverseSequence, ReverseSequenceView);

class SqueezeView final
    : public LayerOf<nvinfer1::ISqueezeLayer, nvinfer1::apiv::VSqueezeLayer, Squeeze> {
 public:
  using LayerOf::LayerOf;
};
TENON_VIEW(Squeeze, SqueezeView);

class UnsqueezeView final
    : public LayerOf<nvinfer1::IUnsqueezeLayer, nvinfer1::apiv::VUnsqueezeLayer, Unsqueeze> {
 public:
  using LayerOf::LayerOf;
};
TENON_VIEW(Unsqueeze, UnsqueezeView);

class PaddingView final
    : public LayerOf<nvinfer1::IPaddingLayer, nvinfer1::apiv::VPaddingLayer, Padding> {
 public:
  using LayerOf::LayerOf;
  void setPrePaddingNd(const nvinfer1::Dims& padding) noexcept override {
    change([&] { op().pre = two_paddings(padding); });
  }
  nvinfer1::Dims getPrePaddingNd() const noexcept override { return op().pre.dims(); }
  void setPostPaddingNd(const nvinfer1::Dims& padding) noexcept override {
    change([&] { op().post = two_paddings(padding); });
  }
  nvinfer1::Dims getPostPaddingNd() const noexcept override { return op().post.dims(); }
};
TENON_VIEW(Padding, PaddingView);

class AssertionView final
    : public LayerOf<nvinfer1::IAssertionLayer, nvinfer1::apiv::VAssertionLayer, Assertion> {
 public:
  using LayerOf::LayerOf;
  void setMessage(const char* message) noexcept override {
    change([&] {
      require(message != nullptr, "the message is null");
      op().message = message;
    });
  }
  const char* getMessage() const noexcept override { return op().message.c_str(); }
};
TENON_VIEW(Assertion, AssertionView);

/// Input 0 may give the dimensions, input 1 alpha, input 2 beta.
class FillView final : public LayerOf<nvinfer1::IFillLayer, nvinfer1::apiv::VFillLayer, Fill> {
 public:
  using LayerOf::LayerOf;
  void setDimensions(const nvinfer1::Dims& dimensions) noexcept override {
    change([&] {
      op().dimensions = Shape(dimensions);
      put_input(0, nullptr);
    });
  }
  nvinfer1::Dims getDimensions() const noexcept override {
    return input(0) != nullptr ? nvinfer1::Dims{-1, {}} : op().dimensions.dims();
  }
  void setOperation(nvinfer1::FillOperation operation) noexcept override {
    set(&Fill::operation, operation);
  }
  nvinfer1::FillOperation getOperation() const noexcept override { return op().operation; }
  void setAlpha(double alpha) noexcept override { take(&Fill::alpha, alpha, 1, false); }
  double getAlpha() const noexcept override { return real(op().alpha, 1); }
  void setBeta(double beta) noexcept override { take(&Fill::beta, beta, 2, false); }
  double getBeta() const noexcept override { return real(op().beta, 2); }
  void setAlphaInt64(int64_t alpha) noexcept override {
    take(&Fill::alpha_integer, alpha, 1, true);
  }
  int64_t getAlphaInt64() const noexcept override {
    return input(1) != nullptr ? -1 : op().alpha_integer;
  }
  void setBetaInt64(int64_t beta) noexcept override { take(&Fill::beta_integer, beta, 2, true); }
  int64_t getBetaInt64() const noexcept override {
    return input(2) != nullptr ? -1 : op().beta_integer;
  }
  bool isAlphaBetaInt64() const noexcept override { return op().integers; }
  DataType getToType() const noexcept override { return op().type; }
  void setToType(DataType type) noexcept override { set(&Fill::type, type); }

 private:
  bool takes_input(int32_t index) const override { return index < 3; }
  template <class T>
  void take(T Fill::* field, T value, size_t input_index, bool integers,
            const char* where = __builtin_FUNCTION()) {
    change(
        [&] {
          op().*field = value;
          op().integers = integers;
          put_input(input_index, nullptr);
        },
        where);
  }
  double real(double attribute, size_t input_index) const {
    return input(input_index) != nullptr ? std::numeric_limits<double>::quiet_NaN() : attribute;
  }
};
TENON_VIEW(Fill, FillView);

}  // namespace tenon
