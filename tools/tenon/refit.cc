#include "refit.h"

#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <fmt/format.h>

#include <chrono>
#include <memory>
#include <vector>

#include "error.h"

namespace tenon::tool {
namespace {

using Clock = std::chrono::steady_clock;

std::unique_ptr<nvinfer1::IRefitter> make_refitter(nvinfer1::ICudaEngine& engine,
                                                   const std::string& what, Logger& logger) {
  std::unique_ptr<nvinfer1::IRefitter> refitter(nvinfer1::createInferRefitter(engine, logger));
  if (refitter == nullptr) fail_with_log(logger, what);
  return refitter;
}

const char* name_of(nvinfer1::WeightsRole role) {
  switch (role) {
    case nvinfer1::WeightsRole::kKERNEL:
      return "Kernel";
    case nvinfer1::WeightsRole::kBIAS:
      return "Bias";
    case nvinfer1::WeightsRole::kSHIFT:
      return "Shift";
    case nvinfer1::WeightsRole::kSCALE:
      return "Scale";
    case nvinfer1::WeightsRole::kCONSTANT:
      return "Constant";
    case nvinfer1::WeightsRole::kANY:
      break;
  }
  return "Any";
}

// The names of all weights.
std::vector<const char*> names_of(nvinfer1::IRefitter& refitter) {
  std::vector<const char*> names(static_cast<size_t>(refitter.getAllWeights(0, nullptr)));
  refitter.getAllWeights(static_cast<int32_t>(names.size()), names.data());
  return names;
}

// Gives the refitter the weights of a model.
class OnnxWeights {
 public:
  OnnxWeights(nvinfer1::ICudaEngine& engine, const char* option, const std::string& path,
              Logger& logger)
      : what_(fmt::format("{}={}", option, path)),
        path_(path),
        logger_(logger),
        refitter_(make_refitter(engine, what_, logger)),
        parser_(nvonnxparser::createParserRefitter(*refitter_, logger)) {
    if (parser_ == nullptr) fail_with_log(logger_, what_);
  }

  void read() {
    if (!parser_->refitFromFile(path_.c_str())) fail_with_log(logger_, what_);
  }
  void refit() {
    if (!refitter_->refitCudaEngine()) fail_with_log(logger_, what_);
  }

 private:
  const std::string what_, path_;
  Logger& logger_;
  std::unique_ptr<nvinfer1::IRefitter> refitter_;
  std::unique_ptr<nvonnxparser::IParserRefitter> parser_;
};

}  // namespace

void refit_from_onnx(nvinfer1::ICudaEngine& engine, const std::string& path, Logger& logger) {
  const auto start = Clock::now();
  OnnxWeights weights(engine, "--refitFromOnnx", path, logger);
  weights.read();
  weights.refit();
  const std::chrono::duration<double> seconds = Clock::now() - start;
  logger.say(fmt::format("Refitted from {} in {:.3f} s", path, seconds.count()));
}

void print_refittable(nvinfer1::ICudaEngine& engine, Logger& logger) {
  const auto refitter = make_refitter(engine, "--dumpRefit", logger);
  const auto count = static_cast<size_t>(refitter->getAll(0, nullptr, nullptr));
  std::vector<const char*> layers(count);
  std::vector<nvinfer1::WeightsRole> roles(count);
  refitter->getAll(static_cast<int32_t>(count), layers.data(), roles.data());
  logger.say("Refittable weights of layers:");
  for (size_t i = 0; i < count; ++i) logger.say(fmt::format("{} {}", layers[i], name_of(roles[i])));
  logger.say("Refittable weights by name:");
  for (const char* name : names_of(*refitter)) logger.say(name);
}

void time_refit(nvinfer1::ICudaEngine& engine, const std::string& path, Logger& logger) {
  constexpr int kRefits = 10;
  OnnxWeights weights(engine, "--timeRefit", path, logger);
  std::chrono::duration<double, std::milli> spent{};
  for (int i = -1; i < kRefits; ++i) {  // the first is a warm-up
    weights.read();
    const auto start = Clock::now();
    weights.refit();
    if (i >= 0) spent += Clock::now() - start;
  }
  logger.say(fmt::format("Engine refitted in {:.3f} ms.", spent.count() / kRefits));
}

}  // namespace tenon::tool
