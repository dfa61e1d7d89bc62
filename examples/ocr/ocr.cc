// Reads the text on a picture with the three models of PP-OCRv4: one finds lines, one tells whether
// a line is upside down, one reads it; lines go through the last two side by side. Prints the text
// and draws the boxes.
#include <tenon/serve/classification.h>
#include <tenon/serve/text.h>
#include <tenon/serve/text_boxes.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "characters.h"
#include "common/engine_pipeline.h"
#include "common/program.h"

namespace {

using namespace tenon::serve;  // NOLINT: what applications write
using examples::value_of;
using examples::view;
using tenon::Picture;

constexpr int kLineHeight = 48;  // that two models want
constexpr int kDirectionWidth = 192;
constexpr int kLeastLine = 48, kMostLine = 1600;  // widths that are read
constexpr int kLeastSide = 64, kMostSide = 1280;  // of the picture in which lines are looked for
constexpr float kSureOfTurn = 0.9f;
constexpr uint8_t kZero = 127;  // the grey that becomes about 0

const Norm kPageNorm = Norm::mean_std({0.485f, 0.456f, 0.406f}, {0.229f, 0.224f, 0.225f}, 1 / 255.f,
                                      ChannelType::Invert);
const Norm kLineNorm =
    Norm::mean_std({0.5f, 0.5f, 0.5f}, {0.5f, 0.5f, 0.5f}, 1 / 255.f, ChannelType::Invert);

Result<Tensors> page_tensor(Picture& page, const JobContext&) {
  return examples::tensor_of(page, kLeastSide, kMostSide, kPageNorm);
}

Result<std::vector<TextBox>> boxes_of(Picture& page, Tensors& map, const JobContext&) {
  TextBoxOptions options;
  options.unclip_ratio = 2.5f;  // with space around the text
  options.to_picture = examples::to_picture(page, map[0].width(), map[0].height());
  return decode_text_boxes(value_of(View::of_item(map[0], 0)), options);
}

// The part of the page inside a box, upright.
Picture cut_out(const Picture& page, const TextBox& box) {
  const auto& [a, b, c, d] = box.corners;
  const auto width = std::max<int64_t>(1, std::llround(std::hypot(b.x - a.x, b.y - a.y)));
  const auto height = std::max<int64_t>(1, std::llround(std::hypot(d.x - a.x, d.y - a.y)));
  const float ux = (b.x - a.x) / float(width), uy = (b.y - a.y) / float(width);
  const float vx = (d.x - a.x) / float(height), vy = (d.y - a.y) / float(height);
  Tensor pixels({1, height, width, 3}, DataType::kUINT8);
  value_of(warp_affine(view(page),
                       {ux, vx, a.x + (ux + vx - 1) / 2, uy, vy, a.y + (uy + vy - 1) / 2},
                       {pixels, 0, Layout::kNHWC}));
  Picture line = tenon::grey_picture(int(width), int(height), 0);
  std::copy_n(value_of(pixels.cpu<uint8_t>()), pixels.numel(), line.pixels.data());
  return line;
}

// In the height that the models want, and narrower than `width` with nothing beside it.
Tensors line_tensor(const Picture& line, int64_t width) {
  Tensors tensors;
  tensors.emplace_back(Shape{1, 3, kLineHeight, width});
  if (line.width * kLineHeight >= width * line.height) {
    value_of(resize_bilinear_and_normalize(view(line), {tensors[0]}, kLineNorm));
  } else {
    const auto box = value_of(
        Letterbox::ultralytics(line.width, line.height, width, kLineHeight, {true, false}));
    value_of(letterbox(view(line), box, {tensors[0]}, kLineNorm, kZero));
  }
  return tensors;
}

Result<Tensors> direction_tensor(Picture& line, const JobContext&) {
  return line_tensor(line, kDirectionWidth);
}

// The line, turned if it is upside down.
Result<Picture> turned(Picture& line, Tensors& scores, const JobContext&) {
  const auto best = value_of(decode_classes(value_of(View::of_item(scores[0], 0)), 1, false))[0];
  if (best.class_label == 1 && best.score > kSureOfTurn) {
    using Pixel = std::array<uint8_t, 3>;
    auto* const pixels = reinterpret_cast<Pixel*>(line.pixels.data());
    std::reverse(pixels, pixels + line.width * line.height);
  }
  return std::move(line);
}

// Widths of whole blocks, so that lines of about one length are a batch.
Result<Tensors> reading_tensor(Picture& line, const JobContext&) {
  const double width = double(line.width) * kLineHeight / line.height;
  return line_tensor(
      line, std::clamp<int64_t>(std::llround(std::ceil(width / 32)) * 32, kLeastLine, kMostLine));
}

void draw(Picture& picture, const TextBox& box) {
  for (size_t i = 0; i < 4; ++i) {
    const Point a = box.corners[i], b = box.corners[(i + 1) % 4];
    tenon::draw_line(picture, a.x, a.y, b.x, b.y, {220, 40, 40});
  }
}

void run(const examples::Arguments& arguments) {
  const auto find = examples::start<Picture, std::vector<TextBox>>(
      arguments[0], "x",
      {{1, 3, kLeastSide, kLeastSide}, {1, 3, 480, 640}, {1, 3, kMostSide, kMostSide}}, page_tensor,
      boxes_of);
  const auto turn = examples::start<Picture, Picture>(arguments[1], "x",
                                                      {{1, 3, kLineHeight, kDirectionWidth},
                                                       {1, 3, kLineHeight, kDirectionWidth},
                                                       {4, 3, kLineHeight, kDirectionWidth}},
                                                      direction_tensor, turned);
  const auto characters = read_characters(arguments[2]);
  const auto read = examples::start<Picture, Text>(
      arguments[2], "x",
      {{1, 3, kLineHeight, kLeastLine}, {1, 3, kLineHeight, 320}, {4, 3, kLineHeight, kMostLine}},
      reading_tensor, [&](Picture&, Tensors& scores, const JobContext&) -> Result<Text> {
        return decode_text(value_of(View::of_item(scores[0], 0)), characters);
      });

  const Picture page = tenon::read_picture(arguments[3]);
  Picture result = page;
  const auto found = find->commit(page);
  std::vector<std::shared_future<Answer<Picture>>> lines;
  for (const TextBox& box : value_of(found.get())) {
    lines.push_back(turn->commit(cut_out(page, box)));
    draw(result, box);
  }
  std::vector<std::shared_future<Answer<Text>>> texts;
  for (const auto& line : lines) texts.push_back(read->commit(value_of(line.get())));
  for (const auto& text : texts)
    std::printf("%.2f  %s\n", value_of(text.get()).score, value_of(text.get()).text.c_str());
  tenon::write_picture(arguments[4], result);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "ocr FIND.onnx TURN.onnx READ.onnx PICTURE RESULT.png",
                               run);
}
