#include "quantize_fallback.h"

#include <tenon/session/session.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <span>

#include "calibration.h"
#include "compare/compare.h"
#include "error.h"
#include "fallback_search.h"

namespace tenon::tool {
namespace {

using nvinfer1::ILayer;
using nvinfer1::INetworkDefinition;
using nvinfer1::LayerType;

std::span<const std::byte> bytes_of(const nvinfer1::IHostMemory& model) {
  return {static_cast<const std::byte*>(model.data()), model.size()};
}

// The ONNX node of a layer: further layers of a node have "[kind]" behind its name.
std::string node_of(const std::string& layer) {
  const size_t end = layer.ends_with(']') ? layer.rfind(" [") : std::string::npos;
  return layer.substr(0, end);
}

// Nodes that read what a DequantizeLinear makes, in the network's order.
std::vector<std::string> quantized_nodes(const INetworkDefinition& network) {
  std::set<const nvinfer1::ITensor*> dequantized;
  std::vector<std::string> nodes;
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    const ILayer& layer = *network.getLayer(i);
    if (layer.getType() == LayerType::kDEQUANTIZE) dequantized.insert(layer.getOutput(0));
    for (int32_t k = 0; k < layer.getNbInputs(); ++k)
      if (dequantized.contains(layer.getInput(k))) {
        const std::string node = node_of(layer.getName());
        if (std::find(nodes.begin(), nodes.end(), node) == nodes.end()) nodes.push_back(node);
      }
  }
  return nodes;
}

// Nodes that go back to float together, and what they add to the error: noise power in parts of the
// signal's.
struct Costly {
  std::vector<std::string> nodes;
  double noise = 0;
};

class FallbackRun {
 public:
  FallbackRun(const std::string& float_model, const QuantizeWith& quantize, const LossBound& bound,
              const BuildOptions& options, Logger& logger)
      : float_model_(float_model),
        quantize_(quantize),
        bound_(bound),
        logger_(logger),
        options_(exact(options)) {
    const session::Model model = parse_model(float_model, options_, {}, logger, false);
    CalibrationData data = open_samples(model, bound.data, options_);
    while (auto batch = data.next()) {
      if (inputs_.shapes.empty())
        for (const auto& [name, array] : *batch) inputs_.add(name, array);
      batches_.push_back(*std::move(batch));
    }
    if (batches_.empty())
      fail("{}: holds no whole batch: give more samples, or a smaller shape", bound.data);
  }

  std::vector<std::string> run() {
    expected_ = outputs_of(parse_model(float_model_, options_, inputs_, logger_));
    const auto whole = quantize_({});
    const std::vector<Costly> ranked = rank(*whole);
    const auto names = [&](const Groups& groups) {
      std::vector<std::string> nodes;
      for (const size_t group : groups)
        nodes.insert(nodes.end(), ranked[group].nodes.begin(), ranked[group].nodes.end());
      return nodes;
    };
    const Fallback found = find_fallback(ranked.size(), bound_.largest, [&](const Groups& kept) {
      const double loss = loss_with(names(kept));
      logger_.note(fmt::format("{} of {} groups of layers in float: loss {:.4g}", kept.size(),
                               ranked.size(), loss));
      return loss;
    });
    if (!found.holds) fail("--maxLoss={}: no layer can be in int8 within it", bound_.largest);
    return names(found.kept);
  }

 private:
  // By kernels that are not timed; types as the model has them.
  static BuildOptions exact(const BuildOptions& options) {
    BuildOptions result = options;
    result.int8 = result.fp16 = result.bf16 = result.best = false;
    result.calibration_cache.clear();
    result.calibration_data.clear();
    result.optimization_level = 0;
    return result;
  }

  std::vector<Arrays> outputs_of(session::Model model) {
    const auto plan = value_or_fail(model.build(logger_));
    const session::Engine engine = value_or_fail(session::Engine::load(*plan, logger_));
    const auto session = value_or_fail(session::Session::make(*engine.engine, logger_));
    std::vector<Arrays> outputs;
    for (const Arrays& batch : batches_) {
      value_or_fail(session->set_inputs(batch));
      value_or_fail(session->run());
      outputs.push_back(session->outputs());
    }
    return outputs;
  }

  double loss_with(const std::vector<std::string>& kept) {
    const auto model = quantize_(kept);
    if (model == nullptr) return std::numeric_limits<double>::infinity();  // it is no answer
    const std::vector<Arrays> outputs =
        outputs_of(parse_model(bytes_of(*model), options_, inputs_, logger_));
    Loss loss(bound_.metric);
    for (size_t i = 0; i < outputs.size(); ++i) loss.add(outputs[i], expected_[i]);
    return loss.value();
  }

  // What each piece of the quantized model adds when it is given the float model's tensors.
  std::vector<Costly> rank(const nvinfer1::IHostMemory& quantized) {
    const auto parsed_float = [&]() -> session::Result<session::Model> {
      return parse_model(float_model_, options_, inputs_, logger_);
    };
    const auto parsed_int8 = [&]() -> session::Result<session::Model> {
      return parse_model(bytes_of(quantized), options_, inputs_, logger_);
    };
    const std::vector<std::string> nodes = quantized_nodes(*parsed_int8()->network);
    std::set<std::string> left(nodes.begin(), nodes.end());
    const compare::Report report = value_or_fail(
        compare::compare_tensors(parsed_float, parsed_int8, batches_.front(), logger_));
    std::vector<Costly> ranked;
    for (const auto* tensors : {&report.tensors, &report.outputs})
      for (const compare::TensorReport& tensor : *tensors) {
        Costly costly;
        for (const std::string& layer : tensor.layers)
          if (left.erase(node_of(layer)) > 0) costly.nodes.push_back(node_of(layer));
        if (costly.nodes.empty()) continue;
        const compare::TensorError& error = tensor.own ? *tensor.own : tensor.total;
        costly.noise = error.not_finite > 0 ? std::numeric_limits<double>::infinity()
                       : error.expected_rms > 0
                           ? error.rms * error.rms / error.expected_rms / error.expected_rms
                           : error.rms;
        ranked.push_back(std::move(costly));
      }
    for (const std::string& node : nodes)
      if (left.contains(node)) ranked.push_back({{node}, 0});
    std::stable_sort(ranked.begin(), ranked.end(),
                     [](const Costly& a, const Costly& b) { return a.noise > b.noise; });
    return ranked;
  }

  const std::string& float_model_;
  const QuantizeWith& quantize_;
  const LossBound& bound_;
  Logger& logger_;
  const BuildOptions options_;
  RunInputs inputs_;
  std::vector<Arrays> batches_, expected_;
};

}  // namespace

std::vector<std::string> nodes_to_keep_float(const std::string& float_model,
                                             const QuantizeWith& quantize, const LossBound& bound,
                                             const BuildOptions& options, Logger& logger) {
  return FallbackRun(float_model, quantize, bound, options, logger).run();
}

}  // namespace tenon::tool
