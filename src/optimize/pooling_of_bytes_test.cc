#include "ops/pooling.h"
#include "optimize/quantized_model.h"

namespace tenon {
namespace {

using namespace testing;
using nvinfer1::PoolingType;
using ::testing::ElementsAre;

Value& pooled(QuantizedModel& m, Value& x, PoolingType type) {
  auto op = std::make_unique<Pooling>();
  op->type = type;
  op->window = {3, 3};
  op->stride = {2, 2};
  op->pre_padding = op->post_padding = {1, 1};
  return m.add(std::move(op), {&x});
}

std::vector<std::string> after(QuantizedModel& m, PoolingType type, float scale, int zero) {
  Value& x = m.through(m.input({1, 3, 9, 8}), DataType::kINT8, 0.013f, -5);
  m.output(m.through(pooled(m, x, type), DataType::kINT8, scale, zero));
  auto network = rewritten(m.network, pooling_of_bytes, FusingTarget(), 0);
  if (auto patch = dead_layers(*network, FusingTarget())) std::move(*patch).apply(*network);
  return kinds(*network);
}

TEST(PoolingOfBytes, StaysBetweenEqualScales) {
  QuantizedModel m;
  EXPECT_THAT(after(m, PoolingType::kMAX, 0.013f, -5),
              ElementsAre("Quantize", "Pooling", "Dequantize"));
}

TEST(PoolingOfBytes, LeavesAveragesAndOtherScales) {
  const auto kept = ElementsAre("Quantize", "Dequantize", "Pooling", "Quantize", "Dequantize");
  for (const auto& [type, scale, zero] :
       {std::tuple(PoolingType::kAVERAGE, 0.013f, -5), std::tuple(PoolingType::kMAX, 0.02f, -5),
        std::tuple(PoolingType::kMAX, 0.013f, 0)}) {
    QuantizedModel m;
    EXPECT_THAT(after(m, type, scale, zero), kept);
  }
}

}  // namespace
}  // namespace tenon
