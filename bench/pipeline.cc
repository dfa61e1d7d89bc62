// Runs a detector in a pipeline on request, from pictures to boxes; bench/pipeline.py keeps such a
// process. Its arguments are "objects" or "text", a model, a picture (H, W, 3) of BGR as
// serve::save_to_file's, the threshold of scores and the number of instances. It answers lines:
// "rate SECONDS" with pictures per second of the pipeline, and "engine SECONDS" with those of as
// many instances of the engine alone, on inputs that are ready; "alone SECONDS" with milliseconds
// of jobs one after the other, "load poisson|steady RATE SECONDS SEED" with those of jobs that come
// at random times or at regular ones; "overload RATE SECONDS" with what becomes of jobs that come
// at that rate with pictures of their own and are refused where the pipeline is full, and of the
// process's memory; "boxes" with what is found, "stages" with each stage's mean milliseconds, and
// "trace FILE" with nothing.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <tenon/serve/compile.h>
#include <tenon/serve/engine_instances.h>
#include <tenon/serve/preprocess.h>
#include <tenon/serve/tensor_allocator.h>
#include <tenon/serve/tensor_file.h>
#include <tenon/serve/text_boxes.h>
#include <tenon/serve/yolo.h>

#include <atomic>
#include <fstream>
#include <iostream>
#include <random>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace tenon::serve;  // NOLINT: a program
using Seconds = std::chrono::duration<double>;
using Milliseconds = std::chrono::duration<double, std::milli>;
using Found = std::vector<std::vector<float>>;  // corners, or edges and score, in the picture

// A picture, with its pixels or those of another.
struct Frame {
  Image image;
  std::vector<uint8_t> pixels = {};
};

constexpr int kJobs = 16;  // in the pipeline at a time
constexpr int64_t kSide = 640, kMapHeight = 544, kMapWidth = 960;

template <class T> T value_of(Result<T> result) {
  if (!result) {
    fmt::print(stderr, "pipeline: {}\n", result.error());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

Clock::time_point after(double seconds) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(seconds));
}

// What one kind of model takes and gives.
struct Task {
  Shape input;
  std::function<Result<void>(const Image&, Tensor&)> prepare;
  std::function<Found(Tensor&)> decode;
};

// A detector of YOLOv8's kind.
Task objects(const Image& picture, float threshold) {
  const auto box = value_of(Letterbox::ultralytics(picture.width, picture.height, kSide, kSide));
  DetectOptions options;
  options.score_threshold = threshold;
  options.to_picture = box.d2i;
  options.width = picture.width;
  options.height = picture.height;
  return {{1, 3, kSide, kSide},
          [box](const Image& image, Tensor& tensor) {
            return letterbox(image, box, {tensor},
                             Norm::alpha_beta(1 / 255.f, 0, ChannelType::Invert));
          },
          [options](Tensor& head) {
            Found found;
            for (const Box& b : value_of(decode_yolo_v8(value_of(View::of_item(head, 0)), options)))
              found.push_back({b.left, b.top, b.right, b.bottom, b.score});
            return found;
          }};
}

// PP-OCR's detector of lines of text.
Task text(const Image& picture, float threshold) {
  TextBoxOptions options;
  options.score_threshold = threshold;
  options.to_picture = {float(picture.width) / kMapWidth,   0, 0, 0,
                        float(picture.height) / kMapHeight, 0};
  const Norm norm = Norm::mean_std({0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f});
  return {{1, 3, kMapHeight, kMapWidth},
          [norm](const Image& image, Tensor& tensor) {
            return resize_bilinear_and_normalize(image, {tensor}, norm);
          },
          [options](Tensor& map) {
            Found found;
            for (const TextBox& b :
                 value_of(decode_text_boxes(value_of(View::of_item(map, 0)), options))) {
              found.emplace_back();
              for (const Point& corner : b.corners)
                found.back().insert(found.back().end(), {corner.x, corner.y});
            }
            return found;
          }};
}

std::shared_ptr<EngineContext> build(const std::string& model, const Shape& input) {
  CompileOptions options;
  options.hook = [&](nvinfer1::INetworkDefinition& network, nvinfer1::IBuilderConfig&) {
    network.getInput(0)->setDimensions(*tenon::session::to_dims(input));
  };
  CompileOutput plan;
  value_of(compile(Mode::FP32, model, plan, options));
  return value_of(EngineContext::load(plan.data()));
}

class Bench {
 public:
  Bench(const Image& picture, Task task, const std::string& model, int instances)
      : picture_(picture), task_(std::move(task)), engine_(build(model, task_.input)) {
    for (int i = 0; i < instances; ++i) {
      infers_.push_back(value_of(Infer::make(engine_)));
      value_of(task_.prepare(picture_, *infers_[i]->input()));
    }
    PipelineOptions options;
    options.max_jobs = kJobs;
    options.trace_spans = 4000;
    pipeline_ = start(options);
  }

  double rate(double seconds) {
    const auto begin = Clock::now(), end = after(seconds);
    std::vector<std::shared_future<Answer<Found>>> answers;
    while (Clock::now() < end) answers.push_back(pipeline_->commit({picture_}));
    for (const auto& answer : answers) check(answer.get());
    return double(answers.size()) / Seconds(Clock::now() - begin).count();
  }
  double engine(double seconds) {
    const auto begin = Clock::now(), end = after(seconds);
    std::atomic<int> count = 0;
    {
      std::vector<std::jthread> threads;
      for (const auto& infer : infers_)
        threads.emplace_back([&] {
          for (; Clock::now() < end; ++count) value_of(infer->forward());
        });
    }
    return count / Seconds(Clock::now() - begin).count();
  }
  std::vector<double> alone(double seconds) {
    std::vector<double> times;
    for (const auto end = after(seconds); Clock::now() < end;) {
      const auto begin = Clock::now();
      check(pipeline_->commit({picture_}).get());
      times.push_back(Milliseconds(Clock::now() - begin).count());
    }
    return times;
  }
  // Jobs come in a Poisson process, or steadily; a job's time begins when it should come.
  std::vector<double> load(bool steady, double rate, double seconds, unsigned seed) {
    std::mt19937 random(seed);
    std::exponential_distribution<double> exponential(rate);
    const auto gap = [&] { return steady ? 1 / rate : exponential(random); };
    std::vector<std::shared_future<double>> times;
    const auto begin = Clock::now();
    for (double at = gap(); at < seconds; at += gap()) {
      const auto arrival = begin + std::chrono::duration_cast<Clock::duration>(Seconds(at));
      std::this_thread::sleep_until(arrival);
      std::promise<double> promise;
      times.push_back(promise.get_future().share());
      pipeline_->submit({picture_}, {},
                        [arrival, promise = std::move(promise)](const Answer<Found>& a) mutable {
                          check(a);
                          promise.set_value(Milliseconds(Clock::now() - arrival).count());
                        });
    }
    std::vector<double> result;
    for (const auto& time : times) result.push_back(time.get());
    return result;
  }
  // What became of the jobs, and by how many MiB the resident set grew, at its peak and afterwards,
  // beside what the bounds in bytes and in prepared jobs admit.
  std::string overload(double rate, double seconds) {
    const Found expected = boxes();
    const size_t bytes = static_cast<size_t>(picture_.height * picture_.width * 3);
    PipelineOptions options;
    options.max_jobs = kJobs;
    options.max_bytes = kJobs * bytes;
    options.when_full = WhenFull::kRefuse;
    auto pipeline = start(options);
    check(pipeline->commit({picture_}).get());    // threads and contexts have their memory
    std::ofstream("/proc/self/clear_refs") << 5;  // the peak begins here
    const double before = memory("VmRSS:");
    std::atomic<int> succeeded = 0, refused = 0, wrong = 0;
    int committed = 0;
    const auto begin = Clock::now();
    for (double at = 0; at < seconds; at += 1 / rate, ++committed) {
      std::this_thread::sleep_until(begin
                                    + std::chrono::duration_cast<Clock::duration>(Seconds(at)));
      Frame frame{picture_, {picture_.planes[0], picture_.planes[0] + bytes}};
      frame.image.planes[0] = frame.pixels.data();
      JobOptions job;
      job.bytes = bytes;
      pipeline->submit(std::move(frame), job, [&](const Answer<Found>& answer) {
        if (answer) {
          ++succeeded;
          wrong += *answer != expected;
        } else {
          ++(answer.error().failure == Failure::kRefused ? refused : wrong);
        }
      });
    }
    value_of(pipeline->stop());
    const double peak = memory("VmHWM:"), mebi = 1 << 20;
    // Each of what waits (max_prepared, which is twice the instances), runs, or is with a worker.
    const auto tensors = double((2 * infers_.size() + infers_.size() + 1)
                                * (infers_[0]->input()->bytes() + infers_[0]->output()->bytes()));
    return fmt::format(R"({{"committed": {}, "succeeded": {}, "refused": {}, "wrong": {}, )"
                       R"("grown_MiB": {:.1f}, "bound_MiB": {:.1f}}})",
                       committed, succeeded.load(), refused.load(), wrong.load(), peak - before,
                       (double(options.max_bytes + bytes) + tensors) / mebi);
  }
  Found boxes() { return check(pipeline_->commit({picture_}).get()); }
  std::vector<double> stages() const {
    std::vector<double> means;
    const Statistics statistics = pipeline_->statistics();
    for (const Stage stage : {Stage::kPreprocess, Stage::kInfer, Stage::kPostprocess})
      means.push_back(1e3 * statistics.stage(stage).work.mean());
    return means;
  }
  std::string trace() const { return pipeline_->trace_json(); }

 private:
  std::unique_ptr<Pipeline<Frame, Found>> start(const PipelineOptions& options) {
    Stages<Frame, Found, Tensors, Tensors> stages;
    stages.preprocess = [this](Frame& frame, const JobContext&) -> Result<Tensors> {
      Tensors tensors;
      tensors.push_back(value_of(inputs_.query(task_.input, DataType::kFLOAT)));
      value_of(task_.prepare(frame.image, tensors[0]));
      return tensors;
    };
    EngineInstanceOptions instances;
    instances.count = static_cast<int>(infers_.size());
    stages.instances = value_of(engine_instances(engine_, instances));
    stages.postprocess = [this](Frame&, Tensors& outputs, const JobContext&) -> Result<Found> {
      return task_.decode(outputs[0]);
    };
    return value_of(Pipeline<Frame, Found>::start(options, std::move(stages)));
  }
  // A row of /proc/self/status, in MiB.
  static double memory(const std::string& row) {
    std::ifstream status("/proc/self/status");
    double kibi = 0;
    for (std::string word; status >> word;)
      if (word == row) status >> kibi;
    return kibi / 1024;
  }
  static const Found& check(const Answer<Found>& answer) {
    if (answer) return *answer;
    fmt::print(stderr, "pipeline: {}\n", answer.error().text());
    std::exit(1);
  }

  const Image picture_;
  const Task task_;
  const std::shared_ptr<EngineContext> engine_;
  std::vector<std::shared_ptr<Infer>> infers_;
  TensorAllocator inputs_{kJobs};
  std::unique_ptr<Pipeline<Frame, Found>> pipeline_;
};

void serve(Bench& bench) {
  double seconds = 0, rate = 0;
  unsigned seed = 0;
  std::string arrivals;
  for (std::string word; std::cin >> word;) {
    if (word == "rate" && std::cin >> seconds)
      fmt::print("{}\n", bench.rate(seconds));
    else if (word == "engine" && std::cin >> seconds)
      fmt::print("{}\n", bench.engine(seconds));
    else if (word == "alone" && std::cin >> seconds)
      fmt::print("[{:.4f}]\n", fmt::join(bench.alone(seconds), ", "));
    else if (word == "load" && std::cin >> arrivals >> rate >> seconds >> seed)
      fmt::print("[{:.4f}]\n",
                 fmt::join(bench.load(arrivals == "steady", rate, seconds, seed), ", "));
    else if (word == "overload" && std::cin >> rate >> seconds)
      fmt::print("{}\n", bench.overload(rate, seconds));
    else if (word == "boxes")
      fmt::print("{}\n", bench.boxes());
    else if (word == "stages")
      fmt::print("{}\n", bench.stages());
    else if (word == "trace" && std::cin >> word)
      std::ofstream(word) << bench.trace(), fmt::print("null\n");
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    fmt::print(stderr, "usage: pipeline objects|text MODEL.onnx PICTURE THRESHOLD INSTANCES\n");
    return 1;
  }
  Tensor pixels = value_of(load_from_file(argv[3]));
  const Image picture = Image::packed(PixelFormat::kBGR, value_of(pixels.cpu<uint8_t>()),
                                      pixels.size(1), pixels.size(0));
  const auto threshold = static_cast<float>(std::atof(argv[4]));
  Bench bench(
      picture,
      argv[1] == std::string("text") ? text(picture, threshold) : objects(picture, threshold),
      argv[2], std::atoi(argv[5]));
  serve(bench);
}
