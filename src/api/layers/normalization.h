// Layers that normalise, and parametric ReLU.
#pragma once

#include "api/layer.h"
#include "ops/lrn.h"
#include "ops/normalization.h"
#include "ops/parametric_relu.h"
#include "ops/ragged_softmax.h"

namespace tenon {

class NormalizationView final : public LayerOf<nvinfer1::INormalizationLayer,
                                               nvinfer1::apiv::VNormalizationLayer, Normalization> {
 public:
  using LayerOf::LayerOf;
  void setEpsilon(float epsilon) noexcept override {
    change([&] {
      require(epsilon >= 0 && epsilon < INFINITY, "epsilon {} is not possible", epsilon);
      op().epsilon = epsilon;
    });
  }
  float getEpsilon() const noexcept override { return op().epsilon; }
  void setAxes(uint32_t axesMask) noexcept override { set(&Normalization::axes, axesMask); }
  uint32_t getAxes() const noexcept override { return op().axes; }
  void setNbGroups(int64_t nbGroups) noexcept override {
    change([&] {
      require(nbGroups > 0, "{} groups are not possible", nbGroups);
      op().groups = nbGroups;
    });
  }
  int64_t getNbGroups() const noexcept override { return op().groups; }
  void setComputePrecision(DataType type) noexcept override {
    change([&] {
      require(type == DataType::kFLOAT || type == DataType::kHALF || type == DataType::kBF16,
              "expected a floating-point type to compute in, found {}", name_of(checked(type)));
      op().compute_precision = type;
    });
  }
  DataType getComputePrecision() const noexcept override { return op().compute_precision; }
  bool isV2() const noexcept override { return op().is_v2; }
};
TENON_VIEW(Normalization, NormalizationView);

class LrnView final : public LayerOf<nvinfer1::ILRNLayer, nvinfer1::apiv::VLRNLayer, Lrn> {
 public:
  using LayerOf::LayerOf;
  void setWindowSize(int64_t windowSize) noexcept override {
    change([&] {
      require(windowSize >= 1 && windowSize % 2 == 1, "the window {} is not an odd number",
              windowSize);
      op().window = windowSize;
    });
  }
  int64_t getWindowSize() const noexcept override { return op().window; }
  void setAlpha(float alpha) noexcept override { set(&Lrn::alpha, alpha); }
  float getAlpha() const noexcept override { return op().alpha; }
  void setBeta(float beta) noexcept override { set(&Lrn::beta, beta); }
  float getBeta() const noexcept override { return op().beta; }
  void setK(float k) noexcept override { set(&Lrn::bias, k); }
  float getK() const noexcept override { return op().bias; }
};
TENON_VIEW(Lrn, LrnView);

class RaggedSoftmaxView final : public LayerOf<nvinfer1::IRaggedSoftMaxLayer,
                                               nvinfer1::apiv::VRaggedSoftMaxLayer, RaggedSoftmax> {
 public:
  using LayerOf::LayerOf;
};
TENON_VIEW(RaggedSoftmax, RaggedSoftmaxView);

class ParametricReluView final
    : public LayerOf<nvinfer1::IParametricReLULayer, nvinfer1::apiv::VParametricReLULayer,
                     ParametricRelu> {
 public:
  using LayerOf::LayerOf;
};
TENON_VIEW(ParametricRelu, ParametricReluView);

}  // namespace tenon
