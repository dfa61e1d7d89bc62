// Layers that combine elements along axes, and matrix products.
#pragma once

#include "api/layer.h"
#include "ops/fully_connected.h"
#include "ops/matrix_multiply.h"
#include "ops/reduce.h"
#include "ops/softmax.h"

namespace tenon {

class SoftmaxView final
    : public LayerOf<nvinfer1::ISoftMaxLayer, nvinfer1::apiv::VSoftMaxLayer, Softmax> {
 public:
  using LayerOf::LayerOf;
  void setAxes(uint32_t axes) noexcept override { set(&Softmax::axes, axes); }
  uint32_t getAxes() const noexcept override { return op().axes; }
};
TENON_VIEW(Softmax, SoftmaxView);

class ReduceView final
    : public LayerOf<nvinfer1::IReduceLayer, nvinfer1::apiv::VReduceLayer, Reduce> {
 public:
  using LayerOf::LayerOf;
  void setOperation(nvinfer1::ReduceOperation operation) noexcept override {
    set(&Reduce::operation, operation);
  }
  nvinfer1::ReduceOperation getOperation() const noexcept override { return op().operation; }
  void setReduceAxes(uint32_t axes) noexcept override { set(&Reduce::axes, axes); }
  uint32_t getReduceAxes() const noexcept override { return op().axes; }
  void setKeepDimensions(bool keep) noexcept override { set(&Reduce::keep_dimensions, keep); }
  bool getKeepDimensions() const noexcept override { return op().keep_dimensions; }
};
TENON_VIEW(Reduce, ReduceView);

class MatrixMultiplyView final
    : public LayerOf<nvinfer1::IMatrixMultiplyLayer, nvinfer1::apiv::VMatrixMultiplyLayer,
                     MatrixMultiply> {
 public:
  using LayerOf::LayerOf;
  void setOperation(int32_t index, nvinfer1::MatrixOperation operation) noexcept override {
    change([&] {
      require(index == 0 || index == 1, "there is no operand {}", index);
      (index == 0 ? op().operation_a : op().operation_b) = checked(operation);
    });
  }
  nvinfer1::MatrixOperation getOperation(int32_t index) const noexcept override {
    return index == 0 ? op().operation_a : op().operation_b;
  }

 private:
  bool takes_input(int32_t index) const override { return index < 2; }
};
TENON_VIEW(MatrixMultiply, MatrixMultiplyView);

/// IFullyConnectedLayer has no virtual table of its own: tenonGetFullyConnected() reads the node.
class FullyConnectedView final : public nvinfer1::IFullyConnectedLayer, public LayerView {
 public:
  FullyConnectedView(NetworkDefinition& owner, Node& node) : LayerView(owner, node) {
    mLayer = this;
  }
  nvinfer1::ILayer& handle() override { return *this; }
  void read(int32_t* outputs, nvinfer1::Weights* kernel, nvinfer1::Weights* bias) const;
  void write(int32_t outputs, const nvinfer1::Weights* kernel, const nvinfer1::Weights* bias);

 private:
  bool takes_input(int32_t index) const override { return index == 0; }
  bool holds_weights(int32_t index) const override { return index > 0; }
};
TENON_VIEW(FullyConnected, FullyConnectedView);

}  // namespace tenon
