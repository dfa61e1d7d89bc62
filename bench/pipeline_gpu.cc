// Frames per second of a detector of YOLOv8's kind on a GPU: uint8 frames in memory of the host to
// boxes, in fp16, with pre- and post-processing as layers of the plan. Beside it the same plan
// alone, on a batch that is on the device already, and the GPU's utilization as nvidia-smi samples
// it. Usage: pipeline_gpu MODEL.onnx [BATCH] [INSTANCES] [WORKERS] [SECONDS] [THRESHOLD]
#include <tenon/serve/compile.h>
#include <tenon/serve/engine_instances.h>
#include <tenon/serve/image_layers.h>
#include <tenon/serve/tensor_allocator.h>
#include <tenon/serve/yolo_layers.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <optional>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace tenon::serve;  // NOLINT: a program
using Seconds = std::chrono::duration<double>;
constexpr int64_t kSide = 640;

template <class T> T value_of(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "pipeline_gpu: %s\n", result.error().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

// Writes the plan to PIPELINE_PLAN, too, if that is set.
std::shared_ptr<EngineContext> engine_of(const char* model, int64_t batch, float threshold) {
  CompileOptions build;
  build.profiles = {
      {{"images", {{1, kSide, kSide, 3}, {batch, kSide, kSide, 3}, {batch, kSide, kSide, 3}}}}};
  build.hook = [&](nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig&) {
    ImageLayerOptions images;
    images.width = images.height = kSide;
    YoloLayerOptions yolo;
    yolo.score_threshold = threshold;
    value_of(append_yolo(network, yolo, value_of(prepend_images(network, images))));
  };
  CompileOutput plan;
  value_of(compile(Mode::FP16, model, plan, build));
  if (const char* const path = std::getenv("PIPELINE_PLAN"))
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(plan.data().data()),
               static_cast<std::streamsize>(plan.data().size()));
  return value_of(EngineContext::load(plan.data()));
}

// Frames per second of the plan, whose input stays on the device.
double alone(const std::shared_ptr<EngineContext>& engine, int64_t batch, double seconds) {
  Infer::Options options;
  options.cuda_graph = true;
  const auto infer = value_of(Infer::make(engine, options));
  value_of(infer->input()->resize({batch, kSide, kSide, 3}));
  value_of(infer->input()->set_to(100));
  value_of(infer->input()->to_gpu());
  for (int i = 0; i < 5; ++i) value_of(infer->forward());
  const auto begin = Clock::now();
  int64_t frames = 0;
  while (Seconds(Clock::now() - begin).count() < seconds) {
    for (int i = 0; i < 8; ++i) value_of(infer->forward(false));
    value_of(infer->synchronize());
    frames += 8 * batch;
  }
  return static_cast<double>(frames) / Seconds(Clock::now() - begin).count();
}

// Percents of time in which kernels ran, of each sixth of a second or so, as NVIDIA's tool gives
// them until `seconds` have passed; they lie a moment behind.
class UtilizationSamples {
 public:
  explicit UtilizationSamples(double seconds)
      : output_(popen(("exec timeout " + std::to_string(seconds)
                       + " nvidia-smi --query-gpu=utilization.gpu --format=csv,noheader,nounits "
                         "-lms 100 2>/dev/null")
                          .c_str(),
                      "r")) {}
  ~UtilizationSamples() {
    if (output_ != nullptr) pclose(output_);
  }
  // Sorted; none without the tool.
  std::vector<int> take() {
    std::vector<int> samples;
    for (int percent = 0; output_ != nullptr && std::fscanf(output_, "%d", &percent) == 1;)
      samples.push_back(percent);
    std::sort(samples.begin(), samples.end());
    return samples;
  }

 private:
  std::FILE* output_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr,
                 "usage: %s MODEL.onnx [BATCH] [INSTANCES] [WORKERS] [SECONDS] [THRESHOLD]\n",
                 argv[0]);
    return 1;
  }
  const auto number = [&](int i, double otherwise) {
    return argc > i ? std::atof(argv[i]) : otherwise;
  };
  const auto batch = static_cast<int64_t>(number(2, 32));
  const double seconds = number(5, 3);
  const auto engine = engine_of(argv[1], batch, static_cast<float>(number(6, 0.25)));
  const double engine_rate = alone(engine, batch, seconds);

  std::mt19937 random(1);
  std::vector<std::vector<uint8_t>> frames(8, std::vector<uint8_t>(kSide * kSide * 3));
  for (auto& frame : frames)
    for (uint8_t& pixel : frame) pixel = static_cast<uint8_t>(random());

  TensorAllocator inputs(static_cast<size_t>(6 * batch));
  Stages<const uint8_t*, std::vector<Box>, Tensors, Tensors> stages;
  stages.preprocess = [&](const uint8_t*& frame, const JobContext&) -> Result<Tensors> {
    Tensors tensors;
    tensors.push_back(value_of(inputs.query({1, kSide, kSide, 3}, DataType::kUINT8)));
    value_of(tensors[0].copy_from_cpu(0, frame, tensors[0].numel()));
    return tensors;
  };
  EngineInstanceOptions instances;
  instances.count = static_cast<int>(number(3, 3));
  instances.max_batch = static_cast<size_t>(batch);
  instances.cuda_graph = true;
  stages.instances = value_of(engine_instances(engine, instances));
  stages.postprocess = [](const uint8_t*&, Tensors& outputs, const JobContext&) {
    return detections_of(outputs);
  };
  PipelineOptions options;
  options.max_batch = instances.max_batch;
  options.max_jobs = static_cast<size_t>(12 * batch);
  options.preprocess_workers = static_cast<int>(number(4, 4));
  auto pipeline =
      value_of(Pipeline<const uint8_t*, std::vector<Box>>::start(options, std::move(stages)));
  std::atomic<int64_t> done = 0, boxes = 0, failed = 0;
  std::optional<UtilizationSamples> utilization;
  const auto begin = Clock::now();
  int64_t sent = 0;
  while (Seconds(Clock::now() - begin).count() < seconds) {
    // A second later, so that no sample is of the time before.
    if (!utilization && Seconds(Clock::now() - begin).count() > 1)
      utilization.emplace(std::max(0.1, seconds - 1.2));
    pipeline->submit(frames[static_cast<size_t>(sent++) % frames.size()].data(), {},
                     [&](auto answer) {
                       if (answer)
                         boxes += static_cast<int64_t>(answer->size());
                       else
                         ++failed;
                       ++done;
                     });
  }
  value_of(pipeline->stop());
  const double rate = static_cast<double>(done) / Seconds(Clock::now() - begin).count();
  std::printf(
      "batch %ld, %d instances: the plan alone %.0f frames/s, the pipeline %.0f: %.1f %%; "
      "%.1f boxes a frame, %ld failed\n",
      static_cast<long>(batch), instances.count, engine_rate, rate, 100 * rate / engine_rate,
      static_cast<double>(boxes) / static_cast<double>(done), static_cast<long>(failed.load()));
  const std::vector<int> busy = utilization ? utilization->take() : std::vector<int>();
  if (!busy.empty())
    std::printf("GPU utilization: median %d %%, least %d %%, of %zu samples\n",
                busy[busy.size() / 2], busy.front(), busy.size());
  const Statistics statistics = pipeline->statistics();
  for (const Stage stage : {Stage::kPreprocess, Stage::kInfer, Stage::kPostprocess})
    std::printf("%-13s %7.3f ms of work, jobs waited %7.3f ms\n", name_of(stage),
                1e3 * statistics.stage(stage).work.mean(),
                1e3 * statistics.stage(stage).wait.mean());
}
