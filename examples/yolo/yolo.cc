// Finds objects in pictures, or in frames that come through a pipe, with a detector of YOLO's kind:
// many frames are in flight through one pipeline, in batches, and are answered in their order.
#include <tenon/serve/raw_yolo.h>
#include <tenon/serve/yolo.h>

#include <map>

#include "common/frames.h"
#include "common/label.h"
#include "common/onnx_metadata.h"
#include "common/picture_network.h"
#include "common/program.h"

namespace {

using namespace tenon::serve;  // NOLINT: what applications write
using examples::value_of;

constexpr int kJobs = 16, kBatch = 4;  // in flight; in a batch, if the model takes several
constexpr int kSide = 640;             // of the network's input, where the model leaves it open

// By stride, of YOLOv3 and of tiny YOLOv3: whose raw heads they are, their number tells.
using Anchors = std::map<int, std::vector<std::array<float, 2>>>;
const Anchors kAnchors = {{8, {{10, 13}, {16, 30}, {33, 23}}},
                          {16, {{30, 61}, {62, 45}, {59, 119}}},
                          {32, {{116, 90}, {156, 198}, {373, 326}}}};
const Anchors kTinyAnchors = {{16, {{23, 27}, {37, 58}, {81, 82}}},
                              {32, {{81, 82}, {135, 169}, {344, 319}}}};

struct Job {
  examples::Frame frame;
  Letterbox box{};
  std::string found{};  // a line for each object
};

class Detector {
 public:
  Detector(const std::string& model, const examples::Sink& sink)
      : sink_(sink),
        network_(examples::build_picture_network(model, kBatch, kSide, kSide)),
        names_(examples::class_names(model)),
        anchors_(network_.outputs.size() == 3 ? kAnchors : kTinyAnchors) {
    const auto& heads = network_.outputs;
    const bool is_known = std::all_of(heads.begin(), heads.end(), [&](const auto& head) {
      const auto& [rank, extents] = head.shape;
      return heads.size() == 1 ? rank == 3 : rank == 4 && anchors_.contains(stride_of(extents[3]));
    });
    const std::string task = examples::onnx_metadata(model, "task");
    if (!is_known || (!task.empty() && task != "detect"))
      throw std::runtime_error(model + ": expected a detector, with one output of YOLOv8, v5 or v10 "
                               "or the raw heads of YOLOv3; found " + network_.outputs_text()
                               + (task.empty() ? "" : ", whose task is " + task));
  }

  std::unique_ptr<Pipeline<Job, Job>> start() {
    PipelineOptions options;
    options.max_batch = static_cast<size_t>(network_.most());
    options.max_jobs = kJobs;
    options.ordered = true;
    options.preprocess_workers = options.postprocess_workers = 2;  // which read and write files
    return examples::start<Job, Job>(
        network_.engine, options, [this](Job& job, const JobContext&) { return prepared(job); },
        [this](Job& job, Tensors& heads, const JobContext&) { return drawn(job, heads); });
  }

 private:
  int stride_of(int64_t columns) const {
    return static_cast<int>(network_.width() / std::max<int64_t>(columns, 1));
  }

  Result<Tensors> prepared(Job& job) {
    const Image image = job.frame.image();
    job.box = value_of(
        Letterbox::ultralytics(image.width, image.height, network_.width(), network_.height()));
    Tensors tensors;
    tensors.emplace_back(Shape{1, 3, network_.height(), network_.width()}, network_.input.type);
    const auto order = image.format == PixelFormat::kRGB ? ChannelType::None : ChannelType::Invert;
    value_of(letterbox(image, job.box, {tensors[0]}, Norm::alpha_beta(1 / 255.f, 0, order)));
    return tensors;
  }

  Result<std::vector<Box>> decode(Tensors& heads, const DetectOptions& options) const {
    std::vector<AnchorLevel> levels;
    for (Tensor& head : heads) {
      const View view = value_of(View::of_item(head, 0));
      const int64_t rows = view.size(0), columns = view.size(1);
      const int stride = stride_of(head.width());
      if (heads.size() > 1)
        levels.push_back({view, stride, anchors_.at(stride)});
      else if (rows < columns)
        return decode_yolo_v8(view, options);
      else if (columns == 6 && rows <= 300)  // YOLOv5 with one class has thousands of rows
        return decode_yolo_v10(view, options);
      else
        return decode_yolo_v5(view, options);
    }
    return decode_anchors(levels, AnchorCoding::kV3, options);
  }

  Result<Job> drawn(Job& job, Tensors& heads) {
    tenon::Picture& picture = job.frame.picture();
    DetectOptions options;
    options.to_picture = job.box.d2i;
    options.width = picture.width, options.height = picture.height;
    for (const Box& box : value_of(decode(heads, options))) {
      const auto label = static_cast<size_t>(box.class_label);
      char score[16], place[80];
      std::snprintf(score, sizeof score, " %.2f", box.score);
      std::snprintf(place, sizeof place, " at (%.1f, %.1f) to (%.1f, %.1f)\n", box.left, box.top,
                    box.right, box.bottom);
      const std::string text =
          (label < names_.size() ? names_[label] : "class " + std::to_string(label)) + score;
      job.found += job.frame.name + ": " + text + place;
      examples::draw_box(picture, box, text);
    }
    if (!sink_.is_pipe()) sink_.write_file(job.frame);
    return std::move(job);
  }

  const examples::Sink& sink_;
  const examples::PictureNetwork network_;
  const std::vector<std::string> names_;
  const Anchors& anchors_;
};

int run(const examples::Arguments& arguments) {
  examples::Source source(arguments[1], arguments.size() > 3 ? arguments[3] : "");
  const examples::Sink sink(arguments[2], source);
  Detector detector(arguments[0], sink);
  examples::Tally tally("yolo", sink);
  const auto pipeline = detector.start();
  const auto all = source.for_each([&](examples::Frame frame) {
    pipeline->submit({std::move(frame)}, {}, [&](Answer<Job> answer) { tally.take(answer); });
  });
  value_of(pipeline->stop());
  return tally.finish(all);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(
      argc, argv, "yolo MODEL.onnx PICTURE|FOLDER|- RESULT|- [WIDTHxHEIGHT:nv12]", run);
}
