// JPEG and PNG pictures as inputs of networks.
#include <tenon/picture.h>
#include <tenon/serve/preprocess.h>

#include "guard.h"
#include "stage_parameters.h"
#include "stages.h"
#include "tensor_memory.h"

namespace tenon::server {
namespace {

using serve::Tensors;
using session::value_of;

struct PictureOptions {
  int64_t width = 0, height = 0;
  bool is_letterbox = true;
  serve::Norm norm;
};

PictureOptions picture_options(const ModelConfig& config) {
  constexpr int64_t kMost = 1 << 14;
  StageParameters parameters(config);
  PictureOptions options;
  options.width = parameters.whole("width", 640, 1, kMost);
  options.height = parameters.whole("height", 640, 1, kMost);
  options.is_letterbox = parameters.choice("fit", {"letterbox", "resize"}) == 0;
  const bool is_rgb = parameters.choice("channels", {"rgb", "bgr"}) == 0;
  const auto mean = parameters.three("mean", {0, 0, 0});
  const auto std = parameters.three("std", {1, 1, 1});
  for (const float value : std)
    if (value == 0) throw Error{"parameters: std: expected numbers other than 0"};
  parameters.finish();
  options.norm = serve::Norm::mean_std(
      mean, std, 1 / 255.F, is_rgb ? serve::ChannelType::None : serve::ChannelType::Invert);
  return options;
}

Picture decoded(Tensor& file) {
  try {
    return decode_picture(value_of(file.cpu()), file.bytes(), "input 'picture'");
  } catch (const std::runtime_error& cause) {
    throw Error{cause.what()};
  }
}

// From pixels of the network's input to the picture's, as Letterbox's d2i; OpenCV's resize has
// pixels' edges, not their centres, in common.
serve::Matrix23 resize_matrix(const Picture& picture, const PictureOptions& options) {
  const float x = static_cast<float>(picture.width) / static_cast<float>(options.width);
  const float y = static_cast<float>(picture.height) / static_cast<float>(options.height);
  return {x, 0, 0, 0, y, 0};
}

Tensors prepared(Tensor& file, const PictureOptions& options) {
  const Picture picture = decoded(file);
  const auto image = serve::Image::packed(serve::PixelFormat::kRGB, picture.pixels.data(),
                                          picture.width, picture.height);
  Tensors made;
  made.push_back(heap_tensor({1, 3, options.height, options.width}, DataType::kFLOAT));
  serve::Matrix23 placement = resize_matrix(picture, options);
  if (options.is_letterbox) {
    const auto box = value_of(serve::Letterbox::ultralytics(picture.width, picture.height,
                                                            options.width, options.height));
    placement = box.d2i;
    value_of(serve::letterbox(image, box, {made[0]}, options.norm));
  } else {
    value_of(serve::resize_bilinear_and_normalize(image, {made[0]}, options.norm));
  }
  float* const numbers =
      value_of(made.emplace_back(heap_tensor({8}, DataType::kFLOAT)).cpu<float>());
  std::ranges::copy(placement, numbers);
  numbers[6] = static_cast<float>(picture.width);
  numbers[7] = static_cast<float>(picture.height);
  return made;
}

}  // namespace

PipelineParts picture_stage(const ModelConfig& config) {
  const PictureOptions options = picture_options(config);
  PipelineParts parts;
  parts.metadata.inputs = {{"picture", DataType::kUINT8, {-1}}};
  parts.metadata.outputs = {{"images", DataType::kFLOAT, {1, 3, options.height, options.width}},
                            {"placement", DataType::kFLOAT, {8}}};
  parts.ranges = {{{1}, {INT64_MAX}}};
  parts.instances.push_back({[options](std::span<Tensors* const> jobs) {
                               std::vector<Tensors> made;
                               made.push_back(prepared(jobs.front()->front(), options));
                               return serve::BatchResult<Tensors>(std::move(made));
                             },
                             {}});
  return parts;
}

}  // namespace tenon::server
