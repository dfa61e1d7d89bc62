// Finds the faces on two pictures with CenterFace, aligns them by their landmarks, and compares
// them by dlib's network: faces of one person have descriptors that are near each other. Prints
// faces and distances, and draws both pictures side by side.
#include <tenon/serve/faces.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "common/drawing.h"
#include "common/engine_pipeline.h"
#include "common/program.h"

namespace {

using namespace tenon::serve;  // NOLINT: what applications write
using examples::value_of;
using examples::view;
using tenon::Picture;

constexpr int64_t kLeastSide = 64,
                  kMostSide = 1280;  // of the picture in which faces are looked for
constexpr int64_t kFaceSide = 150;
constexpr float kSamePerson = 0.6f;  // dlib's threshold
// Eyes, nose and corners of the mouth in the faces that dlib's network was trained with.
constexpr Landmarks5 kLandmarks = {
    {{47.5f, 46.6f}, {100.5f, 46.6f}, {74.0f, 76.6f}, {50.4f, 103.0f}, {97.6f, 103.0f}}};
constexpr uint8_t kGreen[] = {40, 220, 60}, kRed[] = {220, 40, 40};
using Descriptor = std::vector<float>;

struct FaceOfPicture {
  const Picture* picture;
  Face face;
};

Result<Tensors> picture_tensor(Picture& picture, const JobContext&) {
  return examples::tensor_of(picture, kLeastSide, kMostSide, Norm::None());
}

Result<std::vector<Face>> faces_of(Picture& picture, Tensors& outputs, const JobContext&) {
  constexpr int kStride = 4;
  const View heat = examples::output(outputs, 0);
  DetectOptions options;
  options.score_threshold = 0.5f;
  options.nms.iou_threshold = 0.3f;
  options.to_picture =
      examples::to_picture(picture, heat.size(2) * kStride, heat.size(1) * kStride);
  return decode_center_face(heat, examples::output(outputs, 1), examples::output(outputs, 2),
                            examples::output(outputs, 3), options, kStride);
}

Result<Tensors> face_tensor(FaceOfPicture& face, const JobContext&) {
  const Matrix23 to_picture = value_of(similarity(kLandmarks, face.face.landmarks));
  Tensors tensors;
  tensors.emplace_back(Shape{1, 3, kFaceSide, kFaceSide});
  value_of(warp_affine(view(*face.picture), examples::between_pixels(to_picture), {tensors[0]},
                       Norm::None(), 0));
  return tensors;
}

Result<Descriptor> descriptor_of(FaceOfPicture&, Tensors& outputs, const JobContext&) {
  const float* const numbers = value_of(outputs.at(0).cpu<float>());
  return Descriptor(numbers, numbers + outputs[0].numel());
}

float distance(const Descriptor& a, const Descriptor& b) {
  float sum = 0;
  for (size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

void print(const std::string& picture, const std::vector<Face>& faces) {
  for (size_t i = 0; i < faces.size(); ++i) {
    const auto& [box, landmarks] = faces[i];
    std::printf("%s, face %zu: %.2f at (%.0f, %.0f) to (%.0f, %.0f), landmarks", picture.c_str(),
                i + 1, box.score, box.left, box.top, box.right, box.bottom);
    for (const Point& point : landmarks) std::printf(" (%.1f, %.1f)", point.x, point.y);
    std::printf("\n");
  }
}

void draw(Picture& picture, const Face& face, const uint8_t (&colour)[3]) {
  examples::draw_box(picture, face.box, colour);
  for (const Point& point : face.landmarks) examples::draw_point(picture, point, colour);
}

void run(const examples::Arguments& arguments) {
  const auto find = examples::start<Picture, std::vector<Face>>(
      arguments[0], "input.1",
      {{1, 3, kLeastSide, kLeastSide}, {1, 3, 512, 512}, {1, 3, kMostSide, kMostSide}},
      picture_tensor, faces_of);
  const Shape one = {1, 3, kFaceSide, kFaceSide};
  const auto describe = examples::start<FaceOfPicture, Descriptor>(
      arguments[1], "faces", {one, one, {4, 3, kFaceSide, kFaceSide}}, face_tensor, descriptor_of);

  Picture pictures[] = {tenon::read_picture(arguments[2]), tenon::read_picture(arguments[3])};
  const auto first = find->commit(pictures[0]), second = find->commit(pictures[1]);
  const std::vector<Face> faces[] = {value_of(first.get()), value_of(second.get())};
  std::vector<Descriptor> descriptors[2];
  for (size_t i = 0; i < 2; ++i) {
    print(arguments[2 + i], faces[i]);
    std::vector<std::shared_future<Answer<Descriptor>>> jobs;
    for (const Face& face : faces[i]) jobs.push_back(describe->commit({&pictures[i], face}));
    for (const auto& job : jobs) descriptors[i].push_back(value_of(job.get()));
  }

  for (const Face& face : faces[0]) draw(pictures[0], face, kGreen);
  for (size_t k = 0; k < faces[1].size(); ++k) {
    bool is_known = false;
    for (size_t i = 0; i < faces[0].size(); ++i) {
      const float apart = distance(descriptors[0][i], descriptors[1][k]);
      const bool is_same = apart < kSamePerson;
      std::printf("face %zu and face %zu are %.3f apart: %s\n", i + 1, k + 1, apart,
                  is_same ? "the same person" : "two persons");
      is_known |= is_same;
    }
    draw(pictures[1], faces[1][k], is_known ? kGreen : kRed);
  }
  tenon::write_picture(arguments[4], examples::side_by_side(pictures[0], pictures[1]));
}

}  // namespace

int main(int argc, char** argv) {
  return examples::run_program(argc, argv, "face FIND.onnx DESCRIBE.onnx FIRST SECOND RESULT.png",
                               run);
}
