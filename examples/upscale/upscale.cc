// Enlarges a picture of any size with a super-resolution network: overlapping tiles go through one
// pipeline in batches, and are blended into each other where they overlap.
#include <tenon/serve/preprocess.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "common/picture_network.h"
#include "common/program.h"

namespace {

using namespace tenon::serve;  // NOLINT: what applications write
using examples::value_of;
using tenon::Picture;

constexpr int kTile = 256, kBatch = 4;  // a tile's side, if the network takes any
// Pixels that neighbours share. They are blended in the middle of them; what lies nearer to a
// tile's edge, 20 pixels, is not used: there the network misses what is outside of the tile.
constexpr int kOverlap = 48, kBlend = 8;

// Where tiles begin along one axis.
class Axis {
 public:
  Axis(int64_t extent, int64_t tile) : tile_(tile) {
    const int64_t rest = extent - tile, step = tile - kOverlap;
    if (rest < 0 || (rest > 0 && tile < 2 * kOverlap))
      throw std::runtime_error("tiles of " + std::to_string(tile)
                               + " pixels do not fit a picture of " + std::to_string(extent)
                               + ": expected 96 or more, but not larger");
    const int64_t steps = rest > 0 ? (rest + step - 1) / step : 0;
    for (int64_t i = 0; i <= steps; ++i) starts_.push_back(rest * i / std::max<int64_t>(steps, 1));
  }

  size_t count() const { return starts_.size(); }
  int64_t start(size_t i) const { return starts_[i]; }
  /// What tile i is worth at a position of the picture; of all tiles together it is 1.
  float weight(size_t i, float position) const {
    return (i > 0 ? share(i - 1, position) : 1) - (i + 1 < count() ? share(i, position) : 0);
  }

 private:
  float share(size_t i, float position) const {  // of the tiles after i, from 0 to 1
    const float middle = static_cast<float>(starts_[i] + tile_ + starts_[i + 1]) / 2;
    return std::clamp((position - middle) / kBlend + 0.5f, 0.f, 1.f);
  }

  int64_t tile_;
  std::vector<int64_t> starts_;
};

struct Tile {
  size_t column, row;
  Tensors enlarged{};  // (1, 3, height, width), from 0 to 1
};

class Upscaler {
 public:
  Upscaler(const std::string& model, const Picture& picture, int tile)
      : picture_(picture),
        network_(examples::build_picture_network(model, kBatch, std::min(picture.height, tile),
                                                 std::min(picture.width, tile))),
        columns_(picture.width, network_.width()),
        rows_(picture.height, network_.height()) {
    const auto& output = network_.outputs.at(0);
    scale_ = static_cast<int>(output.shape.d[2] / network_.height());
    const Shape right = {output.shape.d[0], 3, scale_ * network_.height(),
                         scale_ * network_.width()};
    if (scale_ < 1 || tenon::session::to_shape(output.shape) != right || network_.outputs.size() > 1
        || output.type != DataType::kFLOAT)
      throw std::runtime_error(model + ": expected one output, pictures of float32 that are a whole "
                               "number of times as large; found " + network_.outputs_text());
    sums_.resize(picture.pixels.size() * static_cast<size_t>(scale_ * scale_));
  }

  Picture run() {
    PipelineOptions options;
    options.max_batch = static_cast<size_t>(network_.most());
    options.max_jobs = 4 * options.max_batch;
    options.ordered = true;  // so that one tile at a time is blended
    const auto cut = [this](Tile& tile, const JobContext&) { return cut_out(tile); };
    const auto keep = [](Tile& tile, Tensors& pixels, const JobContext&) -> Result<Tile> {
      return Tile{tile.column, tile.row, std::move(pixels)};
    };
    std::string failure;
    const auto pipeline = examples::start<Tile, Tile>(network_.engine, options, cut, keep);
    for (size_t i = 0; i < columns_.count() * rows_.count(); ++i)
      pipeline->submit({i % columns_.count(), i / columns_.count()}, {}, [&](Answer<Tile> tile) {
        if (tile)
          add(*tile, *tile->enlarged[0].cpu<float>());
        else
          failure = tile.error().text();
      });
    value_of(pipeline->stop());
    if (!failure.empty()) throw std::runtime_error(failure);
    Picture result = tenon::grey_picture(picture_.width * scale_, picture_.height * scale_, 0);
    std::transform(sums_.begin(), sums_.end(), result.pixels.begin(), [](float sum) {
      return static_cast<uint8_t>(std::clamp(sum * 255 + 0.5f, 0.f, 255.f));
    });
    return result;
  }

 private:
  Result<Tensors> cut_out(const Tile& tile) const {
    const auto left = float(columns_.start(tile.column)), top = float(rows_.start(tile.row));
    const Rectangle part{left, top, left + float(network_.width()), top + float(network_.height())};
    Tensors tensors;
    tensors.emplace_back(Shape{1, 3, network_.height(), network_.width()}, network_.input.type);
    const Image image = examples::view(picture_);
    value_of(crop_rectangles(image, {&part, 1}, {tensors[0]}, Norm::alpha_beta(1 / 255.f)));
    return tensors;
  }

  void add(const Tile& tile, const float* pixels) {
    const int64_t height = scale_ * network_.height(), width = scale_ * network_.width();
    const int64_t left = scale_ * columns_.start(tile.column), top = scale_ * rows_.start(tile.row);
    const auto position = [&](int64_t at) { return (float(at) + 0.5f) / float(scale_); };
    std::vector<float> across;
    for (int64_t x = left; x < left + width; ++x)
      across.push_back(columns_.weight(tile.column, position(x)));
    for (int64_t y = 0; y < height; ++y) {
      const float down = rows_.weight(tile.row, position(top + y));
      float* sum = sums_.data() + ((top + y) * picture_.width * scale_ + left) * 3;
      for (int64_t x = 0; x < width; ++x)
        for (int64_t channel = 0; channel < 3; ++channel)
          *sum++ += down * across[size_t(x)] * pixels[(channel * height + y) * width + x];
    }
  }

  const Picture& picture_;
  const examples::PictureNetwork network_;
  const Axis columns_, rows_;
  int scale_ = 1;
  std::vector<float> sums_;  // of the result's pixels
};

}  // namespace

int main(int argc, char** argv) {
  const auto run = [](const examples::Arguments& arguments) {
    const Picture picture = tenon::read_picture(arguments[1]);
    const int tile = arguments.size() > 3 ? std::max(1, std::atoi(arguments[3].c_str())) : kTile;
    tenon::write_picture(arguments[2], Upscaler(arguments[0], picture, tile).run());
  };
  return examples::run_program(argc, argv, "upscale MODEL.onnx PICTURE RESULT [TILE]", run);
}
