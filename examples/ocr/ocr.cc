// Reads the text on a picture with the three models of PP-OCRv4: one finds lines, one tells whether
// a line is upside down, one reads it. Prints the text and draws the boxes.
#include <tenon/picture.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>

#include "characters.h"
#include "common/model.h"
#include "text_boxes.h"

namespace {

using examples::Model;
using examples::Tensor;
using nvinfer1::Dims4;
using tenon::Picture;

constexpr int kLineHeight = 48;  // that two models want
constexpr int kDirectionWidth = 192;
constexpr int kLeastLine = 48, kMostLine = 1600;  // widths that are read
constexpr int kLeastSide = 64, kMostSide = 1280;  // of the picture in which lines are looked for
constexpr float kSureOfTurn = 0.9f;

// (1, 3, height, width), blue first: (pixel / 255 - mean) / deviation. Pixels to the right of the
// picture are 0.
Tensor to_tensor(const Picture& picture, int width, const float (&mean)[3],
                 const float (&deviation)[3]) {
  Tensor tensor = Tensor::floats(Dims4(1, 3, picture.height, width));
  float* out = tensor.data<float>();
  for (int c = 0; c < 3; ++c)
    for (int y = 0; y < picture.height; ++y)
      for (int x = 0; x < picture.width; ++x)
        out[(c * picture.height + y) * width + x] =
            (picture.at(x, y)[2 - c] / 255.f - mean[c]) / deviation[c];
  return tensor;
}

Tensor line_tensor(const Picture& line, int width) {
  return to_tensor(line, width, {0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f});
}

// The line in the height that the models want, at most `most` wide.
Picture line_picture(const Picture& line, int most) {
  const double ratio = double(kLineHeight) / line.height;
  return tenon::resized(line, std::clamp(int(std::ceil(line.width * ratio)), 1, most), kLineHeight);
}

// The part of the picture inside a box, upright.
Picture cut_out(const Picture& picture, const TextBox& box) {
  const int width = std::max(1, static_cast<int>(std::lround(width_of(box))));
  const int height = std::max(1, static_cast<int>(std::lround(height_of(box))));
  Picture line = tenon::grey_picture(width, height, 0);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const float u = (static_cast<float>(x) + 0.5f) / static_cast<float>(width);
      const float v = (static_cast<float>(y) + 0.5f) / static_cast<float>(height);
      float rgb[3];
      tenon::sample(picture,
                    box[0].x + u * (box[1].x - box[0].x) + v * (box[3].x - box[0].x) - 0.5f,
                    box[0].y + u * (box[1].y - box[0].y) + v * (box[3].y - box[0].y) - 0.5f, rgb);
      for (int c = 0; c < 3; ++c) line.at(x, y)[c] = static_cast<uint8_t>(std::lround(rgb[c]));
    }
  return line;
}

Picture upside_down(const Picture& picture) {
  Picture turned = picture;
  for (int y = 0; y < picture.height; ++y)
    for (int x = 0; x < picture.width; ++x)
      std::copy_n(picture.at(x, y), 3, turned.at(picture.width - 1 - x, picture.height - 1 - y));
  return turned;
}

class Reader {
 public:
  Reader(const std::string& find, const std::string& turn, const std::string& read)
      : find_(find, {{"x",
                      {Dims4(1, 3, kLeastSide, kLeastSide), Dims4(1, 3, 480, 640),
                       Dims4(1, 3, kMostSide, kMostSide)}}}),
        turn_(turn, {{"x", fixed(Dims4(1, 3, kLineHeight, kDirectionWidth))}}),
        read_(read, {{"x",
                      {Dims4(1, 3, kLineHeight, kLeastLine), Dims4(1, 3, kLineHeight, 320),
                       Dims4(1, 3, kLineHeight, kMostLine)}}}),
        characters_(read_characters(read)) {}

  std::vector<TextBox> find(const Picture& picture) {
    const double scale = std::min(1.0, double(kMostSide) / std::max(picture.width, picture.height));
    const int width = whole_blocks(picture.width * scale);
    const int height = whole_blocks(picture.height * scale);
    const auto outputs =
        find_.run({{"x", to_tensor(tenon::resized(picture, width, height), width,
                                   {0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f})}});
    const Tensor& map = outputs.begin()->second;
    auto boxes = text_boxes(map.data<float>(), width, height, {});
    for (TextBox& box : boxes)
      for (Point& corner : box) {
        corner.x *= static_cast<float>(picture.width) / static_cast<float>(width);
        corner.y *= static_cast<float>(picture.height) / static_cast<float>(height);
      }
    return boxes;
  }

  Text read(Picture line) {
    const auto direction =
        turn_.run({{"x", line_tensor(line_picture(line, kDirectionWidth), kDirectionWidth)}});
    if (direction.begin()->second.data<float>()[1] > kSureOfTurn) line = upside_down(line);
    line = line_picture(line, kMostLine);
    const auto outputs = read_.run({{"x", line_tensor(line, std::max(line.width, kLeastLine))}});
    const Tensor& scores = outputs.begin()->second;
    return decode(scores.data<float>(), scores.shape.d[1], scores.shape.d[2], characters_);
  }

 private:
  static examples::Range fixed(const Dims4& shape) { return {shape, shape, shape}; }
  // The detector halves its input five times.
  static int whole_blocks(double side) {
    return std::clamp(static_cast<int>(std::lround(side / 32)) * 32, kLeastSide, kMostSide);
  }

  Model find_, turn_, read_;
  std::vector<std::string> characters_;
};

void draw(Picture& picture, const TextBox& box) {
  for (size_t i = 0; i < 4; ++i) {
    const Point a = box[i], b = box[(i + 1) % 4];
    tenon::draw_line(picture, a.x, a.y, b.x, b.y, {220, 40, 40});
  }
}

void run(char** arguments) {
  Reader reader(arguments[0], arguments[1], arguments[2]);
  const Picture picture = tenon::read_picture(arguments[3]);
  Picture result = picture;
  for (const TextBox& box : reader.find(picture)) {
    const Text text = reader.read(cut_out(picture, box));
    std::printf("%.2f  %s\n", text.score, text.text.c_str());
    draw(result, box);
  }
  tenon::write_picture(arguments[4], result);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 6) {
    std::fprintf(stderr, "usage: ocr FIND.onnx TURN.onnx READ.onnx PICTURE RESULT.png\n");
    return 1;
  }
  try {
    run(argv + 1);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "ocr: %s\n", e.what());
    return 1;
  }
}
