// Layers give what the functions for the host do, which tests of theirs compare with NumPy's and
// PyTorch's.
#include "tenon/serve/score_layers.h"

#include <gtest/gtest.h>

#include <random>

#include "tenon/serve/segmentation.h"
#include "test_layers.h"

namespace tenon::serve {
namespace {

using nvinfer1::INetworkDefinition;
using Append = std::function<Result<void>(INetworkDefinition&)>;

Tensor random_scores(const Shape& shape) {
  Tensor scores(shape);
  std::mt19937 random(3);
  float* const numbers = *scores.cpu<float>();
  for (int64_t i = 0; i < scores.numel(); ++i)
    numbers[i] = std::uniform_real_distribution<float>(0, 1)(random);
  return scores;
}

// What an engine of the layers makes of the scores.
Tensors outputs_of(Tensor& scores, const nvinfer1::Dims& dims, const Append& append) {
  const auto infer = built([&](INetworkDefinition& network) {
    auto* const in = network.addInput("in", DataType::kFLOAT, dims);
    session::add_output(network, *network.addIdentity(*in)->getOutput(0), "scores");
    const auto done = append(network);
    ASSERT_TRUE(done) << done.error();
  });
  if (infer == nullptr) return {};
  EXPECT_TRUE(infer->input()->resize(scores.shape()));
  EXPECT_TRUE(infer->input()->copy_from_cpu(0, *scores.cpu<float>(), scores.numel()));
  return outputs_of_run(*infer);
}

TEST(ScoreLayers, GiveTheBestClasses) {
  for (const bool is_logit : {true, false})
    for (const bool is_column : {true, false}) {
      Tensor scores = random_scores(is_column ? Shape{1, 30, 1, 1} : Shape{1, 30});
      nvinfer1::Dims dims = *session::to_dims(scores.shape());
      dims.d[0] = -1;
      Tensors outputs = outputs_of(scores, dims, [&](INetworkDefinition& network) {
        return append_classes(network, "", 4, is_logit);
      });
      const auto classes = classes_of(outputs);
      ASSERT_TRUE(classes) << classes.error();
      const auto expected = decode_classes(*View::of_item(scores, 0), 4, is_logit);
      ASSERT_EQ(classes->size(), expected->size());
      for (size_t i = 0; i < classes->size(); ++i) {
        EXPECT_EQ((*classes)[i].class_label, (*expected)[i].class_label);
        EXPECT_NEAR((*classes)[i].score, (*expected)[i].score, 1e-6F);
      }
    }
}

TEST(ScoreLayers, GiveTheClassOfEachCell) {
  Tensor scores = random_scores({2, 5, 7, 9});
  Tensors outputs =
      outputs_of(scores, nvinfer1::Dims4(-1, 5, -1, -1),
                 [](INetworkDefinition& network) { return append_segmentation(network); });
  ASSERT_EQ(outputs.size(), 1U);
  ASSERT_EQ(outputs[0].shape(), (Shape{2, 7, 9}));
  const int32_t* label = *outputs[0].cpu<int32_t>();
  for (int64_t item = 0; item < 2; ++item) {
    SegmentationOptions options;
    options.input_width = options.width = 9;
    options.input_height = options.height = 7;
    const auto expected = decode_segmentation(*View::of_item(scores, item), options);
    ASSERT_TRUE(expected) << expected.error();
    for (const uint16_t one : expected->labels) ASSERT_EQ(*label++, one);
  }
}

TEST(ScoreLayers, GiveWhatTextSays) {
  const auto alphabet = *characters_of("abc");
  Tensor scores = random_scores({1, 40, 4});
  for (const bool is_logit : {true, false}) {
    Tensors outputs = outputs_of(
        scores, nvinfer1::Dims3(-1, -1, 4),
        [&](INetworkDefinition& network) { return append_text(network, "scores", is_logit); });
    const auto text = text_of(outputs, alphabet);
    ASSERT_TRUE(text) << text.error();
    const auto expected = decode_text(*View::of_item(scores, 0), alphabet, {.is_logit = is_logit});
    ASSERT_GT(expected->text.size(), 5U);
    EXPECT_EQ(text->text, expected->text);
    EXPECT_NEAR(text->score, expected->score, 1e-6F);
    ASSERT_EQ(text->characters.size(), expected->characters.size());
    EXPECT_EQ(text->characters.back().step, expected->characters.back().step);
  }
}

TEST(ScoreLayers, SayWhatDoesNotFit) {
  const auto error = [](const nvinfer1::Dims& dims, const Append& append) {
    return network_error([&](INetworkDefinition& network) {
      auto* const in = network.addInput("in", DataType::kFLOAT, dims);
      session::add_output(network, *network.addIdentity(*in)->getOutput(0), "scores");
      const std::string text = append(network).error();
      EXPECT_STREQ(network.getOutput(0)->getName(), "scores");
      return text;
    });
  };
  const auto classes = [](int32_t count) {
    return [=](INetworkDefinition& network) { return append_classes(network, "", count); };
  };
  expect_has(error(nvinfer1::Dims2(-1, 3), classes(4)), "the 4 best of 3 classes: expected 1 to 3");
  expect_has(error(nvinfer1::Dims2(-1, 3), classes(0)), "the 0 best");
  expect_has(error(nvinfer1::Dims2(-1, -1), classes(1)), "with a known number of classes");
  expect_has(error(nvinfer1::Dims4(-1, 3, 2, 1), classes(1)), "expected (N, classes, 1, 1)");
  expect_has(error(nvinfer1::Dims3(-1, 3, 4),
                   [](INetworkDefinition& network) { return append_segmentation(network); }),
             "expected (N, classes, height, width)");
  expect_has(error(nvinfer1::Dims2(-1, 3),
                   [](INetworkDefinition& network) { return append_text(network, "x"); }),
             "no output 'x'");
  Tensors none;
  expect_has(classes_of(none).error(), "found 0 other tensors");
  const std::vector<std::string> alphabet{"a"};
  expect_has(text_of(none, alphabet).error(), "step_labels");
  const std::array<int32_t, 2> labels{1, 2};
  const std::array<float, 2> scores{1, 1};
  expect_has(decode_text(labels, scores, alphabet).error(), "labels from 0 to 1, found 2");
  expect_has(decode_text(labels, std::span(scores).first(1), alphabet).error(),
             "a score for each of 2 labels, found 1");
}

}  // namespace
}  // namespace tenon::serve
