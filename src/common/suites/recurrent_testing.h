// Recurrent layers that tests run.
#pragma once

#include "backend/testing.h"
#include "ops/recurrent.h"

namespace tenon {

struct RecurrentLayer {
  Recurrent op;
  int64_t steps = 7, batch = 2, inputs = 5;
  bool has_bias = true, has_lengths = false, has_state = true, has_peepholes = false;

  RecurrentLayer(RecurrentKind kind, RecurrentDirection direction, int64_t units) {
    using nvinfer1::ActivationType;
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
      return TestInput{random_tensor(shape, seed, -bound, bound), true, Layout::kLinear};
    };
    std::vector<TestInput> in(Recurrent::kInputCount);
    in[Recurrent::kX] =
        data(op.batch_first ? Shape{batch, steps, inputs} : Shape{steps, batch, inputs}, 1);
    in[Recurrent::kW] = weights({many, rows, inputs}, 2);
    in[Recurrent::kR] = weights({many, rows, op.hidden_size}, 3);
    if (has_bias) in[Recurrent::kB] = constant({many, 2 * rows}, 4);
    if (has_lengths) {
      std::vector<int32_t> lengths;
      for (int64_t b = 0; b < batch; ++b)
        lengths.push_back(static_cast<int32_t>((b * 5 + 3) % (steps + 1)));
      in[Recurrent::kLengths] = integers<int32_t>(DataType::kINT32, {batch}, lengths);
    }
    const bool lstm = op.kind_of_cell == RecurrentKind::kLstm;
    if (has_state) in[Recurrent::kFirstH] = data(state, 5);
    if (has_state && lstm) in[Recurrent::kFirstC] = data(state, 6);
    if (has_peepholes && lstm) in[Recurrent::kPeepholes] = constant({many, 3 * op.hidden_size}, 7);
    return in;
  }
};

constexpr RecurrentKind kRecurrentKinds[] = {RecurrentKind::kPlain, RecurrentKind::kLstm,
                                             RecurrentKind::kGru};

}  // namespace tenon
