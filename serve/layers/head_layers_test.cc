// Layers decode as the functions for the host do, which tests of theirs compare with PyTorch's
// formulas.
#include "tenon/serve/head_layers.h"

#include <gtest/gtest.h>

#include <random>

#include "tenon/serve/center_net.h"
#include "tenon/serve/yolo.h"
#include "test_layers.h"

namespace tenon::serve {
namespace {

using nvinfer1::INetworkDefinition;

constexpr int64_t kBatch = 2;
constexpr int32_t kRows = 50;

// Outputs of a network without layers of its own, by name.
using Heads = std::map<std::string, Tensor>;

Heads random_heads(const std::map<std::string, Shape>& shapes, float low, float high) {
  Heads heads;
  std::mt19937 random(7);
  std::uniform_real_distribution<float> values(low, high);
  for (const auto& [name, shape] : shapes) {
    Tensor& head = heads.emplace(name, Tensor(shape)).first->second;
    float* const numbers = *head.cpu<float>();
    for (int64_t i = 0; i < head.numel(); ++i) numbers[i] = values(random);
  }
  return heads;
}

// What an engine of the layers makes of the heads, whose first extent may be dynamic.
Tensors decoded(const Heads& heads,
                const std::function<Result<YoloLayerOptions>(INetworkDefinition&)>& append,
                bool is_dynamic = true) {
  const auto infer = built([&](INetworkDefinition& network) {
    for (const auto& [name, head] : heads) {
      nvinfer1::Dims dims = *session::to_dims(head.shape());
      if (is_dynamic) dims.d[0] = -1;
      auto* const in = network.addInput((name + "_in").c_str(), DataType::kFLOAT, dims);
      session::add_output(network, *network.addIdentity(*in)->getOutput(0), name.c_str());
    }
    auto options = append(network);
    ASSERT_TRUE(options) << options.error();
    EXPECT_EQ(network.getNbOutputs(), 1);
    options->max_boxes = kRows;
    const auto done = append_yolo(network, *options);
    ASSERT_TRUE(done) << done.error();
  });
  if (infer == nullptr) return {};
  for (const auto& [name, head] : heads) {
    Tensor& input = *infer->tensor(name + "_in");
    Tensor& from = const_cast<Tensor&>(head);  // it is read
    EXPECT_TRUE(input.resize(head.shape()));
    EXPECT_TRUE(input.copy_from_cpu(0, *from.cpu<float>(), head.numel()));
  }
  return outputs_of_run(*infer);
}

// One item of outputs.
Tensors item_of(Tensors& outputs, int64_t item) {
  Tensors items;
  for (Tensor& output : outputs) {
    Shape shape = output.shape();
    shape[0] = 1;
    Tensor& one = items.emplace_back(shape, output.type());
    const auto elements = static_cast<size_t>(output.count(1));
    const auto* const from = static_cast<const std::byte*>(*output.cpu())
                             + static_cast<size_t>(item) * elements * output.element_size();
    EXPECT_TRUE(one.copy_from_cpu(0, from, output.count(1)));
  }
  return items;
}

void expect_near(const Box& a, const Box& b) {
  const float tolerance = 1e-3F * std::max(1.F, std::abs(b.right - b.left));
  EXPECT_NEAR(a.left, b.left, tolerance);
  EXPECT_NEAR(a.top, b.top, tolerance);
  EXPECT_NEAR(a.right, b.right, tolerance);
  EXPECT_NEAR(a.bottom, b.bottom, tolerance);
  EXPECT_NEAR(a.score, b.score, 1e-5F);
  EXPECT_EQ(a.class_label, b.class_label);
}

DetectOptions options_of_layers() {
  DetectOptions options;
  options.nms.max_boxes = kRows;
  return options;
}

void expect_boxes(Tensors& outputs,
                  const std::function<Result<std::vector<Box>>(int64_t)>& decode) {
  ASSERT_EQ(outputs.size(), 4U);
  for (int64_t item = 0; item < outputs[0].size(0); ++item) {
    Tensors one = item_of(outputs, item);
    const auto boxes = detections_of(one);
    ASSERT_TRUE(boxes) << boxes.error();
    const auto expected = decode(item);
    ASSERT_TRUE(expected) << expected.error();
    ASSERT_GT(expected->size(), 3U);
    ASSERT_EQ(boxes->size(), expected->size());
    for (size_t i = 0; i < boxes->size(); ++i) expect_near((*boxes)[i], (*expected)[i]);
  }
}

void expect_faces(Tensors& outputs,
                  const std::function<Result<std::vector<Face>>(int64_t)>& decode) {
  ASSERT_EQ(outputs.size(), 5U);
  for (int64_t item = 0; item < outputs[0].size(0); ++item) {
    Tensors one = item_of(outputs, item);
    const auto faces = poses_of(one);
    ASSERT_TRUE(faces) << faces.error();
    const auto expected = decode(item);
    ASSERT_TRUE(expected) << expected.error();
    ASSERT_GT(expected->size(), 3U);
    ASSERT_EQ(faces->size(), expected->size());
    for (size_t i = 0; i < faces->size(); ++i) {
      expect_near((*faces)[i].box, (*expected)[i].box);
      for (size_t k = 0; k < 5; ++k) {
        EXPECT_NEAR((*faces)[i].keypoints[k].x, (*expected)[i].landmarks[k].x, 1e-2F);
        EXPECT_NEAR((*faces)[i].keypoints[k].y, (*expected)[i].landmarks[k].y, 1e-2F);
      }
    }
  }
}

View view_of(Heads& heads, const std::string& name, int64_t item) {
  return *View::of_item(heads.at(name), item);
}

TEST(HeadLayers, DecodeAnchors) {
  const std::vector<std::array<float, 2>> small{{10, 13}, {16, 30}}, large{{30, 61}, {62, 45}};
  Heads heads = random_heads({{"p3", {kBatch, 2 * 8, 6, 5}}, {"p4", {kBatch, 2 * 8, 3, 2}}}, -2, 2);
  for (const AnchorCoding coding : {AnchorCoding::kV3, AnchorCoding::kV5}) {
    Tensors outputs = decoded(heads, [&](INetworkDefinition& network) {
      return append_anchors(
          network, std::array{AnchorOutput{"p3", 8, small}, AnchorOutput{"p4", 16, large}}, coding);
    });
    expect_boxes(outputs, [&](int64_t item) {
      return decode_anchors(std::array{AnchorLevel{view_of(heads, "p3", item), 8, small},
                                       AnchorLevel{view_of(heads, "p4", item), 16, large}},
                            coding, options_of_layers());
    });
  }
}

TEST(HeadLayers, DecodeDistributions) {
  constexpr int64_t kBins = 4;
  Heads heads = random_heads(
      {{"p3", {kBatch, 4 * kBins + 3, 6, 5}}, {"p4", {kBatch, 4 * kBins + 3, 3, 2}}}, -4, 1);
  Tensors outputs = decoded(heads, [&](INetworkDefinition& network) {
    return append_distributions(
        network, std::array{DistributionOutput{"p3", 8}, DistributionOutput{"p4", 16}}, kBins);
  });
  expect_boxes(outputs, [&](int64_t item) {
    return decode_distributions(std::array{DistributionLevel{view_of(heads, "p3", item), 8},
                                           DistributionLevel{view_of(heads, "p4", item), 16}},
                                options_of_layers(), kBins);
  });
}

TEST(HeadLayers, DecodeTheGridOfYolox) {
  constexpr std::array strides{8, 16};
  Heads heads = random_heads({{"head", {kBatch, 4 * 4 + 2 * 2, 7}}}, 0, 1);
  Tensors outputs = decoded(heads, [&](INetworkDefinition& network) {
    return append_yolox(network, "", strides, 32, 32);
  });
  expect_boxes(outputs, [&](int64_t item) {
    return decode_yolox(view_of(heads, "head", item), strides, 32, 32, options_of_layers());
  });
}

TEST(HeadLayers, DecodeRetinaFace) {
  const std::vector<PriorLevel> priors{{8, {16, 20}}, {16, {32}}};
  constexpr int64_t kPriors = 6 * 5 * 2 + 3 * 3;
  Heads heads = random_heads({{"boxes", {kBatch, kPriors, 4}},
                              {"scores", {kBatch, kPriors, 2}},
                              {"landmarks", {kBatch, kPriors, 10}}},
                             0, 1);
  Tensors outputs = decoded(heads, [&](INetworkDefinition& network) {
    return append_retina_face(network, {"boxes", "scores", "landmarks"}, 48, 40, priors);
  });
  expect_faces(outputs, [&](int64_t item) {
    return decode_retina_face(view_of(heads, "boxes", item), view_of(heads, "scores", item),
                              view_of(heads, "landmarks", item), 48, 40, priors,
                              options_of_layers());
  });
}

TEST(HeadLayers, DecodeScrfd) {
  for (const bool has_batch : {true, false}) {
    std::map<std::string, Shape> shapes;
    for (const auto& [stride, anchors] : {std::pair{8, int64_t{60}}, std::pair{16, int64_t{18}}})
      for (const auto& [name, numbers] :
           {std::pair{"score", int64_t{1}}, std::pair{"box", int64_t{4}},
            std::pair{"points", int64_t{10}}}) {
        Shape shape{anchors, numbers};
        if (has_batch) shape.insert(shape.begin(), kBatch);
        shapes[name + std::to_string(stride)] = shape;
      }
    Heads heads = random_heads(shapes, 0, 1);
    Tensors outputs = decoded(
        heads,
        [&](INetworkDefinition& network) {
          return append_scrfd(network,
                              std::array{ScrfdOutput{"score8", "box8", "points8", 8},
                                         ScrfdOutput{"score16", "box16", "points16", 16}},
                              48, 40);
        },
        has_batch);
    expect_faces(outputs, [&](int64_t item) {
      const auto level = [&](const std::string& stride, int step) {
        const auto view = [&](const std::string& name) {
          Tensor& head = heads.at(name + stride);
          return has_batch ? *View::of_item(head, item)
                           : *View::of({*head.cpu<float>(), static_cast<size_t>(head.numel())},
                                       head.shape());
        };
        return ScrfdLevel{view("score"), view("box"), view("points"), step};
      };
      return decode_scrfd(std::array{level("8", 8), level("16", 16)}, 48, 40, options_of_layers());
    });
  }
}

TEST(HeadLayers, DecodeCenterNet) {
  Heads heads = random_heads(
      {{"heat", {kBatch, 3, 7, 9}}, {"extents", {kBatch, 2, 7, 9}}, {"offsets", {kBatch, 2, 7, 9}}},
      0, 1);
  for (const bool is_logit : {false, true}) {
    Tensors outputs = decoded(heads, [&](INetworkDefinition& network) {
      CenterNetOutputs names{"heat", "extents", "offsets"};
      names.is_logit = is_logit;
      names.max_peaks = kRows;
      return append_center_net(network, names);
    });
    expect_boxes(outputs, [&](int64_t item) {
      return decode_center_net(view_of(heads, "heat", item), view_of(heads, "extents", item),
                               view_of(heads, "offsets", item), options_of_layers(), 4, is_logit);
    });
  }
}

TEST(HeadLayers, DecodeCenterFace) {
  Heads heads = random_heads({{"heat", {kBatch, 1, 7, 9}},
                              {"extents", {kBatch, 2, 7, 9}},
                              {"offsets", {kBatch, 2, 7, 9}},
                              {"landmarks", {kBatch, 10, 7, 9}}},
                             0, 1);
  Tensors outputs = decoded(heads, [&](INetworkDefinition& network) {
    return append_center_face(network, {"heat", "extents", "offsets", "landmarks"});
  });
  expect_faces(outputs, [&](int64_t item) {
    return decode_center_face(view_of(heads, "heat", item), view_of(heads, "extents", item),
                              view_of(heads, "offsets", item), view_of(heads, "landmarks", item),
                              options_of_layers());
  });
}

TEST(HeadLayers, SayWhatDoesNotFit) {
  const auto error = [](const nvinfer1::Dims& dims, const auto& append) {
    return network_error([&](INetworkDefinition& network) {
      auto* const in = network.addInput("in", DataType::kFLOAT, dims);
      session::add_output(network, *network.addIdentity(*in)->getOutput(0), "head");
      const std::string text = append(network).error();
      EXPECT_EQ(network.getNbOutputs(), 1);
      EXPECT_STREQ(network.getOutput(0)->getName(), "head");
      return text;
    });
  };
  const nvinfer1::Dims4 map(-1, 16, 6, 5);
  const auto anchors = [](const std::string& name, int stride,
                          std::vector<std::array<float, 2>> of) {
    return [=](INetworkDefinition& network) {
      return append_anchors(network, std::array{AnchorOutput{name, stride, of}}, AnchorCoding::kV5);
    };
  };
  expect_has(error(map, anchors("nobody", 8, {{1, 1}})), "no output 'nobody'");
  expect_has(error(map, anchors("head", 0, {{1, 1}})), "a stride of 0");
  expect_has(error(map, anchors("head", 8, {})), "'head' has no anchors");
  expect_has(error(map, anchors("head", 8, {{1, 1}, {2, 2}, {3, 3}})), "3 * (5 + classes)");
  expect_has(error(nvinfer1::Dims4(-1, 16, -1, 5), anchors("head", 8, {{1, 1}})),
             "-1x16x-1x5: expected (N, 1 * (5 + classes), height, width)");
  expect_has(error(map,
                   [](INetworkDefinition& network) {
                     return append_distributions(network, std::array{DistributionOutput{"head", 8}},
                                                 4);
                   }),
             "16 channels: expected 4 * 4 + classes");
  expect_has(error(nvinfer1::Dims3(-1, 25, 7),
                   [](INetworkDefinition& network) {
                     return append_yolox(network, "head", std::array{8, 16}, 32, 32);
                   }),
             "expected (N, 20, 5 + classes)");
  expect_has(error(nvinfer1::Dims3(-1, 25, 7),
                   [](INetworkDefinition& network) {
                     return append_yolox(network, "head", std::array{8, 16}, 40, 32);
                   }),
             "40x32 pixels: expected multiples of its strides, as 16");
  expect_has(error(map,
                   [](INetworkDefinition& network) {
                     CenterNetOutputs names{"head", "head", "head"};
                     names.max_peaks = 5000;
                     return append_center_net(network, names);
                   }),
             "5000 peaks: expected 1 to 480");
}

}  // namespace
}  // namespace tenon::serve
