// What plugins say of attributes and shapes that do not fit: the first case of a plugin, with one
// thing changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <variant>

#include "folder_cases.h"

namespace tenon::plugins::testing {
namespace {

using ::testing::HasSubstr;

using Number = std::variant<int32_t, float, std::vector<int32_t>, std::vector<float>>;
using Dims = std::vector<int64_t>;

struct Refusal {
  const char* plugin;
  // An attribute's name and value, or an input's name and dimensions.
  const char* changed;
  std::variant<Number, Dims> to;
  const char* says;
};

void PrintTo(const Refusal& r, std::ostream* out) {
  *out << r.plugin << " with another " << r.changed;
}

// What the plugin says of the first of its cases whose inputs are not empty, changed.
std::string answer(const Refusal& r) {
  static const std::vector<kit::testing::NamedCase> all = all_cases();
  const auto found = std::ranges::find_if(all, [&](const auto& c) {
    return c.test.name() == r.plugin
           && std::ranges::all_of(c.test.inputs(), [](const auto& in) { return in.volume() > 0; });
  });
  if (found == all.end()) return "there is no case";
  const kit::testing::PluginCase& from = found->test;
  kit::testing::PluginCase test(from.name(), from.version(), from.name_space());
  bool has_changed = false;
  for (const kit::testing::CaseField& f : from.fields()) {
    if (f.name != r.changed) test.field(f.name.c_str(), f.type, f.data.data(), f.data.size());
    if (f.name != r.changed) test.length(static_cast<size_t>(f.length));
  }
  if (const auto* number = std::get_if<Number>(&r.to)) {
    std::visit([&](const auto& value) { test.attribute(r.changed, value); }, *number);
    has_changed = true;
  }
  for (const kit::testing::CaseTensor& in : from.inputs()) {
    Dims dims(in.dims.d, in.dims.d + in.dims.nbDims);
    std::vector<double> values = in.values;
    if (in.name == r.changed) {
      dims = std::get<Dims>(r.to);
      int64_t volume = 1;
      for (const int64_t d : dims) volume *= d;
      values.assign(static_cast<size_t>(volume), 0);
      has_changed = true;
    }
    if (in.follows_t)
      test.in(in.name.c_str(), dims, values);
    else
      test.in(in.name.c_str(), in.type, dims, values);
  }
  for (const kit::testing::CaseTensor& out : from.outputs()) {
    const Dims dims(out.dims.d, out.dims.d + out.dims.nbDims);
    if (out.follows_t)
      test.out(out.name.c_str(), dims, out.values);
    else
      test.out(out.name.c_str(), out.type, dims, out.values);
  }
  return has_changed ? test.check() : "nothing is changed";
}

class Refusals : public ::testing::TestWithParam<Refusal> {};

TEST_P(Refusals, SayWhatDoesNotFit) {
  EXPECT_THAT(answer(GetParam()), HasSubstr(GetParam().says));
}

const Refusal kRefusals[] = {
    {"FlattenConcat_TRT", "axis", Number{4}, "axis must be 1, 2 or 3, found 4"},
    {"FlattenConcat_TRT", "x1", Dims{2, 3, 4}, "x must have 4 dimensions (N, C, H, W), found 3"},
    {"BatchTilePlugin_TRT", "x", Dims{2, 2, 3, 4}, "x must be of one image, found (2, 2, 3, 4)"},
    {"SpecialSlice_TRT", "detections", Dims{2, 3, 5},
     "detections must be (N, B, 6), found (2, 3, 5)"},
    {"Reorg_TRT", "stride", Number{0}, "stride must be at least 1, found 0"},
    {"Clip_TRT", "clipMin", Number{5.f}, "clipMin must not be above clipMax"},
    {"Region_TRT", "num", Number{2}, "channels, found (2, 30, 3, 4)"},
    {"Region_TRT", "coords", Number{1}, "coords must be at least 2, found 1"},
    {"Normalize_TRT", "weights", Number{std::vector<float>{1, 2}},
     "weights must have 5 elements, found 2"},
    {"PriorBox_TRT", "variance", Number{std::vector<float>{1}}, "variance must have 4 elements"},
    {"PriorBox_TRT", "image", Dims{2, 3, 0, 60},
     "the image must have pixels, or imgH and imgW, found (2, 3, 0, 60)"},
    {"GridAnchor_TRT", "featureMapShapes", Number{std::vector<int32_t>{1}},
     "featureMapShapes must have 6 elements for 6 layers, found 1"},
    {"NMS_TRT", "codeType", Number{7}, "codeType"},
    {"NMS_TRT", "inputOrder", Number{std::vector<int32_t>{0, 0, 1}},
     "inputOrder must have 0, 1 and 2"},
    {"NMS_TRT", "numClasses", Number{4}, "do not fit; expected (N, boxes * 4"},
    {"CropAndResize", "crop_width", Number{0}, "crop_width must be at least 1, found 0"},
    {"CropAndResize", "rois", Dims{2, 5, 5, 1}, "boxes must be (N, boxes, 4), found (2, 5, 5, 1)"},
    {"PyramidROIAlign_TRT", "image_size", Number{std::vector<int32_t>{1}},
     "image_size must have 2 elements, found 1"},
    {"RoiPoolPluginDynamic", "featmap_strides", Number{std::vector<float>{1, 0, 2}},
     "featmap_strides must be positive"},
    {"PrRoIPool", "rois", Dims{4, 4}, "rois must be (count, 5), found (4, 4)"},
    {"AdaptivePoolPluginDynamic", "output_size", Number{std::vector<int32_t>{1, 1, 1, 1}},
     "must have 1 to 3 axes"},
    {"MMCVCARAFE", "kernel_size", Number{4}, "the kernel must be odd"},
    {"MMCVCARAFE", "masks", Dims{2, 24, 6, 8}, "masks must be (2, 25, 6, 8), found (2, 24, 6, 8)"},
    {"TorchUnfoldPluginDynamic", "kernel_size", Number{0}, "kernel_size must be 1 to"},
    {"TorchCumPluginDynamic", "dim", Number{3}, "dim is 3, but x has 3 dimensions"},
    {"TorchBmmPluginDynamic", "b", Dims{2, 3, 5}, "do not fit; expected (B, M, K) and (B, K, N)"},
    {"Delta2BBoxPluginDynamic", "anchors", Dims{4, 4}, "do not fit; expected (N, B, C)"},
    {"TopkLastDim", "axis", Number{5}, "axis is 5, but x has 3 dimensions"},
    {"fMHA_V2", "qkv", Dims{2, 5, 2, 2, 4},
     "qkv must be (B, S, heads, 3, D), found (2, 5, 2, 2, 4)"},
    {"CustomQKVToContextPluginDynamic", "num_heads", Number{3},
     "num_heads must divide hidden_size, found 3 and 8"},
    {"CustomEmbLayerNormPluginDynamic", "bert_embeddings_layernorm_beta",
     Number{std::vector<float>{1, 2}}, "gamma and beta must have one length, found 8 and 2"},
    {"CustomSkipLayerNormPluginDynamic", "ld", Number{5}, "ld is 5, but gamma has 12 elements"},
    {"CustomFCPluginDynamic", "W", Number{std::vector<float>{1, 2, 3}},
     "W must have a number of rows of out_dims elements"},
    {"DisentangledAttention_TRT", "span", Number{3}, "do not fit; expected (B, S, S)"},
    {"RotateTRT", "center", Dims{3}, "expected an image (C, H, W), an angle (1) and a centre (2)"},
    {"BEVPoolV2TRT", "ranks_bev", Dims{3}, "the three ranks must have one length"},
    {"GridSampler2DTRT", "grid", Dims{2, 3, 3, 6}, "2 coordinates, found 2 and 3"},
    {"MultiScaleDeformableAttnTRT", "attention_weights", Dims{2, 3, 2, 7}, "do not fit"},
    {"VoxelGeneratorPlugin", "voxel_size", Number{std::vector<float>{1, 1}},
     "voxel_size must have 3 elements, found 2"},
    {"VoxelGeneratorPlugin", "point_cloud_range",
     Number{std::vector<float>{0, 0, -1, 0.5f, 1e30f, 3}}, "more than 2^32"},
    {"PillarScatterPlugin", "coordinates", Dims{2, 7, 4}, "do not fit; expected (N, pillars, C)"},
    {"DecodeBbox3DPlugin", "anchors", Number{std::vector<float>{1, 2}},
     "expected 8 numbers of anchors"},
    {"MMCVFurthestPointSample", "points", Dims{2, 40, 4}, "points must be (B, points, 3)"},
    {"MMCVFurthestPointSample", "points", Dims{6},
     "points must have 3 dimensions (B, points, 3), found 1"},
    {"MMCVBallQuery", "max_radius", Number{0.f}, "expected 0 <= min_radius < max_radius"},
    {"MMCVKNN", "points", Dims{2, 3, 3}, "k is 4, but there are 3 points"},
    {"MMCVGroupPoints", "indices", Dims{1, 5, 4},
     "must have one batch size, found (2, 3, 9) and (1, 5, 4)"},
    {"MMCVThreeNN", "source", Dims{1, 20, 3}, "target and source must have one batch size"},
    {"MMCVThreeInterpolate", "weights", Dims{2, 4, 3},
     "weights must be (2, 5, 3), found (2, 4, 3)"},
    {"GetIndicePairsImplicitGemm", "ksize", Number{std::vector<int32_t>{3, 3}},
     "stride must have 2 elements, found 3"},
    {"GetIndicePairsImplicitGemm", "ksize", Number{std::vector<int32_t>{5, 5, 5}},
     "ksize must have at most 32 elements, a bit of the mask each, found 125"},
    {"GetIndicePairsImplicitGemm", "ksize", Number{std::vector<int32_t>{3, 2, 3}},
     "ksize must be odd with subm, found 2"},
    {"GetIndicePairsImplicitGemm", "stride", Number{std::vector<int32_t>{1, 0, 1}},
     "stride must be at least 1, found 0"},
    {"GetIndicePairs", "spatial_shape", Number{std::vector<int32_t>{1 << 30, 1 << 30, 4}},
     "more than 2^35 cells"},
    {"GetIndicePairs", "transpose", Number{1}, "subm and transpose must not both be 1"},
    {"GetIndicePairs", "indices", Dims{40}, "indices must have 2 dimensions (N, numbers), found 1"},
    {"ImplicitGemm", "features", Dims{40, 4}, "do not fit; expected (N, C) and (K, kernel..., C)"},
    {"ImplicitGemm", "pair_fwd", Dims{26, 40}, "pair_fwd must be (27, M), found (26, 40)"},
    {"ImplicitGemm", "bias", Dims{15}, "bias must be (16), found (15)"},
    {"IndiceConv", "indice_pairs", Dims{2, 26, 40},
     "indice_pairs must be (2, 27, M), found (2, 26, 40)"},
    {"Argsort", "x", Dims{4, 10}, "x must have 1 dimension (N), found 2"},
    {"SegmentCSR", "indptr", Dims{5, 1}, "indptr must have 1 dimension (S + 1), found 2"},
    {"QuickCumsumCuda", "geom_feats", Dims{60, 3}, "geom_feats must be (60, 4), found (60, 3)"},
    {"QuickCumsumCuda", "interval_starts", Dims{3},
     "interval_lengths and interval_starts must have one length, found"},
    {"ProposalLayer_TRT", "keep_topk", Number{0}, "keep_topk must be at least 1, found 0"},
    {"MultilevelProposeROI_TRT", "delta0", Dims{2, 7, 4, 1}, "deltas must be (2, "},
    {"DetectionLayer_TRT", "rois", Dims{2, 20, 5}, "rois must be (2, 20, 4), found (2, 20, 5)"},
    {"DetectionLayer_TRT", "rois", Dims{},
     "an input has too few dimensions, found inputs of 5, 5, 0"},
    {"ProposalDynamic", "anchor_ratios", Number{std::vector<float>{1, -1, 2}},
     "anchor_ratios must be positive"},
    {"SoftNonMaxSuppression", "sigma", Number{0.f}, "sigma must be positive"},
    {"MMCVBorderAlign", "pool_size", Number{0}, "pool_size must be at least 1, found 0"},
    {"MMCVPSAMask", "mask_size", Number{std::vector<int32_t>{5, 6}}, "input must have 30 channels"},
    {"RPROI_TRT", "anchorsRatioCount", Number{2}, "anchorsRatios"},
    {"RPROI_TRT", "anchorsScales", Number{std::vector<float>{1, 0}},
     "anchorsScales must be positive, found 0"},
    {"RPROI_TRT", "spatialScale", Number{-1.f}, "spatialScale must be positive, found -1"},
    {"RPROI_TRT", "minBoxSize", Number{-1.f}, "minBoxSize must be 0 or more, found -1"},
    {"RPROI_TRT", "deltas", Dims{2, 20, 6, 7}, "deltas must be (2, 24, 6, 7), found (2, 20, 6, 7)"},
    {"RPROI_TRT", "iinfo", Dims{2, 2}, "iinfo must have 3 numbers for each of 2 images"},
    {"MMCVRotatedFeatureAlign", "points", Number{4}, "points must be 1 or 5, found 4"},
    {"MMCVRotatedFeatureAlign", "best_rbboxes", Dims{2, 5, 4, 4},
     "best_rbboxes must be (2, 5, 4, 5), found (2, 5, 4, 4)"},
    {"MMCVSigmoidFocalLoss", "gamma", Number{-1.f}, "gamma must be 0 or more, found -1"},
    {"MMCVSigmoidFocalLoss", "target", Dims{6}, "target must be (7), found (6)"},
    {"MMCVSigmoidFocalLoss", "weight", Number{std::vector<float>{1, 2}}, "weight"},
    {"MMCVActiveRotatedFilter", "indices", Dims{2, 3, 2, 8},
     "indices must be (2, 3, 3, 8), found (2, 3, 2, 8)"},
    {"MMCVActiveRotatedFilter", "indices", Dims{2, 3, 3, 8}, "indices must be 1 to 18, found 0"},
    {"MMCVPointsInBoxesPart", "boxes", Dims{5, 7}, "boxes must have 3 dimensions"},
    {"MMCVPointsInBoxesPart", "boxes", Dims{1, 5, 7}, "boxes must be (2, 5, 7), found (1, 5, 7)"},
    {"MMCVMaskedConv2d", "stride", Number{2}, "stride must be 1, as mmcv has it, found 2"},
    {"SplitGeLU", "x", Dims{2, 3, 17}, "x must have an even number of features"},
    {"SeqLen2Spatial", "bias", Dims{4}, "do not fit; expected (B, H * W, C)"},
    {"AttentionPlugin", "num_kv_heads", Number{3},
     "num_kv_heads must divide num_q_heads, found 3 and 2"},
    {"AttentionPlugin", "context_lengths", Dims{9},
     "context_lengths must be (3), and kv_cache_start the same or empty"},
    {"Int4GroupwiseGemmPlugin", "gemm_k", Number{100}, "must be a multiple of 4 and gemm_k of 64"},
    {"Int4GroupwiseGemmPlugin", "scales", Dims{2, 8}, "do not fit; expected (..., 128)"},
    {"GroupNorm", "gamma", Dims{48}, "scale and bias must have as many elements, found 48 and 64"},
};

INSTANTIATE_TEST_SUITE_P(All, Refusals, ::testing::ValuesIn(kRefusals), [](const auto& info) {
  return std::string(info.param.plugin) + "_" + std::to_string(info.index);
});

}  // namespace
}  // namespace tenon::plugins::testing
