#include "ops/fill.h"

#include <cmath>

#include "ops/op_test.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Fill, AgreesWithNumpy) {
  run_cases("fill");
}

// The known answers that the authors of the method publish (Random123, kat_vectors).
TEST(Fill, RandomWordsAreThoseOfPhilox) {
  const auto words = [](uint64_t counter, uint64_t stream, uint64_t key) {
    const RandomWords r = philox(counter, stream, key);
    return std::vector<uint32_t>(r.word, r.word + 4);
  };
  EXPECT_THAT(words(0, 0, 0), ElementsAre(0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8));
  EXPECT_THAT(words(UINT64_MAX, UINT64_MAX, UINT64_MAX),
              ElementsAre(0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd));
  EXPECT_THAT(words(0x85a308d3243f6a88, 0x0370734413198a2e, 0x299f31d0a4093822),
              ElementsAre(0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1));
}

struct Moments {
  double mean = 0, variance = 0, skew = 0, min = 1e9, max = -1e9;
};

Moments moments_of(const Tensor& t) {
  Moments m;
  const auto values = t.numbers();
  const auto count = static_cast<double>(values.size());
  for (double v : values) m.mean += v / count;
  for (double v : values) {
    m.variance += (v - m.mean) * (v - m.mean) / count;
    m.skew += std::pow(v - m.mean, 3) / count;
    m.min = std::min(m.min, v);
    m.max = std::max(m.max, v);
  }
  return m;
}

TEST(Fill, RandomNumbersAreDistributedAsTheyShouldBe) {
  Fill op;
  op.dimensions = {1001, 99};
  op.operation = nvinfer1::FillOperation::kRANDOM_UNIFORM;
  op.alpha = -1;
  op.beta = 5;
  const Moments uniform = moments_of(run(op, {})[0]);
  EXPECT_NEAR(uniform.mean, 2, 0.03);
  EXPECT_NEAR(uniform.variance, 3, 0.03);
  EXPECT_GE(uniform.min, -1);
  EXPECT_LT(uniform.max, 5);
  op.operation = nvinfer1::FillOperation::kRANDOM_NORMAL;
  op.alpha = 3;
  op.beta = 2;
  const Moments normal = moments_of(run(op, {})[0]);
  EXPECT_NEAR(normal.mean, 3, 0.03);
  EXPECT_NEAR(normal.variance, 4, 0.08);
  EXPECT_NEAR(normal.skew, 0, 0.2);
  EXPECT_GT(normal.max, 9);
}

TEST(Fill, RandomNumbersFollowFromTheSeed) {
  Fill op;
  op.dimensions = {50};
  op.operation = nvinfer1::FillOperation::kRANDOM_UNIFORM;
  const auto first = run(op, {})[0].numbers();
  EXPECT_EQ(run(op, {})[0].numbers(), first);
  op.seed = 1;
  EXPECT_NE(run(op, {})[0].numbers(), first);
}

TEST(Fill, AnswersForWhatCannotBe) {
  Fill op;
  op.dimensions = {2, 2};
  EXPECT_THAT(infer_error(op, {}), HasSubstr("a step for each of 2 axes"));
  op.operation = nvinfer1::FillOperation::kRANDOM_UNIFORM;
  op.type = DataType::kINT32;
  EXPECT_THAT(infer_error(op, {}), HasSubstr("expected a floating-point type"));
  EXPECT_THAT(infer_error(Fill(), {constant(make<int64_t>({1}, {-1}))}),
              HasSubstr("expected dimensions of at least 0, found -1"));
  EXPECT_THAT(infer_error(Fill(), {constant(make<int64_t>({1}, {2})), input(make<float>({}, {1})),
                                   input(make<int32_t>({1}, {1}))}),
              HasSubstr("alpha and beta of equal type"));
}

}  // namespace
}  // namespace tenon
