#include "ops/normalization.h"
#include "optimize/quantized_model.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

Value& sum(QuantizedModel& m, Value& a, Value& b) {
  auto op = std::make_unique<ElementWise>();
  op->operation = ElementWiseOperation::kSUM;
  return m.add(std::move(op), {&a, &b});
}

Value& normalized(QuantizedModel& m, Value& x) {
  auto op = std::make_unique<Normalization>();
  op->axes = 2;
  return m.add(std::move(op), {&x, &m.weight({1, 8})});
}

TEST(NormalizationNeighbours, SumBeforeAndQuantizeBehind) {
  QuantizedModel m;
  Value &x = m.input({4, 8}), &y = m.input({4, 8}, "y");
  Value& z = normalized(m, sum(m, x, y));
  Value& bytes = m.quantize(z, DataType::kINT8, 0.02f, 3);
  m.output(sum(m, m.dequantize(bytes, {0.02f}, &m.zero(DataType::kINT8, 3)), z));
  const auto after = rewritten(m.network, normalization_neighbours);
  EXPECT_THAT(kinds(*after), ElementsAre("Normalization", "Dequantize", "ElementWise"));
  const auto* op = after->nodes()[0]->as<Normalization>();
  EXPECT_TRUE(op->adds && op->copy.used);
  EXPECT_EQ(op->copy.zero, 3);
}

// The layer comes before those that read its result, wherever the Quantize stood.
TEST(NormalizationNeighbours, OthersMayReadTheResultBeforeTheQuantize) {
  QuantizedModel m;
  Value& z = normalized(m, m.input({4, 8}));
  Value& other = m.relu(z);
  m.output(sum(m, other, m.through(z, DataType::kUINT8, 0.05f, 9)));
  EXPECT_TRUE(
      rewritten(m.network, normalization_neighbours)->nodes()[0]->as<Normalization>()->copy.used);
}

TEST(NormalizationNeighbours, SumsThatOthersReadStay) {
  QuantizedModel m;
  Value& both = sum(m, m.input({4, 8}), m.input({4, 8}, "y"));
  m.output(normalized(m, both));
  m.output(m.relu(both));
  EXPECT_FALSE(normalization_neighbours(m.network, FusingTarget()));
}

TEST(NormalizationNeighbours, SumsThatAreAlsoTheScaleStay) {
  QuantizedModel m;
  Value& both = sum(m, m.input({1, 8}), m.input({1, 8}, "y"));
  auto op = std::make_unique<Normalization>();
  op->axes = 2;
  m.output(m.add(std::move(op), {&both, &both}));
  EXPECT_FALSE(normalization_neighbours(m.network, FusingTarget()));
}

// A Quantize may have bounds beyond those of its type; a copy may not.
TEST(NormalizationNeighbours, BoundsBeyondBytesStay) {
  QuantizedModel m;
  auto op = std::make_unique<Quantize>();
  op->to = DataType::kINT8;
  op->lowest = -300;
  op->highest = 300;
  Value& bytes = m.add(std::move(op), {&normalized(m, m.input({4, 8})), &m.list({0.02f})});
  m.output(m.dequantize(bytes, {0.02f}));
  EXPECT_FALSE(normalization_neighbours(m.network, FusingTarget()));
}

TEST(NormalizationNeighbours, SumsThatBroadcastStay) {
  QuantizedModel m;
  m.output(normalized(m, sum(m, m.input({4, 8}), m.input({1, 8}, "y"))));
  m.output(normalized(m, sum(m, m.input({4, 8}, "z"), m.weight({4, 8}))));
  EXPECT_FALSE(normalization_neighbours(m.network, FusingTarget()));
}

// A network output stays a tensor of its own.
TEST(NormalizationNeighbours, BytesThatAreAnOutputStay) {
  QuantizedModel m;
  m.output(m.quantize(normalized(m, m.input({4, 8})), DataType::kINT8, 0.02f, 0));
  EXPECT_FALSE(normalization_neighbours(m.network, FusingTarget()));
}

}  // namespace
}  // namespace tenon
