// TensorRT's layers as terms of formulas, for what is put before or behind a network.
#pragma once

#include <NvInfer.h>

#include <functional>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "tenon/serve/tensor.h"

namespace tenon::serve {

/// The tensor of that name, or the only one where it is empty; throws Error for another, or
/// several. `what` is "input" or "output".
nvinfer1::ITensor& chosen_tensor(const std::string& name, const char* what, int32_t count,
                                 const std::function<nvinfer1::ITensor*(int32_t)>& at);
nvinfer1::ITensor& chosen_output(nvinfer1::INetworkDefinition& network, const std::string& name);

/// The outputs are no longer the network's, but the others are, under their names.
void replace_outputs(nvinfer1::INetworkDefinition& network,
                     const std::vector<nvinfer1::ITensor*>& outputs,
                     const std::vector<std::pair<std::string, nvinfer1::ITensor*>>& others);

/// "-1x3x640x640".
std::string dims_text(const nvinfer1::Dims& dims);

/// A tensor of a network, whose operators add layers to it. Extents are known but the first, and
/// operands have equal ranks. Layers compute in float32 where the network is weakly typed; throws
/// Error where it refuses one.
class Term {
 public:
  Term(nvinfer1::INetworkDefinition& network, nvinfer1::ITensor& tensor)
      : network_(&network), tensor_(&tensor) {}
  /// 0, 1, … in float32, in a shape of which one extent counts.
  static Term count_up(nvinfer1::INetworkDefinition& network, const Shape& shape);
  /// Numbers in float32, in a shape of which one extent counts.
  static Term of(nvinfer1::INetworkDefinition& network, std::span<const float> numbers,
                 const Shape& shape);
  static Term concat(std::initializer_list<Term> terms, int axis) {
    return concat(std::span(terms.begin(), terms.size()), axis);
  }
  static Term concat(std::span<const Term> terms, int axis);

  nvinfer1::ITensor& tensor() const { return *tensor_; }
  nvinfer1::INetworkDefinition& network() const { return *network_; }
  int rank() const { return tensor_->getDimensions().nbDims; }
  int64_t size(int axis) const { return tensor_->getDimensions().d[axis]; }

  Term cast(nvinfer1::DataType type) const;
  /// An extent of 0 stays as it is.
  Term reshape(const Shape& shape) const;
  Term permute(std::initializer_list<int> order) const;
  Term slice(int axis, int64_t begin, int64_t count) const;
  /// Elements along the last axis, at int32 indices of the same rank.
  Term gather_last(const Term& indices) const;
  Term sigmoid() const;
  Term exp() const;
  Term softmax(int axis) const;
  /// Without the axis.
  Term sum_over(int axis) const;
  /// The highest of the 3 x 3 cells around each of (N, C, height, width).
  Term highest_around() const;
  /// Its elements where they equal the other's, else 0.
  Term where_equal(const Term& other) const;
  struct Best;
  /// Of the last axis, in order.
  Best best(int64_t count) const;
  /// Rounded towards minus infinity.
  Term floor_divided(float divisor) const;

  friend Term operator+(const Term& a, const Term& b) {
    return a.with(nvinfer1::ElementWiseOperation::kSUM, b);
  }
  friend Term operator-(const Term& a, const Term& b) {
    return a.with(nvinfer1::ElementWiseOperation::kSUB, b);
  }
  friend Term operator*(const Term& a, const Term& b) {
    return a.with(nvinfer1::ElementWiseOperation::kPROD, b);
  }
  friend Term operator+(const Term& a, float b) { return a + a.number(b); }
  friend Term operator*(const Term& a, float b) { return a * a.number(b); }

 private:
  static Term line(nvinfer1::INetworkDefinition& network, int64_t count, float first, float step);
  Term with(nvinfer1::ElementWiseOperation operation, const Term& other) const;
  // In the term's type and rank.
  Term number(float value) const;
  Term added(nvinfer1::ILayer* layer) const { return added(*network_, layer); }
  static Term added(nvinfer1::INetworkDefinition& network, nvinfer1::ILayer* layer);

  nvinfer1::INetworkDefinition* network_;
  nvinfer1::ITensor* tensor_;
};

struct Term::Best {
  Term values, indices;  ///< int32
};

/// The columns and rows of a map's cells, row by row, in float32: two numbers in the last axis of a
/// shape whose extent at `axis` is that of the cells, and others are 1.
Term cells_of(nvinfer1::INetworkDefinition& network, int64_t width, int64_t height, int rank,
              int axis);

}  // namespace tenon::serve
