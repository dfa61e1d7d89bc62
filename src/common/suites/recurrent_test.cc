// Recurrent layers against the reference, on the target that is tested.
#include "base/parallel.h"
#include "common/suites/float_types_testing.h"
#include "common/suites/recurrent_testing.h"

namespace tenon {
namespace {

constexpr RecurrentDirection kDirections[] = {
    RecurrentDirection::kForward, RecurrentDirection::kReverse, RecurrentDirection::kBidirectional};

void check_recurrent(const RecurrentLayer& layer) {
  SCOPED_TRACE(fmt::format("kind {}, direction {}, {} units, batch {}, {}",
                           static_cast<int>(layer.op.kind_of_cell),
                           static_cast<int>(layer.op.direction), layer.op.hidden_size, layer.batch,
                           layer.op.batch_first ? "batch first" : "steps first"));
  expect_as_reference(layer.op, layer.tensors(), "recurrent", 1e-5);
}

TEST(RecurrentTest, EqualsReference) {
  for (const RecurrentKind kind : kRecurrentKinds)
    for (const RecurrentDirection direction : kDirections)
      for (const int64_t units : {1, 20, 64})
        for (const int64_t batch : {1, 2, 11})
          for (const bool batch_first : {false, true}) {
            RecurrentLayer layer(kind, direction, units);
            layer.batch = batch;
            layer.op.batch_first = batch_first;
            check_recurrent(layer);
            if (HasFailure()) return;
          }
}

TEST(RecurrentTest, OptionsEqualReference) {
  for (const RecurrentKind kind : kRecurrentKinds)
    for (const RecurrentDirection direction : kDirections)
      for (int options = 0; options < 32; ++options) {
        RecurrentLayer layer(kind, direction, 18);
        layer.batch = 3;
        layer.has_lengths = (options & 1) != 0;
        layer.has_bias = layer.has_peepholes = (options & 2) != 0;
        layer.has_state = (options & 4) != 0;
        layer.op.clip = (options & 8) != 0 ? 0.25f : 0;
        layer.op.linear_before_reset = layer.op.input_forget = (options & 16) != 0;
        SCOPED_TRACE(options);
        check_recurrent(layer);
        if (HasFailure()) return;
      }
}

TEST(RecurrentTest, LongSequencesAndManyUnits) {
  for (const RecurrentKind kind : kRecurrentKinds) {
    RecurrentLayer layer(kind, RecurrentDirection::kBidirectional, 70);
    layer.steps = 700;  // more than one chunk of gates
    layer.batch = 3;
    check_recurrent(layer);
  }
}

// A few sequences of many units are shared among threads, also where the units fill no vectors.
TEST(RecurrentTest, ThreadsShareSteps) {
  for (const RecurrentKind kind : kRecurrentKinds)
    for (const RecurrentDirection direction : kDirections)
      for (const int threads : {2, 7})
        for (const bool before_reset : {false, true}) {
          set_thread_count(threads);
          RecurrentLayer layer(kind, direction, 410);
          layer.batch = before_reset ? 3 : 1;
          layer.steps = 9;
          layer.has_lengths = layer.has_peepholes = layer.op.linear_before_reset = before_reset;
          check_recurrent(layer);
        }
  set_thread_count(0);
}

TEST(RecurrentTest, EmptySequences) {
  for (const RecurrentKind kind : kRecurrentKinds) {
    RecurrentLayer none(kind, RecurrentDirection::kForward, 4);
    none.steps = 0;
    none.has_state = false;
    check_recurrent(none);
    RecurrentLayer nobody(kind, RecurrentDirection::kForward, 4);
    nobody.batch = 0;
    check_recurrent(nobody);
  }
}

TEST(RecurrentTest, EveryActivation) {
  for (int32_t function = 0; function <= 14; ++function) {
    RecurrentLayer layer(RecurrentKind::kPlain, RecurrentDirection::kForward, 6);
    layer.op.activations = {function == 14 ? kAffine : function};
    layer.op.alpha = {.3f};
    layer.op.beta = {.6f};
    SCOPED_TRACE(function);
    expect_as_reference(layer.op, layer.tensors(), 1e-5);
  }
}

TEST(RecurrentTest, SixteenBits) {
  for (const DataType type : {DataType::kHALF, DataType::kBF16})
    for (const RecurrentKind kind : kRecurrentKinds) {
      SCOPED_TRACE(fmt::format("{}, kind {}", name_of(type), static_cast<int>(kind)));
      const RecurrentLayer layer(kind, RecurrentDirection::kReverse, 24);
      expect_as_reference(layer.op, in_type(type, layer.tensors()), tolerance_of(type));
    }
}

}  // namespace
}  // namespace tenon
