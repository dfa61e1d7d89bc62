#include "ops/recurrent.h"

#include "target/cuda/several_outputs_test.h"

namespace tenon::cuda {
namespace {

using nvinfer1::ActivationType;

struct Layer {
  Recurrent op;
  int64_t steps = 7, batch = 2, inputs = 5;
  bool has_bias = true, has_lengths = false, has_state = true, has_peepholes = false;

  Layer(RecurrentKind kind, RecurrentDirection direction, int64_t units) {
    op.kind_of_cell = kind;
    op.direction = direction;
    op.hidden_size = units;
    for (int d = 0; d < op.directions(); ++d)
      for (int i = 0; i < op.activations_per_direction(); ++i) {
        const bool sigmoid = i == 0 && kind != RecurrentKind::kPlain;
        op.activations.push_back(
            static_cast<int32_t>(sigmoid ? ActivationType::kSIGMOID : ActivationType::kTANH));
        op.alpha.push_back(0);
        op.beta.push_back(0);
      }
  }

  std::vector<TestInput> tensors() const {
    const int64_t many = op.directions(), rows = op.gates() * op.hidden_size;
    const Shape state =
        op.batch_first ? Shape{batch, many, op.hidden_size} : Shape{many, batch, op.hidden_size};
    const float bound = 1 / std::sqrt(static_cast<float>(op.hidden_size));
    const auto weights = [&](const Shape& shape, uint32_t seed) {
      return TestInput{random_tensor(shape, seed, -bound, bound), false, Layout::kLinear};
    };
    std::vector<TestInput> in(Recurrent::kInputCount);
    in[0] = data(op.batch_first ? Shape{batch, steps, inputs} : Shape{steps, batch, inputs}, 1);
    in[1] = weights({many, rows, inputs}, 2);
    in[2] = weights({many, rows, op.hidden_size}, 3);
    if (has_bias) in[3] = data({many, 2 * rows}, 4);
    if (has_lengths) {
      std::vector<int32_t> lengths;
      for (int64_t b = 0; b < batch; ++b)
        lengths.push_back(static_cast<int32_t>((b * 5 + 3) % (steps + 1)));
      in[4] = integers<int32_t>(DataType::kINT32, {batch}, lengths);
    }
    const bool lstm = op.kind_of_cell == RecurrentKind::kLstm;
    if (has_state) in[5] = data(state, 5);
    if (has_state && lstm) in[6] = data(state, 6);
    if (has_peepholes && lstm) in[7] = data({many, 3 * op.hidden_size}, 7);
    return in;
  }
};

void check(const Layer& layer, DataType type = DataType::kFLOAT) {
  SCOPED_TRACE(fmt::format("{}, kind {}, direction {}, {} units, batch {}", name_of(type),
                           static_cast<int>(layer.op.kind_of_cell),
                           static_cast<int>(layer.op.direction), layer.op.hidden_size,
                           layer.batch));
  expect_outputs_as_reference(layer.op, in_type(type, layer.tensors()), "recurrent",
                              tolerance_of(type));
}

constexpr RecurrentKind kKinds[] = {RecurrentKind::kPlain, RecurrentKind::kLstm,
                                    RecurrentKind::kGru};
constexpr RecurrentDirection kDirections[] = {
    RecurrentDirection::kForward, RecurrentDirection::kReverse, RecurrentDirection::kBidirectional};

TEST(CudaRecurrentTest, EqualsReference) {
  for (const RecurrentKind kind : kKinds)
    for (const RecurrentDirection direction : kDirections)
      for (const int64_t units : {1, 20, 64})
        for (const int64_t batch : {1, 2, 11}) {
          Layer layer(kind, direction, units);
          layer.batch = batch;
          layer.op.batch_first = batch == 2;
          check(layer);
        }
}

TEST(CudaRecurrentTest, Options) {
  for (const RecurrentKind kind : kKinds)
    for (int options = 0; options < 32; ++options) {
      Layer layer(kind, RecurrentDirection::kBidirectional, 18);
      layer.batch = 3;
      layer.has_lengths = (options & 1) != 0;
      layer.has_bias = layer.has_peepholes = (options & 2) != 0;
      layer.has_state = (options & 4) != 0;
      layer.op.clip = (options & 8) != 0 ? 0.25f : 0;
      layer.op.linear_before_reset = layer.op.input_forget = (options & 16) != 0;
      SCOPED_TRACE(options);
      check(layer);
    }
}

TEST(CudaRecurrentTest, EveryActivation) {
  for (int32_t function = 0; function <= 14; ++function) {
    Layer layer(RecurrentKind::kPlain, RecurrentDirection::kForward, 6);
    layer.op.activations = {function == 14 ? kAffine : function};
    layer.op.alpha = {.3f};
    layer.op.beta = {.6f};
    SCOPED_TRACE(function);
    check(layer);
  }
}

TEST(CudaRecurrentTest, SixteenBits) {
  for (const DataType type : {DataType::kHALF, DataType::kBF16})
    for (const RecurrentKind kind : kKinds) check({kind, RecurrentDirection::kReverse, 24}, type);
}

TEST(CudaRecurrentTest, EmptySequences) {
  for (const RecurrentKind kind : kKinds) {
    Layer none(kind, RecurrentDirection::kForward, 4);
    none.steps = 0;
    none.has_state = false;
    check(none);
    Layer nobody(kind, RecurrentDirection::kForward, 4);
    nobody.batch = 0;
    check(nobody);
  }
}

}  // namespace
}  // namespace tenon::cuda
