#include "quantize/equalize.h"

#include <onnx_schema.pb.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "quantize/graph_edit.h"

namespace tenon {
namespace {

using Constant = GraphEdit::Constant;

// A convolution whose weights are changed; with as many groups as channels it is depthwise.
struct Layer {
  onnx::NodeProto* node;
  Constant weights;
  Constant bias;  // without values where there is none
  int64_t groups;

  size_t outputs() const { return static_cast<size_t>(weights.extents[0]); }
  bool is_depthwise() const {
    return groups > 1 && weights.extents[1] == 1 && groups == weights.extents[0];
  }
  // The output channels of element i, and the input channel that it multiplies.
  size_t output_of(size_t i) const { return i * outputs() / weights.values.size(); }
  size_t input_of(size_t i) const {
    if (is_depthwise()) return output_of(i);
    const size_t depth = weights.values.size() / outputs();
    const size_t taps = depth / static_cast<size_t>(weights.extents[1]);
    return i % depth / taps;
  }
  size_t inputs() const {
    return is_depthwise() ? outputs() : static_cast<size_t>(weights.extents[1]);
  }
};

struct Pair {
  size_t first, second;  // among the layers
};

bool commutes_with_factors(const onnx::NodeProto& node) {
  static const std::set<std::string> kSuch = {"Relu",        "LeakyRelu",         "MaxPool",
                                              "AveragePool", "GlobalAveragePool", "GlobalMaxPool"};
  return is_standard(node.domain()) && kSuch.contains(node.op_type()) && node.output_size() == 1;
}

class Equalizer {
 public:
  Equalizer(onnx::ModelProto& model, TensorSource& source) : graph_(model, source) {
    for (onnx::NodeProto& node : *model.mutable_graph()->mutable_node()) add(node);
    for (size_t i = 0; i < layers_.size(); ++i)
      if (const auto second = behind(layers_[i]); second && fit(layers_[i], layers_[*second]))
        pairs_.push_back({i, *second});
  }

  int run() {
    constexpr int kRounds = 40;
    constexpr double kNear = 1.01;
    double farthest = 2;
    for (int round = 0; round < kRounds && farthest > kNear; ++round) {
      farthest = 1;
      for (const Pair& pair : pairs_)
        farthest = std::max(farthest, equalize_pair(layers_[pair.first], layers_[pair.second]));
    }
    if (!pairs_.empty()) store();
    return static_cast<int>(pairs_.size());
  }

 private:
  void add(onnx::NodeProto& node) {
    if (!is_standard(node.domain()) || node.op_type() != "Conv" || node.input_size() < 2
        || node.output_size() != 1)
      return;
    auto weights = graph_.constant(node.input(1));
    if (!weights || weights->extents.size() < 3 || weights->values.empty()) return;
    Layer layer{&node, *std::move(weights), {}, int_attribute(node, "group", 1)};
    if (layer.groups > 1 && !layer.is_depthwise()) return;
    if (node.input_size() > 2 && !node.input(2).empty()) {
      auto bias = graph_.constant(node.input(2));
      if (!bias || bias->values.size() != layer.outputs()) return;
      layer.bias = *std::move(bias);
    }
    layers_.push_back(std::move(layer));
  }

  // The layer that alone reads another's results, through what commutes with factors.
  std::optional<size_t> behind(const Layer& layer) const {
    const onnx::NodeProto* node = layer.node;
    do {
      const std::string& tensor = node->output(0);
      node = graph_.only_user(tensor);
      if (node == nullptr || node->input(0) != tensor) return std::nullopt;
    } while (commutes_with_factors(*node));
    for (size_t i = 0; i < layers_.size(); ++i)
      if (layers_[i].node == node) return i;
    return std::nullopt;
  }

  static bool fit(const Layer& first, const Layer& second) {
    return first.outputs() == second.inputs();
  }

  // The largest change of a channel, as a factor from 1 on.
  static double equalize_pair(Layer& first, Layer& second) {
    std::vector<float> made(first.outputs()), read(first.outputs());
    for (size_t i = 0; i < first.weights.values.size(); ++i)
      made[first.output_of(i)] =
          std::max(made[first.output_of(i)], std::fabs(first.weights.values[i]));
    for (size_t i = 0; i < second.weights.values.size(); ++i)
      read[second.input_of(i)] =
          std::max(read[second.input_of(i)], std::fabs(second.weights.values[i]));
    double farthest = 1;
    std::vector<float> factors(made.size(), 1);
    for (size_t k = 0; k < made.size(); ++k) {
      // A channel that is nothing, or that nothing reads, stays as it is.
      if (!(made[k] > 0 && read[k] > 0 && std::isfinite(made[k]) && std::isfinite(read[k])))
        continue;
      const double factor = std::sqrt(static_cast<double>(made[k]) / read[k]);
      factors[k] = static_cast<float>(factor);
      farthest = std::max({farthest, factor, 1 / factor});
    }
    for (size_t i = 0; i < first.weights.values.size(); ++i)
      first.weights.values[i] /= factors[first.output_of(i)];
    for (size_t k = 0; k < first.bias.values.size(); ++k) first.bias.values[k] /= factors[k];
    for (size_t i = 0; i < second.weights.values.size(); ++i)
      second.weights.values[i] *= factors[second.input_of(i)];
    return farthest;
  }

  void store() {
    std::set<size_t> changed;
    for (const Pair& pair : pairs_) changed.insert({pair.first, pair.second});
    for (const size_t i : changed) {
      const Layer& layer = layers_[i];
      onnx::NodeProto& node = *layer.node;
      node.set_input(1, graph_.add_constant(node.input(1) + "_equalized", layer.weights));
      if (!layer.bias.values.empty())
        node.set_input(2, graph_.add_constant(node.input(2) + "_equalized", layer.bias));
    }
    graph_.finish();
  }

  GraphEdit graph_;
  std::vector<Layer> layers_;
  std::vector<Pair> pairs_;
};

}  // namespace

int equalize(onnx::ModelProto& model, TensorSource& source) {
  return Equalizer(model, source).run();
}

}  // namespace tenon
