#include "cpu/convolution/integer_execution.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"
#include "base/parallel.h"
#include "cpu/blocks.h"
#include "cpu/convolution/byte_epilogue.h"
#include "cpu/convolution/copied_axis.h"
#include "cpu/convolution/int8_panels.h"
#include "cpu/convolution/integer_results.h"
#include "cpu/window.h"

namespace tenon::cpu {
namespace {

using In = QuantizedInputs;

constexpr int64_t kCacheLineBytes = 64;
/// Segments for each thread, below which rows are divided, however few.
constexpr int64_t kFewSegments = 8;
/// Rows of the result for each thread, below which a block is a piece of a row.
constexpr int64_t kFewRows = 3;
/// Segments of such a piece.
constexpr int64_t kRowSegments = 2;

Shape panels_shape(const ByteProductKernels& kernels, const Shape& windows) {
  return panels_shape(kernels, windows[0], windows[2], windows[3] * windows[1]);
}

IntegerPanels pack(const ByteProductKernels& kernels, const ConstantWindows& from) {
  const int64_t dot_group = kernels.dot_group(), bytes = kernels.element_bytes;
  const Shape& shape = from.shape;
  const int64_t output_channels = shape[0], channels = shape[1], rows = shape[2],
                columns = shape[3];
  IntegerPanels made{
      &kernels, Tensor(DataType::kINT8, panels_shape(kernels, shape)), from.sums(), {}};
  const int64_t dot_groups = made.panels.shape()[2];
  auto* to = made.panels.mutable_data<int8_t>();
  std::fill_n(to, made.panels.count(), int8_t{0});
  for (int64_t m = 0; m < output_channels; ++m)
    for (int64_t c = 0; c < channels; ++c)
      for (int64_t y = 0; y < rows; ++y)
        for (int64_t x = 0; x < columns; ++x) {
          const int32_t weight = from.weight(m, c, y, x);
          const int64_t k = x * channels + c;  // as the elements of a run lie
          const int64_t run = m / kernels.panel_channels * rows + y;
          const int64_t column = (run * dot_groups + k / dot_group) * kernels.panel_channels
                                 + m % kernels.panel_channels;
          // Little-endian: its first bytes are the element.
          std::memcpy(to + (column * dot_group + k % dot_group) * bytes, &weight,
                      static_cast<size_t>(bytes));
        }
  return made;
}

/// The panels of weights, and the runs and dot groups of each.
struct Panels {
  std::vector<BytePanel> list;
  int64_t runs, dot_groups;
};
Panels panels_of(const IntegerPanels& weights) {
  if (weights.order.count() != 0) {
    const Shape& order = weights.order.shape();
    return {int8_panels(weights), order[1], order[2] - kByteGroups};
  }
  const Shape& shape = weights.panels.shape();
  Panels panels{{}, shape[1], shape[2]};
  const int64_t bytes = shape.volume(1, shape.rank());
  for (int64_t p = 0; p < shape[0]; ++p)
    panels.list.push_back({weights.panels.data<int8_t>() + p * bytes, bytes, nullptr});
  return panels;
}

class IntegerExecution final : public BlockExecution {
 public:
  IntegerExecution(const QuantizedConvolution& op, const IntegerPanels& weights,
                   const std::optional<ByteSum>& sum, std::span<const TensorSpec> inputs,
                   const TensorSpec& output)
      : BlockExecution({}, inputs, output),
        kernels_(*weights.kernels),
        panels_(panels_of(weights)),
        results_(op, weights.sums, sum, inputs),
        output_channels_(op.output_channels),
        epilogue_inputs_(op.epilogue_inputs()) {
    const Shape &data = inputs[In::kData].shape, &result = output.shape;
    const auto windows =
        make_windows(2, op.kernel, op.stride, op.dilation, op.pre_padding, op.post_padding);
    vertical_ = {resolved(windows[0], data[2], result[2], op.padding_mode), data[2], result[2]};
    horizontal_ = {resolved(windows[1], data[3], result[3], op.padding_mode), data[3], result[3]};
    images_ = data[0];
    channels_ = data[1];
    run_ = horizontal_.window.kernel * channels_;
    require(panels_.runs == vertical_.window.kernel
                && panels_.dot_groups == units(run_, kernels_.dot_group()),
            "data of {} channels does not fit the weights", channels_);
    check_result(result, images_, output_channels_);
    if (is_one_row()) {
      horizontal_.in = horizontal_.out = images_ * vertical_.out * horizontal_.out;
      images_ = vertical_.in = vertical_.out = 1;
    }
    split();
    epilogue_.emplace(op, addend_type(op, inputs),
                      block_height_ * block_width_ * kernels_.panel_channels);
    set_task_memory();
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const uint8_t*>(arguments.inputs[In::kData]);
    results_.begin(arguments);
  }

  // A block of an image, some panels.
  void run_task(int64_t task, float* workspace) const override {
    auto* const copied = reinterpret_cast<uint8_t*>(workspace);
    const auto t = tasks_[task];
    const int64_t count = t.end_block - t.first_block;
    int64_t image = t.image, y = t.first_block, height = count, x = 0, width = horizontal_.out;
    if (piece_ > 0) {
      image = t.image / vertical_.out;
      y = t.image % vertical_.out;
      height = 1;
      x = t.first_block * piece_;
      width = std::min(count * piece_, horizontal_.out - x);
    }
    copy(image, y, height, x, width, copied);
    const ByteWindows windows = {.first = copied,
                                 .rows = height,
                                 .pixels = width,
                                 .row_step = vertical_.step() * row_bytes(width),
                                 .pixel_step = horizontal_.step() * pixel_bytes(),
                                 .runs = vertical_.window.kernel,
                                 .run_step = row_bytes(width),
                                 .steps = units(run_, kernels_.dot_group())};
    const int64_t pixel = (image * vertical_.out + y) * horizontal_.out + x;
    for (int64_t panel = t.first_column; panel < t.end_column; ++panel)
      multiply(windows, pixel, panel, workspace + copied_floats_);
  }

 private:
  // Where each window is an element of its own, all pixels of all images lie in one row.
  bool is_one_row() const {
    const auto is_whole = [](const CopiedAxis& axis) {
      return axis.window.kernel == 1 && axis.window.stride == 1 && axis.in == axis.out;
    };
    return is_whole(vertical_) && is_whole(horizontal_);
  }

  /// Bytes of a copied row of a block that is so wide.
  int64_t row_bytes(int64_t width) const { return horizontal_.elements(width) * pixel_bytes(); }
  int64_t pixel_bytes() const { return channels_ * kernels_.element_bytes; }
  /// Of the numbers of a panel that an epilogue takes, for each pixel of the result.
  int64_t number_bytes() const {
    return epilogue_inputs_ * kernels_.panel_channels * static_cast<int64_t>(sizeof(float));
  }

  // Into blocks of rows, or where these are few or large, of pieces of a row.
  void split() {
    const int64_t height = vertical_.out, width = horizontal_.out;
    const int64_t pixels = images_ * height * width;
    const Machine machine = this_machine();
    const bool are_few = units(pixels, kernels_.segment) < kFewSegments * machine.threads;
    const int64_t row = vertical_.elements(1) * row_bytes(width) + width * number_bytes();
    if (height == 1 || (!are_few && height < kFewRows * machine.threads)
        || row > machine.near_bytes())
      piece_ = kRowSegments * kernels_.segment;
    const int64_t block_pixels = piece_ > 0 ? piece_ : width;
    const int64_t weights = run_ * vertical_.window.kernel * kernels_.panel_channels;
    const int64_t data = piece_ > 0 ? piece_ * vertical_.elements(1) * row_bytes(1)
                                    : vertical_.step() * row_bytes(width);
    tasks_ = Partition({.images = piece_ > 0 ? images_ * height : images_,
                        .blocks = pixels == 0  ? 0
                                  : piece_ > 0 ? units(width, piece_)
                                               : height,
                        .columns = units(output_channels_, kernels_.panel_channels),
                        .products = static_cast<double>(block_pixels)
                                    * static_cast<double>(weights / kernels_.dot_group()),
                        .block_bytes = data,
                        .panel_bytes = weights * kernels_.element_bytes,
                        .held_bytes = data + block_pixels * number_bytes()},
                       machine);
    block_width_ = piece_ > 0 ? tasks_.blocks() * piece_ : width;
    block_height_ = piece_ > 0 ? 1 : tasks_.blocks();
  }

  void set_task_memory() {
    const int64_t pixels = images_ * vertical_.out * horizontal_.out;
    if (pixels == 0) return set_tasks(0, 0, 0);
    const int64_t depth = run_ * vertical_.window.kernel;
    const double products =
        static_cast<double>(pixels * depth) * static_cast<double>(output_channels_);
    const auto at_once = static_cast<double>(kernels_.dot_group());  // for one of floats
    // What is read behind a row's last pixel, and behind a run.
    const int64_t behind = kernels_.segment * horizontal_.step() * pixel_bytes() + kDotGroupBytes;
    const int64_t bytes = vertical_.elements(block_height_) * row_bytes(block_width_) + behind;
    copied_floats_ = units(bytes, kCacheLineBytes) * (kCacheLineBytes / int64_t{sizeof(float)});
    set_tasks(tasks_.count(), products / at_once, copied_floats_ + epilogue_->floats());
  }

  // What the windows of a block touch.
  void copy(int64_t image, int64_t y, int64_t height, int64_t x, int64_t width, uint8_t* to) const {
    const int64_t rows = vertical_.elements(height), bytes = row_bytes(width);
    const uint8_t* from = data_ + image * vertical_.in * horizontal_.in * channels_;
    for (int64_t row = 0; row < rows; ++row, to += bytes) {
      const int64_t source = vertical_.source(y, row);
      if (source < 0 || source >= vertical_.in)
        kernels_.fill(results_.padding(), bytes / kernels_.element_bytes, to);
      else
        copy_row(from + source * horizontal_.in * channels_, x, horizontal_.elements(width), to);
    }
  }

  // Elements that lie together in the data are copied together.
  void copy_row(const uint8_t* row, int64_t x, int64_t count, uint8_t* to) const {
    const Window& window = horizontal_.window;
    const int64_t together = horizontal_.overlaps() ? count
                             : window.dilation == 1 ? window.kernel
                                                    : 1;
    const int64_t bytes = pixel_bytes();
    for (int64_t at = 0; at < count; at += together, to += together * bytes) {
      const int64_t source = horizontal_.source(x, at);
      const int64_t begin = std::clamp<int64_t>(-source, 0, together);
      const int64_t end = std::clamp<int64_t>(horizontal_.in - source, begin, together);
      kernels_.fill(results_.padding(), begin * channels_, to);
      kernels_.copy(row + (source + begin) * channels_, (end - begin) * channels_, results_.flip(),
                    to + begin * bytes);
      kernels_.fill(results_.padding(), (together - end) * channels_, to + end * bytes);
    }
  }

  void multiply(const ByteWindows& windows, int64_t pixel, int64_t panel, float* numbers) const {
    const int64_t output_channel = panel * kernels_.panel_channels,
                  at = pixel * output_channels_ + output_channel;
    const int64_t count = std::min(kernels_.panel_channels, output_channels_ - output_channel);
    const ByteResultSteps steps = {.row = horizontal_.out * output_channels_,
                                   .pixel = output_channels_};
    const BytePanel& weights = panels_.list[static_cast<size_t>(panel)];
    results_.of(at, output_channel, [&](const ByteResult& result, void* out) {
      if (!epilogue_->used()) return kernels_.product(windows, weights, result, count, out, steps);
      const ByteResultSteps own = {.row = windows.pixels * count, .pixel = count};
      kernels_.product(windows, weights, as_floats(result), count, numbers, own);
      if (epilogue_->has_operand())
        for (int64_t y = 0; y < windows.rows; ++y)
          epilogue_->read_operand(
              kernels_,
              {results_.addend(at + y * steps.row), windows.pixels, count, steps.pixel, own.pixel},
              numbers, y * own.row);
      epilogue_->run(numbers, windows.rows * own.row);
      for (int64_t y = 0; y < windows.rows; ++y)
        epilogue_->round(kernels_,
                         {numbers + y * own.row, windows.pixels, count, own.pixel, steps.pixel},
                         result.rounding, static_cast<uint8_t*>(out) + y * steps.row);
    });
  }

  const ByteProductKernels& kernels_;
  Panels panels_;
  IntegerResults results_;
  CopiedAxis vertical_, horizontal_;
  int64_t images_, channels_, output_channels_;
  int64_t run_;  // elements
  Partition tasks_;
  int64_t piece_ = 0;                           // pixels of a row's piece; 0 for whole rows
  int64_t block_width_ = 0, block_height_ = 0;  // the most pixels of the result of a task
  int32_t epilogue_inputs_;                     // 0 without an epilogue
  std::optional<ByteEpilogue> epilogue_;        // for the largest block
  int64_t copied_floats_ = 0;                   // of a task's workspace
  const uint8_t* data_ = nullptr;
};

}  // namespace

Shape panels_shape(const ByteProductKernels& kernels, int64_t output_channels, int64_t runs,
                   int64_t elements) {
  return {units(output_channels, kernels.panel_channels),
          runs,
          units(elements, kernels.dot_group()),
          kernels.panel_channels,
          kernels.dot_group(),
          kernels.element_bytes};
}

Variant<IntegerPanels, std::string> IntegerPanels::take(const KernelRequest& request,
                                                        const Shape& shape, const Shape& steps) {
  const ByteProductKernels &kernels = *byte_product_kernels(), &int8 = *kernels.int8;
  auto from = ConstantWindows::take(request, shape, steps);
  if (auto* reason = std::get_if<std::string>(&from)) return std::move(*reason);
  const auto& windows = std::get<ConstantWindows>(from);
  if (int8.complements) {
    if (auto made = pack_int8(int8, windows)) return std::move(*made);
  } else if (windows.are_bytes()) {
    return pack(int8, windows);
  }
  return pack(kernels, windows);
}

IntegerPanels IntegerPanels::load(const StoredKernel& stored, const Shape& shape) {
  const ByteProductKernels &kernels = *byte_product_kernels(), &int8 = *kernels.int8;
  const auto& packed = stored.packed;
  if (int8.complements) {
    if (packed.size() == 3) return stored_int8_panels(int8, stored, shape);
  } else if (!packed.empty() && packed[0].shape() == panels_shape(int8, shape)) {
    return stored_panels(int8, stored, panels_shape(int8, shape), shape);
  }
  return stored_panels(kernels, stored, panels_shape(kernels, shape), shape);
}

std::vector<Tensor> IntegerPanels::packed() const {
  if (order.count() == 0) return {panels, sums};
  return {panels, sums, order};
}

IntegerPanels stored_panels(const ByteProductKernels& kernels, const StoredKernel& stored,
                            const Shape& panels, const Shape& windows) {
  const auto& packed = stored.packed;
  require(packed.size() == 2 && packed[0].type() == DataType::kINT8 && packed[0].shape() == panels
              && packed[1].type() == DataType::kINT32
              && packed[1].shape() == Shape({2, windows[0]}),
          "stored weights do not fit {} output channels of {} channels and windows of {}x{}",
          windows[0], windows[1], windows[2], windows[3]);
  return {&kernels, packed[0], packed[1], {}};
}

void check_result(const Shape& result, int64_t images, int64_t output_channels) {
  require(result[0] == images && result[1] == output_channels,
          "a result of {} images and {} output channels does not fit {} images and weights of {} "
          "output channels",
          result[0], result[1], images, output_channels);
}

std::unique_ptr<Execution> convolve_integers(const QuantizedConvolution& op,
                                             const IntegerPanels& weights,
                                             const std::optional<ByteSum>& sum,
                                             std::span<const TensorSpec> inputs,
                                             const TensorSpec& output) {
  return std::make_unique<IntegerExecution>(op, weights, sum, inputs, output);
}

}  // namespace tenon::cpu
