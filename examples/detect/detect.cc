// Finds objects on a photo with tiny YOLOv3, prints them and draws boxes around them.
#include <tenon/picture.h>

#include <cmath>
#include <cstdio>
#include <string>

#include "common/model.h"

namespace {

using examples::Tensor;
using nvinfer1::Dims2;
using nvinfer1::Dims4;
using tenon::Picture;

// The classes of COCO, in the model's order.
constexpr const char* kClasses[] = {
    "person",        "bicycle",       "car",           "motorbike",
    "aeroplane",     "bus",           "train",         "truck",
    "boat",          "traffic light", "fire hydrant",  "stop sign",
    "parking meter", "bench",         "bird",          "cat",
    "dog",           "horse",         "sheep",         "cow",
    "elephant",      "bear",          "zebra",         "giraffe",
    "backpack",      "umbrella",      "handbag",       "tie",
    "suitcase",      "frisbee",       "skis",          "snowboard",
    "sports ball",   "kite",          "baseball bat",  "baseball glove",
    "skateboard",    "surfboard",     "tennis racket", "bottle",
    "wine glass",    "cup",           "fork",          "knife",
    "spoon",         "bowl",          "banana",        "apple",
    "sandwich",      "orange",        "broccoli",      "carrot",
    "hot dog",       "pizza",         "donut",         "cake",
    "chair",         "sofa",          "potted plant",  "bed",
    "dining table",  "toilet",        "monitor",       "laptop",
    "mouse",         "remote",        "keyboard",      "cell phone",
    "microwave",     "oven",          "toaster",       "sink",
    "refrigerator",  "book",          "clock",         "vase",
    "scissors",      "teddy bear",    "hair drier",    "toothbrush"};
constexpr int kSide = 416;  // a multiple of 32; the model takes others too

// (1, 3, side, side), from 0 to 1: the photo as large as fits, in the middle of grey.
Tensor letterboxed(const Picture& photo) {
  const double scale = std::min(double(kSide) / photo.width, double(kSide) / photo.height);
  const int width = std::max(1, int(photo.width * scale));
  const int height = std::max(1, int(photo.height * scale));
  const Picture small = tenon::resized(photo, width, height);
  const int left = (kSide - width) / 2, top = (kSide - height) / 2;
  Tensor tensor = Tensor::floats(Dims4(1, 3, kSide, kSide));
  float* out = tensor.data<float>();
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < kSide; ++y)
      for (int x = 0; x < kSide; ++x, ++out) {
        const bool inside = y >= top && y < top + height && x >= left && x < left + width;
        *out = (inside ? small.at(x - left, y - top)[c] : 128) / 255.f;
      }
  return tensor;
}

void draw_box(Picture& photo, const float* box, int color) {
  const uint8_t rgb[3] = {uint8_t(color * 97 % 206 + 50), uint8_t(color * 57 % 206 + 50),
                          uint8_t(color * 151 % 206 + 50)};
  const float top = box[0], left = box[1], bottom = box[2], right = box[3];
  tenon::draw_line(photo, left, top, right, top, rgb);
  tenon::draw_line(photo, right, top, right, bottom, rgb);
  tenon::draw_line(photo, right, bottom, left, bottom, rgb);
  tenon::draw_line(photo, left, bottom, left, top, rgb);
}

void run(const std::string& model_path, const std::string& from, const std::string& to) {
  Picture photo = tenon::read_picture(from);
  const Dims4 shape(1, 3, kSide, kSide);
  examples::Model model(model_path, {{"input_1", {shape, shape, shape}},
                                     {"image_shape", {Dims2(1, 2), Dims2(1, 2), Dims2(1, 2)}}});
  Tensor size = Tensor::floats(Dims2(1, 2));
  size.data<float>()[0] = static_cast<float>(photo.height);
  size.data<float>()[1] = static_cast<float>(photo.width);
  auto outputs = model.run({{"input_1", letterboxed(photo)}, {"image_shape", size}});
  // Boxes (1, candidates, 4), scores (1, classes, candidates), and which of them are objects:
  // (1, objects, 3) of image, class, candidate. How many objects there are, only the run tells.
  const Tensor& boxes = outputs.at("yolonms_layer_1");
  const Tensor& scores = outputs.at("yolonms_layer_1:1");
  const Tensor& chosen = outputs.at("yolonms_layer_1:2");
  const auto candidates = boxes.shape.d[1];
  for (int64_t i = 0; i < chosen.shape.d[1]; ++i) {
    const int32_t* object = chosen.data<int32_t>() + 3 * i;
    const float* box = boxes.data<float>() + 4 * object[2];
    std::printf("%s %.2f at (%.0f, %.0f) to (%.0f, %.0f)\n", kClasses[object[1]],
                scores.data<float>()[object[1] * candidates + object[2]], box[1], box[0], box[3],
                box[2]);
    draw_box(photo, box, object[1] + 1);
  }
  tenon::write_picture(to, photo);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: detect MODEL.onnx PHOTO RESULT.png\n");
    return 1;
  }
  try {
    run(argv[1], argv[2], argv[3]);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "detect: %s\n", e.what());
    return 1;
  }
}
