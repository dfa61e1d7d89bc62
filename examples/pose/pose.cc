// Finds people on a picture with MediaPipe's detector, and 33 landmarks of each with BlazePose.
// Prints the landmarks and draws skeletons.
#include <tenon/serve/blaze.h>
#include <tenon/serve/preprocess.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "common/engine_pipeline.h"
#include "skeleton.h"

namespace {

using namespace tenon::serve;  // NOLINT: what applications write
using examples::value_of;
using examples::view;
using tenon::Picture;

constexpr int64_t kFindSide = 224, kPersonSide = 256;
constexpr int64_t kNumbers = 5;  // of a landmark: x, y, z, logits that it is seen and is inside
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

Result<Tensors> warped(const Picture& picture, const Matrix23& to_picture, int64_t side,
                       const Norm& norm) {
  Tensors tensors;
  tensors.emplace_back(Shape{1, side, side, 3});
  value_of(warp_affine(view(picture), examples::between_pixels(to_picture),
                       {tensors[0], 0, Layout::kNHWC}, norm, 0));
  return tensors;
}

Result<Tensors> picture_tensor(Picture& picture, const JobContext&) {
  return warped(picture, fitted(picture), kFindSide, Norm::alpha_beta(1 / 127.5f, -1));
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

Result<Tensors> person_tensor(Person& person, const JobContext&) {
  return warped(*person.picture, person.to_picture, kPersonSide, Norm::alpha_beta(1 / 255.f));
}

Result<Landmarks> landmarks_of(Person& person, Tensors& outputs, const JobContext&) {
  const View numbers = examples::output(outputs, 0), score = examples::output(outputs, 1);
  if (numbers.type() != DataType::kFLOAT || numbers.count() < kNumbers * std::ssize(kLandmarkNames)
      || score.type() != DataType::kFLOAT || score.count() != 1)
    return Error{"BlazePose: expected 33 landmarks or more, and a score, of float32, found "
                 + numbers.text() + " and " + score.text()};
  Landmarks landmarks{*static_cast<const float*>(score.data()), {}};
  for (int64_t i = 0; i < std::ssize(kLandmarkNames); ++i) {
    const float* const t = static_cast<const float*>(numbers.data()) + i * kNumbers;
    const Point point = mapped(person.to_picture, Point{t[0], t[1]});
    landmarks.points.push_back({point.x, point.y, 1 / (1 + std::exp(-t[3]))});
  }
  return landmarks;
}

void draw(Picture& picture, const std::vector<Keypoint>& points) {
  for (const auto& [i, k] : kBones) {
    const Keypoint &a = points[size_t(i)], &b = points[size_t(k)];
    if (a.score > kSure && b.score > kSure)
      tenon::draw_line(picture, a.x, a.y, b.x, b.y, {40, 240, 80});
  }
}

void run(char** arguments) {
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
  if (argc != 5) {
    std::fprintf(stderr, "usage: pose FIND.onnx LANDMARKS.onnx PICTURE RESULT.png\n");
    return 1;
  }
  try {
    run(argv + 1);
    return 0;
  } catch (const std::exception& e) {
    std::fprintf(stderr, "pose: %s\n", e.what());
    return 1;
  }
}
