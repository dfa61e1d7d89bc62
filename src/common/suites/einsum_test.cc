#include "ops/einsum.h"

#include "common/suites/float_types_testing.h"

namespace tenon {
namespace {

struct EinsumCase {
  std::string equation;
  Shape a, b;
};

TEST(EinsumTest, EqualsReference) {
  for (const DataType type : kFloatTypes)
    for (const EinsumCase& c :
         {EinsumCase{"ij,jk->ik", {5, 7}, {7, 3}},
          EinsumCase{"ij,jk->ki", {5, 7}, {7, 3}},  // the transpose
          EinsumCase{"ji,kj->ik", {7, 5}, {3, 7}}, EinsumCase{"ij,j->i", {5, 7}, {7}},
          EinsumCase{"i,i->", {7}, {7}}, EinsumCase{"i,j->ij", {4}, {6}},
          EinsumCase{"bij,bjk->bik", {2, 5, 7}, {2, 7, 3}},
          EinsumCase{"bhid,bhjd->bhij", {2, 3, 5, 8}, {2, 3, 4, 8}},
          EinsumCase{"bihd,bjhd->bhij", {2, 5, 3, 8}, {2, 4, 3, 8}},
          EinsumCase{"bhij,bjhd->bihd", {2, 3, 5, 4}, {2, 4, 3, 8}},
          EinsumCase{"bij,jkl->bikl", {2, 5, 7}, {7, 3, 4}},
          EinsumCase{"bijk,jkl->bil", {2, 5, 3, 4}, {3, 4, 6}},
          EinsumCase{"...ij,...jk->...ik", {2, 1, 5, 7}, {3, 7, 4}},
          EinsumCase{"nchw,cd->nhwd", {2, 6, 3, 4}, {6, 5}},
          EinsumCase{"ijk,jl->kil", {3, 4, 5}, {4, 6}}, EinsumCase{"ij,jk->ik", {0, 7}, {7, 3}},
          EinsumCase{"ij,jk->ik", {5, 0}, {0, 3}}, EinsumCase{"ij,jk->ik", {1, 7}, {7, 1}}}) {
      SCOPED_TRACE(fmt::format("{}: {} of {} and {}", name_of(type), c.equation, c.a, c.b));
      Einsum op;
      op.equation = c.equation;
      expect_as_reference(op, in_type(type, {data(c.a, 1), data(c.b, 2)}), tolerance_of(type));
    }
}

}  // namespace
}  // namespace tenon
