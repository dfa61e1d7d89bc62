// Convolution by its definition, in vectors of maps: windows of one element over blocks of
// channels, whose data are multiplied where they lie, and any others over such blocks or over few
// channels in rows, of which a task copies what it reads with its padding. The library has no code
// in blocks for some of the former, its activations take as long as the products over few channels,
// and it waits for the weights of small images.
#include <algorithm>

#include "base/error.h"
#include "base/parallel.h"
#include "target/cpu/blocked_epilogue.h"
#include "target/cpu/convolution/block_convolution.h"
#include "target/cpu/convolution/direct_panels.h"

namespace tenon::cpu {
namespace {

/// Channels that are taken from rows: more fill a vector.
constexpr int64_t kFewChannels = 4;
/// Padded rows of a wider reach are mostly zeros, and may not fit memory.
constexpr int64_t kMostReach = 1024;
/// Bytes that a task may copy, when there is a choice of kernels.
constexpr size_t kMostCopied = 16 << 20;
/// Results of a strip: enough for the loops, few enough for the first-level cache, where an
/// epilogue finds them.
constexpr int64_t kStrip = 98;

class DirectExecution final : public BlockExecution {
 public:
  DirectExecution(const Convolution& op, const Tensor& weights, const Tensor& bias,
                  std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, {}, output),
        weights_(weights),
        bias_(bias),
        epilogue_(op.epilogue, inputs, output),
        lanes_(inputs[0].layout == Layout::kLinear ? 1 : direct_loops().lanes) {
    Shape data = inputs[0].shape, result = output.shape;
    auto windows = convolution_windows(op, inputs, result);
    // A column lies in memory as a row does.
    if (data[3] == 1 && result[3] == 1 && windows[1].kernel == 1) {
      std::swap(data[2], data[3]);
      std::swap(result[2], result[3]);
      std::swap(windows[0], windows[1]);
    }
    vertical_ = windows[0];
    horizontal_ = windows[1];
    channels_ = data[1];
    in_height_ = data[2];
    in_width_ = data[3];
    vectors_ = units(result[1], direct_loops().lanes);
    depth_ = channels_ * op.kernel.volume();
    require(weights_.count() == bias_.count() * depth_ && bias_.count() == padded_maps(result[1]),
            "the packed weights do not fit {} channels and {} maps", channels_, result[1]);
    require(output.layout == direct_layout()
                && (lanes_ == 1 ? channels_ <= kFewChannels : inputs[0].layout == direct_layout()),
            "data and result must lie in blocks of {} channels, or few channels of data in rows",
            direct_loops().lanes);
    for (size_t i = 0; i < windows.size(); ++i) {
      const Window& w = windows[i];
      const auto axis = static_cast<int>(i) + 2;
      require(std::max(w.reach(), w.pre) <= kMostReach,
              "only windows and padding of up to {} elements are supported", kMostReach);
      pads_ |=
          lanes_ == 1 || w.kernel != 1 || w.pre != 0 || (result[axis] - 1) * w.stride >= data[axis];
    }
    form_.depth = depth_;
    form_.out_step = result[2] * result[3] * direct_loops().lanes;
    form_.out_pixel = direct_loops().lanes;
    form_.least = epilogue_.least();
    form_.most = epilogue_.most();
    pixels_ = result[2] * result[3];
    groups_ = units(channels_, lanes_);
    image_floats_ = groups_ * in_height_ * in_width_ * lanes_;
    form_.step = horizontal_.stride * lanes_;
    if (pads_)
      copy_rows(result);
    else
      stay_in_blocks(result);
    is_pixel_ = pixels_ == 1;
    split(data[0]);
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    result_ = static_cast<float*>(arguments.outputs[0]);
    epilogue_.begin(arguments);
  }

  // Some maps of some strips of one image. The weights of a panel stay near while strips pass by.
  void run_task(int64_t task, float* room) const override {
    if (is_pixel_) return run_images(tasks_[task], room);
    const auto [image, first, end, first_vector, last] = tasks_[task];
    const float* in = data_ + image * image_floats_ + first * strip_step_;
    if (pads_) {
      pad(data_ + image * image_floats_, first * vertical_.stride - vertical_.pre, room);
      in = room;
    }
    const int64_t per_panel = kDirectPanel / direct_loops().lanes;
    for (int64_t v = first_vector; v < last; v += per_panel) {
      const int64_t next = v + per_panel < last ? v + per_panel : first_vector;
      for (int64_t strip = first; strip < end; ++strip)
        run_strip(in + (strip - first) * strip_step_, image * vectors_, v,
                  std::min(per_panel, last - v), strip * length_,
                  next_weights(next, strip - first, end - first));
    }
  }

 private:
  // Rows of the result, of data whose rows are padded first.
  void copy_rows(const Shape& result) {
    length_ = result[3];
    strips_ = result[2];
    // What the windows of a row read, no less than the row itself.
    padded_ = std::max((length_ - 1) * horizontal_.stride + horizontal_.reach(),
                       in_width_ + horizontal_.pre)
              * lanes_;
    strip_step_ = vertical_.stride * padded_;
  }

  // Parts of the whole plane, or rows where some of the data is left out.
  void stay_in_blocks(const Shape& result) {
    const bool is_whole = vertical_.stride == 1 && horizontal_.stride == 1;
    length_ = is_whole ? units(pixels_, std::max<int64_t>(units(pixels_, kStrip), 1)) : result[3];
    strips_ = length_ == 0 ? 0 : units(pixels_, length_);
    strip_step_ = (is_whole ? length_ : vertical_.stride * in_width_) * lanes_;
    for (int64_t c = 0; c < channels_; ++c)
      offsets_.push_back(c / lanes_ * in_height_ * in_width_ * lanes_ + c % lanes_);
  }

  void split(int64_t images) {
    const int64_t floats = pads_ ? groups_ * strip_step_ : length_ * channels_;
    tasks_ = is_pixel_ ? DirectTasks(1, images, floats, vectors_)
                       : DirectTasks(images, strips_, floats, vectors_);
    int64_t room = 0;
    if (pads_ && tasks_.count() > 0) {
      in_rows_ = ((is_pixel_ ? 1 : tasks_.strips()) - 1) * vertical_.stride + vertical_.reach();
      room = groups_ * in_rows_ * padded_;
      for (int64_t c = 0; c < channels_; ++c)
        for (int64_t y = 0; y < vertical_.kernel; ++y)
          for (int64_t x = 0; x < horizontal_.kernel; ++x)
            offsets_.push_back((c / lanes_ * in_rows_ + y * vertical_.dilation) * padded_
                               + x * horizontal_.dilation * lanes_ + c % lanes_);
    }
    if (is_pixel_) {
      form_.step = pads_ ? room : image_floats_;
      form_.out_step = direct_loops().lanes;
      form_.out_pixel = vectors_ * form_.out_step;
      room *= tasks_.strips();
    }
    form_.offsets = offsets_.data();
    set_tasks(tasks_.count(),
              static_cast<double>(images * pixels_) * static_cast<double>(weights_.count()), room);
  }

  // The rows that a task reads, from `top` on: channel or block of channels, row, column.
  void pad(const float* image, int64_t top, float* to) const {
    const int64_t width = in_width_ * lanes_, before = horizontal_.pre * lanes_;
    for (int64_t c = 0; c < groups_; ++c)
      for (int64_t y = top; y < top + in_rows_; ++y, to += padded_) {
        if (y < 0 || y >= in_height_) {
          std::fill_n(to, padded_, 0.f);
          continue;
        }
        std::fill_n(to, before, 0.f);
        float* const end = std::copy_n(image + (c * in_height_ + y) * width, width, to + before);
        std::fill(end, to + padded_, 0.f);
      }
  }

  // Some maps of some images whose results are single pixels: they are neighbours as those of a row
  // are.
  void run_images(const DirectTasks::Task& task, float* room) const {
    const int64_t first = task.first_strip, end = task.end_strip;
    const float* in = data_ + first * image_floats_;
    if (pads_) {
      for (int64_t image = first; image < end; ++image)
        pad(data_ + image * image_floats_, -vertical_.pre, room + (image - first) * form_.step);
      in = room;
    }
    const int64_t lanes = direct_loops().lanes, per_panel = kDirectPanel / lanes;
    for (int64_t v = task.first_vector; v < task.end_vector; v += per_panel) {
      const int64_t vectors = std::min(per_panel, task.end_vector - v);
      const int64_t next = v + per_panel < task.end_vector ? v + per_panel : task.first_vector;
      multiply(in, v, vectors, end - first, next_weights(next, 0, 1),
               result_ + (first * vectors_ + v) * lanes);
      for (int64_t image = first; image < end; ++image)
        for (int64_t i = v; i < v + vectors; ++i) epilogue_.run(image * vectors_ + i, 0, 1);
    }
  }

  // Of the panel of weights from that map on.
  int64_t width_of(int64_t map) const { return std::min(kDirectPanel, bias_.count() - map); }

  // A strip's part of a panel.
  NextWeights next_weights(int64_t vector, int64_t strip, int64_t strips) const {
    const int64_t map = vector * direct_loops().lanes, all = width_of(map) * depth_;
    const int64_t begin = all * strip / strips, end = all * (strip + 1) / strips;
    return {weights_.data<float>() + map * depth_ + begin, end - begin};
  }

  // Blocks of the result are counted through all images.
  void run_strip(const float* in, int64_t block, int64_t vector, int64_t vectors, int64_t first,
                 const NextWeights& next) const {
    const int64_t pixels = std::min(length_, pixels_ - first);
    multiply(in, vector, vectors, pixels, next,
             result_ + (block + vector) * form_.out_step + first * direct_loops().lanes);
    for (int64_t v = vector; v < vector + vectors; ++v) epilogue_.run(block + v, first, pixels);
  }

  void multiply(const float* in, int64_t vector, int64_t vectors, int64_t pixels,
                const NextWeights& next, float* out) const {
    const int64_t map = vector * direct_loops().lanes;
    direct_loops().run(form_, in, weights_.data<float>() + map * depth_, width_of(map), next,
                       bias_.data<float>() + map, vectors, pixels, out);
  }

  Tensor weights_, bias_;
  BlockedEpilogue epilogue_;
  int64_t lanes_;      // channels that lie together
  bool pads_ = false;  // whether rows are copied, with their padding
  bool is_pixel_;      // whether a result is a single pixel
  Window vertical_, horizontal_;
  DirectForm form_;
  std::vector<int64_t> offsets_;
  DirectTasks tasks_;
  int64_t channels_, groups_, in_height_, in_width_;
  int64_t vectors_, depth_, pixels_;  // of the result
  int64_t length_ = 0, strips_ = 0;   // pixels of a strip; strips of an image
  int64_t strip_step_ = 0;            // floats of the data from a strip to the next
  int64_t image_floats_ = 0;          // of the data
  int64_t padded_ = 0, in_rows_ = 0;  // floats and number of the rows that a task copies
  const float* data_ = nullptr;
  float* result_ = nullptr;
};

std::string refusal(const Convolution& op, const KernelRequest& request) {
  if (const std::string reason = refusal_of_planes(op.kernel, request); !reason.empty())
    return reason;
  const Shape& data = request.inputs[0].shape;
  if (op.groups != 1 || op.output_maps < 1 || data[1] < 1)
    return "only one group of known channels is supported";
  return "";
}

}  // namespace

Offer offer_direct_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal(op, request); !reason.empty()) return reason;
  const int64_t channels = request.inputs[0].shape[1];
  DirectWeights packed;
  if (request.stored != nullptr) {
    packed = stored_weights(*request.stored);
  } else {
    const int64_t count = Shape({op.output_maps, channels, op.kernel.volume()}).volume();
    if (const auto reason = refusal_of_constants(request, count, op.output_maps); !reason.empty())
      return reason;
    const int64_t depth = channels * op.kernel.volume();
    packed.weights = Tensor(DataType::kFLOAT, {padded_maps(op.output_maps) * depth});
    write_panels(request.constants[1]->data<float>(), {depth, 1}, op.output_maps, depth,
                 packed.weights.mutable_data<float>());
    packed.bias = padded_bias(constant_bias(request), op.output_maps);
  }
  auto kernel = std::make_unique<DirectKernel<Convolution, DirectExecution>>(op, packed);
  lie_in(direct_layout(), *kernel, request);
  if (channels <= kFewChannels) kernel->input_layouts[0] = Layout::kLinear;
  if (request.stored != nullptr) return kernel;
  std::vector<TensorSpec> inputs(request.inputs.begin(), request.inputs.end());
  TensorSpec output = request.outputs[0];
  for (size_t i = 0; i < inputs.size(); ++i) inputs[i].layout = kernel->input_layouts[i];
  output.layout = direct_layout();
  try {
    const auto execution = kernel->prepare(inputs, {&output, 1});  // what does not fit is refused
    if (execution->scratch_bytes() > kMostCopied * static_cast<size_t>(thread_count()))
      return "windows reach too far over too many channels";
  } catch (const Error& e) {
    return e.what();
  }
  return kernel;
}

}  // namespace tenon::cpu
