#include "quantize_fallback.h"

#include <tenon/session/session.h>

#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <span>

#include "calibration.h"
#include "error.h"
#include "fallback_search.h"

namespace tenon::tool {
namespace {

using nvinfer1::ILayer;
using nvinfer1::INetworkDefinition;
using nvinfer1::LayerType;

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

class FallbackRun {
 public:
  FallbackRun(std::span<const std::byte> float_model, const QuantizeWith& quantize,
              const LossBound& bound, const BuildOptions& options, Logger& logger)
      : float_model_(float_model),
        quantize_(quantize),
        bound_(bound),
        logger_(logger),
        options_(float_options(options)),
        unshaped_(parse_model(float_model, options_, {}, logger, false)),
        inputs_(samples().run_inputs()) {}

  std::vector<std::string> run() {
    run_batches(parse_model(float_model_, options_, inputs_, logger_), SIZE_MAX,
                [&](size_t, Arrays outputs) { expected_.push_back(std::move(outputs)); });
    const std::vector<std::string> ranked = rank();
    const auto names = [&](const Groups& groups) {
      std::vector<std::string> nodes;
      for (const size_t group : groups) nodes.push_back(ranked[group]);
      return nodes;
    };
    const Fallback found = find_fallback(ranked.size(), bound_.largest, [&](const Groups& kept) {
      const double loss = loss_with(names(kept), bound_.metric, expected_.size());
      logger_.note(
          fmt::format("{} of {} layers in float: loss {:.4g}", kept.size(), ranked.size(), loss));
      return loss;
    });
    std::vector<std::string> kept = names(found.kept);
    if (!found.holds || quantize_(kept) == nullptr)
      fail(ErrorClass::kVerdict, "--maxLoss={}: no layer can be in int8 within it", bound_.largest);
    return kept;
  }

 private:
  // They are read anew for each run: all of them may be more than memory holds.
  CalibrationData samples() const { return open_samples(unshaped_, bound_.data, options_); }

  // Calls with the number and the outputs of each of the first batches.
  void run_batches(session::Model model, size_t batches,
                   const std::function<void(size_t, Arrays)>& call) {
    const auto plan = value_or_fail(model.build(logger_));
    const session::Engine engine = value_or_fail(session::Engine::load(*plan, logger_));
    const auto session = value_or_fail(session::Session::make(*engine.engine, logger_));
    CalibrationData data = samples();
    for (size_t i = 0; i < batches; ++i) {
      const auto batch = data.next();
      if (!batch) return;
      value_or_fail(session->set_inputs(*batch));
      value_or_fail(session->run());
      call(i, session->outputs());
    }
  }

  double loss_with(const std::vector<std::string>& kept, LossMetric metric, size_t batches) {
    const auto model = quantize_(kept);
    if (model == nullptr) return 0;
    Loss loss(metric);
    run_batches(parse_model(bytes_of(*model), options_, inputs_, logger_), batches,
                [&](size_t i, const Arrays& outputs) { loss.add(outputs, expected_[i]); });
    return loss.value();
  }

  // Nodes in int8, the one first that alone costs the outputs most.
  std::vector<std::string> rank() {
    constexpr size_t kBatches = 8;  // which are enough for an order
    const auto whole = quantize_({});
    std::vector<std::string> nodes =
        quantized_nodes(*parse_model(bytes_of(*whole), options_, inputs_, logger_).network);
    std::map<std::string, double> costs;
    for (const std::string& node : nodes) {
      std::vector<std::string> others = nodes;
      std::erase(others, node);
      costs[node] = loss_with(others, LossMetric::kRelative, std::min(kBatches, expected_.size()));
      logger_.note(fmt::format("{} of {} layers alone in int8: '{}', relative loss {:.4g}",
                               costs.size(), nodes.size(), printable(node), costs[node]));
    }
    std::ranges::stable_sort(nodes, std::greater(), [&](const auto& node) { return costs[node]; });
    return nodes;
  }

  const std::span<const std::byte> float_model_;
  const QuantizeWith& quantize_;
  const LossBound& bound_;
  Logger& logger_;
  const BuildOptions options_;
  const session::Model unshaped_;  // whose inputs the samples are of
  const RunInputs inputs_;
  std::vector<Arrays> expected_;  // outputs of the float model
};

}  // namespace

std::vector<std::string> nodes_to_keep_float(std::span<const std::byte> float_model,
                                             const QuantizeWith& quantize, const LossBound& bound,
                                             const BuildOptions& options, Logger& logger) {
  return FallbackRun(float_model, quantize, bound, options, logger).run();
}

}  // namespace tenon::tool
