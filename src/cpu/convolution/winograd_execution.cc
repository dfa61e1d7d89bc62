#include "cpu/convolution/winograd_execution.h"

#include <algorithm>
#include <array>
#include <optional>

#include "base/parallel.h"
#include "cpu/blocked_epilogue.h"
#include "cpu/convolution/block_convolution.h"
#include "cpu/convolution/winograd_gather.h"
#include "cpu/convolution/winograd_split.h"

namespace tenon::cpu {
namespace {

/// Vectors of output channels that are multiplied at a time.
constexpr int64_t kPair = WinogradForm::kPair;
constexpr int64_t kMaxSize = WinogradForm::kMaxSize, kMaxLanes = WinogradForm::kMaxLanes;
/// Rows so many floats apart share the sets of an L1 cache.
constexpr int64_t kSetsFloats = 1024;

const WinogradKernels& loops() {
  return simd_kernels().winograd;
}

int64_t vectors_of(int64_t channels) {
  return units(channels, loops().lanes);
}

/// So many floats, and a little: planes that begin a page apart would share a few sets of the
/// L1 cache.
int64_t spread(int64_t floats) {
  return units(floats, kSetsFloats) * kSetsFloats + 48;
}

class WinogradExecution final : public BlockExecution {
 public:
  WinogradExecution(const Convolution& op, std::shared_ptr<const WinogradWeights> weights,
                    std::span<const TensorSpec> inputs, const TensorSpec& output)
      : BlockExecution({}, {}, output),
        packed_(std::move(weights)),
        form_(packed_->form()),
        epilogue_(op.epilogue, inputs, output),
        tile_(*form_.tile),
        planes_(form_.planes()),
        kept_(form_.results()) {
    const Shape& data = inputs[0].shape;
    const Shape& result = output.shape;
    const auto windows = convolution_windows(op, inputs, result);
    require(data[1] == form_.channels && result[1] == form_.output_channels,
            "the packed weights do not fit {} channels and {} output channels", data[1], result[1]);
    require(inputs[0].layout == (form_.gathers() ? Layout::kLinear : winograd_layout())
                && output.layout == winograd_layout(),
            "data and result must lie in blocks of {} channels, or few channels of data in rows",
            loops().lanes);
    top_ = windows[0].pre;
    left_ = windows[1].pre;
    in_ = form_.gathers() ? data[1] : vectors_of(data[1]);
    depth_ = form_.depth();
    out_ = vectors_of(result[1]);
    height_ = data[2];
    width_ = data[3];
    out_height_ = result[2];
    out_width_ = result[3];
    rows_ = units(out_height_, kept_);
    columns_ = units(out_width_, kept_);
    tiles_ = data[0] * rows_ * columns_;
    // Else tiles of all vectors would share a few sets where rows lie so far apart.
    by_vector_ = width_ * loops().lanes % kSetsFloats == 0;
    plane_floats_ = height_ * width_ * loops().lanes;
    split();
  }

 protected:
  void begin(const RunArguments& arguments, float*) override {
    weights_ = packed_->packed().data<float>();
    data_ = static_cast<const float*>(arguments.inputs[0]);
    result_ = static_cast<float*>(arguments.outputs[0]);
    epilogue_.begin(arguments);
  }

  // Some output channels of a block of tiles.
  void run_task(int64_t task, float* workspace) const override {
    const int64_t first = task % split_.blocks * split_.block, slice = task / split_.blocks;
    const int64_t count = std::min(split_.block, tiles_ - first);
    float* const products = workspace + planes_ * in_step_;
    transform_data(first, count, workspace, products + planes_ * out_step_);
    const int64_t end = std::min(out_, (slice + 1) * split_.per_slice);
    for (int64_t vector = slice * split_.per_slice; vector < end; vector += split_.kept_vectors) {
      const int64_t vectors = std::min(split_.kept_vectors, end - vector);
      multiply(vector, vectors, count, workspace, products);
      transform_products(vector, vectors, first, count, products);
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
  // Tiles of a block that lie beside each other in the result, from one on.
  int64_t run_from(const Place& place, int64_t left) const {
    return std::min(left, columns_ - place.x / kept_);
  }
  // The tiles of a block are multiplied in groups of equal size, as far as possible.
  int64_t groups_of(int64_t count) const {
    return (count + split_.per_group - 1) / split_.per_group;
  }

  void split() {
    const Machine machine = this_machine();
    split_ = split_winograd(form_, tiles_, machine);
    in_step_ = spread(split_.block * depth_);
    out_step_ = spread(split_.block * split_.kept_vectors * loops().lanes);
    if (form_.gathers()) gather_.emplace(form_, split_.per_group * kept_);
    const double work = static_cast<double>(tiles_ * form_.plane_start(form_.planes()))
                        * static_cast<double>(out_ * loops().lanes);
    const int64_t weights = form_.plane_start(form_.planes()) * loops().lanes * split_.per_slice;
    is_near_ = split_.blocks > 1 && weights * int64_t{sizeof(float)} <= 2 * machine.second_level;
    set_tasks(split_.blocks * split_.slices, work,
              planes_ * (in_step_ + out_step_) + (gather_ ? gather_->floats() : 0));
  }

  // `workspace` is for what is gathered.
  void transform_data(int64_t first, int64_t count, float* planes, float* workspace) const {
    const int64_t groups = groups_of(count);
    for (int64_t group = 0; group < groups; ++group) {
      const int64_t begin = count * group / groups, end = count * (group + 1) / groups;
      if (form_.gathers())
        gather_group(first + begin, end - begin, planes + begin * depth_, workspace);
      else
        transform_group(first + begin, end - begin, planes + begin * depth_);
    }
  }

  // Where the planes of a part are, in floats, when `count` tiles lie together.
  using Planes = std::array<int64_t, kMaxSize * kMaxSize>;
  Planes planes_of(size_t part, int64_t count) const {
    Planes planes;
    for (int64_t i = 0; i < planes_; ++i)
      planes[static_cast<size_t>(i)] = i * in_step_ + form_.row(part, static_cast<int>(i)) * count;
    return planes;
  }

  void transform_group(int64_t first, int64_t count, float* to) const {
    const int64_t lanes = loops().lanes;
    for (size_t part = 0; part < form_.parts.size(); ++part) {
      const Planes planes = planes_of(part, count);
      if (by_vector_) {
        for (int64_t vector = 0; vector < in_; ++vector)
          for (int64_t tile = 0; tile < count; ++tile)
            transform_tile(source_of(first + tile, part), vector, planes,
                           to + (vector * count + tile) * lanes);
      } else {
        for (int64_t tile = 0; tile < count; ++tile) {
          const Source source = source_of(first + tile, part);
          for (int64_t vector = 0; vector < in_; ++vector)
            transform_tile(source, vector, planes, to + (vector * count + tile) * lanes);
        }
      }
    }
  }

  // What a tile reads.
  struct Source {
    const float* image;
    int64_t y, x;  // of the first element
    bool is_inside;
  };
  Source source_of(int64_t tile, size_t part) const {
    const int64_t down = form_.stride[0], right = form_.stride[1], reach = form_.size - 1;
    const Place p = place_of(tile);
    const int64_t y = p.y * down - top_ + form_.parts[part].y.begin;
    const int64_t x = p.x * right - left_ + form_.parts[part].x.begin;
    return {data_ + p.image * in_ * plane_floats_, y, x,
            y >= 0 && x >= 0 && y + reach * down < height_ && x + reach * right < width_};
  }

  void transform_tile(const Source& source, int64_t vector, const Planes& planes, float* to) const {
    const float* const plane = source.image + vector * plane_floats_;
    if (!source.is_inside) return transform_padded(plane, source.y, source.x, planes, to);
    const int64_t lanes = loops().lanes;
    const float* const from = plane + (source.y * width_ + source.x) * lanes;
    if (by_vector_ && vector + 1 < in_) prefetch(from + plane_floats_);
    tile_.input[form_.stride[1] - 1](from, form_.stride[0] * width_ * lanes, to, planes.data());
  }

  // Prefetches what a tile there reads and the one to its left does not.
  void prefetch(const float* tile) const {
    const int64_t down = form_.stride[0], right = form_.stride[1];
    for (int64_t i = 0; i < form_.size; ++i)
      for (int64_t j = form_.size - kept_; j < form_.size; ++j)
        __builtin_prefetch(tile + (i * down * width_ + j * right) * loops().lanes, 0, kPrefetchL2);
  }

  // A tile of which a part is padding.
  void transform_padded(const float* plane, int64_t y, int64_t x, const Planes& planes,
                        float* to) const {
    const int64_t lanes = loops().lanes, down = form_.stride[0], right = form_.stride[1];
    const int64_t columns = (form_.size - 1) * right + 1;
    alignas(64) float copy[kMaxSize * (2 * kMaxSize - 1) * kMaxLanes];
    std::fill_n(copy, form_.size * columns * lanes, 0.f);
    const int64_t low = std::clamp<int64_t>(-x, 0, columns);
    const int64_t high = std::clamp(width_ - x, low, columns);
    for (int64_t i = 0; i < form_.size; ++i, y += down)
      if (y >= 0 && y < height_)
        std::copy_n(plane + (y * width_ + x + low) * lanes, (high - low) * lanes,
                    copy + (i * columns + low) * lanes);
    tile_.input[right - 1](copy, columns * lanes, to, planes.data());
  }

  // The same of few channels in rows, a run of tiles at a time.
  void gather_group(int64_t first, int64_t count, float* to, float* workspace) const {
    const int64_t lanes = loops().lanes;
    const Planes planes = planes_of(0, count);
    for (int64_t tile = 0; tile < count;) {
      const Place p = place_of(first + tile);
      const int64_t end = tile + run_from(p, count - tile);
      gather_->gather(data_ + p.image * in_ * height_ * width_, height_, width_,
                      p.y * form_.stride[0] - top_, p.x - left_, workspace);
      for (int64_t at = 0; tile < end; ++tile, at += kept_ * lanes)
        for (int64_t vector = 0; vector < depth_ / lanes; ++vector)
          tile_.input[0](workspace + vector * gather_->vector_step() + at, gather_->row_step(),
                         to + (vector * count + tile) * lanes, planes.data());
    }
  }

  // Vectors of the pair that begins with one.
  int64_t pair_width(int64_t vector) const { return std::min(kPair, out_ - vector); }

  // The weights of a pair of vectors of output channels in a plane.
  NextRead panel_of(int64_t vector, int64_t plane) const {
    const int64_t lanes = loops().lanes, floats = pair_width(vector) * lanes;
    const int64_t all = form_.plane_start(form_.planes());
    const int at = static_cast<int>(plane);
    return {weights_ + vector * lanes * all + form_.plane_start(at) * floats,
            form_.depth(at) * floats};
  }

  // What is multiplied after a panel, of those vectors or of the ones behind them.
  NextRead panel_after(int64_t vector, int64_t vectors, int64_t plane, int64_t pair) const {
    if (pair + kPair < vectors) return panel_of(vector + pair + kPair, plane);
    if (plane + 1 < planes_) return panel_of(vector, plane + 1);
    return panel_of(vector + vectors < out_ ? vector + vectors : 0, 0);
  }

  // Meanwhile the next panel is prefetched, a share of it with each group of tiles: weights are far
  // away where they are many, and memory is at its best when prefetches are even.
  void multiply(int64_t vector, int64_t vectors, int64_t count, const float* planes,
                float* products) const {
    const int64_t lanes = loops().lanes, groups = groups_of(count);
    for (int64_t plane = 0; plane < planes_; ++plane)
      for (int64_t pair = 0; pair < vectors; pair += kPair) {
        const NextRead panel = panel_of(vector + pair, plane);
        const NextRead next =
            is_near_ ? NextRead{panel.first, 0} : panel_after(vector, vectors, plane, pair);
        for (int64_t group = 0; group < groups; ++group) {
          const Share some = share_of(count, group, groups);
          const Share soon = share_of(next.count, group, groups);
          loops().product(planes + plane * in_step_ + some.first * depth_, panel.first,
                          form_.depth(static_cast<int>(plane)),
                          {next.first + soon.first, soon.end - soon.first},
                          static_cast<int>(some.end - some.first),
                          static_cast<int>(pair_width(vector + pair)),
                          products + plane * out_step_ + (pair * split_.block + some.first) * lanes,
                          split_.block * lanes);
        }
      }
  }

  // Row by row of tiles, and the epilogue of what was just written.
  void transform_products(int64_t vector, int64_t vectors, int64_t first, int64_t count,
                          const float* products) const {
    for (int64_t v = 0; v < vectors; ++v)
      for (int64_t tile = 0; tile < count;) {
        const Place p = place_of(first + tile);
        const int64_t run = run_from(p, count - tile);
        transform_run(vector + v, p, run, products + (v * split_.block + tile) * loops().lanes);
        if (epilogue_.has_rest()) run_epilogue(vector + v, p, run);
        tile += run;
      }
  }

  float* result_at(int64_t vector, const Place& p) const {
    return result_
           + (((p.image * out_ + vector) * out_height_ + p.y) * out_width_ + p.x) * loops().lanes;
  }

  void transform_run(int64_t vector, Place p, int64_t run, const float* from) const {
    const int64_t lanes = loops().lanes;
    const float* bias = packed_->bias().data<float>() + vector * lanes;
    for (; run > 0; --run, p.x += kept_, from += lanes) {
      float* const to = result_at(vector, p);
      const auto transform = [&](float* rows, int64_t width) {
        tile_.output(from, out_step_, bias, epilogue_.lower(), epilogue_.upper(), rows,
                     width * lanes);
      };
      if (p.y + kept_ <= out_height_ && p.x + kept_ <= out_width_) {
        transform(to, out_width_);
        continue;
      }
      alignas(64) float copy[kMaxSize * kMaxSize * kMaxLanes];
      transform(copy, kept_);
      for (int64_t i = 0; i < std::min(kept_, out_height_ - p.y); ++i)
        std::copy_n(copy + i * kept_ * lanes, std::min(kept_, out_width_ - p.x) * lanes,
                    to + i * out_width_ * lanes);
    }
  }

  void run_epilogue(int64_t vector, const Place& p, int64_t run) const {
    const int64_t pixels = std::min(run * kept_, out_width_ - p.x);
    for (int64_t y = p.y; y < std::min(p.y + kept_, out_height_); ++y)
      epilogue_.run(p.image * out_ + vector, y * out_width_ + p.x, pixels);
  }

  std::shared_ptr<const WinogradWeights> packed_;
  const WinogradForm& form_;
  BlockedEpilogue epilogue_;
  const WinogradKernels::Tile& tile_;
  std::optional<WinogradGather> gather_;  // of few channels
  int64_t planes_, kept_;                 // planes; results of a tile along an axis
  int64_t top_, left_, height_, width_, out_height_, out_width_;
  int64_t in_, out_;  // vectors of channels, or few channels; vectors of output channels
  int64_t depth_;     // channels of all parts, in whole vectors
  int64_t rows_, columns_, tiles_;  // of tiles in an image; in all
  int64_t plane_floats_;            // of a vector of channels
  bool by_vector_;                  // whether all tiles of a vector come before the next vector
  WinogradSplit split_;
  bool is_near_ = false;  // whether blocks find most weights where those before read them
  int64_t in_step_ = 0, out_step_ = 0;  // floats from one plane to the next
  const float *weights_ = nullptr, *data_ = nullptr;
  float* result_ = nullptr;
};

}  // namespace

Layout winograd_layout() {
  return blocked_layout(loops().lanes);
}

std::unique_ptr<Execution> prepare_winograd(const Convolution& op,
                                            std::shared_ptr<const WinogradWeights> weights,
                                            std::span<const TensorSpec> inputs,
                                            const TensorSpec& output) {
  return std::make_unique<WinogradExecution>(op, std::move(weights), inputs, output);
}

}  // namespace tenon::cpu
