#include "target/cuda/float_types_test.h"
#include "target/suites/recurrent_testing.h"

namespace tenon::cuda {
namespace {

TEST(CudaRecurrentTest, EveryActivation) {
  for (int32_t function = 0; function <= 14; ++function) {
    RecurrentLayer layer(RecurrentKind::kPlain, RecurrentDirection::kForward, 6);
    layer.op.activations = {function == 14 ? kAffine : function};
    layer.op.alpha = {.3f};
    layer.op.beta = {.6f};
    SCOPED_TRACE(function);
    expect_outputs_as_reference(layer.op, layer.tensors(), "recurrent", 1e-5);
  }
}

TEST(CudaRecurrentTest, SixteenBits) {
  for (const DataType type : {DataType::kHALF, DataType::kBF16})
    for (const RecurrentKind kind : kRecurrentKinds) {
      SCOPED_TRACE(fmt::format("{}, kind {}", name_of(type), static_cast<int>(kind)));
      const RecurrentLayer layer(kind, RecurrentDirection::kReverse, 24);
      expect_outputs_as_reference(layer.op, in_type(type, layer.tensors()), "recurrent",
                                  tolerance_of(type));
    }
}

}  // namespace
}  // namespace tenon::cuda
