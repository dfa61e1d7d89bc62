// Activation functions of com.microsoft; semantics from ONNX Runtime's ContribOperators.md.
#include "import/node.h"

namespace tenon {
namespace {

using nvinfer1::ActivationType;
using Operation = nvinfer1::ElementWiseOperation;

Value& with_bias(NodeContext& n, Value& x) {
  return n.has_input(1) ? n.binary(Operation::kSUM, x, n.input(1)) : x;
}

}  // namespace

TENON_IMPORT_MICROSOFT(Gelu, "") {
  n.expect_inputs(1, 1);
  n.set_output(0, n.activation(ActivationType::kGELU_ERF, n.input(0)));
}

TENON_IMPORT_MICROSOFT(FastGelu, "") {
  n.expect_inputs(1, 2);
  n.set_output(0, n.activation(ActivationType::kGELU_TANH, with_bias(n, n.input(0))));
}

TENON_IMPORT_MICROSOFT(BiasGelu, "") {
  n.expect_inputs(2, 2);
  n.set_output(0, n.activation(ActivationType::kGELU_ERF, with_bias(n, n.input(0))));
}

TENON_IMPORT_MICROSOFT(QuickGelu, "") {
  n.expect_inputs(1, 1);
  Value& x = n.input(0);
  const float alpha = n.real("alpha", 1.702f);
  Value& gate = n.activation(ActivationType::kSIGMOID, n.binary(Operation::kPROD, x, alpha));
  n.set_output(0, n.binary(Operation::kPROD, x, gate));
}

}  // namespace tenon
