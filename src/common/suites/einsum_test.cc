#include "ops/einsum.h"

#include "common/suites/float_types_testing.h"

namespace tenon {
namespace {

struct Case {
  std::string equation;
  Shape a, b;
};

TEST(EinsumTest, EqualsReference) {
  for (const DataType type : kFloatTypes)
    for (const Case& c :
         {Case{"ij,jk->ik", {5, 7}, {7, 3}}, Case{"ij,jk->ki", {5, 7}, {7, 3}},  // the transpose
          Case{"ji,kj->ik", {7, 5}, {3, 7}}, Case{"ij,j->i", {5, 7}, {7}}, Case{"i,i->", {7}, {7}},
          Case{"i,j->ij", {4}, {6}}, Case{"bij,bjk->bik", {2, 5, 7}, {2, 7, 3}},
          Case{"bhid,bhjd->bhij", {2, 3, 5, 8}, {2, 3, 4, 8}},
          Case{"bihd,bjhd->bhij", {2, 5, 3, 8}, {2, 4, 3, 8}},
          Case{"bhij,bjhd->bihd", {2, 3, 5, 4}, {2, 4, 3, 8}},
          Case{"bij,jkl->bikl", {2, 5, 7}, {7, 3, 4}},
          Case{"bijk,jkl->bil", {2, 5, 3, 4}, {3, 4, 6}},
          Case{"...ij,...jk->...ik", {2, 1, 5, 7}, {3, 7, 4}},
          Case{"nchw,cd->nhwd", {2, 6, 3, 4}, {6, 5}}, Case{"ijk,jl->kil", {3, 4, 5}, {4, 6}},
          Case{"ij,jk->ik", {0, 7}, {7, 3}}, Case{"ij,jk->ik", {5, 0}, {0, 3}},
          Case{"ij,jk->ik", {1, 7}, {7, 1}}}) {
      SCOPED_TRACE(fmt::format("{}: {} of {} and {}", name_of(type), c.equation, c.a, c.b));
      Einsum op;
      op.equation = c.equation;
      expect_as_reference(op, in_type(type, {data(c.a, 1), data(c.b, 2)}), tolerance_of(type));
    }
}

}  // namespace
}  // namespace tenon
