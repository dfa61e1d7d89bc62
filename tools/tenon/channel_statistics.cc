#include "channel_statistics.h"

#include <tenon/session/debug_arrays.h>
#include <tenon/session/session.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "calibration.h"
#include "error.h"

namespace tenon::tool {
namespace {

using nvinfer1::ILayer;
using nvinfer1::INetworkDefinition;
using nvinfer1::ITensor;
using nvinfer1::LayerType;

// The sums of a tensor's channels.
struct Channels {
  bool are_last = false;  // axis; else it is axis 1
  std::vector<double> sums;
  std::vector<float> largest;
  double count = 0;  // of each channel's values

  void add(const std::string& name, const session::Array& array) {
    if (array.shape.size() < 2) return;
    const size_t axis = are_last ? array.shape.size() - 1 : 1;
    const auto channels = static_cast<size_t>(array.shape[axis]);
    size_t inner = 1;
    for (size_t i = axis + 1; i < array.shape.size(); ++i)
      inner *= static_cast<size_t>(array.shape[i]);
    sums.resize(channels);
    largest.resize(channels);
    if (channels == 0 || inner == 0) return;
    const auto* values = array.as<float>();
    const auto all = static_cast<size_t>(array.count());
    for (size_t i = 0; i < all; ++i) {
      if (!std::isfinite(values[i]))
        fail(ErrorClass::kContent, "tensor '{}' holds NaN or infinity on the samples", name);
      const size_t channel = i / inner % channels;
      sums[channel] += values[i];
      largest[channel] = std::max(largest[channel], std::fabs(values[i]));
    }
    count += static_cast<double>(all / channels);
  }
};

// The data of convolutions and products with constant weights.
std::map<std::string, Channels> wanted(INetworkDefinition& network) {
  std::map<const ITensor*, LayerType> made_by;
  std::map<std::string, Channels> result;
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    ILayer& layer = *network.getLayer(i);
    const LayerType type = layer.getType();
    made_by[layer.getOutput(0)] = type;
    const bool is_product = type == LayerType::kMATRIX_MULTIPLY;
    if (type != LayerType::kCONVOLUTION
        && !(is_product && made_by[layer.getInput(1)] == LayerType::kCONSTANT))
      continue;
    ITensor& data = *layer.getInput(0);
    if (data.getType() != nvinfer1::DataType::kFLOAT || data.isShapeTensor()) continue;
    result[data.getName()].are_last = is_product;
    if (!data.isNetworkInput()) network.markDebug(data);
  }
  return result;
}

}  // namespace

ChannelStatistics channel_statistics(std::span<const std::byte> bytes, const std::string& data,
                                     const BuildOptions& options, Logger& logger) {
  const BuildOptions in_float = float_options(options);
  session::Model unshaped = parse_model(bytes, in_float, {}, logger, false);
  CalibrationData samples = open_samples(unshaped, data, in_float);
  session::Model model = parse_model(bytes, in_float, samples.run_inputs(), logger);
  std::map<std::string, Channels> channels = wanted(*model.network);
  const auto plan = value_or_fail(model.build(logger));
  const session::Engine engine = value_or_fail(session::Engine::load(*plan, logger));
  const auto session = value_or_fail(session::Session::make(*engine.engine, logger));
  session::DebugArrays listener(
      [&](const std::string& name, const Array& array) -> session::Result<void> {
        try {
          if (const auto found = channels.find(name); found != channels.end())
            found->second.add(name, array);
          return {};
        } catch (const Failure& failure) {
          return session::Error{with_code(failure.what(), failure.error_class())};
        }
      });
  nvinfer1::IExecutionContext& context = session->context().get();
  if (!context.setDebugListener(&listener) || !context.setAllTensorsDebugState(true))
    fail_with_log(logger, "the debug tensors cannot be turned on");
  while (const auto batch = samples.next()) {
    for (const auto& [name, array] : *batch)
      if (const auto found = channels.find(name); found != channels.end())
        found->second.add(name, array);
    value_or_fail(session->set_inputs(*batch));
    const auto ran = session->run();
    if (!listener.failure().empty()) throw Failure(listener.failure());
    value_or_fail(ran);
  }
  context.setDebugListener(nullptr);
  ChannelStatistics statistics;
  for (auto& [name, seen] : channels) {
    if (seen.count == 0) continue;
    auto& means = statistics.means[name];
    for (const double sum : seen.sums) means.push_back(static_cast<float>(sum / seen.count));
    statistics.largest[name] = std::move(seen.largest);
  }
  return statistics;
}

}  // namespace tenon::tool
