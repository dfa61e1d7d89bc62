// Programs that include headers removed after 8.x compile; what they call answers "unsupported".
#include <NvCaffeParser.h>
#include <NvInferConsistency.h>
#include <NvInferSafeRuntime.h>
#include <NvUffParser.h>
#include <NvUtils.h>

bool openCaffe(nvinfer1::INetworkDefinition& network) {
  nvcaffeparser1::ICaffeParser* parser = nvcaffeparser1::createCaffeParser();
  if (parser == nullptr) return false;
  const nvcaffeparser1::IBlobNameToTensor* blobs =
      parser->parse("deploy.prototxt", "model.caffemodel", network, nvinfer1::DataType::kFLOAT);
  network.markOutput(*blobs->find("prob"));
  parser->destroy();
  nvcaffeparser1::shutdownProtobufLibrary();
  return true;
}

bool openUff(nvinfer1::INetworkDefinition& network) {
  nvuffparser::IUffParser* parser = nvuffparser::createUffParser();
  return parser != nullptr
         && parser->registerInput("input", nvinfer1::Dims3(3, 224, 224),
                                  nvuffparser::UffInputOrder::kNCHW)
         && parser->parse("model.uff", network);
}

bool openSafely(nvinfer1::ILogger& logger, const nvinfer1::IHostMemory& plan) {
  nvinfer1::safe::IRuntime* runtime = nvinfer1::safe::createInferRuntime(logger);
  return runtime != nullptr && runtime->deserializeCudaEngine(plan.data(), plan.size()) != nullptr;
}

bool checkPlan(nvinfer1::ILogger& logger, const nvinfer1::IHostMemory& plan) {
  auto* checker = nvinfer1::consistency::createConsistencyChecker(logger, &plan);
  return checker != nullptr && checker->validate();
}
