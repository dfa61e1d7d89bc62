#include "engine_report.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <numeric>
#include <vector>

#include "error.h"
#include "npz.h"

namespace tenon::tool {
namespace {

std::string describe(const nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext* context,
                     nvinfer1::LayerInformationFormat format, Logger& logger) {
  const std::unique_ptr<nvinfer1::IEngineInspector> inspector(engine.createEngineInspector());
  if (inspector == nullptr) fail_with_log(logger, "the engine cannot be inspected");
  if (context != nullptr) inspector->setExecutionContext(context);
  const char* const text = inspector->getEngineInformation(format);
  if (text == nullptr) fail_with_log(logger, "the engine cannot be inspected");
  return text;
}

std::string shape_of(const nvinfer1::ICudaEngine& engine, const char* input, int32_t profile,
                     nvinfer1::OptProfileSelector selector) {
  return session::shape_text(session::to_shape(engine.getProfileShape(input, profile, selector)));
}

}  // namespace

void print_layers(const nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext* context,
                  Logger& logger) {
  logger.say("Layer Information:");
  const std::string text =
      describe(engine, context, nvinfer1::LayerInformationFormat::kONELINE, logger);
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    logger.say(text.substr(begin, end - begin));
    begin = end + 1;
  }
}

std::string layers_json(nvinfer1::IExecutionContext& context, Logger& logger) {
  return describe(context.getEngine(), &context, nvinfer1::LayerInformationFormat::kJSON, logger);
}

void export_layers(const nvinfer1::ICudaEngine& engine, nvinfer1::IExecutionContext* context,
                   const std::string& path, Logger& logger) {
  const std::string text =
      describe(engine, context, nvinfer1::LayerInformationFormat::kJSON, logger);
  write_file(path, text.data(), text.size());
}

void print_profiles(const nvinfer1::ICudaEngine& engine, Logger& logger) {
  using nvinfer1::OptProfileSelector;
  logger.say("Optimization Profile Information:");
  for (int32_t profile = 0; profile < engine.getNbOptimizationProfiles(); ++profile)
    for (int32_t i = 0; i < engine.getNbIOTensors(); ++i) {
      const char* const name = engine.getIOTensorName(i);
      if (engine.getTensorIOMode(name) != nvinfer1::TensorIOMode::kINPUT) continue;
      logger.say(fmt::format("Model input {} (profile {}): min={}, opt={}, max={}", name, profile,
                             shape_of(engine, name, profile, OptProfileSelector::kMIN),
                             shape_of(engine, name, profile, OptProfileSelector::kOPT),
                             shape_of(engine, name, profile, OptProfileSelector::kMAX)));
    }
}

void print_plan_version(const std::string& path, Logger& logger) {
  constexpr size_t kVersionAt = 24, kHeader = 28;
  if (!is_plan(path)) fail(ErrorClass::kPlan, "--getPlanVersionOnly: {}: is not a plan", path);
  const auto header = read_file(path, kHeader);
  if (header.size() < kHeader)
    fail(ErrorClass::kPlan, "--getPlanVersionOnly: {}: is not a whole plan", path);
  const auto part = [&](size_t i) { return std::to_integer<int>(header[kVersionAt + i]); };
  logger.say(fmt::format("Plan was created with TensorRT version {}.{}.{}.{}", part(0), part(1),
                         part(2), part(3)));
}

void time_loading(const std::function<session::Engine()>& load, Logger& logger) {
  constexpr int kWarmUps = 2, kRuns = 20;
  const auto once = [&] {
    const auto start = std::chrono::steady_clock::now();
    const session::Engine engine = load();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start)
        .count();
  };
  logger.say("Begin deserialization warmup...");
  for (int i = 0; i < kWarmUps; ++i) once();
  logger.say("Begin deserialization engine timing...");
  const double first = once();
  logger.say(fmt::format("First deserialization time = {:.6g} milliseconds", first));
  double total = 0;
  for (int i = 0; i < kRuns; ++i) total += once();
  logger.say(
      fmt::format("Total deserialization time = {:.6g} milliseconds in {} iterations, average time "
                  "= {:.6g} milliseconds, first time = {:.6g} milliseconds.",
                  total, kRuns, total / kRuns, first));
}

}  // namespace tenon::tool
