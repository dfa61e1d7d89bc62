#include "ops/attention.h"
#include "optimize/quantized_model.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

Value& attention_of(QuantizedModel& m) {
  const Shape shape{2, 3, 5, 8};
  auto op = std::make_unique<Attention>();
  op->scale = .3f;
  Value &query = m.input(shape, "query"), &key = m.input(shape, "key"),
        &value = m.input(shape, "value");
  return m.add(std::move(op), {&query, &key, &value});
}

TEST(AttentionBytes, TakeTheQuantizeIn) {
  QuantizedModel m;
  m.output(m.through(attention_of(m), DataType::kUINT8, 0.01f, 120));
  const auto after = rewritten(m.network, attention_bytes);
  EXPECT_THAT(kinds(*after), ElementsAre("Attention", "Dequantize"));
  EXPECT_EQ(after->nodes()[0]->as<Attention>()->bytes.zero, 120);
}

TEST(AttentionBytes, ResultsThatOthersReadStay) {
  QuantizedModel m;
  Value& result = attention_of(m);
  m.output(m.through(result, DataType::kINT8, 0.01f, 3));
  m.output(m.relu(result), "numbers");
  EXPECT_FALSE(attention_bytes(m.network, FusingTarget()));
}

}  // namespace
}  // namespace tenon
