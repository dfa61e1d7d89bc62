// Finds people on a picture with MediaPipe's detector, and 33 landmarks of each with BlazePose.
// Prints the landmarks and draws skeletons.
#include <tenon/serve/blaze.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "common/engine_pipeline.h"
#include "common/program.h"
#include "skeleton.h"

namespace {

using namespace tenon::serve;  // NOLINT: what applications write
using examples::value_of;
using examples::view;
using tenon::Picture;

constexpr int64_t kFindSide = 224, kPersonSide = 256;
constexpr float kSure = 0.5f;

struct Person {
  const Picture* picture;
  Matrix23 to_picture;  // from positions in the network's input
};

struct Landmarks {
  float score;  // that there is a person
  std::vector<Keypoint> points;
};

// The picture as large as fits, in the middle of black.
Matrix23 fitted(const Picture& picture) {
  const float scale = float(std::max(picture.width, picture.height)) / float(kFindSide);
  const float side = scale * float(kFindSide);
  return {scale, 0,     (float(picture.width) - side) / 2,
          0,     scale, (float(picture.height) - side) / 2};
}

Result<Tensors> picture_tensor(Picture& picture, const JobContext&) {
  Tensors tensors;
  tensors.emplace_back(Shape{1, kFindSide, kFindSide, 3});
  value_of(warp_affine(view(picture), examples::between_pixels(fitted(picture)),
                       {tensors[0], 0, Layout::kNHWC}, Norm::alpha_beta(1 / 127.5f, -1), 0));
  return tensors;
}

Result<std::vector<Pose>> people_of(Picture& picture, Tensors& outputs, const JobContext&) {
  DetectOptions options;
  options.score_threshold = kSure;
  options.nms.iou_threshold = 0.3f;
  options.to_picture = fitted(picture);
  return decode_blaze(examples::output(outputs, 0), examples::output(outputs, 1), kFindSide,
                      kFindSide, blaze_pose_levels(), options);
}

// The first point is the middle of the hips, and the second lies above the person: as far away as
// the circle around the person reaches, which with a margin is the input of the next network.
Matrix23 around(const Pose& pose) {
  constexpr float kMargin = 1.25f;
  const Keypoint &hips = pose.keypoints.at(0), &above = pose.keypoints.at(1);
  const float scale = 2 * kMargin / float(kPersonSide), middle = float(kPersonSide) / 2;
  const float x = (hips.x - above.x) * scale, y = (hips.y - above.y) * scale;  // a step down
  return {y, x, hips.x - middle * (y + x), -x, y, hips.y - middle * (y - x)};
}

// Beyond the picture its edges go on.
Result<Tensors> person_tensor(Person& person, const JobContext&) {
  Tensors tensors;
  tensors.emplace_back(Shape{1, kPersonSide, kPersonSide, 3});
  float* out = value_of(tensors[0].cpu<float>());
  const Matrix23 to_pixel = examples::between_pixels(person.to_picture);
  for (int64_t y = 0; y < kPersonSide; ++y)
    for (int64_t x = 0; x < kPersonSide; ++x, out += 3) {
      const Point from = mapped(to_pixel, Point{float(x), float(y)});
      tenon::sample(*person.picture, from.x, from.y, out);
      for (int c = 0; c < 3; ++c) out[c] /= 255;
    }
  return tensors;
}

Result<Landmarks> landmarks_of(Person& person, Tensors& outputs, const JobContext&) {
  auto points =
      value_of(decode_blaze_pose(examples::output(outputs, 0), examples::output(outputs, 2),
                                 kPersonSide, kPersonSide, person.to_picture));
  if (points.size() < std::size(kLandmarkNames))
    return Error{"BlazePose: expected 33 landmarks or more, found "
                 + std::to_string(points.size())};
  points.resize(std::size(kLandmarkNames));  // the others are for the next picture of a video
  const float* const score = value_of(outputs[1].cpu<float>());
  return Landmarks{*score, std::move(points)};
}

void draw(Picture& picture, const std::vector<Keypoint>& points) {
  for (const auto& [i, k] : kBones) {
    const Keypoint &a = points[size_t(i)], &b = points[size_t(k)];
    if (a.score > kSure && b.score > kSure)
      tenon::draw_line(picture, a.x, a.y, b.x, b.y, {40, 240, 80});
  }
}

void run(const examples::Arguments& arguments) {
  const Shape whole = {1, kFindSide, kFindSide, 3}, one = {1, kPersonSide, kPersonSide, 3};
  const auto find = examples::start<Picture, std::vector<Pose>>(
      arguments[0], "input_1", {whole, whole, whole}, picture_tensor, people_of);
  const auto look = examples::start<Person, Landmarks>(arguments[1], "input_1",
                                                       {one, one, {4, kPersonSide, kPersonSide, 3}},
                                                       person_tensor, landmarks_of);

  const Picture picture = tenon::read_picture(arguments[2]);
  Picture result = picture;
  const auto found = find->commit(picture);
  std::vector<std::shared_future<Answer<Landmarks>>> people;
  for (const Pose& pose : value_of(found.get()))
    people.push_back(look->commit({&picture, around(pose)}));
  for (const auto& person : people) {
    const auto& [score, points] = value_of(person.get());
    if (score < kSure) continue;
    std::printf("person %.2f\n", score);
    for (size_t i = 0; i < points.size(); ++i)
      std::printf("  %.2f %s at (%.1f, %.1f)\n", points[i].score, kLandmarkNames[i], points[i].x,
                  points[i].y);
    draw(result, points);
  }
  tenon::write_picture(arguments[3], result);
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "pose FIND.onnx LANDMARKS.onnx PICTURE RESULT.png", run);
}
