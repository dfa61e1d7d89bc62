// Frames per second of a detector of YOLOv8's kind from 1080p pictures to boxes: a pipeline with
// pre- and post-processing inside, beside the engine alone on inputs that are ready. Rounds take
// turns; medians are printed, and where a job's time goes. Usage: pipeline MODEL.onnx [TRACE.json]
#include <tenon/serve/compile.h>
#include <tenon/serve/engine_instances.h>
#include <tenon/serve/preprocess.h>
#include <tenon/serve/tensor_allocator.h>
#include <tenon/serve/yolo.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace tenon::serve;  // NOLINT: a program
using Seconds = std::chrono::duration<double>;
constexpr int64_t kWidth = 1920, kHeight = 1080, kSide = 640;
constexpr int kFrames = 24, kRounds = 5;

template <class T> T value_of(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "pipeline: %s\n", result.error().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: %s MODEL.onnx [TRACE.json]\n", argv[0]);
    return 1;
  }
  CompileOutput plan;
  value_of(compile(Mode::FP32, argv[1], plan, {}));
  const auto engine = value_of(EngineContext::load(plan.data()));
  const auto alone = value_of(Infer::make(engine));
  std::mt19937 random(1);
  std::vector<uint8_t> pixels(kWidth * kHeight * 3);
  for (uint8_t& pixel : pixels) pixel = static_cast<uint8_t>(random());
  const Image frame = Image::packed(PixelFormat::kBGR, pixels.data(), kWidth, kHeight);
  const auto box = value_of(Letterbox::centred(kWidth, kHeight, kSide, kSide));
  const Norm norm = Norm::alpha_beta(1 / 255.f, 0, ChannelType::Invert);

  Stages<Image, std::vector<Box>, Tensors, Tensors> stages;
  TensorAllocator inputs(8);
  stages.preprocess = [&](Image& image, const JobContext&) -> Result<Tensors> {
    Tensors tensors;
    tensors.push_back(value_of(inputs.query({1, 3, kSide, kSide}, DataType::kFLOAT)));
    value_of(letterbox(image, box, {tensors[0]}, norm));
    return tensors;
  };
  stages.instances = value_of(engine_instances(engine, {}));
  stages.postprocess = [&](Image&, Tensors& heads, const JobContext&) {
    DetectOptions options;
    options.to_picture = box.d2i;
    return decode_yolo_v8(value_of(View::of_item(heads[0], 0)), options);
  };
  PipelineOptions options;
  options.trace_spans = argc > 2 ? 1000 : 0;
  auto pipeline = value_of(Pipeline<Image, std::vector<Box>>::start(options, std::move(stages)));

  std::vector<double> engine_rates, pipeline_rates;
  value_of(letterbox(frame, box, {*alone->input()}, norm));
  for (int round = 0; round < kRounds; ++round) {
    auto begin = Clock::now();
    for (int i = 0; i < kFrames; ++i) value_of(alone->forward());
    engine_rates.push_back(kFrames / Seconds(Clock::now() - begin).count());
    begin = Clock::now();
    for (const auto& answer : pipeline->commits(std::vector<Image>(kFrames, frame)))
      if (!answer.get()) std::printf("%s\n", answer.get().error().text().c_str());
    pipeline_rates.push_back(kFrames / Seconds(Clock::now() - begin).count());
  }
  std::printf("engine alone %6.1f frames/s, pipeline %6.1f frames/s: %.1f %%\n",
              median(engine_rates), median(pipeline_rates),
              100 * median(pipeline_rates) / median(engine_rates));
  const Statistics statistics = pipeline->statistics();
  for (const Stage stage : {Stage::kPreprocess, Stage::kInfer, Stage::kPostprocess})
    std::printf("%-13s %7.3f ms a job\n", name_of(stage),
                1e3 * statistics.stage(stage).work.mean());
  if (argc > 2) std::ofstream(argv[2]) << pipeline->trace_json();
}
