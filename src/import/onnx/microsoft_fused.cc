// ONNX Runtime's fused operators, and those of com.microsoft that mean the same as standard ones;
// semantics from its ContribOperators.md.
#include "import/node.h"
#include "ops/matrix_multiply.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;
using nvinfer1::MatrixOperation;
using Operation = nvinfer1::ElementWiseOperation;
using Code = nvonnxparser::ErrorCode;

// The activation that "activation" names, with up to two parameters.
Value& activated(NodeContext& n, Value& x, float alpha, float beta, bool has_parameters) {
  struct Row {
    const char* name;
    ActivationType type;
    float alpha, beta;  // defaults
  };
  constexpr Row kRows[] = {{"Relu", ActivationType::kRELU, 0, 0},
                           {"Sigmoid", ActivationType::kSIGMOID, 0, 0},
                           {"Tanh", ActivationType::kTANH, 0, 0},
                           {"LeakyRelu", ActivationType::kLEAKY_RELU, 0.01f, 0},
                           {"Elu", ActivationType::kELU, 1, 0},
                           {"Clip", ActivationType::kCLIP, -3.4e38f, 3.4e38f},
                           {"HardSigmoid", ActivationType::kHARD_SIGMOID, 0.2f, 0.5f},
                           {"ThresholdedRelu", ActivationType::kTHRESHOLDED_RELU, 1, 0},
                           {"Softsign", ActivationType::kSOFTSIGN, 0, 0},
                           {"Softplus", ActivationType::kSOFTPLUS, 1, 1}};
  const std::string name = n.text("activation", "");
  if (name.empty()) return x;
  for (const Row& row : kRows)
    if (name == row.name) {
      const bool given = has_parameters && row.type != ActivationType::kSOFTPLUS;
      return n.activation(row.type, x, given ? alpha : row.alpha, given ? beta : row.beta);
    }
  fail_import(Code::kUNSUPPORTED_NODE_ATTR,
              "attribute 'activation' is '{}', which is not supported yet", name);
}

// x with its last two axes swapped, or as it is.
MatrixOperation operation(NodeContext& n, const char* attribute, const Value& x) {
  const bool transposed = n.flag(attribute, false) && n.rank(x) > 1;
  return n.rank(x) == 1 ? MatrixOperation::kVECTOR
         : transposed   ? MatrixOperation::kTRANSPOSE
                        : MatrixOperation::kNONE;
}

void import_fused_product(NodeContext& n) {
  n.expect_inputs(2, 2);
  if (n.flag("transBatchA", false) || n.flag("transBatchB", false))
    fail_import(Code::kUNSUPPORTED_NODE_ATTR,
                "attributes 'transBatchA' and 'transBatchB' are not supported yet");
  Value *a = &n.input(0), *b = &n.input(1);
  const float alpha = n.real("alpha", 1);
  auto op = std::make_unique<MatrixMultiply>();
  op->operation_a = operation(n, "transA", *a);
  op->operation_b = operation(n, "transB", *b);
  const bool vector_a = n.rank(*a) == 1, vector_b = n.rank(*b) == 1;
  const int rank = std::max(n.rank(*a) + vector_a, n.rank(*b) + vector_b);
  Value& y =
      n.add(std::move(op), {&n.with_rank(*a, rank - vector_a), &n.with_rank(*b, rank - vector_b)});
  n.set_output(0, alpha == 1 ? y : n.binary(Operation::kPROD, y, alpha));
}

}  // namespace

TENON_IMPORT_MICROSOFT(FusedConv, "1 to 3 spatial axes") {
  n.expect_inputs(2, 4);
  Value* added = n.optional_input(3);
  const std::vector<float> parameters = n.reals_in("activation_params");
  n.import_as("Conv", 11, 3);
  Value* y = n.output(0);
  if (added != nullptr) y = &n.binary(Operation::kSUM, *y, *added);
  n.set_output(0, activated(n, *y, parameters.empty() ? 0 : parameters[0],
                            parameters.size() < 2 ? 0 : parameters[1], !parameters.empty()));
}

TENON_IMPORT_MICROSOFT(FusedGemm, "") {
  const bool has_alpha = n.has("activation_alpha");
  const float alpha = n.real("activation_alpha", 0), beta = n.real("activation_beta", 0);
  n.ignore("activation_gamma");
  n.import_as("Gemm", 13);
  n.set_output(0, activated(n, *n.output(0), alpha, beta, has_alpha));
}

TENON_IMPORT_MICROSOFT_AS(FusedMatMul, "no transBatchA or transBatchB", import_fused_product);
TENON_IMPORT_MICROSOFT_AS(TransposeMatMul, "", import_fused_product);

TENON_IMPORT_MICROSOFT(BiasSoftmax, "") {
  n.expect_inputs(2, 2);
  n.ignore("is_inner_broadcast");  // the shapes say it
  Value& x = n.binary(Operation::kSUM, n.input(0), n.input(1));
  const int axis = normalized_axis(n.integer("axis", 1), n.rank(x));
  // The axes from `axis` on are one.
  Dims rows(x.dims.begin(), x.dims.begin() + axis);
  Dim rest = n.number(1);
  for (int i = axis; i < n.rank(x); ++i) rest = n.pool().mul(rest, x.dims[static_cast<size_t>(i)]);
  rows.push_back(rest);
  n.know(x);
  n.set_output(0, n.reshape(n.softmax(n.reshape(x, rows), axis), x.dims));
}

TENON_IMPORT_MICROSOFT(ExpandDims, "the axis must be constant") {
  n.expect_inputs(2, 2);
  Value& x = n.input(0);
  const auto axes = n.integers_of(1, "the axis");
  require(axes.size() == 1, "{} axes are given; expected 1", axes.size());
  const int axis = normalized_axis(axes[0], n.rank(x) + 1);
  std::vector<int> source;
  for (int i = 0; i < n.rank(x); ++i) source.push_back(i);
  source.insert(source.begin() + axis, -1);
  n.set_output(0, n.rearrange(x, source));
}

TENON_IMPORT_MICROSOFT(Pad, "axes must be constant") {
  n.import_as("Pad", 13);
}
TENON_IMPORT_MICROSOFT(GatherND, "") {
  n.import_as("GatherND", 12);
}
TENON_IMPORT_MICROSOFT(Trilu, "") {
  n.import_as("Trilu", 14);
}
TENON_IMPORT_MICROSOFT(GridSample, "4 or 5 dimensions") {
  n.import_as("GridSample", 16);
}

}  // namespace tenon
