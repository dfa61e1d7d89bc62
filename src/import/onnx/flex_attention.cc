// Attention whose scores and probabilities graphs of the node may change.
#include <onnx_schema.pb.h>

#include <cmath>

#include "import/onnx/attention.h"
#include "ops/matrix_multiply.h"

namespace tenon {
namespace {

using nvinfer1::MatrixOperation;
using Operation = nvinfer1::ElementWiseOperation;

// Heads of keys or values, (N, heads, length, size), as often as queries share one.
Value& repeated_heads(NodeContext& n, Value& x, int64_t times) {
  if (times == 1) return x;
  n.know(x);
  Value& apart = n.reshape(x, {x.dims[0], x.dims[1], n.number(1), x.dims[2], x.dims[3]});
  Value& repeated = n.expand(apart, {x.dims[0], x.dims[1], n.number(times), x.dims[2], x.dims[3]});
  return n.reshape(repeated,
                   {x.dims[0], n.pool().mul(x.dims[1], n.number(times)), x.dims[2], x.dims[3]});
}

// What the graph of that attribute makes of x; x without it.
Value& changed_by(NodeContext& n, const char* attribute, Value& x) {
  if (!n.has(attribute)) return x;
  const auto outputs = n.bodies().inline_body(n.graph_in(attribute), {Item(&x)});
  require(outputs.size() == 1, "graph '{}' has {} outputs; expected 1", attribute, outputs.size());
  Value& y = *as_tensor(outputs[0], fmt::format("what graph '{}' makes", attribute));
  require(n.rank(y) == n.rank(x), "graph '{}' makes {} dimensions; expected {}", attribute,
          n.rank(y), n.rank(x));
  return n.cast(y, x.type);
}

DataType softmax_type(NodeContext& n) {
  const int64_t given = n.integer("softmax_precision", onnx::TensorProto::FLOAT);
  const auto type =
      given >= 0 && given <= INT32_MAX ? data_type_of(static_cast<int32_t>(given)) : std::nullopt;
  require(type && (is_float(*type) && bits_of(*type) >= 16),
          "attribute 'softmax_precision' is {}; expected a type of floats", given);
  return *type;
}

void import_flex_attention(NodeContext& n) {
  n.expect_inputs(3, 3);
  Value &q = n.input(0), &k = n.input(1), &v = n.input(2);
  for (const Value* x : {&q, &k, &v})
    require(n.rank(*x) == 4, "tensor '{}' has {} dimensions; expected 4", x->name, n.rank(*x));
  const int64_t heads = constant_extent(q, 1, "the number of heads");
  const int64_t shared = constant_extent(k, 1, "the number of heads of the keys");
  require(shared > 0 && heads % shared == 0, "{} heads cannot share {}", heads, shared);
  const DataType type = softmax_type(n);
  // Half of the factor goes to each operand: products of float16 stay small.
  const float factor = std::sqrt(attention_scale(n, q));
  auto product = std::make_unique<MatrixMultiply>();
  product->operation_b = MatrixOperation::kTRANSPOSE;
  Value& keys = repeated_heads(n, k, heads / shared);
  Value& scores = n.add(std::move(product), {&n.binary(Operation::kPROD, q, factor),
                                             &n.binary(Operation::kPROD, keys, factor)});
  Value& changed = changed_by(n, "score_mod", n.cast(scores, type));
  Value& probabilities = changed_by(n, "prob_mod", n.softmax(changed, 3));
  Value& values = n.cast(repeated_heads(n, v, heads / shared), type);
  Value& y = n.add(std::make_unique<MatrixMultiply>(), {&probabilities, &values});
  n.set_output(0, n.cast(y, v.type));
}

[[maybe_unused]] const bool kFlexAttentionRegistered =
    detail::register_row({"FlexAttention", 1, "the number of heads is constant", "ai.onnx.preview"},
                         import_flex_attention);

}  // namespace
}  // namespace tenon
