#include "ops/pointwise.h"
#include "optimize/pass_test.h"

namespace tenon {
namespace {

using namespace testing;
using nvinfer1::UnaryOperation;
using Operation = ElementWiseOperation;

Value& quotient(Model& m, Value& a, Value& b) {
  return m.elementwise(a, Operation::kDIV, b);
}

Value& clipped(Model& m, Value& x) {
  return m.activation(m.sum(x, m.number(3)), ActivationType::kCLIP, 0, 6);
}

// The program of the one layer that is left.
std::string left_of(const Model& m) {
  const auto after = rewritten(m.network, known_activations);
  if (after->nodes().size() != 1) return fmt::format("{} layers", after->nodes().size());
  const auto* op = after->nodes()[0]->as<Pointwise>();
  return op == nullptr ? "another layer" : op->program.str();
}

constexpr const char* kHardSwish = "t0 = hard_sigmoid(x0, 0.16666667, 0.5); t1 = prod(x0, t0)";

TEST(KnownActivations, HardSwishInEveryOrder) {
  for (int form = 0; form < 5; ++form) {
    SCOPED_TRACE(form);
    Model m;
    Value& x = m.input({2, 3, 4, 5});
    Value& clip = clipped(m, x);
    m.output(form == 0   ? quotient(m, m.product(x, clip), m.number(6))
             : form == 1 ? m.product(m.number(1 / 6.f), m.product(clip, x))
             : form == 2 ? m.product(x, quotient(m, clip, m.number(6)))
             : form == 3 ? m.product(m.product(clip, m.number(1 / 6.f)), x)
                         : m.product(m.product(x, m.number(1 / 6.f)), clip));
    EXPECT_EQ(left_of(m), kHardSwish);
  }
}

TEST(KnownActivations, HardSigmoid) {
  Model m;
  Value& x = m.input({2, 3, 4, 5});
  m.output(quotient(m, clipped(m, x), m.number(6)));
  EXPECT_EQ(left_of(m), "t0 = hard_sigmoid(x0, 0.16666667, 0.5)");
}

TEST(KnownActivations, GeluByErf) {
  for (int form = 0; form < 4; ++form) {
    SCOPED_TRACE(form);
    Model m;
    Value& x = m.input({2, 3, 4, 5});
    Value& argument = form % 2 == 0 ? quotient(m, x, m.number(std::sqrt(2.f)))
                                    : m.product(x, m.number(std::sqrt(0.5f)));
    Value& gate = m.sum(m.unary(UnaryOperation::kERF, argument), m.number(1));
    m.output(form < 2    ? m.product(m.product(x, gate), m.number(0.5f))
             : form == 2 ? m.product(m.product(x, m.number(0.5f)), gate)
                         : m.product(x, m.product(m.number(0.5f), gate)));
    EXPECT_EQ(left_of(m), "t0 = gelu_erf(x0)");
  }
}

TEST(KnownActivations, GeluByTanh) {
  for (const bool by_power : {false, true}) {
    Model m;
    Value& x = m.input({2, 3, 4, 5});
    Value& cube =
        by_power ? m.elementwise(x, Operation::kPOW, m.number(3)) : m.product(m.product(x, x), x);
    Value& sum = m.sum(x, m.product(cube, m.number(0.044715f)));
    Value& argument = m.product(sum, m.number(0.7978845608f));
    Value& gate = m.sum(m.activation(argument, ActivationType::kTANH), m.number(1));
    m.output(m.product(m.product(x, m.number(0.5f)), gate));
    EXPECT_EQ(left_of(m), "t0 = gelu_tanh(x0)");
  }
}

TEST(KnownActivations, OthersStay) {
  {
    Model m;  // another factor
    Value& x = m.input({2, 3, 4, 5});
    m.output(quotient(m, m.product(x, clipped(m, x)), m.number(5)));
    EXPECT_EQ(left_of(m), "4 layers");
  }
  {
    Model m;  // gated by something else
    Value& x = m.input({2, 3, 4, 5});
    Value& z = m.input({2, 3, 4, 5}, "z");
    m.output(quotient(m, m.product(z, clipped(m, x)), m.number(6)));
    EXPECT_EQ(left_of(m), "4 layers");
  }
  {
    Model m;  // the middle is needed
    Value& x = m.input({2, 3, 4, 5});
    Value& clip = clipped(m, x);
    m.output(clip, "middle");
    m.output(quotient(m, m.product(x, clip), m.number(6)));
    EXPECT_EQ(left_of(m), "4 layers");
  }
}

}  // namespace
}  // namespace tenon
