// Finds the person on a picture with MediaPipe's selfie segmentation, and blurs what is behind.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "common/engine_pipeline.h"
#include "common/program.h"

namespace {

using namespace tenon::serve;  // NOLINT: what applications write
using examples::value_of;
using examples::view;
using tenon::Picture;

constexpr int64_t kSide = 256;
constexpr int kBlur = 16;  // pixels that become one

Result<Tensors> picture_tensor(Picture& picture, const JobContext&) {
  Tensors tensors;
  tensors.emplace_back(Shape{1, kSide, kSide, 3});
  value_of(resize_bilinear_and_normalize(view(picture), {tensors[0], 0, Layout::kNHWC},
                                         Norm::alpha_beta(1 / 255.f)));
  return tensors;
}

// For each pixel of the picture how sure it is that it shows a person, from 0 to 1: the network's
// map, in bytes, is resized as pictures are.
Result<std::vector<float>> mask_of(Picture& picture, Tensors& outputs, const JobContext&) {
  const View map = examples::output(outputs, 0);
  if (map.shape() != Shape{kSide, kSide, 1} || map.type() != DataType::kFLOAT)
    return Error{"selfie segmentation: expected a map of float32 256x256x1, found " + map.text()};
  std::vector<uint8_t> bytes;
  for (int64_t i = 0; i < map.count(); ++i) {
    const float likelihood = static_cast<const float*>(map.data())[i];
    bytes.push_back(uint8_t(std::lround(255 * std::clamp(likelihood, 0.f, 1.f))));
  }
  Tensor mask({1, 1, picture.height, picture.width});
  value_of(
      resize_bilinear_and_normalize(Image::packed(PixelFormat::kGrey, bytes.data(), kSide, kSide),
                                    {mask}, Norm::alpha_beta(1 / 255.f)));
  const float* const elements = value_of(mask.cpu<float>());
  return std::vector<float>(elements, elements + mask.numel());
}

Picture blurred(const Picture& picture) {
  const int width = std::max(1, picture.width / kBlur),
            height = std::max(1, picture.height / kBlur);
  return tenon::resized(tenon::resized(picture, width, height), picture.width, picture.height);
}

void run(const examples::Arguments& arguments) {
  const Shape one = {1, kSide, kSide, 3};
  const auto segment = examples::start<Picture, std::vector<float>>(
      arguments[0], "input_1", {one, one, one}, picture_tensor, mask_of);

  Picture picture = tenon::read_picture(arguments[1]);
  const auto answer = segment->commit(picture);
  const Picture background = blurred(blurred(picture));  // meanwhile
  const std::vector<float>& mask = value_of(answer.get());
  double sum = 0;
  for (size_t i = 0; i < mask.size(); ++i) {
    for (size_t c = 3 * i; c < 3 * i + 3; ++c)
      picture.pixels[c] = uint8_t(std::lround(mask[i] * float(picture.pixels[c])
                                              + (1 - mask[i]) * float(background.pixels[c])));
    sum += mask[i];
  }
  std::printf("the person covers %.1f%% of the picture\n", 100 * sum / double(mask.size()));
  tenon::write_picture(arguments[2], picture);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "segment MODEL.onnx PICTURE RESULT.png", run);
}
