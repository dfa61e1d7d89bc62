// Recurrent layers.
#include "ops/recurrent.h"

#include <algorithm>

#include "import/node.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;
using Code = nvonnxparser::ErrorCode;

struct ActivationRow {
  const char* name;
  int32_t activation;
  bool takes_alpha, takes_beta;
  float alpha, beta;  // defaults
};

constexpr int32_t number_of(ActivationType type) {
  return static_cast<int32_t>(type);
}

constexpr ActivationRow kActivations[] = {
    {"sigmoid", number_of(ActivationType::kSIGMOID), false, false, 0, 0},
    {"tanh", number_of(ActivationType::kTANH), false, false, 0, 0},
    {"relu", number_of(ActivationType::kRELU), false, false, 0, 0},
    {"affine", kAffine, true, true, 1, 0},
    {"leakyrelu", number_of(ActivationType::kLEAKY_RELU), true, false, 0.01f, 0},
    {"thresholdedrelu", number_of(ActivationType::kTHRESHOLDED_RELU), true, false, 1, 0},
    {"scaledtanh", number_of(ActivationType::kSCALED_TANH), true, true, 1, 1},
    {"hardsigmoid", number_of(ActivationType::kHARD_SIGMOID), true, true, 0.2f, 0.5f},
    {"elu", number_of(ActivationType::kELU), true, false, 1, 0},
    {"softsign", number_of(ActivationType::kSOFTSIGN), false, false, 0, 0},
    {"softplus", number_of(ActivationType::kSOFTPLUS), false, false, 1, 1},
};

const ActivationRow& activation_named(const std::string& name) {
  std::string small;
  for (char c : name) small += static_cast<char>(c >= 'A' && c <= 'Z' ? c + 32 : c);
  for (const ActivationRow& row : kActivations)
    if (small == row.name) return row;
  fail_import(Code::kUNSUPPORTED_NODE_ATTR, "activation '{}' is not supported yet", name);
}

void set_activations(NodeContext& n, Recurrent& op, std::vector<std::string> defaults) {
  std::vector<std::string> names = n.texts_in("activations");
  const auto count = defaults.size() * static_cast<size_t>(op.directions());
  if (names.empty()) {
    names = defaults;
    if (op.directions() == 2) names.insert(names.end(), defaults.begin(), defaults.end());
  }
  if (names.size() != count)
    fail_import(Code::kINVALID_NODE, "attribute 'activations' has {} entries; expected {}",
                names.size(), count);
  // Each activation that has a parameter takes the next number of the list.
  const std::vector<float> alphas = n.reals_in("activation_alpha");
  const std::vector<float> betas = n.reals_in("activation_beta");
  size_t next_alpha = 0, next_beta = 0;
  for (const std::string& name : names) {
    const ActivationRow& row = activation_named(name);
    op.activations.push_back(row.activation);
    op.alpha.push_back(row.takes_alpha && next_alpha < alphas.size() ? alphas[next_alpha++]
                                                                     : row.alpha);
    op.beta.push_back(row.takes_beta && next_beta < betas.size() ? betas[next_beta++] : row.beta);
  }
}

RecurrentDirection direction_of(NodeContext& n) {
  const std::string text = n.text("direction", "forward");
  if (text == "forward") return RecurrentDirection::kForward;
  if (text == "reverse") return RecurrentDirection::kReverse;
  if (text == "bidirectional") return RecurrentDirection::kBidirectional;
  fail_import(Code::kINVALID_NODE,
              "attribute 'direction' is '{}'; expected forward, reverse or bidirectional", text);
}

void add_recurrent(NodeContext& n, RecurrentKind kind, std::vector<std::string> activations,
                   Value& w, Value& r) {
  const bool lstm = kind == RecurrentKind::kLstm;
  auto op = std::make_unique<Recurrent>();
  op->kind_of_cell = kind;
  op->direction = direction_of(n);
  require(n.rank(r) == 3, "R has {} dimensions; expected 3", n.rank(r));
  require(n.has("hidden_size") || r.dims[2]->is_integer_constant(),
          "neither attribute 'hidden_size' nor the shape of R says how many units there are");
  op->hidden_size = n.has("hidden_size") ? n.integer("hidden_size") : r.dims[2]->value.integer;
  op->clip = n.real("clip", 0);
  op->batch_first = n.flag("layout", false);
  if (kind == RecurrentKind::kGru) op->linear_before_reset = n.flag("linear_before_reset", false);
  if (lstm) op->input_forget = n.flag("input_forget", false);
  n.ignore("output_sequence");  // before opset 7: whether Y is wanted
  set_activations(n, *op, std::move(activations));
  std::vector<Value*> inputs{&n.input(0), &w, &r};
  for (int i = Recurrent::kB; i < std::min<int>(n.input_count(), Recurrent::kInputCount); ++i)
    inputs.push_back(!n.has_input(i)                                      ? nullptr
                     : i == Recurrent::kFirstH || i == Recurrent::kFirstC ? &n.input(i)
                                                                          : &n.weight(i));
  const Node& node = n.add_node(std::move(op), std::move(inputs));
  for (size_t i = 0; i < node.outputs.size(); ++i)
    n.set_output(static_cast<int>(i), *node.outputs[i]);
}

void import_recurrent(NodeContext& n, RecurrentKind kind, std::vector<std::string> activations) {
  n.expect_inputs(3, kind == RecurrentKind::kLstm ? 8 : 6);
  add_recurrent(n, kind, std::move(activations), n.weight(1), n.weight(2));
}

const Tensor& constant_tensor(NodeContext& n, int i) {
  const Tensor* t = n.constant_input(i);
  if (t == nullptr) fail_import(Code::kUNSUPPORTED_NODE_INPUT, "input {} must be a constant", i);
  return *t;
}

// 8-bit weights (D, I, 4*H) as the numbers that they stand for, in the order (D, 4*H, I). Scales
// and zero points, at inputs `scale` and `scale + 1`, are one for each direction, or (D, 4*H).
Value& dequantized_weights(NodeContext& n, int i, int scale) {
  const Tensor &quantized = constant_tensor(n, i), &scales = constant_tensor(n, scale),
               &zeros = constant_tensor(n, scale + 1);
  const Shape& shape = quantized.shape();
  require(shape.rank() == 3, "input {} has {} dimensions; expected 3", i, shape.rank());
  const int64_t rows = shape[0] * shape[2], depth = shape[1];
  for (const Tensor* t : {&scales, &zeros})
    require(t->count() == shape[0] || t->count() == rows,
            "input {} has shape {}; its scales and zero points have {} elements", i, shape,
            t->count());
  n.charge(static_cast<size_t>(quantized.count()) * sizeof(float));
  Tensor made(DataType::kFLOAT, Shape{shape[0], shape[2], depth});
  const auto q = quantized.numbers(), s = scales.numbers(), z = zeros.numbers();
  const auto of_row = [&](const std::vector<double>& v, int64_t row) {
    const bool each = static_cast<int64_t>(v.size()) == rows;
    return v[static_cast<size_t>(each ? row : row / shape[2])];
  };
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t k = 0; k < depth; ++k) {
      const int64_t from = (row / shape[2] * depth + k) * shape[2] + row % shape[2];
      made.mutable_data<float>()[row * depth + k] =
          static_cast<float>((q[static_cast<size_t>(from)] - of_row(z, row)) * of_row(s, row));
    }
  return n.network().add_weight(std::move(made), fmt::format("{} [weights {}]", n.node_name(), i));
}

}  // namespace

TENON_IMPORT(RNN, 1, "") {
  import_recurrent(n, RecurrentKind::kPlain, {"Tanh"});
}
TENON_IMPORT(GRU, 1, "") {
  import_recurrent(n, RecurrentKind::kGru, {"Sigmoid", "Tanh"});
}
TENON_IMPORT(LSTM, 1, "") {
  import_recurrent(n, RecurrentKind::kLstm, {"Sigmoid", "Tanh", "Tanh"});
}
TENON_IMPORT_MICROSOFT(DynamicQuantizeLSTM, "constant weights; computes in float32") {
  n.expect_inputs(12, 12);
  add_recurrent(n, RecurrentKind::kLstm, {"Sigmoid", "Tanh", "Tanh"}, dequantized_weights(n, 1, 8),
                dequantized_weights(n, 2, 10));
}

}  // namespace tenon
