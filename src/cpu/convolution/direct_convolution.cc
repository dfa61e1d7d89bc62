// Convolution by its definition, in vectors of output channels: windows of one element over blocks
// of channels, whose data are multiplied where they lie, and any others over such blocks or over
// few channels in rows, of which a task copies what it reads with its padding. oneDNN has no code
// in blocks for some windows of one element. With few channels its activations take as long as its
// products, and with small images it waits for the weights.
#include <algorithm>

#include "cpu/convolution/block_convolution.h"
#include "cpu/convolution/direct_panels.h"

namespace tenon::cpu {
namespace {

class DirectExecution final : public BlockExecution {
 public:
  DirectExecution(const Convolution& op, const DirectWeights& weights,
                  std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, {}, output),
        product_(weights, Shape({inputs[0].shape[1], op.kernel.volume()}).volume(), op.epilogue,
                 inputs, output),
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
    require(lanes_ == 1 ? channels_ <= kFewChannels : inputs[0].layout == direct_layout(),
            "data must lie in blocks of {} channels, or few channels of data in rows",
            direct_loops().lanes);
    for (size_t i = 0; i < windows.size(); ++i) {
      const Window& w = windows[i];
      const auto axis = static_cast<int>(i) + 2;
      require(std::max(w.reach(), w.pre) <= kMaxReach,
              "only windows and padding of up to {} elements are supported", kMaxReach);
      pads_ |=
          lanes_ == 1 || w.kernel != 1 || w.pre != 0 || (result[axis] - 1) * w.stride >= data[axis];
    }
    pixels_ = result[2] * result[3];
    groups_ = units(channels_, lanes_);
    image_floats_ = groups_ * in_height_ * in_width_ * lanes_;
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
    product_.begin(arguments);
  }

  // Some output channels of some blocks of one image.
  void run_task(int64_t task, float* workspace) const override {
    if (is_pixel_) return run_images(task, workspace);
    const auto [image, first, end, first_vector, last] = tasks_[task];
    const float* in = data_ + image * image_floats_ + first * block_step_;
    if (pads_) {
      pad(data_ + image * image_floats_, first * vertical_.stride - vertical_.pre, workspace);
      in = workspace;
    }
    product_.run(in,
                 {image, first * length_, std::min(end * length_, pixels_), length_, block_step_},
                 first_vector, last, tasks_.after(task).first_column);
  }

 private:
  // Rows of the result, of data whose rows are padded first.
  void copy_rows(const Shape& result) {
    length_ = result[3];
    blocks_ = length_ == 0 ? 0 : result[2];
    // What the windows of a row read, no less than the row itself.
    padded_ = std::max((length_ - 1) * horizontal_.stride + horizontal_.reach(),
                       in_width_ + horizontal_.pre)
              * lanes_;
    block_step_ = vertical_.stride * padded_;
  }

  // Parts of the whole plane, or rows where some of the data is left out.
  void stay_in_blocks(const Shape& result) {
    const bool is_whole = vertical_.stride == 1 && horizontal_.stride == 1;
    length_ =
        is_whole ? units(pixels_, std::max<int64_t>(units(pixels_, kDirectBlock), 1)) : result[3];
    blocks_ = length_ == 0 ? 0 : units(pixels_, length_);
    block_step_ = (is_whole ? length_ : vertical_.stride * in_width_) * lanes_;
    set_windows(in_height_ * in_width_ * lanes_, in_width_ * lanes_);
  }

  void split(int64_t images) {
    const int64_t floats = pads_ ? groups_ * block_step_ : length_ * channels_;
    tasks_ = Partition(
        is_pixel_
            ? direct_work(1, images, 1, floats, product_.vectors(), product_.depth())
            : direct_work(images, blocks_, length_, floats, product_.vectors(), product_.depth()));
    int64_t workspace = 0;
    if (pads_ && tasks_.count() > 0) {
      in_rows_ = ((is_pixel_ ? 1 : tasks_.blocks()) - 1) * vertical_.stride + vertical_.reach();
      workspace = groups_ * in_rows_ * padded_;
      set_windows(in_rows_ * padded_, padded_);
    }
    if (is_pixel_) {
      image_step_ = pads_ ? workspace : image_floats_;
      product_.take_images_as_pixels(image_step_);
      workspace *= tasks_.blocks();
    }
    set_tasks(tasks_.count(), static_cast<double>(images * pixels_) * product_.work(), workspace);
  }

  // Of data in groups of channels and rows of so many floats.
  void set_windows(int64_t group, int64_t row) {
    std::vector<int64_t> offsets;
    for (int64_t c = 0; c < channels_; ++c)
      for (int64_t y = 0; y < vertical_.kernel; ++y)
        for (int64_t x = 0; x < horizontal_.kernel; ++x)
          offsets.push_back(c / lanes_ * group + y * vertical_.dilation * row
                            + x * horizontal_.dilation * lanes_ + c % lanes_);
    product_.set_windows(std::move(offsets), horizontal_.stride * lanes_, !pads_);
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

  // Some output channels of some images whose results are single pixels: they are neighbours as
  // those of a row are.
  void run_images(int64_t task, float* workspace) const {
    const auto t = tasks_[task];
    const int64_t first = t.first_block, end = t.end_block;
    const float* in = data_ + first * image_floats_;
    if (pads_) {
      for (int64_t image = first; image < end; ++image)
        pad(data_ + image * image_floats_, -vertical_.pre,
            workspace + (image - first) * image_step_);
      in = workspace;
    }
    product_.run(in, {0, first, end, end - first, 0}, t.first_column, t.end_column,
                 tasks_.after(task).first_column);
  }

  DirectProduct product_;
  int64_t lanes_;      // channels that lie together
  bool pads_ = false;  // whether rows are copied, with their padding
  bool is_pixel_;      // whether a result is a single pixel
  Window vertical_, horizontal_;
  Partition tasks_;
  int64_t channels_, groups_, in_height_, in_width_;
  int64_t pixels_;                    // of the result
  int64_t length_ = 0, blocks_ = 0;   // pixels of a block; blocks of an image
  int64_t block_step_ = 0;            // floats of the data from a block to the next
  int64_t image_floats_ = 0;          // of the data
  int64_t image_step_ = 0;            // floats from an image that is a pixel to the next
  int64_t padded_ = 0, in_rows_ = 0;  // floats and number of the rows that a task copies
  const float* data_ = nullptr;
};

std::unique_ptr<Kernel> make(const Convolution& op, const DirectWeights& weights,
                             const KernelRequest& request) {
  auto kernel = std::make_unique<DirectKernel<Convolution, DirectExecution>>(op, weights);
  lie_in(direct_layout(), *kernel, request);
  if (request.inputs[0].shape[1] <= kFewChannels) kernel->input_layouts[0] = Layout::kLinear;
  return kernel;
}

}  // namespace

Offer offer_direct_convolution(const KernelRequest& request) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal_of_groups(op, request); !reason.empty()) return reason;
  const auto weights = convolution_weights(op, request);
  if (const auto* reason = std::get_if<std::string>(&weights)) return *reason;
  return unless_it_copies_much(make(op, std::get<DirectWeights>(weights), request), request);
}

Offer load_direct_convolution(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const Convolution&>(request.op);
  if (const std::string reason = refusal_of_groups(op, request); !reason.empty()) return reason;
  return make(op, stored_weights(stored), request);
}

}  // namespace tenon::cpu
