// The recurrent kernel against the reference.
#include "ops/recurrent.h"

#include "target/cpu/simd/kernels.h"
#include "target/testing.h"

namespace tenon::cpu {
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

  // Every input, with an empty tensor for one left out.
  std::vector<std::optional<Tensor>> tensors() const {
    const int64_t many = op.directions(), rows = op.gates() * op.hidden_size;
    const Shape state =
        op.batch_first ? Shape{batch, many, op.hidden_size} : Shape{many, batch, op.hidden_size};
    const float bound = 1 / std::sqrt(static_cast<float>(op.hidden_size));
    std::vector<std::optional<Tensor>> in(Recurrent::kInputCount);
    in[0] = random_tensor(
        op.batch_first ? Shape{batch, steps, inputs} : Shape{steps, batch, inputs}, 1);
    in[1] = random_tensor({many, rows, inputs}, 2, -bound, bound);
    in[2] = random_tensor({many, rows, op.hidden_size}, 3, -bound, bound);
    if (has_bias) in[3] = random_tensor({many, 2 * rows}, 4);
    if (has_lengths) {
      in[4] = Tensor(DataType::kINT32, Shape{batch});
      for (int64_t b = 0; b < batch; ++b)
        in[4]->mutable_data<int32_t>()[b] = static_cast<int32_t>((b * 5 + 3) % (steps + 1));
    }
    const bool lstm = op.kind_of_cell == RecurrentKind::kLstm;
    if (has_state) in[5] = random_tensor(state, 5);
    if (has_state && lstm) in[6] = random_tensor(state, 6);
    if (has_peepholes && lstm) in[7] = random_tensor({many, 3 * op.hidden_size}, 7);
    return in;
  }
};

std::unique_ptr<Kernel> offered(const KernelRequest& request, std::string& refusal) {
  for (const Candidate& c : cpu_target().candidates(request.op))
    if (c.name == "recurrent") {
      Offer offer = c.offer(request);
      if (auto* reason = std::get_if<std::string>(&offer))
        refusal = *reason;
      else
        return std::move(std::get<std::unique_ptr<Kernel>>(offer));
    }
  return nullptr;
}

void check(const Layer& layer) {
  const auto in = layer.tensors();
  Network network;
  std::vector<Value*> values;
  for (const auto& t : in) values.push_back(t ? &network.add_weight(*t) : nullptr);
  Node& node = network.add_node(layer.op.clone(), values);
  network.infer(node);
  std::vector<TensorSpec> inputs, outputs;
  std::vector<const Tensor*> constants;
  std::vector<TensorView> views, results, expected;
  for (const auto& t : in) {
    const size_t i = inputs.size();
    inputs.push_back(t ? TensorSpec{t->type(), Layout::kLinear, t->shape(), true}
                       : TensorSpec{DataType::kFLOAT, Layout::kLinear, {}, false});
    const bool fed = i == Recurrent::kX || (i >= Recurrent::kLengths && i <= Recurrent::kFirstC);
    constants.push_back(t && !fed ? &*t : nullptr);
    views.push_back(t ? view_of(*t) : TensorView{});
  }
  std::vector<Tensor> found, wanted;
  for (const Value* v : node.outputs) {
    Shape shape;
    for (Dim d : v->dims) shape.push_back(d->value.integer);
    outputs.push_back({v->type, Layout::kLinear, shape, true});
    found.emplace_back(v->type, shape);
    wanted.emplace_back(v->type, shape);
    expected.push_back(view_of(wanted.back()));
  }
  layer.op.reference({views, expected});
  std::string refusal;
  auto kernel = offered({layer.op, inputs, outputs, constants}, refusal);
  ASSERT_NE(kernel, nullptr) << refusal;
  for (const bool loaded : {false, true}) {
    if (loaded) {
      const StoredKernel stored = kernel->store();
      const std::vector<const Tensor*> none(inputs.size(), nullptr);
      kernel = offered({layer.op, inputs, outputs, none, &stored}, refusal);
    }
    const auto execution = kernel->prepare(inputs, outputs);
    const auto scratch = allocate_aligned(execution->scratch_bytes());
    std::vector<const void*> from;
    std::vector<void*> to;
    for (size_t i = 0; i < in.size(); ++i)
      from.push_back(kernel->input_is_packed[i] || !in[i] ? nullptr : in[i]->data());
    for (Tensor& t : found) {
      std::fill_n(t.mutable_data<float>(), t.count(), NAN);
      to.push_back(t.mutable_data<float>());
    }
    in_arena([&] { execution->run({from, to, scratch.get()}); });
    for (size_t i = 0; i < found.size(); ++i) {
      SCOPED_TRACE(i);
      expect_close(found[i], wanted[i], 1e-5);
    }
  }
}

constexpr RecurrentKind kKinds[] = {RecurrentKind::kPlain, RecurrentKind::kLstm,
                                    RecurrentKind::kGru};
constexpr RecurrentDirection kDirections[] = {
    RecurrentDirection::kForward, RecurrentDirection::kReverse, RecurrentDirection::kBidirectional};

TEST(RecurrentKernelTest, EqualsReference) {
  for (const RecurrentKind kind : kKinds)
    for (const RecurrentDirection direction : kDirections)
      for (const int64_t units : {1, 20, 64})
        for (const int64_t batch : {1, 2, 11})
          for (const bool batch_first : {false, true}) {
            Layer layer(kind, direction, units);
            layer.batch = batch;
            layer.op.batch_first = batch_first;
            SCOPED_TRACE(fmt::format("kind {}, direction {}, {} units, batch {}, {}",
                                     static_cast<int>(kind), static_cast<int>(direction), units,
                                     batch, batch_first ? "batch first" : "steps first"));
            check(layer);
            if (::testing::Test::HasFailure()) return;
          }
}

TEST(RecurrentKernelTest, OptionsEqualReference) {
  for (const RecurrentKind kind : kKinds)
    for (const RecurrentDirection direction : kDirections)
      for (int options = 0; options < 32; ++options) {
        Layer layer(kind, direction, 18);
        layer.batch = 3;
        layer.has_lengths = (options & 1) != 0;
        layer.has_bias = layer.has_peepholes = (options & 2) != 0;
        layer.has_state = (options & 4) != 0;
        layer.op.clip = (options & 8) != 0 ? 0.25f : 0;
        layer.op.linear_before_reset = layer.op.input_forget = (options & 16) != 0;
        SCOPED_TRACE(fmt::format("kind {}, direction {}, options {}", static_cast<int>(kind),
                                 static_cast<int>(direction), options));
        check(layer);
        if (::testing::Test::HasFailure()) return;
      }
}

TEST(RecurrentKernelTest, LongSequencesAndManyUnits) {
  for (const RecurrentKind kind : kKinds) {
    Layer layer(kind, RecurrentDirection::kBidirectional, 70);
    layer.steps = 700;  // more than one chunk of gates
    layer.batch = 3;
    check(layer);
    Layer wide(kind, RecurrentDirection::kForward, 400);  // shared among threads
    wide.batch = 1;
    check(wide);
  }
}

TEST(RecurrentKernelTest, EmptySequences) {
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

TEST(ProductKernelTest, AllInstructionSetsAgree) {
  const int64_t depth = 37, columns = 41;
  for (const int64_t rows : {1, 2, 3, 8, 17}) {
    const Tensor a = random_tensor({rows, depth}, 1), b = random_tensor({3, depth, 16}, 2);
    const auto product = [&](const SimdKernels& kernels) {
      Tensor c = random_tensor({rows, columns}, 3);
      kernels.add_product(a.data<float>(), depth, rows, b.data<float>(), depth,
                          c.mutable_data<float>(), columns, columns);
      return c;
    };
    Tensor expected = random_tensor({rows, columns}, 3);
    for (int64_t r = 0; r < rows; ++r)
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t k = 0; k < depth; ++k)
          expected.mutable_data<float>()[r * columns + j] +=
              a.data<float>()[r * depth + k] * b.data<float>()[(j / 16 * depth + k) * 16 + j % 16];
    expect_close(product(baseline::kKernels), expected);
    expect_close(product(simd_kernels()), expected);
  }
}

}  // namespace
}  // namespace tenon::cpu
