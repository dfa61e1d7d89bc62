// Attention by a state that each position of the sequence changes.
#include <onnx_schema.pb.h>

#include <cmath>

#include "import/onnx/attention.h"
#include "import/onnx/scan.h"

namespace tenon {
namespace {

using Operation = nvinfer1::ElementWiseOperation;

struct LinearAttentionForm {
  int64_t heads, shared;  // of the queries; of keys and values
  int64_t key_size, value_size;
  bool gated, delta;
};

LinearAttentionForm form_of(NodeContext& n) {
  LinearAttentionForm f{};
  f.heads = n.integer("q_num_heads");
  f.shared = n.integer("kv_num_heads");
  require(f.heads > 0 && f.shared > 0 && f.heads % f.shared == 0,
          "{} heads of queries cannot share {} of keys", f.heads, f.shared);
  f.key_size = constant_extent(n.input(0), 2, "the size of the queries") / f.heads;
  f.value_size = constant_extent(n.input(2), 2, "the size of the values") / f.shared;
  const std::string rule = n.text("update_rule", "gated_delta");
  f.gated = rule == "gated" || rule == "gated_delta";
  f.delta = rule == "delta" || rule == "gated_delta";
  require(f.gated || f.delta || rule == "linear",
          "attribute 'update_rule' is '{}'; expected linear, gated, delta or gated_delta", rule);
  require(f.gated == n.has_input(4), "update_rule '{}' {} decay (input 4)", rule,
          f.gated ? "needs" : "takes no");
  require(f.delta == n.has_input(5), "update_rule '{}' {} beta (input 5)", rule,
          f.delta ? "needs" : "takes no");
  return f;
}

// What one position does: (state, q, k, v[, decay][, beta]) to (state, output). The state is (N,
// shared, key size, value size), the others are (N, heads, size).
class PositionGraph {
 public:
  explicit PositionGraph(const LinearAttentionForm& f) {
    graph_.set_name("position");
    for (const char* input : {"state", "q", "k", "v"}) graph_.add_input()->set_name(input);
    if (f.gated) graph_.add_input()->set_name("decay");
    if (f.delta) graph_.add_input()->set_name("beta");
    constant("last", {-1});
    constant("before last", {-2});
    constant("grouped", {0, f.shared, f.heads / f.shared, f.key_size});
    constant("joined", {0, f.heads, f.value_size});
    std::string state = "state";
    if (f.gated) {
      node("Exp", {"decay"}, "factor");
      node("Unsqueeze", {"factor", "last"}, "factors");
      state = node("Mul", {state, "factors"}, "decayed");
    }
    std::string row = node("Unsqueeze", {"v", "before last"}, "value row");
    if (f.delta) {
      node("Unsqueeze", {"k", "before last"}, "key row");
      node("MatMul", {"key row", state}, "known");
      node("Sub", {row, "known"}, "difference");
      node("Unsqueeze", {"beta", "last"}, "rate");
      row = node("Mul", {"rate", "difference"}, "correction");
    }
    node("Unsqueeze", {"k", "last"}, "key column");
    node("MatMul", {"key column", row}, "product");
    node("Add", {state, "product"}, "next");
    node("Reshape", {"q", "grouped"}, "queries");
    node("MatMul", {"queries", "next"}, "answers");
    node("Reshape", {"answers", "joined"}, "output");
    for (const char* output : {"next", "output"}) graph_.add_output()->set_name(output);
  }
  const onnx::GraphProto& graph() const { return graph_; }

 private:
  void constant(const char* name, const std::vector<int64_t>& values) {
    auto& tensor = *graph_.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    for (int64_t value : values) tensor.add_int64_data(value);
  }
  std::string node(const char* op, const std::vector<std::string>& inputs,
                   const std::string& output) {
    auto& node = *graph_.add_node();
    node.set_op_type(op);
    for (const std::string& input : inputs) node.add_input(input);
    node.add_output(output);
    return output;
  }

  onnx::GraphProto graph_;
};

// (N, length, heads * size) as floats of (N, heads, length, size).
Value& heads_of(NodeContext& n, int input, int64_t heads) {
  return n.cast(split_heads(n, n.input(input), heads), DataType::kFLOAT);
}

Value& first_state(NodeContext& n, const LinearAttentionForm& f) {
  if (n.has_input(3)) return n.cast(n.input(3), DataType::kFLOAT);
  Value& q = n.input(0);
  n.know(q);
  Value& zero = n.constant(filled_tensor(DataType::kFLOAT, Shape{1, 1, 1, 1}, 0));
  return n.expand(zero,
                  {q.dims[0], n.number(f.shared), n.number(f.key_size), n.number(f.value_size)});
}

}  // namespace

TENON_IMPORT(LinearAttention, 27, "") {
  n.expect_inputs(3, 6);
  n.ignore("chunk_size");  // how it may be computed
  const LinearAttentionForm f = form_of(n);
  const float scale = n.real("scale", 0);
  const float factor = scale != 0 ? scale : 1 / std::sqrt(static_cast<float>(f.key_size));
  std::vector<Value*> inputs{&first_state(n, f),
                             &n.binary(Operation::kPROD, heads_of(n, 0, f.heads), factor),
                             &heads_of(n, 1, f.shared), &heads_of(n, 2, f.shared)};
  if (f.gated) inputs.push_back(&heads_of(n, 4, f.shared));
  if (f.delta) {
    const int64_t rates = constant_extent(n.input(5), 2, "the number of rates");
    inputs.push_back(&heads_of(n, 5, rates));
  }
  const auto scanned = static_cast<int64_t>(inputs.size()) - 1;
  const PositionGraph position(f);
  const Node& node = add_scan(n, {position.graph(),
                                  inputs,
                                  scanned,
                                  std::vector<int64_t>(static_cast<size_t>(scanned), 2),
                                  {},
                                  {2},
                                  {}});
  const DataType type = n.input(0).type;
  n.set_output(0, n.cast(join_heads(n, *node.outputs[1]), type));
  n.set_output(1, n.cast(*node.outputs[0], n.has_input(3) ? n.input(3).type : type));
}

}  // namespace tenon
