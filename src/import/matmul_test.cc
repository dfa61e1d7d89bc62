#include <onnx_schema.pb.h>

#include "import/one_node.h"

namespace tenon {
namespace {

using ::testing::HasSubstr;
using testing::OneNode;
using Type = onnx::TensorProto;

OneNode product(int32_t type) {
  return OneNode("Gemm", 13).input({2, 3}, type).input({3, 4}, type).input({4}, type);
}

TEST(MatMul, ProductsOfIntegersAreScaledByWholeNumbers) {
  for (const char* attribute : {"alpha", "beta"}) {
    EXPECT_THAT(product(Type::INT32).set_real(attribute, 0.5F).error(),
                HasSubstr(fmt::format("attribute '{}' is 0.5; products of integers", attribute)));
    EXPECT_EQ(product(Type::INT32).set_real(attribute, 2.0F).error(), "");
    EXPECT_EQ(product(Type::FLOAT).set_real(attribute, 0.5F).error(), "");
  }
}

}  // namespace
}  // namespace tenon
