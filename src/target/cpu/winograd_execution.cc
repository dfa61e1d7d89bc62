#include "target/cpu/winograd_execution.h"

#include <unistd.h>

#include <algorithm>

#include "base/parallel.h"
#include "target/cpu/block_convolution.h"
#include "target/cpu/pointwise.h"
#include "target/cpu/winograd_weights.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;

constexpr size_t kFirstOperand = 3;
/// Vectors of maps that are multiplied at a time.
constexpr int64_t kPair = WinogradForm::kPair;
/// Vectors of maps whose products are kept before they are transformed back.
constexpr int64_t kMostVectors = 8;
/// Tiles of a block: more gain nothing.
constexpr int64_t kMostTiles = 96;

const WinogradKernels& loops() {
  return simd_kernels().winograd;
}

int64_t vectors_of(int64_t channels) {
  return (channels + loops().lanes - 1) / loops().lanes;
}

/// So many floats, and a little: planes that begin a page apart would share a few sets of the
/// first-level cache.
int64_t spread(int64_t floats) {
  return (floats + 1023) / 1024 * 1024 + 48;
}

int64_t second_level_cache_floats() {
  static const int64_t bytes = std::max<int64_t>(sysconf(_SC_LEVEL2_CACHE_SIZE), 1 << 18);
  return bytes / static_cast<int64_t>(sizeof(float));
}

/// Whether the epilogue is what the last transform does by itself: x, but no less than 0.
bool is_relu(const PointwiseProgram& program) {
  return program.steps.size() == 1 && program.steps[0].family == PointwiseStep::Family::kActivation
         && program.steps[0].function == static_cast<int32_t>(ActivationType::kRELU)
         && program.steps[0].a == 0;
}

class WinogradExecution final : public BlockExecution {
 public:
  WinogradExecution(const Convolution& op, const WinogradKernels::Tile& tile, const Tensor& weights,
                    const Tensor& bias, std::span<const TensorSpec> inputs,
                    const TensorSpec& output)
      : BlockExecution({}, {}, output), tile_(tile), weights_(weights), bias_(bias) {
    const Shape& data = inputs[0].shape;
    const Shape& result = output.shape;
    const auto windows = convolution_windows(op, inputs, result);
    const WinogradForm form{data[1], op.output_maps, tile.size, loops().lanes};
    require(data[1] <= kMostWinogradChannels && weights.count() == form.floats()
                && bias.count() == form.padded(form.maps),
            "the packed weights do not fit {} channels and {} maps", data[1], form.maps);
    require(inputs[0].layout == winograd_layout() && output.layout == winograd_layout(),
            "data and result must lie in blocks of {} channels", loops().lanes);
    top_ = windows[0].pre;
    left_ = windows[1].pre;
    in_ = vectors_of(data[1]);
    maps_ = result[1];
    out_ = vectors_of(maps_);
    height_ = data[2];
    width_ = data[3];
    out_height_ = result[2];
    out_width_ = result[3];
    kept_ = tile.size - 2;
    planes_ = tile.size * tile.size;
    rows_ = (out_height_ + kept_ - 1) / kept_;
    columns_ = (out_width_ + kept_ - 1) / kept_;
    tiles_ = data[0] * rows_ * columns_;
    if (is_relu(op.epilogue)) {
      least_ = 0;
    } else if (!op.epilogue.empty()) {
      std::vector<TensorSpec> specs = {output};
      specs.insert(specs.end(), inputs.begin() + kFirstOperand, inputs.end());
      tail_ = prepare_pointwise(op.epilogue, specs, output);
      tail_inputs_.resize(specs.size());
    }
    split();
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    data_ = static_cast<const float*>(arguments.inputs[0]);
    result_ = static_cast<float*>(arguments.outputs[0]);
    if (tail_ == nullptr) return;
    tail_inputs_[0] = result_;
    std::copy_n(arguments.inputs.begin() + kFirstOperand, tail_inputs_.size() - 1,
                tail_inputs_.begin() + 1);
  }

  // Some maps of a block of tiles.
  void run_task(int64_t task, float* room) const override {
    const int64_t first = task % blocks_ * block_, slice = task / blocks_;
    const int64_t count = std::min(block_, tiles_ - first);
    float* const products = room + planes_ * in_step_;
    transform_data(first, count, room);
    const int64_t end = std::min(out_, (slice + 1) * per_slice_);
    for (int64_t vector = slice * per_slice_; vector < end; vector += kept_vectors_) {
      const int64_t vectors = std::min(kept_vectors_, end - vector);
      multiply(vector, vectors, count, room, products);
      transform_products(vector, vectors, first, count, products);
      if (tail_ != nullptr) run_tail(vector, vectors, first, count);
    }
  }

 private:
  struct Place {
    int64_t image, y, x;  // of a tile's first result
  };
  Place place_of(int64_t tile) const {
    const int64_t row = tile / columns_;
    return {row / rows_, row % rows_ * kept_, tile % columns_ * kept_};
  }
  // The tiles of a block are multiplied in groups of equal size, as far as possible.
  int64_t groups_of(int64_t count) const { return (count + per_group_ - 1) / per_group_; }

  void split() {
    const int64_t lanes = loops().lanes;
    kept_vectors_ = std::min(out_, kMostVectors);
    per_group_ = loops().most_sums / std::min(out_, kPair);
    const int64_t per_tile = planes_ * (in_ + kept_vectors_) * lanes;
    block_ = std::clamp(second_level_cache_floats() / 2 / per_tile, int64_t{1}, kMostTiles);
    block_ = std::min(std::max(block_ / per_group_, int64_t{1}) * per_group_,
                      std::max<int64_t>(tiles_, 1));
    blocks_ = (tiles_ + block_ - 1) / block_;
    // Each thread has the same number of blocks, or nearly.
    const int64_t threads = thread_count();
    if (blocks_ > threads) {
      blocks_ = (blocks_ + threads - 1) / threads * threads;
      block_ = (tiles_ + blocks_ - 1) / blocks_;
      blocks_ = (tiles_ + block_ - 1) / block_;
    }
    // Maps are divided where there are too few blocks.
    const int64_t slices = blocks_ > 0 && blocks_ < threads
                               ? std::min((threads + blocks_ - 1) / blocks_, (out_ + 1) / 2)
                               : 1;
    per_slice_ = (out_ + slices - 1) / slices;
    per_slice_ = (per_slice_ + kPair - 1) / kPair * kPair;
    const int64_t used_slices = (out_ + per_slice_ - 1) / per_slice_;
    kept_vectors_ = std::min(kept_vectors_, per_slice_);
    in_step_ = spread(block_ * in_ * lanes);
    out_step_ = spread(block_ * kept_vectors_ * lanes);
    const double work = static_cast<double>(tiles_ * planes_) * static_cast<double>(in_ * out_)
                        * static_cast<double>(lanes * lanes);
    set_tasks(blocks_ * used_slices, work, planes_ * (in_step_ + out_step_));
  }

  void transform_data(int64_t first, int64_t count, float* planes) const {
    const int64_t lanes = loops().lanes, groups = groups_of(count), size = tile_.size;
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t begin = count * group / groups, end = count * (group + 1) / groups;
      for (int64_t tile = begin; tile < end; ++tile) {
        const Place p = place_of(first + tile);
        const int64_t y = p.y - top_, x = p.x - left_;
        const bool inside = y >= 0 && x >= 0 && y + size <= height_ && x + size <= width_;
        const float* image = data_ + p.image * in_ * height_ * width_ * lanes;
        float* to = planes + (begin * in_ + tile - begin) * lanes;
        for (int64_t vector = 0; vector < in_; ++vector) {
          const float* from = image + vector * height_ * width_ * lanes;
          if (inside)
            tile_.input(from + (y * width_ + x) * lanes, width_ * lanes, to, in_step_);
          else
            transform_border(from, y, x, to);
          to += (end - begin) * lanes;
        }
      }
    }
  }

  // A tile of which a part is padding.
  void transform_border(const float* plane, int64_t y, int64_t x, float* to) const {
    const int64_t lanes = loops().lanes, size = tile_.size;
    alignas(64) float copy[8 * 8 * 16] = {};
    const int64_t low = std::clamp<int64_t>(-x, 0, size), high = std::clamp(width_ - x, low, size);
    for (int64_t i = std::max<int64_t>(-y, 0); i < std::min(size, height_ - y); ++i)
      std::copy_n(plane + ((y + i) * width_ + x + low) * lanes, (high - low) * lanes,
                  copy + (i * size + low) * lanes);
    tile_.input(copy, size * lanes, to, in_step_);
  }

  void multiply(int64_t vector, int64_t vectors, int64_t count, const float* planes,
                float* products) const {
    const int64_t lanes = loops().lanes, depth = in_ * lanes, groups = groups_of(count);
    for (int64_t plane = 0; plane < planes_; ++plane)
      for (int64_t pair = 0; pair < vectors; pair += kPair) {
        const int64_t width = std::min(kPair, out_ - vector - pair);
        const float* weights = weights_.data<float>() + (vector + pair) * lanes * depth * planes_
                               + plane * depth * width * lanes;
        for (int64_t group = 0; group < groups; ++group) {
          const int64_t begin = count * group / groups, end = count * (group + 1) / groups;
          loops().product(planes + plane * in_step_ + begin * depth, weights, depth,
                          static_cast<int>(end - begin), static_cast<int>(width),
                          products + plane * out_step_ + (pair * block_ + begin) * lanes,
                          block_ * lanes);
        }
      }
  }

  void transform_products(int64_t vector, int64_t vectors, int64_t first, int64_t count,
                          const float* products) const {
    const int64_t lanes = loops().lanes, area = out_height_ * out_width_;
    for (int64_t v = 0; v < vectors; ++v)
      for (int64_t tile = 0; tile < count; ++tile) {
        const Place p = place_of(first + tile);
        const float* from = products + (v * block_ + tile) * lanes;
        const float* bias = bias_.data<float>() + (vector + v) * lanes;
        float* to =
            result_ + ((p.image * out_ + vector + v) * area + p.y * out_width_ + p.x) * lanes;
        if (p.y + kept_ <= out_height_ && p.x + kept_ <= out_width_) {
          tile_.output(from, out_step_, bias, least_, to, out_width_ * lanes);
          continue;
        }
        alignas(64) float copy[6 * 6 * 16];
        tile_.output(from, out_step_, bias, least_, copy, kept_ * lanes);
        for (int64_t i = 0; i < std::min(kept_, out_height_ - p.y); ++i)
          std::copy_n(copy + i * kept_ * lanes, std::min(kept_, out_width_ - p.x) * lanes,
                      to + i * out_width_ * lanes);
      }
  }

  // The epilogue of what was just written.
  void run_tail(int64_t vector, int64_t vectors, int64_t first, int64_t count) const {
    const int64_t lanes = loops().lanes;
    for (int64_t tile = 0; tile < count;) {
      const Place p = place_of(first + tile);
      const int64_t run = std::min(count - tile, columns_ - p.x / kept_);
      const int64_t pixels = std::min(run * kept_, out_width_ - p.x);
      for (int64_t v = vector; v < vector + vectors; ++v)
        for (int64_t y = p.y; y < std::min(p.y + kept_, out_height_); ++y) {
          const int64_t at = (((p.image * out_ + v) * out_height_ + y) * out_width_ + p.x) * lanes;
          tail_->run_range(tail_inputs_, result_, at, pixels * lanes);
          const int64_t used = std::min(maps_ - v * lanes, lanes);
          for (int64_t i = 0; used < lanes && i < pixels; ++i)
            std::fill_n(result_ + at + i * lanes + used, lanes - used, 0.f);
        }
      tile += run;
    }
  }

  const WinogradKernels::Tile& tile_;
  Tensor weights_, bias_;
  int64_t top_, left_, height_, width_, out_height_, out_width_;
  int64_t in_, out_, maps_;             // vectors of channels and of maps; maps
  int64_t kept_, planes_;               // results of a tile along an axis; planes
  int64_t rows_, columns_, tiles_;      // of tiles in an image; in all
  int64_t block_ = 1, blocks_ = 0;      // tiles of a block, and how many blocks
  int64_t per_group_ = 1;               // tiles that are multiplied at a time
  int64_t per_slice_ = 1;               // vectors of maps of a task
  int64_t kept_vectors_ = 1;            // whose products are kept
  int64_t in_step_ = 0, out_step_ = 0;  // floats from one plane to the next
  float least_ = -std::numeric_limits<float>::infinity();
  std::unique_ptr<PointwiseLoop> tail_;
  std::vector<const void*> tail_inputs_;
  const float* data_ = nullptr;
  float* result_ = nullptr;
};

}  // namespace

Layout winograd_layout() {
  return loops().lanes == 8 ? Layout::kBlocked8 : Layout::kBlocked16;
}

std::unique_ptr<Execution> prepare_winograd(const Convolution& op,
                                            const WinogradKernels::Tile& tile,
                                            const Tensor& weights, const Tensor& bias,
                                            std::span<const TensorSpec> inputs,
                                            const TensorSpec& output) {
  return std::make_unique<WinogradExecution>(op, tile, weights, bias, inputs, output);
}

}  // namespace tenon::cpu
