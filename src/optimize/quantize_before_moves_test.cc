#include "optimize/quantize_before_moves.h"

#include "ops/concatenation.h"
#include "ops/pooling.h"
#include "ops/resize.h"
#include "ops/shape_of.h"
#include "ops/shuffle.h"
#include "ops/slice.h"
#include "optimize/quantized_model.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

constexpr float kStep = 0.02F;

Value& concatenated(Model& m, std::vector<Value*> inputs) {
  auto op = std::make_unique<Concatenation>();
  op->axis = 1;
  return m.add(std::move(op), std::move(inputs));
}

Value& pooled(Model& m, Value& x, nvinfer1::PoolingType type = nvinfer1::PoolingType::kMAX) {
  auto op = std::make_unique<Pooling>();
  op->type = type;
  op->window = {3, 3};
  op->stride = {1, 1};
  op->pre_padding = op->post_padding = {1, 1};
  return m.add(std::move(op), {&x});
}

Value& sliced(Model& m, Value& x, int64_t begin, int64_t channels) {
  auto op = std::make_unique<Slice>();
  op->start = {0, begin, 0, 0};
  op->size = {1, channels, 5, 5};
  op->stride = {1, 1, 1, 1};
  return m.add(std::move(op), {&x});
}

Value& enlarged(Model& m, Value& x, int64_t extent, nvinfer1::InterpolationMode mode) {
  auto op = std::make_unique<Resize>();
  op->mode = mode;
  op->output_size = {1, 2, extent, extent};
  return m.add(std::move(op), {&x});
}

// The layers afterwards; what is computed stays the same, to the bit.
std::vector<std::string> kinds_after(const Network& network) {
  auto copy = clone(network);
  copy->infer();
  quantize_before_moves(*copy, FusingTarget());
  copy->infer();
  verify(*copy);
  expect_same_results(network, *copy, 0);
  return kinds(*copy);
}

TEST(QuantizeBeforeMoves, EachInputOfAConcatenationIsQuantized) {
  QuantizedModel m;
  Value& a = m.activation(m.input({1, 2, 5, 5}, "a"), ActivationType::kTANH);
  Value& b = m.activation(m.input({1, 3, 5, 5}, "b"), ActivationType::kSIGMOID);
  m.output(m.through(concatenated(m, {&a, &b}), DataType::kINT8, kStep, 3));
  EXPECT_THAT(kinds_after(m.network), ElementsAre("Activation", "Activation", "Quantize",
                                                  "Quantize", "Concatenation", "Dequantize"));
}

// As in the pooling of YOLO's SPPF: all of it is of bytes, and the input is quantized once.
TEST(QuantizeBeforeMoves, MaximaOfMaximaAreOfBytes) {
  QuantizedModel m;
  Value& x = m.input({1, 2, 6, 6});
  Value& one = pooled(m, x);
  Value& two = pooled(m, one);
  m.output(m.through(concatenated(m, {&x, &one, &two, &x}), DataType::kUINT8, kStep, 14));
  EXPECT_THAT(kinds_after(m.network),
              ElementsAre("Quantize", "Pooling", "Pooling", "Concatenation", "Dequantize"));
}

TEST(QuantizeBeforeMoves, WhatWasDequantizedFromTheSameBytesIsNotQuantizedAgain) {
  for (const float scale : {kStep, 2 * kStep}) {
    QuantizedModel m;
    Value& a = m.through(m.input({1, 2, 5, 5}, "a"), DataType::kINT8, scale, 0);
    Value& c = concatenated(m, {&a, &m.input({1, 2, 5, 5}, "b")});
    m.output(m.through(c, DataType::kINT8, kStep, 0));
    const auto kinds = kinds_after(m.network);
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "Quantize"), scale == kStep ? 2 : 3);
  }
}

// As quantizers of ONNX write them around each layer.
TEST(QuantizeBeforeMoves, ShufflesOfBytesStayOfBytes) {
  for (const float scale : {kStep, 2 * kStep}) {
    QuantizedModel m;
    Value* x = &m.through(m.input({1, 2, 5, 6}), DataType::kINT8, scale, 7);
    for (int i = 0; i < 2; ++i) {
      auto op = std::make_unique<Shuffle>();
      op->first_transpose = {0, 2, 1, 3};
      x = &m.through(m.add(std::move(op), {x}), DataType::kINT8, kStep, 7);
    }
    m.output(*x);
    const auto kinds = kinds_after(m.network);
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "Quantize"), scale == kStep ? 1 : 2);
  }
  QuantizedModel m;  // what others made of floats may take in the Quantize behind
  Value& x = m.activation(m.input({1, 2, 5, 6}), ActivationType::kTANH);
  auto op = std::make_unique<Shuffle>();
  op->first_transpose = {0, 2, 1, 3};
  m.output(m.through(m.add(std::move(op), {&x}), DataType::kINT8, kStep, 7));
  EXPECT_THAT(kinds_after(m.network),
              ElementsAre("Activation", "Shuffle", "Quantize", "Dequantize"));
}

// As in YOLO's C2f: both halves of a tensor become the same bytes, of which a layer reads one.
TEST(QuantizeBeforeMoves, SlicesAreOfBytesWhereAllAre) {
  for (const float other : {kStep, 2 * kStep}) {
    QuantizedModel m;
    Value& x = m.activation(m.input({1, 4, 5, 5}, "x"), ActivationType::kTANH);
    Value &first = sliced(m, x, 0, 2), &second = sliced(m, x, 2, 2);
    m.output(m.through(concatenated(m, {&first, &second}), DataType::kINT8, kStep, 3));
    m.output(m.through(second, DataType::kINT8, other, 3), "half");
    m.output(m.add(std::make_unique<ShapeOf>(), {&x}), "shape");  // which exporters ask for
    const auto kinds = kinds_after(m.network);
    EXPECT_EQ(std::count(kinds.begin(), kinds.end(), "Quantize"), other == kStep ? 1 : 3);
    const auto place = [&](const char* kind) { return std::ranges::find(kinds, kind); };
    EXPECT_EQ(place("Quantize") < place("Slice"), other == kStep);
  }
}

TEST(QuantizeBeforeMoves, WhatIsEnlargedIsQuantizedBefore) {
  using nvinfer1::InterpolationMode;
  for (const auto& [mode, extent, first] :
       {std::tuple(InterpolationMode::kNEAREST, int64_t{10}, "Quantize"),
        std::tuple(InterpolationMode::kNEAREST, int64_t{3}, "Resize"),
        std::tuple(InterpolationMode::kLINEAR, int64_t{10}, "Resize")}) {
    QuantizedModel m;
    Value& x = m.input({1, 2, 5, 5});
    m.output(m.through(enlarged(m, x, extent, mode), DataType::kINT8, kStep, 0));
    EXPECT_EQ(kinds_after(m.network)[0], first);
  }
}

TEST(QuantizeBeforeMoves, LeavesWhatOthersReadAndWhatIsNoMove) {
  {  // the concatenation is an output, too
    QuantizedModel m;
    Value& c = concatenated(m, {&m.input({1, 2, 5, 5}, "a"), &m.input({1, 2, 5, 5}, "b")});
    m.output(m.through(c, DataType::kINT8, kStep, 0));
    m.output(c, "z");
    EXPECT_EQ(kinds_after(m.network)[0], "Concatenation");
  }
  {  // averages are no bytes
    QuantizedModel m;
    Value& p = pooled(m, m.input({1, 2, 6, 6}), nvinfer1::PoolingType::kAVERAGE);
    m.output(m.through(p, DataType::kINT8, kStep, 0));
    EXPECT_EQ(kinds_after(m.network)[0], "Pooling");
  }
  {  // the target multiplies floats
    QuantizedModel m;
    Value& c = concatenated(m, {&m.input({1, 2, 5, 5}, "a"), &m.input({1, 2, 5, 5}, "b")});
    m.output(m.through(c, DataType::kINT8, kStep, 0));
    class NoIntegers final : public FusingTarget {
      bool fuses(const Op&, const PointwiseProgram&) const override { return false; }
    };
    quantize_before_moves(m.network, NoIntegers());
    EXPECT_EQ(kinds(m.network)[0], "Concatenation");
  }
}

TEST(QuantizeBeforeMoves, OutputsKeepTheirNames) {
  QuantizedModel m;
  Value& c = concatenated(m, {&m.input({1, 2, 5, 5}, "a"), &m.input({1, 2, 5, 5}, "b")});
  m.output(m.quantize(c, DataType::kINT8, kStep, 0), "bytes");
  quantize_before_moves(m.network, FusingTarget());
  m.network.infer();
  EXPECT_EQ(m.network.outputs()[0]->name, "bytes");
  EXPECT_EQ(m.network.outputs()[0]->type, DataType::kINT8);
  EXPECT_THAT(kinds(m.network), ElementsAre("Quantize", "Quantize", "Concatenation"));
}

}  // namespace
}  // namespace tenon
