// Functions of matrices.
#include "import/node.h"
#include "ops/determinant.h"

namespace tenon {

TENON_IMPORT(Det, 11, "") {
  n.expect_inputs(1, 1);
  n.set_output(0, n.add(std::make_unique<Determinant>(), {&n.input(0)}));
}

}  // namespace tenon
