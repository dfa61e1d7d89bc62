// Convolution of 8-bit integers with windows of 3x3 by Winograd's filtering, which is exact in
// integers: a block of tiles is transformed at a time, so that it stays in the L2 cache.
#include <algorithm>
#include <limits>

#include "base/error.h"
#include "cpu/blocks.h"
#include "cpu/convolution/byte_epilogue.h"
#include "cpu/convolution/integer_execution.h"
#include "cpu/kernels.h"
#include "cpu/window.h"

namespace tenon::cpu {
namespace {

using In = QuantizedInputs;

constexpr int64_t kWindow = 3;
/// An axis of a form with most elements.
constexpr int64_t kMaxSize = 6;

int64_t planes_of(const ByteWinograd& form) {
  return form.size * form.size;
}

// Weights of a plane after those of another, in dot groups of two 16-bit integers.
Shape panels_shape(const ByteWinograd& form, const Shape& windows) {
  return panels_shape(*byte_product_kernels(), windows[0], planes_of(form), windows[1]);
}

// Whether all sums that there can be are exact.
bool are_exact(const ByteWinograd& form, const ConstantWindows& windows) {
  constexpr int64_t kMaxData = 255;
  const Shape& shape = windows.shape;
  for (int64_t m = 0; m < shape[0]; ++m) {
    int64_t sum = 0;
    for (int64_t c = 0; c < shape[1]; ++c)
      for (int64_t y = 0; y < kWindow; ++y)
        for (int64_t x = 0; x < kWindow; ++x) sum += std::abs(windows.weight(m, c, y, x));
    if ((sum * kMaxData) << form.lost_bits > std::numeric_limits<int32_t>::max()) return false;
  }
  return true;
}

IntegerPanels pack(const ByteWinograd& form, const ConstantWindows& from) {
  const ByteProductKernels& kernels = *byte_product_kernels();
  const Shape& shape = from.shape;
  IntegerPanels made{&kernels, Tensor(DataType::kINT8, panels_shape(form, shape)), from.sums(), {}};
  auto* to = made.panels.mutable_data<int16_t>();
  std::fill_n(to, made.panels.count() / 2, int16_t{0});
  const int64_t dot_groups = made.panels.shape()[2], output_channels = kernels.panel_channels,
                dot_group = kernels.dot_group();
  const auto row = [&](int64_t i, const auto& at) {
    int32_t sum = 0;
    for (int64_t k = 0; k < kWindow; ++k) sum += form.weights[i * kWindow + k] * at(k);
    return sum;
  };
  for (int64_t m = 0; m < shape[0]; ++m)
    for (int64_t c = 0; c < shape[1]; ++c) {
      int32_t rows[kMaxSize][kWindow];
      for (int64_t i = 0; i < form.size; ++i)
        for (int64_t x = 0; x < kWindow; ++x)
          rows[i][x] = row(i, [&](int64_t y) { return from.weight(m, c, y, x); });
      for (int64_t plane = 0; plane < planes_of(form); ++plane) {
        const int32_t weight =
            row(plane % form.size, [&](int64_t x) { return rows[plane / form.size][x]; });
        const int64_t run =
            (m / output_channels * planes_of(form) + plane) * dot_groups + c / dot_group;
        to[(run * output_channels + m % output_channels) * dot_group + c % dot_group] =
            static_cast<int16_t>(weight);
      }
    }
  return made;
}

class IntegerWinogradExecution final : public BlockExecution {
 public:
  IntegerWinogradExecution(const ByteWinograd& form, const QuantizedConvolution& op,
                           const IntegerPanels& weights, const std::optional<ByteSum>& sum,
                           std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, inputs, output),
        kernels_(*byte_product_kernels()),
        form_(form),
        weights_(weights),
        results_(op, weights.sums, sum, inputs),
        output_channels_(op.output_channels),
        epilogue_inputs_(op.epilogue_inputs()),
        no_numbers_(static_cast<size_t>(kernels_.panel_channels)),
        nothing_(static_cast<size_t>(kernels_.panel_channels)) {
    const Shape &data = inputs[In::kData].shape, &result = output.shape;
    const auto windows =
        make_windows(2, op.kernel, op.stride, op.dilation, op.pre_padding, op.post_padding);
    vertical_ = {data[2], result[2], resolved(windows[0], data[2], result[2], op.padding_mode).pre};
    horizontal_ = {data[3], result[3],
                   resolved(windows[1], data[3], result[3], op.padding_mode).pre};
    images_ = data[0];
    channels_ = data[1];
    require(channels_ % form.channels == 0
                && weights.panels.shape()[2] == units(channels_, kernels_.dot_group()),
            "data of {} channels does not fit the weights", channels_);
    check_result(result, images_, output_channels_);
    const int64_t across = units(horizontal_.out, form.tile);
    for (int64_t y = 0; y < vertical_.out; y += form.tile)
      for (int64_t tile = 0; tile < across; ++tile) {
        const int64_t x = tile * form.tile;
        tiles_.push_back({(y * horizontal_.out + x) * output_channels_,
                          std::min(form.tile, vertical_.out - y),
                          std::min(form.tile, horizontal_.out - x)});
      }
    steps_ = {.row = horizontal_.out * output_channels_, .pixel = output_channels_};
    if (!op.epilogue.empty()) {
      number_steps_ = {.row = form.tile * kernels_.panel_channels,
                       .pixel = kernels_.panel_channels};
      for (int64_t i = 0; i < tiles(); ++i)
        number_tiles_.push_back({i * tile_numbers(), form.tile, form.tile});
    }
    split();
    if (!op.epilogue.empty())
      epilogue_.emplace(op, addend_type(op, inputs), tasks_.blocks() * tile_numbers());
  }

 protected:
  void begin(const RunArguments& arguments, float* shared) override {
    data_ = static_cast<const uint8_t*>(arguments.inputs[In::kData]);
    results_.begin(arguments);
    padding_ = reinterpret_cast<uint8_t*>(shared);
    std::fill_n(padding_, channels_, static_cast<uint8_t>(results_.padding() ^ results_.flip()));
  }

  // Some tiles of an image, some panels.
  void run_task(int64_t task, float* workspace) const override {
    const auto t = tasks_[task];
    const int64_t image = t.image, first = t.first_block, count = t.end_block - first;
    auto* const planes = reinterpret_cast<int16_t*>(workspace);
    auto* const sums = reinterpret_cast<int32_t*>(planes + planes_of(form_) * count * channels_);
    for (int64_t i = 0; i < count; ++i)
      transform(image, first + i, planes + i * channels_, count * channels_);
    auto* const numbers =
        reinterpret_cast<float*>(sums + planes_of(form_) * count * kernels_.panel_channels);
    const auto tiles_of_task =
        std::span(tiles_).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    for (int64_t panel = t.first_column; panel < t.end_column; ++panel) {
      multiply(planes, count, panel, sums);
      const int64_t output_channel = panel * kernels_.panel_channels;
      const int64_t at =
          image * vertical_.out * horizontal_.out * output_channels_ + output_channel;
      const int64_t channels = std::min(kernels_.panel_channels, output_channels_ - output_channel);
      results_.of(at, output_channel, [&](const ByteResult& result, void* out) {
        const int64_t plane = count * kernels_.panel_channels;
        if (!epilogue_)
          return form_.results(sums, plane, tiles_of_task, result, channels, out, steps_);
        form_.results(sums, plane, std::span(number_tiles_).first(static_cast<size_t>(count)),
                      as_floats(result), channels, numbers, number_steps_);
        if (epilogue_->has_operand())
          for_rows(tiles_of_task, [&](int64_t from, int64_t to, int64_t pixels) {
            epilogue_->read_operand(
                kernels_,
                {results_.addend(at + to), pixels, channels, steps_.pixel, number_steps_.pixel},
                numbers, from);
          });
        epilogue_->run(numbers, count * tile_numbers());
        for_rows(tiles_of_task, [&](int64_t from, int64_t to, int64_t pixels) {
          epilogue_->round(kernels_,
                           {numbers + from, pixels, channels, number_steps_.pixel, steps_.pixel},
                           result.rounding, static_cast<uint8_t*>(out) + to);
        });
      });
    }
  }

 private:
  struct Axis {
    int64_t in, out, padding;  // elements of the data and of the result, and before the data
  };

  int64_t tiles() const { return static_cast<int64_t>(tiles_.size()); }

  /// Numbers of a tile's results in a panel, which an epilogue takes.
  int64_t tile_numbers() const { return form_.tile * form_.tile * kernels_.panel_channels; }

  // Where the numbers of each row of a tile lie, its results from the first one of the image, and
  // how many pixels it has.
  template <class With> void for_rows(std::span<const ByteTile> tiles, const With& with) const {
    int64_t numbers = 0;
    for (const ByteTile& tile : tiles) {
      for (int64_t y = 0; y < tile.rows; ++y)
        with(numbers + y * number_steps_.row, tile.out + y * steps_.row, tile.columns);
      numbers += tile_numbers();
    }
  }

  void split() {
    const auto at_once = static_cast<double>(kernels_.dot_group());
    const int64_t planes = planes_of(form_), width = kernels_.panel_channels;
    const int64_t data = planes * channels_ * int64_t{sizeof(int16_t)};
    const double products = static_cast<double>(planes * channels_ * width) / at_once;
    const int64_t numbers = epilogue_inputs_ * tile_numbers() * int64_t{sizeof(float)};
    const int64_t bytes = data + planes * width * int64_t{sizeof(int32_t)} + numbers;
    tasks_ = Partition({.images = images_,
                        .blocks = tiles(),
                        .columns = units(output_channels_, width),
                        .products = products,
                        .block_bytes = data,
                        .panel_bytes = planes * channels_ * width * int64_t{sizeof(int16_t)},
                        .held_bytes = bytes});
    // Behind the last tile of a plane, whole segments are read.
    const int64_t behind = kernels_.segment * channels_ * int64_t{sizeof(int16_t)};
    set_tasks(tasks_.count(),
              products * static_cast<double>(images_ * tiles() * units(output_channels_, width)),
              units(tasks_.blocks() * bytes + behind, int64_t{sizeof(float)}),
              units(channels_, int64_t{sizeof(float)}));
  }

  void transform(int64_t image, int64_t tile, int16_t* to, int64_t plane) const {
    const int64_t across = units(horizontal_.out, form_.tile);
    const int64_t y = tile / across * form_.tile - vertical_.padding;
    const int64_t x = tile % across * form_.tile - horizontal_.padding;
    const uint8_t* elements[kMaxSize * kMaxSize];
    for (int64_t i = 0; i < form_.size; ++i)
      for (int64_t j = 0; j < form_.size; ++j) {
        const bool is_data =
            y + i >= 0 && y + i < vertical_.in && x + j >= 0 && x + j < horizontal_.in;
        const int64_t pixel = (image * vertical_.in + y + i) * horizontal_.in + x + j;
        elements[i * form_.size + j] = is_data ? data_ + pixel * channels_ : padding_;
      }
    form_.transform(elements, channels_, results_.flip(), to, plane);
  }

  // Plane by plane: the weights of one stay in the L1 cache.
  void multiply(const int16_t* planes, int64_t count, int64_t panel, int32_t* sums) const {
    const auto bytes = static_cast<int64_t>(sizeof(int16_t));
    const ByteResult plain{.to = ByteResult::To::kInteger,
                           .add = nothing_.data(),
                           .scale = no_numbers_.data(),
                           .shift = no_numbers_.data(),
                           .rounding = {},
                           .sum = nullptr};
    const int64_t dot_groups = weights_.panels.shape()[2];
    const int64_t plane_bytes = dot_groups * kernels_.panel_channels * kDotGroupBytes;
    for (int64_t plane = 0; plane < planes_of(form_); ++plane) {
      const ByteWindows windows = {
          .first = reinterpret_cast<const uint8_t*>(planes + plane * count * channels_),
          .rows = 1,
          .pixels = count,
          .row_step = 0,
          .pixel_step = channels_ * bytes,
          .runs = 1,
          .run_step = 0,
          .steps = dot_groups};
      kernels_.product(
          windows,
          {weights_.panels.data<int8_t>() + (panel * planes_of(form_) + plane) * plane_bytes,
           plane_bytes, nullptr},
          plain, kernels_.panel_channels, sums + plane * count * kernels_.panel_channels,
          {.row = 0, .pixel = kernels_.panel_channels});
    }
  }

  const ByteProductKernels& kernels_;
  const ByteWinograd& form_;
  const IntegerPanels& weights_;
  IntegerResults results_;
  Axis vertical_, horizontal_;
  int64_t images_, channels_, output_channels_;
  std::vector<ByteTile> tiles_;         // of an image
  std::vector<ByteTile> number_tiles_;  // whole ones, of the numbers of an epilogue
  ByteResultSteps steps_{}, number_steps_{};
  int32_t epilogue_inputs_;  // 0 without an epilogue
  std::optional<ByteEpilogue> epilogue_;
  Partition tasks_;
  std::vector<float> no_numbers_;
  std::vector<int32_t> nothing_;
  const uint8_t* data_ = nullptr;
  uint8_t* padding_ = nullptr;  // a pixel
};

class IntegerWinogradKernel final : public Kernel {
 public:
  IntegerWinogradKernel(const ByteWinograd& form, const QuantizedConvolution& op,
                        IntegerPanels weights, const KernelRequest& request)
      : form_(form), op_(op), weights_(std::move(weights)) {
    variant = fmt::format("{0}x{0}", form.size);
    take_layouts(*this, op, request);
    packed = weights_.packed();
    if (op.sum.used) sum_ = byte_sum(op.sum, request.inputs[QuantizedConvolution::kAddend].type);
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<IntegerWinogradExecution>(form_, op_, weights_, sum_, inputs,
                                                      outputs[0]);
  }
  std::vector<std::unique_ptr<Kernel>> variants() const override {
    std::vector<std::unique_ptr<Kernel>> list;
    for (const IntegerWinogradKernel& other : others)
      list.push_back(std::make_unique<IntegerWinogradKernel>(other));
    return list;
  }

  /// With other tiles, while building.
  std::vector<IntegerWinogradKernel> others;

 private:
  const ByteWinograd& form_;
  QuantizedConvolution op_;
  IntegerPanels weights_;
  std::optional<ByteSum> sum_;
};

// Of fewer tiles than are multiplied together, more weights are read than multiplied.
int64_t tiles_of(const ByteWinograd& form, const Shape& result) {
  return result[0] * units(result[2], form.tile) * units(result[3], form.tile);
}

std::optional<std::string> refusal(const QuantizedConvolution& op, const KernelRequest& request) {
  if (auto reason = why_not(op, request)) return reason;
  const Shape ones{1, 1}, window{kWindow, kWindow};
  if (op.kernel != window || op.stride != ones || op.dilation != ones)
    return "only windows of 3x3 without a stride are supported";
  const int64_t channels = request.inputs[In::kData].shape[1];
  const int64_t unit = byte_product_kernels()->winograd[0].channels;
  if (channels % unit != 0) return fmt::format("only multiples of {} channels are supported", unit);
  return std::nullopt;
}

Shape windows_of(const QuantizedConvolution& op, const KernelRequest& request) {
  return {op.output_channels, request.inputs[In::kData].shape[1], kWindow, kWindow};
}

std::unique_ptr<IntegerWinogradKernel> make(const ByteWinograd& form, IntegerPanels weights,
                                            const KernelRequest& request) {
  auto made = std::make_unique<IntegerWinogradKernel>(
      form, static_cast<const QuantizedConvolution&>(request.op), std::move(weights), request);
  made->name = "integer_winograd";
  return made;
}

}  // namespace

Offer offer_integer_winograd(const KernelRequest& request) {
  const auto& op = static_cast<const QuantizedConvolution&>(request.op);
  if (auto reason = refusal(op, request)) return std::move(*reason);
  const Shape shape = windows_of(op, request);
  auto from = ConstantWindows::take(request, shape,
                                    {shape[1] * kWindow * kWindow, kWindow * kWindow, kWindow, 1});
  if (auto* reason = std::get_if<std::string>(&from)) return std::move(*reason);
  const auto& windows = std::get<ConstantWindows>(from);
  std::unique_ptr<IntegerWinogradKernel> best;
  for (const ByteWinograd& form : byte_product_kernels()->winograd) {
    if (!are_exact(form, windows)) continue;
    if (best && tiles_of(form, request.outputs[0].shape) < byte_product_kernels()->segment)
      continue;
    auto made = make(form, pack(form, windows), request);
    if (best) made->others.push_back(std::move(*best));
    best = std::move(made);
  }
  if (!best) return "sums could leave 32 bits";
  return best;
}

Offer load_integer_winograd(const KernelRequest& request, const StoredKernel& stored) {
  const auto& op = static_cast<const QuantizedConvolution&>(request.op);
  if (auto reason = refusal(op, request)) return std::move(*reason);
  const Shape shape = windows_of(op, request);
  const auto& forms = byte_product_kernels()->winograd;
  const auto fits = [&](const ByteWinograd& form) {
    return !stored.packed.empty() && stored.packed[0].shape() == panels_shape(form, shape);
  };
  // Where none fits, the last one says so.
  auto form = std::find_if(std::begin(forms), std::end(forms), fits);
  if (form == std::end(forms)) --form;
  return make(*form,
              stored_panels(*byte_product_kernels(), stored, panels_shape(*form, shape), shape),
              request);
}

}  // namespace tenon::cpu
