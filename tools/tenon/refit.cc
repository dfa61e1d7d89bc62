#include "refit.h"

#include <NvInfer.h>
#include <NvOnnxParser.h>
#include <fmt/format.h>

#include <chrono>
#include <memory>

#include "error.h"

namespace tenon::tool {

void refit_from_onnx(nvinfer1::ICudaEngine& engine, const std::string& path, Logger& logger) {
  const auto start = std::chrono::steady_clock::now();
  const std::string what = fmt::format("--refitFromOnnx={}", path);
  const std::unique_ptr<nvinfer1::IRefitter> refitter(
      nvinfer1::createInferRefitter(engine, logger));
  if (refitter == nullptr) fail_with_log(logger, what);
  const std::unique_ptr<nvonnxparser::IParserRefitter> parser(
      nvonnxparser::createParserRefitter(*refitter, logger));
  if (parser == nullptr || !parser->refitFromFile(path.c_str()) || !refitter->refitCudaEngine())
    fail_with_log(logger, what);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  logger.say(fmt::format("Refitted from {} in {:.3f} s", path, seconds.count()));
}

}  // namespace tenon::tool
