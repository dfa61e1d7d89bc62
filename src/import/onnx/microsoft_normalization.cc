// Normalisation in ONNX Runtime's operators; semantics from its ContribOperators.md.
#include "import/node.h"
#include "ops/gather.h"
#include "ops/normalization.h"

namespace tenon {
namespace {

using Operation = nvinfer1::ElementWiseOperation;

// Over the last axis; `bias` may be null. The outputs are the result, mean and inverse deviation.
const Node& normalize_last(NodeContext& n, Value& x, Value& scale, Value* bias,
                           bool subtracts_mean) {
  auto op = std::make_unique<Normalization>();
  op->axes = 1u << (n.rank(x) - 1);
  op->epsilon = n.real("epsilon", 1e-12f);
  op->subtracts_mean = subtracts_mean;
  op->gives_statistics = true;
  const auto parameter = [&](Value& v) { return &n.with_rank(n.cast(v, x.type), n.rank(x)); };
  std::vector<Value*> inputs{&x, parameter(scale)};
  if (bias != nullptr) inputs.push_back(parameter(*bias));
  return n.add_node(std::move(op), std::move(inputs));
}

// normalize(input + skip + bias); the sum is output 3.
void import_skip(NodeContext& n, bool subtracts_mean) {
  n.expect_inputs(3, 5);
  Value* beta = subtracts_mean ? n.optional_input(3) : nullptr;
  Value* bias = n.optional_input(subtracts_mean ? 4 : 3);
  Value* sum = &n.binary(Operation::kSUM, n.input(0), n.input(1));
  if (bias != nullptr) sum = &n.binary(Operation::kSUM, *sum, *bias);
  const Node& node = normalize_last(n, *sum, n.input(2), beta, subtracts_mean);
  n.set_output(0, *node.outputs[0]);
  n.set_output(1, *node.outputs[1]);
  n.set_output(2, *node.outputs[2]);
  n.set_output(3, *sum);
}

// ONNX Runtime has these two in the standard domain too, from the first opset on.
void import_layer_normalization(NodeContext& n) {
  n.import_as("LayerNormalization", 17);
}
void import_simplified(NodeContext& n) {
  const bool wants_deviation = n.output_is_used(1);
  if (wants_deviation)
    fail_import(nvonnxparser::ErrorCode::kUNSUPPORTED_NODE,
                "output 1 (the inverse deviation) is not supported yet");
  n.import_as("RMSNormalization", 23);
}

}  // namespace

TENON_IMPORT_AS(LayerNormalization, 1, "as ONNX Runtime has it", import_layer_normalization);
TENON_IMPORT_AS(SimplifiedLayerNormalization, 1, "as ONNX Runtime has it", import_simplified);
TENON_IMPORT_MICROSOFT_AS(LayerNormalization, "", import_layer_normalization);
TENON_IMPORT_MICROSOFT_AS(SimplifiedLayerNormalization, "", import_simplified);

TENON_IMPORT_MICROSOFT(SkipLayerNormalization, "") {
  import_skip(n, true);
}
TENON_IMPORT_MICROSOFT(SkipSimplifiedLayerNormalization, "") {
  import_skip(n, false);
}

TENON_IMPORT_MICROSOFT(EmbedLayerNormalization, "") {
  n.expect_inputs(7, 9);
  n.ignore("mask_index_type");
  Value& ids = n.input(0);
  require(n.rank(ids) == 2, "its ids have {} dimensions; expected 2", n.rank(ids));
  const auto rows = [&](Value& table, Value& at) -> Value& {
    return n.add(std::make_unique<Gather>(), {&table, &at});
  };
  // Positions 0, 1, … are the first rows of their table.
  Value* positions = nullptr;
  if (n.has_input(8)) {
    positions = &rows(n.input(3), n.input(8));
  } else {
    Value& table = n.input(3);
    n.know(ids);
    positions = &n.slice(table, {n.number(0), n.number(0)}, {ids.dims[1], table.dims[1]},
                         {n.number(1), n.number(1)});
  }
  Value* sum = &n.binary(Operation::kSUM, rows(n.input(2), ids), *positions);
  if (n.has_input(1) && n.has_input(4))
    sum = &n.binary(Operation::kSUM, *sum, rows(n.input(4), n.input(1)));
  const Node& node = normalize_last(n, *sum, n.input(5), &n.input(6), true);
  n.set_output(0, *node.outputs[0]);
  if (n.has_input(7))
    n.set_output(1, n.reduce(nvinfer1::ReduceOperation::kSUM, n.input(7), 1u << 1, false));
  n.set_output(2, *sum);
}

}  // namespace tenon
