#include "stages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/picture.h>

#include "tensor_memory.h"
#include "test_models.h"

namespace tenon::server {
namespace {

using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::FloatEq;
using ::testing::HasSubstr;
using ::testing::Pointwise;

Result<std::shared_ptr<Model>> stage(const std::string& backend, const std::string& parameters,
                                     const std::string& rest = "") {
  std::string text = "backend: '" + backend + "' " + rest;
  for (size_t begin = 0; begin < parameters.size();) {
    const size_t end = std::min(parameters.find(' ', begin), parameters.size());
    const size_t middle = parameters.find('=', begin);
    text += " parameters { key: '" + parameters.substr(begin, middle - begin)
            + "' value { string_value: '" + parameters.substr(middle + 1, end - middle - 1)
            + "' } }";
    begin = end + 1;
  }
  auto config = parse_model_config(text, false);
  if (!config) return Error{config.error()};
  config->name = "stage";
  return load_stage_model("1", *config);
}

InferRequest picture_request(const std::vector<uint8_t>& file) {
  InferRequest request;
  Tensor bytes = heap_tensor({static_cast<int64_t>(file.size())}, DataType::kUINT8);
  std::ranges::copy(file, *bytes.cpu<uint8_t>());
  request.inputs.push_back({"picture", std::move(bytes)});
  return request;
}

// The outputs of a request that is to succeed.
std::vector<NamedTensor> outputs(const std::string& backend, const std::string& parameters,
                                 InferRequest request) {
  const auto model = stage(backend, parameters);
  EXPECT_TRUE(model) << model.error();
  InferAnswer answer = answer_of(**model, std::move(request));
  EXPECT_EQ(error_of(answer), "");
  return std::move(std::get<InferResponse>(answer).outputs);
}

TEST(Stages, PicturesBecomeInputs) {
  Picture picture{2, 1, {255, 51, 0, 0, 102, 204}};
  const auto file = encode_picture(picture, "x.png");
  auto plain = outputs("tenon_picture", "width=2 height=1 fit=resize", picture_request(file));
  ASSERT_EQ(plain.size(), 2u);
  EXPECT_EQ(plain[0].name, "images");
  EXPECT_EQ(plain[0].tensor.shape(), (Shape{1, 3, 1, 2}));
  EXPECT_THAT(values_of(plain[0].tensor), Pointwise(FloatEq(), {1.F, 0.F, 0.2F, 0.4F, 0.F, 0.8F}));
  EXPECT_THAT(values_of(plain[1].tensor), ElementsAre(1, 0, 0, 0, 1, 0, 2, 1));
  auto normal =
      outputs("tenon_picture", "width=2 height=1 fit=resize channels=bgr mean=0,0,0.5 std=1,1,0.25",
              picture_request(file));
  EXPECT_THAT(values_of(normal[0].tensor),
              Pointwise(::testing::FloatNear(1e-6F), {0.F, 0.8F, 0.2F, 0.4F, 2.F, -2.F}));
}

TEST(Stages, LetterboxesSayWhereThePictureIs) {
  const auto file = encode_picture(grey_picture(8, 4, 51), "x.png");
  auto made = outputs("tenon_picture", "width=4 height=4", picture_request(file));
  const std::vector<float> images = values_of(made[0].tensor);
  EXPECT_FLOAT_EQ(images[0], 114 / 255.F);  // a row of border, two of the picture, a row of border
  EXPECT_FLOAT_EQ(images[4], 0.2F);
  EXPECT_FLOAT_EQ(images[11], 0.2F);
  EXPECT_FLOAT_EQ(images[12], 114 / 255.F);
  EXPECT_THAT(values_of(made[1].tensor), ElementsAre(2, 0, 0, 0, 2, -2, 8, 4));
}

TEST(Stages, HeadsBecomeBoxesOfThePicture) {
  InferRequest request;
  // YOLOv8: rows are centre x and y, width, height, and two classes; columns are candidates.
  request.inputs.push_back({"head", tensor_with({1, 6, 3}, {2, 2, 1,          //
                                                            2, 2, 3,          //
                                                            2, 2, 2,          //
                                                            1, 1, 2,          //
                                                            0.5F, 0.F, 0.1F,  //
                                                            0.F, 0.75F, 0.F})});
  request.inputs.push_back({"placement", tensor_with({8}, {2, 0, 0, 0, 2, -2, 8, 4})});
  auto made = outputs("tenon_boxes", "head=yolov8 score_threshold=0.3", std::move(request));
  ASSERT_EQ(made.size(), 3u);
  EXPECT_EQ(made[0].name, "detection_boxes");
  EXPECT_EQ(made[0].tensor.shape(), (Shape{2, 4}));
  EXPECT_THAT(values_of(made[0].tensor), ElementsAre(2, 1, 6, 3, 2, 1, 6, 3));
  EXPECT_THAT(values_of(made[1].tensor), ElementsAre(0.75F, 0.5F));
  EXPECT_EQ(made[2].tensor.type(), DataType::kINT32);
  EXPECT_EQ((*made[2].tensor.cpu<int32_t>())[0], 1);
  EXPECT_EQ((*made[2].tensor.cpu<int32_t>())[1], 0);
}

TEST(Stages, BadTensorsAreTheRequestsFault) {
  const auto picture = *stage("tenon_picture", "");
  for (const std::vector<uint8_t>& file :
       {std::vector<uint8_t>{1, 2, 3}, std::vector<uint8_t>{0xff, 0xd8, 0xff, 0xe0, 0}}) {
    const InferAnswer answer = answer_of(*picture, picture_request(file));
    EXPECT_THAT(error_of(answer), HasSubstr("input 'picture': is "));
    EXPECT_EQ(std::get<RequestError>(answer).failure, Failure::kInvalid);
  }
  const auto boxes = *stage("tenon_boxes", "");
  const auto error = [&](const Shape& head, std::vector<float> placement) {
    InferRequest request;
    request.inputs.push_back({"head", heap_tensor(head, DataType::kFLOAT)});
    request.inputs.push_back({"placement", tensor_with({8}, placement)});
    return error_of(answer_of(*boxes, std::move(request)));
  };
  EXPECT_EQ(error({1, 6, 0}, {1, 0, 0, 0, 1, 0, 8, 4}),
            "stage: input 'head' has the shape 1x6x0; expected 1x1x1 to "
            "1x9223372036854775807x9223372036854775807");
  EXPECT_THAT(error({1, 3, 5}, {1, 0, 0, 0, 1, 0, 8, 4}), HasSubstr("3x5"));
  EXPECT_THAT(error({1, 6, 5}, {1, 0, 0, 0, 1, 0, -8, 4}), HasSubstr("width and height"));
  EXPECT_THAT(error({1, 6, 5}, {1, 0, 0, 0, 1, 0, 8, NAN}), HasSubstr("not finite"));
}

TEST(Stages, ConfigurationsThatMeanNothingAreRefused) {
  const auto error = [](const std::string& backend, const std::string& parameters,
                        const std::string& rest = "") {
    return stage(backend, parameters, rest).error();
  };
  EXPECT_EQ(error("tenon_nothing", ""),
            "stage: backend: expected tenon_picture or tenon_boxes, found 'tenon_nothing'");
  EXPECT_EQ(error("tenon_picture", "size=640"), "stage: parameters: the backend has no 'size'");
  EXPECT_EQ(error("tenon_picture", "width=0"),
            "stage: parameters: width: expected 1 to 16384, found '0'");
  EXPECT_EQ(error("tenon_picture", "width=1.5"),
            "stage: parameters: width: expected a whole number, found '1.5'");
  EXPECT_EQ(error("tenon_picture", "fit=crop"),
            "stage: parameters: fit: expected letterbox or resize, found 'crop'");
  EXPECT_EQ(error("tenon_picture", "mean=1,2"),
            "stage: parameters: mean: expected three numbers, as 0.5,0.5,0.5, found '1,2'");
  EXPECT_THAT(error("tenon_picture", "std=1,0,1"), HasSubstr("std: expected numbers other than 0"));
  EXPECT_THAT(error("tenon_boxes", "score_threshold=2"), HasSubstr("expected 0 to 1"));
  EXPECT_THAT(error("tenon_boxes", "", "max_batch_size: 2"), HasSubstr("one request at a time"));
  EXPECT_THAT(error("tenon_boxes", "", "input { name: 'heads' }"), HasSubstr("input 'heads'"));
}

}  // namespace
}  // namespace tenon::server
