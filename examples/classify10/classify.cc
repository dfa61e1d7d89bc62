// Classifies with a plan, in the style of TensorRT 10: tensors have names, memory is the caller's.
#include <NvInfer.h>
#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <memory>
#include <numeric>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

class Logger : public nvinfer1::ILogger {
  void log(Severity severity, const char* message) noexcept override {
    if (severity <= Severity::kWARNING) std::fprintf(stderr, "%s\n", message);
  }
};

void check(bool good, const std::string& what) {
  if (!good) throw std::runtime_error(what);
}

void check(cudaError_t status) {
  check(status == cudaSuccess, cudaGetErrorString(status));
}

std::vector<char> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  check(file.good(), "cannot read " + path);
  return {std::istreambuf_iterator<char>(file), {}};
}

int64_t volume(const nvinfer1::Dims& dims) {
  return std::accumulate(dims.d, dims.d + dims.nbDims, int64_t{1}, std::multiplies<>());
}

class Classifier {
 public:
  explicit Classifier(const std::vector<char>& plan) {
    runtime_.reset(nvinfer1::createInferRuntime(logger_));
    check(runtime_ != nullptr, "no runtime");
    engine_.reset(runtime_->deserializeCudaEngine(plan.data(), plan.size()));
    check(engine_ != nullptr, "the plan cannot be used");
    context_.reset(engine_->createExecutionContext());
    check(cudaStreamCreate(&stream_));
    check(cudaEventCreate(&start_));
    check(cudaEventCreate(&end_));
  }
  ~Classifier() {
    cudaStreamSynchronize(stream_);
    cudaEventDestroy(start_);
    cudaEventDestroy(end_);
    cudaStreamDestroy(stream_);
  }

  // `images` are fp32 NCHW, of the shape given. Returns the scores; `milliseconds` is the time of
  // the network alone.
  std::vector<float> run(std::vector<float>& images, const nvinfer1::Dims& shape,
                         float& milliseconds) {
    const char* input = engine_->getIOTensorName(0);
    const char* output = engine_->getIOTensorName(1);
    check(context_->setInputShape(input, shape), "the engine does not take this shape");
    std::vector<float> scores(volume(context_->getTensorShape(output)));
    void *device_images = nullptr, *device_scores = nullptr;
    check(cudaMalloc(&device_images, images.size() * sizeof(float)));
    check(cudaMalloc(&device_scores, scores.size() * sizeof(float)));
    context_->setTensorAddress(input, device_images);
    context_->setTensorAddress(output, device_scores);

    check(cudaMemcpyAsync(device_images, images.data(), images.size() * sizeof(float),
                          cudaMemcpyHostToDevice, stream_));
    check(cudaEventRecord(start_, stream_));
    check(context_->enqueueV3(stream_), "the engine cannot run");
    check(cudaEventRecord(end_, stream_));
    check(cudaMemcpyAsync(scores.data(), device_scores, scores.size() * sizeof(float),
                          cudaMemcpyDeviceToHost, stream_));
    check(cudaStreamSynchronize(stream_));
    check(cudaEventElapsedTime(&milliseconds, start_, end_));
    check(cudaFree(device_images));
    check(cudaFree(device_scores));
    return scores;
  }

 private:
  Logger logger_;
  std::unique_ptr<nvinfer1::IRuntime> runtime_;
  std::unique_ptr<nvinfer1::ICudaEngine> engine_;
  std::unique_ptr<nvinfer1::IExecutionContext> context_;
  cudaStream_t stream_ = nullptr;
  cudaEvent_t start_ = nullptr, end_ = nullptr;
};

int run(const std::string& plan, const std::string& path, int height, int width) {
  const std::vector<char> bytes = read_file(path);
  std::vector<float> images(bytes.size() / sizeof(float));
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<char*>(images.data()));
  const int64_t batch = static_cast<int64_t>(images.size()) / (3 * height * width);
  check(batch > 0 && batch * 3 * height * width == static_cast<int64_t>(images.size()),
        path + " does not hold whole images");

  Classifier classifier(read_file(plan));
  float milliseconds = 0;
  const auto scores =
      classifier.run(images, nvinfer1::Dims4{batch, 3, height, width}, milliseconds);
  const auto classes = static_cast<int64_t>(scores.size()) / batch;
  for (int64_t i = 0; i < batch; ++i) {
    const float* row = scores.data() + i * classes;
    const auto best = std::max_element(row, row + classes) - row;
    std::printf("image %d: class %d, score %.5f\n", static_cast<int>(i), static_cast<int>(best),
                row[best]);
  }
  std::printf("%.3f ms\n", milliseconds);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fprintf(stderr, "usage: classify PLAN IMAGES.bin HEIGHT WIDTH\n");
    return 1;
  }
  try {
    return run(argv[1], argv[2], std::stoi(argv[3]), std::stoi(argv[4]));
  } catch (const std::exception& e) {
    std::fprintf(stderr, "classify: %s\n", e.what());
    return 1;
  }
}
