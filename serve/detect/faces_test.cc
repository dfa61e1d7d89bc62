#include "tenon/serve/faces.h"

#include <gmock/gmock.h>

#include "goldens.h"

namespace tenon::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::SizeIs;

void expect_faces(const Result<std::vector<Face>>& faces, const std::string& name) {
  Golden expected(name);
  ASSERT_TRUE(faces) << faces.error();
  ASSERT_EQ(static_cast<int64_t>(faces->size()), expected.rows());
  ASSERT_GT(expected.rows(), 10);
  for (int64_t i = 0; i < expected.rows(); ++i) {
    const Face& face = (*faces)[static_cast<size_t>(i)];
    expect_box(face.box, expected, i);
    for (int64_t k = 0; k < 5; ++k) {
      EXPECT_NEAR(face.landmarks[static_cast<size_t>(k)].x, expected.at(i, 7 + 2 * k), 2e-3F);
      EXPECT_NEAR(face.landmarks[static_cast<size_t>(k)].y, expected.at(i, 8 + 2 * k), 2e-3F);
    }
  }
}

TEST(RetinaFace, IsThePapers) {
  Golden boxes("retina_face.boxes"), scores("retina_face.scores");
  Golden landmarks("retina_face.landmarks");
  expect_faces(decode_retina_face(boxes.view(), scores.view(), landmarks.view(), kGoldenInput,
                                  kGoldenInput, retina_face_priors(), golden_options()),
               "retina_face.faces");
}

// An input of 9 pixels has two cells of stride 8.
TEST(RetinaFace, CellsBeginInTheInput) {
  const std::vector<float> boxes(6 * 4), landmarks(6 * 10);
  std::vector<float> scores(6 * 2);
  scores[2 * 5 + 1] = 0.9F;  // x 1, y 2
  const std::vector<PriorLevel> priors = {{8, {16}}};
  const auto faces = decode_retina_face(view_of(boxes, {6, 4}), view_of(scores, {6, 2}),
                                        view_of(landmarks, {6, 10}), 9, 24, priors, {});
  ASSERT_TRUE(faces) << faces.error();
  ASSERT_THAT(*faces, SizeIs(1));
  EXPECT_EQ(faces->front().landmarks[0].x, 12);
  EXPECT_EQ(faces->front().landmarks[0].y, 20);
  EXPECT_EQ(faces->front().box.left, 4);
}

TEST(RetinaFace, IsRefusedWhereItDoesNotFit) {
  const std::vector<float> numbers(168 * 10);
  const std::vector<float> two(168 * 2), four(168 * 4);
  const View b = view_of(four, {168, 4}), s = view_of(two, {168, 2}),
             l = view_of(numbers, {168, 10});
  const auto error = [](const View& boxes, const View& scores, const View& landmarks,
                        int64_t width = 64,
                        const std::vector<PriorLevel>& priors = retina_face_priors(),
                        const DetectOptions& options = {}) {
    return decode_retina_face(boxes, scores, landmarks, width, 64, priors, options).error();
  };
  EXPECT_EQ(error(b, s, l), "");
  EXPECT_EQ(error(s, s, l), "RetinaFace: expected boxes of shape 168x4, found float32 168x2");
  EXPECT_THAT(error(b, b, l), HasSubstr("scores of shape 168x2, found float32 168x4"));
  EXPECT_THAT(error(b, s, b), HasSubstr("landmarks of shape 168x10"));
  EXPECT_THAT(error(b, s, l, 128), HasSubstr("boxes of shape 336x4"));
  EXPECT_THAT(error(b, s, l, 0), HasSubstr("0x64"));
  EXPECT_THAT(error(b, s, l, 64, {}), HasSubstr("one level of priors or more"));
  EXPECT_THAT(error(b, s, l, 64, {{0, {16}}}), HasSubstr("a stride of 1 or more"));
  EXPECT_THAT(error(b, s, l, 64, {{8, {}}}), HasSubstr("sides of priors"));
  EXPECT_THAT(error(b, s, l, 64, retina_face_priors(), {.classes = 2}), HasSubstr("2 classes"));
}

TEST(Scrfd, IsThePapers) {
  std::vector<Golden> files;
  std::vector<ScrfdLevel> levels;
  for (const char* stride : {"8", "16", "32"})
    for (const char* what : {"scores_", "boxes_", "landmarks_"})
      files.emplace_back("scrfd." + std::string(what) + stride);
  for (size_t i = 0; i < 3; ++i)
    levels.push_back(
        {files[3 * i].view(), files[3 * i + 1].view(), files[3 * i + 2].view(), 8 << i});
  expect_faces(decode_scrfd(levels, kGoldenInput, kGoldenInput, golden_options()), "scrfd.faces");
}

TEST(Scrfd, IsRefusedWhereItDoesNotFit) {
  const std::vector<float> numbers(40);
  const std::vector<float> four(4), sixteen(16);
  const View s = view_of(four, {4, 1}), b = view_of(sixteen, {4, 4}), l = view_of(numbers, {4, 10});
  const auto error = [](const ScrfdLevel& level) {
    return decode_scrfd(std::span(&level, 1), 16, 16, {}).error();
  };
  EXPECT_EQ(error({s, b, l, 8}), "");
  EXPECT_EQ(error({s, b, l, 4}),
            "SCRFD: expected scores of shape (anchors, 1) with a multiple of 16 anchors for stride "
            "4, found float32 4x1");
  EXPECT_THAT(error({b, b, l, 8}), HasSubstr("found float32 4x4"));
  EXPECT_THAT(error({s, s, l, 8}), HasSubstr("boxes of shape 4x4"));
  EXPECT_THAT(error({s, b, b, 8}), HasSubstr("landmarks of shape 4x10"));
  EXPECT_THAT(error({s, b, l, 0}), HasSubstr("stride"));
  EXPECT_THAT(decode_scrfd({}, 16, 16, {}).error(), HasSubstr("one level or more"));
}

TEST(CenterFace, IsThePapers) {
  Golden heat("center_face.heat"), extents("center_face.extents");
  Golden offsets("center_face.offsets"), landmarks("center_face.landmarks");
  expect_faces(decode_center_face(heat.view(), extents.view(), offsets.view(), landmarks.view(),
                                  golden_options()),
               "center_face.faces");
}

TEST(CenterFace, IsRefusedWhereItDoesNotFit) {
  const std::vector<float> numbers(40);
  const std::vector<float> four(4), eight(8);
  const View h = view_of(four, {1, 2, 2}), e = view_of(eight, {2, 2, 2}),
             l = view_of(numbers, {10, 2, 2});
  const auto error = [](const View& heat, const View& extents, const View& offsets,
                        const View& landmarks, const DetectOptions& options = {}, int stride = 4) {
    return decode_center_face(heat, extents, offsets, landmarks, options, stride).error();
  };
  EXPECT_EQ(error(h, e, e, l), "");
  EXPECT_EQ(error(e, e, e, l),
            "CenterFace: expected heat of shape (1, height, width), found float32 2x2x2");
  EXPECT_THAT(error(h, h, e, l), HasSubstr("extents of shape 2x2x2, found float32 1x2x2"));
  EXPECT_THAT(error(h, e, l, l), HasSubstr("offsets of shape 2x2x2"));
  EXPECT_THAT(error(h, e, e, e), HasSubstr("landmarks of shape 10x2x2"));
  EXPECT_THAT(error(h, e, e, l, {}, 0), HasSubstr("a stride of 1 or more"));
  EXPECT_THAT(error(h, e, e, l, {.classes = 2}), HasSubstr("2 classes"));
}

}  // namespace
}  // namespace tenon::serve
