#include "quantize/smooth.h"

#include <onnx_schema.pb.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "quantize/graph_edit.h"

namespace tenon {
namespace {

using Constant = GraphEdit::Constant;

// A node that multiplies rows of the data by constant weights.
struct Product {
  onnx::NodeProto* node;
  Constant weights;

  bool is_transposed() const {
    return node->op_type() == "Gemm" && int_attribute(*node, "transB", 0) != 0;
  }
  size_t depth() const {
    const auto& extents = weights.extents;
    return static_cast<size_t>(is_transposed() ? extents.back() : extents[extents.size() - 2]);
  }
  // The channel of the data that element i of the weights multiplies.
  size_t channel_of(size_t i) const {
    const auto inner = static_cast<size_t>(weights.extents.back());
    return is_transposed() ? i % inner : i / inner % depth();
  }
};

std::vector<Product> products_of(const std::string& tensor, size_t channels,
                                 const GraphEdit& graph) {
  std::vector<Product> products;
  for (onnx::NodeProto* const node : graph.users(tensor)) {
    const bool is_gemm = node->op_type() == "Gemm" && int_attribute(*node, "transA", 0) == 0;
    if (!is_standard(node->domain()) || (!is_gemm && node->op_type() != "MatMul")
        || node->input(0) != tensor)
      continue;
    auto weights = graph.constant(node->input(1));
    if (!weights || weights->extents.size() < 2) continue;
    Product product{node, *std::move(weights)};
    if (product.depth() == channels) products.push_back(std::move(product));
  }
  return products;
}

std::vector<float> factors_of(const std::vector<float>& largest,
                              const std::vector<Product>& products, float alpha) {
  std::vector<float> weights(largest.size()), factors(largest.size(), 1);
  for (const Product& product : products)
    for (size_t i = 0; i < product.weights.values.size(); ++i) {
      float& max = weights[product.channel_of(i)];
      max = std::max(max, std::fabs(product.weights.values[i]));
    }
  for (size_t k = 0; k < largest.size(); ++k)
    if (largest[k] > 0 && weights[k] > 0) {  // a channel of zeros stays as it is
      const float factor = std::pow(largest[k], alpha) / std::pow(weights[k], 1 - alpha);
      if (std::isfinite(factor) && factor > 0) factors[k] = factor;
    }
  return factors;
}

}  // namespace

int smooth(onnx::ModelProto& model, const ChannelValues& largest, float alpha,
           TensorSource& source) {
  require(alpha >= 0 && alpha <= 1, "alpha of SmoothQuant is {}; it is from 0 to 1", alpha);
  GraphEdit graph(model, source);
  int count = 0;
  for (const auto& [tensor, magnitudes] : largest) {
    const std::vector<Product> products = products_of(tensor, magnitudes.size(), graph);
    if (products.empty()) continue;
    const std::vector<float> factors = factors_of(magnitudes, products, alpha);
    Constant inverse{{static_cast<int64_t>(factors.size())}, {}};
    for (const float factor : factors) inverse.values.push_back(1 / factor);
    onnx::NodeProto& mul =
        graph.add_node_before(*products.front().node, "Mul", tensor + "_smoothed");
    mul.add_input(tensor);
    mul.add_input(graph.add_constant(tensor + "_smoothing", inverse));
    for (Product product : products) {
      for (size_t i = 0; i < product.weights.values.size(); ++i)
        product.weights.values[i] *= factors[product.channel_of(i)];
      product.node->set_input(0, mul.output(0));
      product.node->set_input(
          1, graph.add_constant(product.node->input(1) + "_smoothed", product.weights));
    }
    ++count;
  }
  graph.finish();
  return count;
}

}  // namespace tenon
