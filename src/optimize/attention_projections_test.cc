#include "ops/attention.h"
#include "ops/quantized_matrix_multiply.h"
#include "ops/shuffle.h"
#include "optimize/quantized_model.h"

namespace tenon {
namespace {

using namespace testing;
using ::testing::ElementsAre;

constexpr int64_t kSteps = 5, kWidth = 32, kHeads = 4;

// A model whose queries, keys and values are made of (2, kSteps, kWidth).
class AttentionModel : public QuantizedModel {
 public:
  Value& split(Value& x) {
    auto op = std::make_unique<Shuffle>();
    op->has_reshape = true;
    op->reshape = {2, kSteps, kHeads, kWidth / kHeads};
    op->second_transpose = {0, 2, 1, 3};
    return add(std::move(op), {&x});
  }
  Value& attend(Value& query, Value& key, Value& value) {
    auto op = std::make_unique<Attention>();
    op->scale = .3f;
    return add(std::move(op), {&split(query), &split(key), &split(value)});
  }
  Value& projected(Value& x, bool has_bias = true, bool transposed = false,
                   int64_t width = kWidth) {
    auto op = std::make_unique<MatrixMultiply>();
    if (transposed) op->operation_b = nvinfer1::MatrixOperation::kTRANSPOSE;
    std::vector<Value*> inputs{
        &x, &weight(transposed ? Shape{1, width, kWidth} : Shape{1, kWidth, width})};
    if (has_bias) inputs.push_back(&weight({1, 1, width}));
    return add(std::move(op), std::move(inputs));
  }
  Value& integer_projected(Value& x, const std::vector<float>& scale, bool has_shift = true) {
    auto op = std::make_unique<QuantizedMatrixMultiply>();
    op->to = DataType::kFLOAT;
    Value* shift = has_shift ? &list(std::vector<float>(kWidth, 0.25f)) : nullptr;
    return add(std::move(op),
               {&x, &bytes(DataType::kINT8, {1, kWidth, kWidth}), &zero(DataType::kINT8, 3),
                nullptr, nullptr, &list(scale), nullptr, shift});
  }
};

// The passes before it, too, as the pipeline has them.
std::optional<Patch> with_strides(const Network& network, const Target& target) {
  for (const Pass pass : {dead_layers, attention_strides, attention_projections})
    if (auto patch = pass(network, target)) return patch;
  return std::nullopt;
}

std::vector<int64_t> offsets_of(const Network& network) {
  const auto* op = network.sorted().back()->as<Attention>();
  return {op->vectors[0].offset, op->vectors[1].offset, op->vectors[2].offset};
}

TEST(AttentionProjections, BecomeOneProduct) {
  for (const bool transposed : {false, true}) {
    AttentionModel m;
    Value& x = m.input({2, kSteps, kWidth});
    Value &query = m.projected(x, true, transposed), &key = m.projected(x, false, transposed),
          &value = m.projected(x, true, transposed);
    m.output(m.attend(query, key, value));
    const auto after = rewritten(m.network, with_strides);
    EXPECT_THAT(kinds(*after), ElementsAre("MatrixMultiply", "Attention"));
    EXPECT_THAT(offsets_of(*after), ElementsAre(0, kWidth, 2 * kWidth));
  }
}

// As in a decoder that reads an encoder's result.
TEST(AttentionProjections, KeysAndValuesOfAnotherTensor) {
  AttentionModel m;
  Value &x = m.input({2, kSteps, kWidth}), &memory = m.input({2, kSteps, kWidth}, "memory");
  Value &value = m.projected(memory), &query = m.projected(x), &key = m.projected(memory);
  m.output(m.attend(query, key, value));
  const auto after = rewritten(m.network, with_strides);
  EXPECT_THAT(kinds(*after), ElementsAre("MatrixMultiply", "MatrixMultiply", "Attention"));
  EXPECT_THAT(offsets_of(*after), ElementsAre(0, 0, kWidth));
}

TEST(AttentionProjections, OfIntegers) {
  AttentionModel m;
  Value& x = m.quantize(m.input({2, kSteps, kWidth}), DataType::kINT8, 0.02f, 3);
  Value &query = m.integer_projected(x, {0.01f}),
        &key = m.integer_projected(x, std::vector<float>(kWidth, 0.02f)),
        &value = m.integer_projected(x, {0.015f}, false);
  m.output(m.attend(query, key, value));
  const auto after = rewritten(m.network, with_strides);
  EXPECT_THAT(kinds(*after), ElementsAre("Quantize", "QuantizedMatrixMultiply", "Attention"));
}

TEST(AttentionProjections, StayWhereOthersReadThem) {
  AttentionModel m;
  Value& x = m.input({2, kSteps, kWidth});
  Value &query = m.projected(x), &key = m.projected(x), &value = m.projected(x);
  m.output(m.attend(query, key, value));
  m.output(m.relu(key), "keys");
  const auto after = rewritten(m.network, with_strides);
  EXPECT_THAT(kinds(*after),
              ElementsAre("MatrixMultiply", "MatrixMultiply", "Attention", "Activation"));
}

TEST(AttentionProjections, WithoutColumnsStay) {
  AttentionModel m;
  Value& x = m.input({1, 1, 2, kWidth});
  const auto projected = [&](int64_t width) -> Value& {
    auto op = std::make_unique<MatrixMultiply>();
    return m.add(std::move(op), {&x, &m.weight({1, 1, kWidth, width})});
  };
  auto op = std::make_unique<Attention>();
  Value &query = projected(8), &key = projected(8);
  m.output(m.add(std::move(op), {&query, &key, &projected(0)}));
  const auto patch = attention_projections(m.network, FusingTarget());
  EXPECT_TRUE(patch.has_value());  // of queries and keys
}

TEST(AttentionProjections, OfOtherTensorsStay) {
  AttentionModel m;
  Value *tensors[3], *operands[3];
  for (int i = 0; i < 3; ++i) {
    tensors[i] = &m.input({2, kSteps, kWidth}, fmt::format("x{}", i));
    operands[i] = &m.projected(*tensors[i]);
  }
  m.output(m.attend(*operands[0], *operands[1], *operands[2]));
  EXPECT_FALSE(attention_projections(m.network, FusingTarget()));
}

}  // namespace
}  // namespace tenon
