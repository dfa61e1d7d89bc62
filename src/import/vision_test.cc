// What operators of detectors, sampling, normalisation and pooling refuse, and how they say it.
#include <onnx_schema.pb.h>

#include "import/one_node.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using testing::OneNode;

TEST(VisionImport, BoxesAndRegions) {
  EXPECT_THAT(OneNode("NonMaxSuppression", 11).input({1, 5, 3}).input({1, 2, 5}).error(),
              HasSubstr("expected boxes (input 0) of shape (N, boxes, 4)"));
  EXPECT_THAT(OneNode("NonMaxSuppression", 11).input({1, 5, 4}).input({1, 2, 6}).error(),
              HasSubstr("the same number of boxes, found 5 and 6"));
  const auto align = [](const char* mode, const char* coordinates, int64_t height) {
    return OneNode("RoiAlign", 16)
        .input({1, 3, 8, 8})
        .input({5, 4})
        .input({5}, onnx::TensorProto::INT64)
        .set("mode", mode)
        .set("coordinate_transformation_mode", coordinates)
        .set("output_height", height)
        .error();
  };
  EXPECT_EQ(align("avg", "half_pixel", 2), "");
  EXPECT_THAT(align("min", "half_pixel", 2), HasSubstr("expected avg or max"));
  EXPECT_THAT(align("avg", "pixel", 2), HasSubstr("attribute 'coordinate_transformation_mode'"));
  EXPECT_THAT(align("avg", "half_pixel", int64_t{1} << 60), HasSubstr("results of 1 to"));
  EXPECT_THAT(OneNode("MaxRoiPool", 22).input({1, 1, 4, 4}).input({2, 5}).error(),
              HasSubstr("attribute 'pooled_shape' has 0 entries"));
}

TEST(VisionImport, Sampling) {
  const auto sample = [](const char* mode, const char* padding, std::vector<int64_t> grid) {
    return OneNode("GridSample", 20)
        .input({1, 1, 4, 4})
        .input(std::move(grid))
        .set("mode", mode)
        .set("padding_mode", padding)
        .error();
  };
  EXPECT_EQ(sample("cubic", "zeros", {1, 2, 2, 2}), "");
  EXPECT_THAT(sample("spline", "zeros", {1, 2, 2, 2}), HasSubstr("attribute 'mode' is 'spline'"));
  EXPECT_THAT(sample("linear", "wrap", {1, 2, 2, 2}), HasSubstr("zeros, border or reflection"));
  EXPECT_THAT(sample("linear", "zeros", {1, 2, 2, 3}), HasSubstr("expected 2 coordinates"));
  EXPECT_THAT(OneNode("AffineGrid", 20).input({1, 2, 3}).constant({1, 1, -2, 2}).error(),
              HasSubstr("its size holds -2"));
  EXPECT_THAT(OneNode("AffineGrid", 20).input({1, 2, 3}).constant({1, 1, 2}).error(),
              HasSubstr("expected 4 or 5"));
}

TEST(VisionImport, ColumnsToImage) {
  const auto image = [](const std::vector<int64_t>& size, const std::vector<int64_t>& block) {
    return OneNode("Col2Im", 18).input({1, 8, 4}).constant(size).constant(block).error();
  };
  EXPECT_EQ(image({3, 3}, {2, 2}), "");
  EXPECT_THAT(image({3, 3}, {3, 1}), HasSubstr("8 columns do not fit blocks of 3"));
  EXPECT_THAT(image({1, 3}, {2, 2}), HasSubstr("smaller than its blocks"));
  EXPECT_THAT(image({3}, {2, 2}), HasSubstr("expected the same, 1 to 3"));
  EXPECT_NE(image({INT64_MAX, 3}, {2, 2}), "");
  EXPECT_NE(image({3, 3, 3}, {INT32_MAX, INT32_MAX, INT32_MAX}), "");
  EXPECT_NE(image({3, 3}, {0, 2}), "");
}

TEST(VisionImport, NormalisationAndPooling) {
  const auto groups = [](int64_t count) {
    return OneNode("GroupNormalization", 21)
        .input({1, 4, 5})
        .input({4})
        .input({4})
        .set("num_groups", count)
        .error();
  };
  EXPECT_EQ(groups(2), "");
  EXPECT_THAT(groups(3), HasSubstr("4 channels cannot be split into 3 groups"));
  EXPECT_NE(groups(0), "");
  EXPECT_NE(groups(-1), "");
  EXPECT_THAT(OneNode("LpNormalization", 22).input({2, 2}).set("p", int64_t{3}).error(),
              HasSubstr("attribute 'p' is 3; expected 1 or 2"));
  EXPECT_THAT(OneNode("LpPool", 18)
                  .input({1, 1, 4, 4})
                  .set("kernel_shape", std::vector<int64_t>{2})
                  .error(),
              HasSubstr("attribute 'kernel_shape' has 1 entries; expected 2"));
  EXPECT_THAT(OneNode("MaxUnpool", 11)
                  .input({1, 1, 2, 2})
                  .input({1, 1, 2, 3}, onnx::TensorProto::INT64)
                  .set("kernel_shape", std::vector<int64_t>{2, 2})
                  .error(),
              HasSubstr("axis 3"));
  EXPECT_THAT(OneNode("Det", 11).input({2, 3}).error(), HasSubstr("expected square matrices"));
  EXPECT_THAT(OneNode("NegativeLogLikelihoodLoss", 13)
                  .input({2, 3})
                  .input({2}, onnx::TensorProto::INT64)
                  .set("reduction", "max")
                  .error(),
              HasSubstr("expected none, sum or mean"));
}

}  // namespace
}  // namespace tenon
