// Element-wise programs on bytes against the reference.
#include "ops/byte_pointwise.h"

#include "backend/testing.h"
#include "cpu/simd/kernels.h"

namespace tenon::cpu {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::ElementWiseOperation;

TestInput any_bytes(DataType type, const Shape& shape, uint32_t seed,
                    Layout layout = Layout::kLinear) {
  std::mt19937 random(seed);
  Tensor t(type, shape);
  for (int64_t i = 0; i < t.count(); ++i)
    t.mutable_data<uint8_t>()[i] = static_cast<uint8_t>(random());
  return {t, false, layout};
}

// tanh((x0 - 3) * 0.02 [+ x1]) in bytes, or floats.
BytePointwise byte_tanh(int inputs, DataType to) {
  BytePointwise op;
  PointwiseProgram& p = op.program;
  p.inputs = inputs;
  p.constants = {3, 0.02f};
  p.steps = {binary(ElementWiseOperation::kSUB, 0, p.constant_register(0)),
             binary(ElementWiseOperation::kPROD, p.step_register(0), p.constant_register(1))};
  if (inputs == 2) p.steps.push_back(binary(ElementWiseOperation::kSUM, p.step_register(1), 1));
  p.steps.push_back(activation(ActivationType::kTANH, p.step_register(p.steps.size() - 1)));
  if (to != DataType::kFLOAT) op.bytes = {true, 1.0f / 127, to == DataType::kINT8 ? 0 : 99, to};
  return op;
}

// A number beside the middle of two bytes may become the other one.
void expect_near_reference(LayerTest& test) {
  const Tensor found = test.run(), right = test.reference();
  const double step = right.type() == DataType::kFLOAT ? 1e-6 : 1;
  ASSERT_EQ(found.shape(), right.shape());
  const auto a = found.numbers(), b = right.numbers();
  int64_t others = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    ASSERT_NEAR(a[i], b[i], step) << i;
    others += a[i] != b[i] ? 1 : 0;
  }
  if (right.type() != DataType::kFLOAT) {
    EXPECT_LE(others, right.count() / 1000);
  }
}

TEST(BytePointwiseTest, TablesGiveTheReferencesBytes) {
  for (const DataType from : {DataType::kINT8, DataType::kUINT8})
    for (const DataType to : {DataType::kINT8, DataType::kUINT8, DataType::kFLOAT})
      for (const Shape& shape : {Shape{1}, Shape{63}, Shape{3, 1000}, Shape{2, 5, 70, 333}}) {
        SCOPED_TRACE(fmt::format("{} {} {}", name_of(from), name_of(to), shape));
        LayerTest test(byte_tanh(1, to), {any_bytes(from, shape, 1)});
        ASSERT_EQ(test.offer("byte_pointwise"), "");
        expect_identical(test.run(), test.reference());
      }
}

TEST(BytePointwiseTest, SeveralTensorsAreBroadcast) {
  for (const DataType from : {DataType::kINT8, DataType::kUINT8})
    for (const DataType to : {DataType::kINT8, DataType::kUINT8, DataType::kFLOAT})
      for (const auto& [a, b] : {std::pair<Shape, Shape>{{3, 40, 5}, {3, 40, 5}},
                                 {{3, 40, 50}, {1, 40, 1}},
                                 {{3, 40, 50}, {1, 1, 50}},
                                 {{1, 1, 1}, {3, 40, 5}},
                                 {{3, 1, 1}, {1, 1, 3000}},
                                 {{0, 4, 1}, {0, 4, 1}}}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", name_of(from), name_of(to), a, b));
        LayerTest floats(byte_tanh(2, to), {any_bytes(from, a, 1), data(b)});
        ASSERT_EQ(floats.offer("byte_pointwise"), "");
        expect_near_reference(floats);
        LayerTest bytes(byte_tanh(2, to), {any_bytes(from, a, 1), any_bytes(from, b, 2)});
        ASSERT_EQ(bytes.offer("byte_pointwise"), "");
        expect_near_reference(bytes);
      }
}

TEST(BytePointwiseTest, ChannelsMayLieLast) {
  const Shape shape{2, 5, 6, 7};
  for (const int inputs : {1, 2}) {
    std::vector<TestInput> given = {any_bytes(DataType::kINT8, shape, 1, Layout::kChannelsLast)};
    if (inputs == 2) given.push_back(any_bytes(DataType::kUINT8, shape, 2, Layout::kChannelsLast));
    LayerTest test(byte_tanh(inputs, DataType::kINT8), given);
    ASSERT_EQ(test.offer("byte_pointwise"), "");
    expect_near_reference(test);
  }
}

TEST(BytePointwiseTest, LoopsOfBytesTakeAnyCount) {
  std::vector<uint8_t> table(256), bytes(300), found(301), right(301);
  for (size_t i = 0; i < table.size(); ++i) table[i] = static_cast<uint8_t>(i * 7 + 3);
  for (size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<uint8_t>(i * 31);
  for (const SimdKernels* simd : supported_simd_kernels())
    for (int64_t n = 0; n <= 300; ++n) {
      std::ranges::fill(found, uint8_t{77});
      right = found;
      for (int64_t i = 0; i < n; ++i) right[i] = table[bytes[i]];
      simd->look_up_bytes(table.data(), bytes.data(), found.data(), n);
      ASSERT_EQ(found, right) << simd->instruction_set << " " << n;
      std::vector<float> numbers(301, 0.5f), exact = numbers;
      for (int64_t i = 0; i < n; ++i) exact[i] = static_cast<int8_t>(bytes[i]);
      simd->signed_bytes_to_float(bytes.data(), numbers.data(), n);
      ASSERT_EQ(numbers, exact) << simd->instruction_set << " " << n;
      std::vector<uint8_t> pixels(301, 77), pixels_right = pixels;
      for (int64_t i = 0; i < n / 3; ++i)
        for (int64_t c = 0; c < 3; ++c) pixels_right[i * 3 + c] = bytes[c * 100 + i];
      simd->interleave_three(bytes.data(), 100, n / 3, pixels.data());
      ASSERT_EQ(pixels, pixels_right) << simd->instruction_set << " " << n;
      for (int64_t i = 0; i < n; ++i) exact[i] = bytes[i];
      simd->unsigned_bytes_to_float(bytes.data(), numbers.data(), n);
      ASSERT_EQ(numbers, exact) << simd->instruction_set << " " << n;
    }
}

}  // namespace
}  // namespace tenon::cpu
