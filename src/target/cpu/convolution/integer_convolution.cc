// Convolution of 8-bit integers in tiles of pixels: the bytes under the windows of a tile are
// gathered once, multiplied with all weights, and their sums never leave the registers.
#include "ops/integer_convolution.h"

#include "base/error.h"
#include "base/parallel.h"
#include "ops/quantize.h"
#include "target/cpu/blocks.h"
#include "target/cpu/kernels.h"
#include "target/cpu/run_operands.h"
#include "target/cpu/simd/byte_product.h"
#include "target/cpu/window.h"

namespace tenon::cpu {
namespace {

using In = IntegerInputs;

/// Bytes of the tiles of one task: they stay in the second-level cache with a panel of weights.
constexpr int64_t kTaskBytes = 256 << 10;
/// Tiles for each thread, below which threads share tiles and divide the maps.
constexpr int64_t kFewTiles = 4;

/// Bytes count as unsigned: signed ones with 128 added, which flips their highest bit.
uint8_t flip_of(DataType type) {
  return type == DataType::kINT8 ? 128 : 0;
}

/// Weights in panels, and each map's sum of weights.
struct PackedWeights {
  Tensor panels, sums;

  explicit PackedWeights(const Tensor& weights) {
    const Shape& shape = weights.shape();
    const int64_t maps = shape[0], channels = shape[1], taps = shape.volume(2, shape.rank());
    const int64_t depth = channels * taps;
    panels = Tensor(DataType::kINT8, panels_shape(maps, depth));
    sums = Tensor(DataType::kINT32, {maps});
    auto* to = panels.mutable_data<int8_t>();
    std::fill_n(to, panels.count(), int8_t{0});
    const auto* from = weights.data<int8_t>();
    for (int64_t m = 0; m < maps; ++m) {
      int32_t sum = 0;
      for (int64_t c = 0; c < channels; ++c)
        for (int64_t t = 0; t < taps; ++t) {
          const int64_t k = t * channels + c;  // as the bytes of a window lie
          const int64_t step = m / kPanelMaps * panels.shape()[1] + k / kPanelDepth;
          to[(step * kPanelMaps + m % kPanelMaps) * kPanelDepth + k % kPanelDepth] = *from;
          sum += *from++;
        }
      sums.mutable_data<int32_t>()[m] = sum;
    }
  }

  /// What a plan stored.
  PackedWeights(const StoredKernel& stored, int64_t maps, int64_t depth) {
    require(stored.packed.size() == 2 && stored.packed[0].type() == DataType::kINT8
                && stored.packed[0].shape() == panels_shape(maps, depth)
                && stored.packed[1].type() == DataType::kINT32
                && stored.packed[1].shape() == Shape({maps}),
            "stored weights do not fit {} maps of {} weights", maps, depth);
    panels = stored.packed[0];
    sums = stored.packed[1];
  }

 private:
  static Shape panels_shape(int64_t maps, int64_t depth) {
    return {units(maps, kPanelMaps), units(depth, kPanelDepth), kPanelMaps, kPanelDepth};
  }
};

class IntegerConvolutionExecution final : public BlockExecution {
 public:
  IntegerConvolutionExecution(const IntegerConvolution& op, const PackedWeights& weights,
                              std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, inputs, output),
        kernels_(*byte_product_kernels()),
        weights_(weights),
        operands_(inputs, op.output_maps),
        add_(static_cast<size_t>(op.output_maps)),
        to_(op.to),
        maps_(op.output_maps) {
    if (op.sum.used) prepare_sum(op.sum, inputs[IntegerConvolution::kAddend].type);
    const Shape &data = inputs[In::kData].shape, &result = output.shape;
    const auto windows =
        make_windows(2, op.kernel, op.stride, op.dilation, op.pre_padding, op.post_padding);
    vertical_ = resolved(windows[0], data[2], result[2], op.padding_mode);
    horizontal_ = resolved(windows[1], data[3], result[3], op.padding_mode);
    channels_ = data[1];
    in_height_ = data[2];
    in_width_ = data[3];
    height_ = result[2];
    width_ = result[3];
    depth_ = channels_ * op.kernel.volume();
    require(weights.panels.shape()[1] == units(depth_, kPanelDepth),
            "data of {} channels does not fit the weights", channels_);
    pixels_ = result[0] * height_ * width_;
    flip_ = flip_of(inputs[In::kData].type);
    split();
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const uint8_t*>(arguments.inputs[In::kData]);
    out_ = static_cast<std::byte*>(arguments.outputs[0]);
    const IntegerOperands& operands = operands_.read(arguments);
    const int32_t zero = operands.data_zero + flip_;
    padding_ = static_cast<uint8_t>(zero);
    const auto* sums = weights_.sums.data<int32_t>();
    for (size_t m = 0; m < add_.size(); ++m)
      add_[m] =
          static_cast<int32_t>(static_cast<uint32_t>(operands.bias[m])
                               - static_cast<uint32_t>(zero) * static_cast<uint32_t>(sums[m]));
    result_.add = add_.data();
    result_.scale = operands.scale.data();
    result_.shift = operands.shift.data();
    if (to_ == DataType::kFLOAT) result_.to = ByteResult::To::kFloat;
    if (is_byte(to_)) {
      const IntegerRange range = integer_range(to_);
      result_.to = ByteResult::To::kByte;
      result_.low = static_cast<float>(range.lowest) - operands.result_zero;
      result_.high = static_cast<float>(range.highest) - operands.result_zero;
      result_.zero = static_cast<int32_t>(operands.result_zero);
    }
    if (adds_)
      sum_.addend = static_cast<const uint8_t*>(arguments.inputs[IntegerConvolution::kAddend]);
  }

  // Some tiles, some panels.
  void run_task(int64_t task, float* room) const override {
    auto* const tiles = reinterpret_cast<uint8_t*>(room);
    const int64_t group = task / parts_, count = units(pixels_, kTilePixels);
    const int64_t first = count * group / groups_ * kTilePixels;
    const int64_t end = std::min(pixels_, count * (group + 1) / groups_ * kTilePixels);
    const int64_t panels = weights_.panels.shape()[0], part = task % parts_;
    Place place(*this, first);
    for (int64_t p = first; p < end; ++p, place.advance(*this))
      gather(place, tiles + (p - first) / kTilePixels * tile_bytes_, (p - first) % kTilePixels);
    for (int64_t panel = panels * part / parts_; panel < panels * (part + 1) / parts_; ++panel)
      for (int64_t p = first; p < end; p += kTilePixels)
        multiply(tiles + (p - first) / kTilePixels * tile_bytes_, p, std::min(kTilePixels, end - p),
                 panel);
  }

 private:
  void prepare_sum(const QuantizedSum& sum, DataType addend) {
    const IntegerRange range = integer_range(sum.to);
    adds_ = true;
    sum_.flip = flip_of(addend);
    sum_.addend_zero = sum.addend_zero + sum_.flip;
    sum_.product_scale = sum.product_scale;
    sum_.addend_scale = sum.addend_scale;
    sum_.scale = sum.scale;
    sum_.low = static_cast<float>(range.lowest - sum.zero);
    sum_.high = static_cast<float>(range.highest - sum.zero);
    sum_.zero = sum.zero;
  }

  void split() {
    tile_bytes_ = units(depth_, kTileBytes) * kTileBytes * kTilePixels;
    const int64_t tiles = units(pixels_, kTilePixels), threads = thread_count();
    const int64_t panels = weights_.panels.shape()[0];
    parts_ = tiles < kFewTiles * threads ? std::min(panels, threads) : 1;
    groups_ = std::max<int64_t>(1, units(tiles, std::max<int64_t>(1, kTaskBytes / tile_bytes_)));
    if (parts_ == 1) groups_ = units(groups_, threads) * threads;  // as much for each thread
    const double products = static_cast<double>(pixels_ * depth_) * static_cast<double>(maps_);
    constexpr double kProductsAtOnce = 4;  // for one of floats
    set_tasks(groups_ * parts_, products / kProductsAtOnce,
              units(tiles, groups_) * tile_bytes_ / static_cast<int64_t>(sizeof(float)));
  }

  // A pixel of the result.
  struct Place {
    Place(const IntegerConvolutionExecution& e, int64_t pixel)
        : image(pixel / (e.width_ * e.height_)),
          y(pixel / e.width_ % e.height_),
          x(pixel % e.width_) {}
    void advance(const IntegerConvolutionExecution& e) {
      if (++x < e.width_) return;
      x = 0;
      if (++y < e.height_) return;
      y = 0;
      ++image;
    }
    int64_t image, y, x;
  };

  // The bytes under a window.
  void gather(const Place& place, uint8_t* tile, int64_t at) const {
    const int64_t x = place.x * horizontal_.stride - horizontal_.pre;
    const int64_t y = place.y * vertical_.stride - vertical_.pre;
    const uint8_t* image = data_ + place.image * in_height_ * in_width_ * channels_;
    const bool dense = horizontal_.dilation == 1;
    if (dense && horizontal_.kernel * channels_ <= kTileBytes
        && is_inside(x, horizontal_, in_width_) && is_inside(y, vertical_, in_height_))
      return kernels_.place_rows(image + (y * in_width_ + x) * channels_,
                                 vertical_.dilation * in_width_ * channels_, vertical_.kernel,
                                 horizontal_.kernel * channels_, flip_, tile, at);
    const int64_t taps = dense ? horizontal_.kernel : 1, rows = horizontal_.kernel / taps;
    int64_t k = 0;
    for (int64_t ky = 0; ky < vertical_.kernel; ++ky)
      for (int64_t kx = 0; kx < rows; ++kx, k += taps * channels_)
        gather_row(image, y + ky * vertical_.dilation, x + kx * horizontal_.dilation, taps, tile,
                   at, k);
  }

  static bool is_inside(int64_t first, const Window& window, int64_t size) {
    return first >= 0 && first + (window.kernel - 1) * window.dilation < size;
  }

  // So many elements of row y, from x on, where the data has them.
  void gather_row(const uint8_t* image, int64_t y, int64_t x, int64_t count, uint8_t* tile,
                  int64_t at, int64_t k) const {
    const int64_t begin = y < 0 || y >= in_height_ ? count : std::clamp<int64_t>(-x, 0, count);
    const int64_t end = std::clamp<int64_t>(in_width_ - x, begin, count);
    if (begin > 0) kernels_.fill(padding_, begin * channels_, tile, at, k);
    if (end > begin)
      kernels_.place(image + (y * in_width_ + x + begin) * channels_, (end - begin) * channels_,
                     flip_, tile, at, k + begin * channels_);
    if (count > end)
      kernels_.fill(padding_, (count - end) * channels_, tile, at, k + end * channels_);
  }

  void multiply(const uint8_t* tile, int64_t pixel, int64_t count, int64_t panel) const {
    const int64_t map = panel * kPanelMaps, at = pixel * maps_ + map;
    ByteResult result = result_;
    ByteSum sum = sum_;
    if (adds_) {
      sum.addend += at;
      result.sum = &sum;
    }
    result.add += map;
    result.scale += map;
    result.shift += map;
    kernels_.product(
        tile, count,
        weights_.panels.data<int8_t>() + map * weights_.panels.shape()[1] * kPanelDepth, depth_,
        result, std::min(kPanelMaps, maps_ - map), out_ + bytes_of(to_, at), maps_);
  }

  const ByteProductKernels& kernels_;
  const PackedWeights& weights_;
  RunOperands operands_;
  std::vector<int32_t> add_;
  DataType to_;
  Window vertical_, horizontal_;
  int64_t channels_, maps_, in_height_, in_width_, height_, width_;
  int64_t depth_, pixels_;  // bytes under a window; of the result
  int64_t tile_bytes_ = 0;
  int64_t groups_ = 1, parts_ = 1;  // of tiles; of the maps
  uint8_t flip_ = 0, padding_ = 0;
  const uint8_t* data_ = nullptr;
  std::byte* out_ = nullptr;
  ByteResult result_{};
  bool adds_ = false;
  ByteSum sum_{};
};

class IntegerConvolutionKernel final : public Kernel {
 public:
  IntegerConvolutionKernel(const IntegerConvolution& op, PackedWeights weights, size_t inputs)
      : op_(op), weights_(std::move(weights)) {
    packed = {weights_.panels, weights_.sums};
    input_is_packed.assign(inputs, false);
    input_is_packed[In::kWeights] = true;
    input_layouts.assign(inputs, Layout::kLinear);
    input_layouts[In::kData] = Layout::kChannelsLast;
    if (op.sum.used) input_layouts[IntegerConvolution::kAddend] = Layout::kChannelsLast;
    output_layouts = {Layout::kChannelsLast};
  }

  std::unique_ptr<Execution> prepare(std::span<const TensorSpec> inputs,
                                     std::span<const TensorSpec> outputs) const override {
    return std::make_unique<IntegerConvolutionExecution>(op_, weights_, inputs, outputs[0]);
  }

 private:
  IntegerConvolution op_;
  PackedWeights weights_;
};

bool is_zero(const KernelRequest& request, size_t i) {
  if (i >= request.inputs.size() || !request.inputs[i].present) return true;
  if (request.stored != nullptr) return true;  // it was when the plan was built
  const Tensor* constant = request.constants[i];
  if (constant == nullptr) return false;
  const auto values = constant->integers();
  return std::all_of(values.begin(), values.end(), [](int64_t v) { return v == 0; });
}

}  // namespace

bool adds_to_integers(const IntegerConvolution& op) {
  return byte_product_kernels() != nullptr && op.kernel.rank() == 2 && op.groups == 1;
}

Offer offer_integer_convolution(const KernelRequest& request) {
  if (byte_product_kernels() == nullptr) return "the processor has no AVX-512 VNNI";
  const auto& op = static_cast<const IntegerConvolution&>(request.op);
  // Layers of a plan whose sizes are not known yet come unchecked.
  const size_t least = op.sum.used ? IntegerConvolution::kAddend + 1 : In::kWeights + 1;
  if (request.inputs.size() < least) return "inputs are missing";
  if (op.kernel.rank() != 2 || op.groups != 1 || request.inputs[In::kData].shape.rank() != 4)
    return "only two axes and one group are supported";
  if (request.inputs[In::kData].shape[1] < 1) return "there is nothing to sum";
  const TensorSpec& weights = request.inputs[In::kWeights];
  if (weights.type != DataType::kINT8 || !is_zero(request, In::kWeightsZero))
    return "only weights of int8 without zero points are supported";
  if (request.stored != nullptr) {
    const int64_t depth = request.inputs[In::kData].shape[1] * op.kernel.volume();
    return std::make_unique<IntegerConvolutionKernel>(
        op, PackedWeights(*request.stored, op.output_maps, depth), request.inputs.size());
  }
  const Tensor* constant = request.constants[In::kWeights];
  if (constant == nullptr) return "weights that are not constant are not supported";
  return std::make_unique<IntegerConvolutionKernel>(op, PackedWeights(*constant),
                                                    request.inputs.size());
}

}  // namespace tenon::cpu
