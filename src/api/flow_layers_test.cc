// Loops: attributes come back, and networks do what C++ does.
#include "api/flow_test.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(FlowLayers, LoopsKeepTheirAttributes) {
  Model m;
  ITensor& x = m.input("x", {4, 3});
  ILoop* loop = m.network->addLoop();
  ASSERT_NE(loop, nullptr);
  EXPECT_THAT(loop->getName(), HasSubstr("Loop"));
  ITripLimitLayer* limit = loop->addTripLimit(m.number(4), TripLimit::kCOUNT);
  IIteratorLayer* rows = loop->addIterator(x, 0, true);
  IRecurrenceLayer* state =
      loop->addRecurrence(*m.network->addConstant(dims({3}), weights({0, 0, 0}))->getOutput(0));
  ITensor& next = m.sum(*state->getOutput(0), *rows->getOutput(0));
  state->setInput(1, next);
  ILoopOutputLayer* all = loop->addLoopOutput(next, LoopOutput::kREVERSE, 1);
  ILoopOutputLayer* end = loop->addLoopOutput(*state->getOutput(0), LoopOutput::kLAST_VALUE);
  ASSERT_THAT(m.logger.take_errors(), IsEmpty());
  loop->setName("sums");
  EXPECT_STREQ(loop->getName(), "sums");
  for (ILoopBoundaryLayer* layer : std::vector<ILoopBoundaryLayer*>{limit, rows, state, all, end})
    EXPECT_EQ(layer->getLoop(), loop);
  EXPECT_EQ(limit->getType(), LayerType::kTRIP_LIMIT);
  EXPECT_EQ(rows->getType(), LayerType::kITERATOR);
  EXPECT_EQ(state->getType(), LayerType::kRECURRENCE);
  EXPECT_EQ(all->getType(), LayerType::kLOOP_OUTPUT);
  EXPECT_EQ(limit->getTripLimit(), TripLimit::kCOUNT);
  EXPECT_EQ(limit->getNbOutputs(), 0);
  EXPECT_EQ(rows->getAxis(), 0);
  EXPECT_TRUE(rows->getReverse());
  rows->setAxis(1);
  rows->setReverse(false);
  EXPECT_EQ(rows->getAxis(), 1);
  EXPECT_FALSE(rows->getReverse());
  EXPECT_EQ(list(rows->getOutput(0)->getDimensions()), (List{4}));
  rows->setAxis(0);
  EXPECT_EQ(list(rows->getOutput(0)->getDimensions()), (List{3}));
  EXPECT_EQ(all->getLoopOutput(), LoopOutput::kREVERSE);
  EXPECT_EQ(all->getAxis(), 1);
  all->setInput(1, m.number(4));
  EXPECT_EQ(list(all->getOutput(0)->getDimensions()), (List{3, 4}));
  all->setAxis(0);
  EXPECT_EQ(list(all->getOutput(0)->getDimensions()), (List{4, 3}));
  EXPECT_EQ(end->getLoopOutput(), LoopOutput::kLAST_VALUE);
  EXPECT_EQ(list(end->getOutput(0)->getDimensions()), (List{3}));
  EXPECT_EQ(state->getNbInputs(), 2);
  EXPECT_EQ(state->getInput(1), &next);
  EXPECT_THAT(m.logger.take_errors(), IsEmpty());
  EXPECT_EQ(loop->addTripLimit(m.number(3), TripLimit::kCOUNT), nullptr);
  EXPECT_THAT(m.logger.take_errors(), HasSubstr("loop 'sums' has such a trip limit already"));
  EXPECT_EQ(loop->addTripLimit(m.number(3), static_cast<TripLimit>(9)), nullptr);
  EXPECT_EQ(loop->addLoopOutput(next, static_cast<LoopOutput>(9)), nullptr);
  loop->setName(nullptr);
  end->setInput(1, m.number(4));
  EXPECT_THAT(m.logger.take_errors(), HasSubstr("has no input 1"));
  EXPECT_STREQ(loop->getName(), "sums");
}

TEST(FlowLayers, CountedLoop) {
  Model m;
  ITensor &x = m.input("x", {2}), &count = m.input("count", {}, DataType::kINT32);
  ILoop& loop = m.counted(count);
  IRecurrenceLayer& state = *loop.addRecurrence(m.constant<float>(DataType::kFLOAT, {2}, {1, 0}));
  state.setInput(1, m.sum(*state.getOutput(0), x));
  ASSERT_TRUE(m.compile(m.last(loop, *state.getOutput(0)))) << m.logger.take_errors();
  const Floats in{2, 3};
  for (const int32_t n : {0, 1, 5, -2}) {
    const auto times = static_cast<float>(std::max(n, 0));
    EXPECT_THAT(m.run({{"x", in}, {"count", n}}), ElementsAre(1 + 2 * times, 3 * times));
  }
}

// The condition is that of the iteration which it precedes: with none, the first value comes out.
TEST(FlowLayers, WhileLoop) {
  Model m;
  ITensor &factor = m.input("factor", {}), &limit = m.input("limit", {});
  ILoop& loop = *m.network->addLoop();
  IRecurrenceLayer& power = *loop.addRecurrence(m.real(1));
  loop.addTripLimit(m.apply(Op::kLESS, *power.getOutput(0), limit), TripLimit::kWHILE);
  power.setInput(1, m.product(*power.getOutput(0), factor));
  ASSERT_TRUE(m.compile(m.last(loop, *power.getOutput(0)))) << m.logger.take_errors();
  for (const auto& [f, bound] : {std::pair(2.f, 100.f), {3.f, 81.f}, {5.f, 1.f}, {5.f, 0.f}}) {
    float expected = 1;
    while (expected < bound) expected *= f;
    EXPECT_THAT(m.run({{"factor", f}, {"limit", bound}}), ElementsAre(expected));
  }
}

// An iteration whose condition is false is not run: here it would read beyond the tensor.
TEST(FlowLayers, NothingRunsAfterTheCondition) {
  Model m;
  ITensor& x = m.input("x", {3});
  ILoop& loop = *m.network->addLoop();
  ITensor& i = m.counter(loop, 0);
  loop.addTripLimit(m.apply(Op::kLESS, i, m.number(3)), TripLimit::kWHILE);
  IRecurrenceLayer& total = *loop.addRecurrence(m.real(0));
  total.setInput(1, m.sum(*total.getOutput(0), *m.network->addGather(x, i, 0)->getOutput(0)));
  ASSERT_TRUE(m.compile(m.last(loop, *total.getOutput(0)))) << m.logger.take_errors();
  const Floats in{1, 2, 4};
  EXPECT_THAT(m.run({{"x", in}}), ElementsAre(7));
}

// Both limits: the one that comes first ends the loop.
TEST(FlowLayers, TwoLimits) {
  Model m;
  ITensor &count = m.input("count", {}, DataType::kINT32),
          &limit = m.input("limit", {}, DataType::kINT32);
  ILoop& loop = m.counted(count);
  ITensor& i = m.counter(loop, 0);
  ASSERT_NE(loop.addTripLimit(m.apply(Op::kLESS, i, limit), TripLimit::kWHILE), nullptr);
  ASSERT_TRUE(m.compile(m.last(loop, i))) << m.logger.take_errors();
  for (const auto& [a, b] : {std::pair(3, 5), {5, 3}, {0, 2}})
    EXPECT_THAT(m.run<int32_t>({{"count", a}, {"limit", b}}), ElementsAre(std::min(a, b)));
}

TEST(FlowLayers, Iterators) {
  for (const bool reverse : {false, true}) {
    Model m;
    ITensor& x = m.input("x", {2, 3});
    ILoop& loop = m.counted(m.number(3));
    IIteratorLayer& columns = *loop.addIterator(x, 1, reverse);
    IRecurrenceLayer& state = *loop.addRecurrence(m.constant<float>(DataType::kFLOAT, {2}, {0, 0}));
    ITensor& ten = m.constant<float>(DataType::kFLOAT, {1}, {10});
    state.setInput(1, m.sum(m.product(*state.getOutput(0), ten), *columns.getOutput(0)));
    ASSERT_TRUE(m.compile(m.last(loop, *state.getOutput(0)))) << m.logger.take_errors();
    const Floats in{1, 2, 3, 4, 5, 6};
    EXPECT_THAT(m.run({{"x", in}}), reverse ? ElementsAre(321, 654) : ElementsAre(123, 456));
  }
}

// An iterator may be longer than the loop. Backwards, it begins at its end.
TEST(FlowLayers, IteratorsBeyondTheCount) {
  Model m;
  ITensor &x = m.input("x", {4}), &count = m.input("count", {}, DataType::kINT32);
  ILoop& loop = m.counted(count);
  ITensor &forth = *loop.addIterator(x)->getOutput(0),
          &back = *loop.addIterator(x, 0, true)->getOutput(0);
  IRecurrenceLayer& state = *loop.addRecurrence(m.real(0));
  state.setInput(1, m.sum(*state.getOutput(0), m.product(forth, back)));
  ASSERT_TRUE(m.compile(m.last(loop, *state.getOutput(0)))) << m.logger.take_errors();
  const Floats in{1, 2, 3, 5};
  int32_t n = 2;
  EXPECT_THAT(m.run({{"x", in}, {"count", n}}), ElementsAre(1 * 5 + 2 * 3));
  n = 5;
  EXPECT_FALSE(m.enqueue({{"x", in}, {"count", n}}));
  EXPECT_THAT(m.logger.take_errors(),
              HasSubstr("scanned tensor 0 has 4 slices; the loop has 5 iterations"));
}

TEST(FlowLayers, CollectedOutputs) {
  struct Case {
    LoopOutput kind;
    int32_t axis;
    List shape;
    Floats expected;
  };
  for (const Case& c : {Case{LoopOutput::kCONCATENATE, 0, {3, 2}, {1, 2, 2, 4, 3, 6}},
                        Case{LoopOutput::kCONCATENATE, 1, {2, 3}, {1, 2, 3, 2, 4, 6}},
                        Case{LoopOutput::kREVERSE, 0, {3, 2}, {3, 6, 2, 4, 1, 2}},
                        Case{LoopOutput::kREVERSE, 1, {2, 3}, {3, 2, 1, 6, 4, 2}}}) {
    Model m;
    ITensor &x = m.input("x", {2}), &three = m.number(3);
    ILoop& loop = m.counted(three);
    IRecurrenceLayer& state = *loop.addRecurrence(m.constant<float>(DataType::kFLOAT, {2}, {0, 0}));
    ITensor& next = m.sum(*state.getOutput(0), x);
    state.setInput(1, next);
    ITensor& result = m.loop_output(loop, next, c.kind, c.axis, three);
    EXPECT_EQ(list(result.getDimensions()), c.shape);
    ASSERT_TRUE(m.compile(result)) << m.logger.take_errors();
    EXPECT_EQ(list(m.network_engine->getTensorShape("result")), c.shape);
    const Floats in{1, 2};
    EXPECT_EQ(m.run({{"x", in}}), c.expected);
    EXPECT_EQ(m.output.shape, c.shape);
  }
}

// The length of an output may be more than there are iterations, but not less.
TEST(FlowLayers, LengthsOfCollectedOutputs) {
  for (const LoopOutput kind : {LoopOutput::kCONCATENATE, LoopOutput::kREVERSE}) {
    Model m;
    ITensor& limit = m.input("limit", {}, DataType::kINT32);
    ILoop& loop = *m.network->addLoop();
    ITensor& i = m.counter(loop, 1);
    loop.addTripLimit(m.apply(Op::kLESS, i, limit), TripLimit::kWHILE);
    ITensor& result = m.loop_output(loop, i, kind, 0, m.number(4));
    ASSERT_TRUE(m.compile(result)) << m.logger.take_errors();
    int32_t n = 4;
    if (kind == LoopOutput::kREVERSE)
      EXPECT_THAT(m.run<int32_t>({{"limit", n}}), ElementsAre(0, 3, 2, 1));
    else
      EXPECT_THAT(m.run<int32_t>({{"limit", n}}), ElementsAre(1, 2, 3, 0));
    n = 1;
    EXPECT_THAT(m.run<int32_t>({{"limit", n}}), ElementsAre(0, 0, 0, 0));
    n = 9;
    EXPECT_FALSE(m.enqueue({{"limit", n}}));
    EXPECT_THAT(m.logger.take_errors(),
                HasSubstr("the loop made 8 iterations; the length of an output is 4"));
  }
}

// Running sums over an axis whose extent the input decides, and so the output's.
TEST(FlowLayers, DynamicShapes) {
  Model m;
  ITensor& x = m.input("x", {-1, -1});
  IOptimizationProfile* p = m.builder->createOptimizationProfile();
  p->setDimensions("x", OptProfileSelector::kMIN, dims({0, 1}));
  p->setDimensions("x", OptProfileSelector::kOPT, dims({3, 2}));
  p->setDimensions("x", OptProfileSelector::kMAX, dims({9, 9}));
  m.config->addOptimizationProfile(p);
  ITensor& shape = *m.network->addShape(x)->getOutput(0);
  ITensor& rows = *m.network->addGather(shape, m.number(0), 0)->getOutput(0);
  ILoop& loop = m.counted(rows);
  ITensor& row = *loop.addIterator(x)->getOutput(0);
  const auto sum = m.network->addReduce(x, ReduceOperation::kSUM, 1, false);
  ITensor& zeros = m.apply(Op::kSUB, *sum->getOutput(0), *sum->getOutput(0));
  IRecurrenceLayer& state = *loop.addRecurrence(zeros);
  ITensor& next = m.sum(*state.getOutput(0), row);
  state.setInput(1, next);
  ASSERT_TRUE(m.compile(m.loop_output(loop, next, LoopOutput::kCONCATENATE, 0, rows)))
      << m.logger.take_errors();
  const Floats in{1, 2, 3, 4, 5, 6};
  EXPECT_THAT(m.run({{"x", in, {3, 2}}}), ElementsAre(1, 2, 4, 6, 9, 12));
  EXPECT_EQ(m.output.shape, (List{3, 2}));
  EXPECT_THAT(m.run({{"x", in, {2, 3}}}), ElementsAre(1, 2, 3, 5, 7, 9));
  EXPECT_THAT(m.run({{"x", in, {1, 6}}}), ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(m.run({{"x", in, {0, 4}}}), IsEmpty());
  EXPECT_EQ(m.output.shape, (List{0, 4}));
}

// The count is a shape tensor of the network, or what a layer computes; the output is as long.
TEST(FlowLayers, LengthsThatOnlyTheRunTells) {
  for (const bool computed : {false, true}) {
    Model m;
    ITensor& n = m.input("n", {}, DataType::kINT32);
    ITensor& x = m.input("x", {2});
    ITensor* count = &n;
    if (computed) {  // the largest element of x
      ITensor& largest = *m.network->addReduce(x, ReduceOperation::kMAX, 1, false)->getOutput(0);
      count = m.network->addCast(largest, DataType::kINT32)->getOutput(0);
    }
    IOptimizationProfile* p = m.builder->createOptimizationProfile();
    const int64_t low = 0, usual = 3, high = 9;
    if (!computed) {
      p->setShapeValuesV2("n", OptProfileSelector::kMIN, &low, 1);
      p->setShapeValuesV2("n", OptProfileSelector::kOPT, &usual, 1);
      p->setShapeValuesV2("n", OptProfileSelector::kMAX, &high, 1);
      m.config->addOptimizationProfile(p);
    }
    ILoop& loop = m.counted(*count);
    ITensor& row = m.sum(*m.network->addShuffle(m.counter(loop, 1))->getOutput(0), m.number(0));
    ITensor& result = m.loop_output(loop, row, LoopOutput::kCONCATENATE, 0, *count);
    EXPECT_EQ(list(result.getDimensions()), (List{-1}));
    ASSERT_TRUE(m.compile(result)) << m.logger.take_errors();
    for (const int32_t length : {3, 0, 5}) {
      const float elements[] = {-1, static_cast<float>(length)};
      std::vector<int32_t> expected(static_cast<size_t>(length));
      std::iota(expected.begin(), expected.end(), 1);
      EXPECT_EQ(m.run<int32_t>({{"n", length}, {"x", elements}}), expected);
    }
  }
}

// h = h * w + slice of x, for a batch whose size the input decides; the states of all steps, and
// then a second loop over them.
TEST(FlowLayers, RecurrentNetwork) {
  Model m;
  ITensor& x = m.input("x", {3, -1, 2});
  IOptimizationProfile* p = m.builder->createOptimizationProfile();
  p->setDimensions("x", OptProfileSelector::kMIN, dims({3, 1, 2}));
  p->setDimensions("x", OptProfileSelector::kOPT, dims({3, 2, 2}));
  p->setDimensions("x", OptProfileSelector::kMAX, dims({3, 4, 2}));
  m.config->addOptimizationProfile(p);
  const Floats w{1, 2, -1, 0.5f};
  ITensor& weight = m.constant<float>(DataType::kFLOAT, {2, 2}, w);
  ITensor& steps = m.number(3);
  ILoop& loop = m.counted(steps);
  ITensor& slice = *loop.addIterator(x)->getOutput(0);
  ITensor& zeros =
      m.product(*m.network->addReduce(x, ReduceOperation::kSUM, 1, false)->getOutput(0),
                m.constant<float>(DataType::kFLOAT, {1, 1}, {0}));
  IRecurrenceLayer& h = *loop.addRecurrence(zeros);
  ITensor& product = *m.network
                          ->addMatrixMultiply(*h.getOutput(0), MatrixOperation::kNONE, weight,
                                              MatrixOperation::kNONE)
                          ->getOutput(0);
  ITensor& next = m.sum(product, slice);
  h.setInput(1, next);
  ITensor& states = m.loop_output(loop, next, LoopOutput::kCONCATENATE, 0, steps);
  ILoop& second = m.counted(steps);
  IRecurrenceLayer& largest = *second.addRecurrence(zeros);
  largest.setInput(1, m.apply(Op::kMAX, *largest.getOutput(0),
                              *second.addIterator(states, 0, true)->getOutput(0)));
  ASSERT_TRUE(m.compile(m.last(second, *largest.getOutput(0)))) << m.logger.take_errors();
  for (const size_t batch : {1, 4, 2}) {
    Floats in(3 * batch * 2);
    for (size_t i = 0; i < in.size(); ++i) in[i] = static_cast<float>(i % 7) - 3;
    Floats state(batch * 2), expected(batch * 2);
    for (size_t step = 0; step < 3; ++step)
      for (size_t n = 0; n < batch; ++n) {
        float* s = &state[2 * n];
        const float *row = &in[(step * batch + n) * 2], a = s[0], b = s[1];
        for (size_t k = 0; k < 2; ++k) {
          s[k] = a * w[k] + b * w[2 + k] + row[k];
          expected[2 * n + k] = std::max(expected[2 * n + k], s[k]);
        }
      }
    EXPECT_EQ(m.run({{"x", in, {3, static_cast<int64_t>(batch), 2}}}), expected);
  }
}

// A length that no memory can hold is an error.
TEST(FlowLayers, LengthsBeyondMemory) {
  Model m;
  ITensor &x = m.input("x", {1000}, DataType::kHALF), &n = m.input("n", {}, DataType::kINT32);
  ILoop& loop = *m.network->addLoop();
  ITensor& i = m.counter(loop, 0);
  loop.addTripLimit(m.apply(Op::kLESS, i, n), TripLimit::kWHILE);
  IRecurrenceLayer& state = *loop.addRecurrence(x);
  state.setInput(1, m.sum(*state.getOutput(0), *state.getOutput(0)));
  ITensor& result = m.loop_output(loop, *state.getOutput(0), LoopOutput::kCONCATENATE, 1,
                                  m.constant<int64_t>(DataType::kINT64, {}, {int64_t{1} << 61}));
  const std::vector<uint16_t> data(1000);
  const int32_t none = 0;
  EXPECT_FALSE(m.compile(result) && m.enqueue({{"x", data}, {"n", none}}));
  EXPECT_THAT(m.logger.take_errors(), HasSubstr("more elements than fit 64 bits"));
}

// for i in 1..n: total += x * (1 + … + i); the inner loop's count is the outer's counter.
TEST(FlowLayers, NestedLoops) {
  Model m;
  ITensor &x = m.input("x", {}), &n = m.input("n", {}, DataType::kINT32);
  ILoop& outer = m.counted(n);
  ITensor& i = m.counter(outer, 1);
  IRecurrenceLayer& total = *outer.addRecurrence(m.real(0));
  ILoop& inner = m.counted(i);
  ITensor& j = m.counter(inner, 1);
  IRecurrenceLayer& part = *inner.addRecurrence(m.real(0));
  ITensor& term = m.product(x, *m.network->addCast(j, DataType::kFLOAT)->getOutput(0));
  part.setInput(1, m.sum(*part.getOutput(0), term));
  total.setInput(1, m.sum(*total.getOutput(0), m.last(inner, *part.getOutput(0))));
  ASSERT_TRUE(m.compile(m.last(outer, *total.getOutput(0)))) << m.logger.take_errors();
  const float factor = 0.5f;
  for (const int32_t count : {0, 1, 4}) {
    float expected = 0;
    for (int a = 1; a <= count; ++a)
      for (int b = 1; b <= a; ++b) expected += factor * static_cast<float>(b);
    EXPECT_THAT(m.run({{"x", factor}, {"n", count}}), ElementsAre(expected));
  }
}

// An inner loop that reads a state of the outer one, and collects; a table of products.
TEST(FlowLayers, NestedLoopsCollect) {
  Model m;
  ITensor& x = m.input("x", {3});
  ITensor& three = m.number(3);
  ILoop &outer = m.counted(three), &inner = m.counted(three);
  ITensor& a = *outer.addIterator(x)->getOutput(0);
  ITensor& b = *inner.addIterator(x)->getOutput(0);
  ITensor& row = m.loop_output(inner, m.product(a, b), LoopOutput::kCONCATENATE, 0, three);
  ASSERT_TRUE(m.compile(m.loop_output(outer, row, LoopOutput::kREVERSE, 0, three)))
      << m.logger.take_errors();
  const Floats in{1, 2, 3};
  EXPECT_THAT(m.run({{"x", in}}), ElementsAre(3, 6, 9, 2, 4, 6, 1, 2, 3));
  EXPECT_EQ(m.output.shape, (List{3, 3}));
}

}  // namespace
}  // namespace tenon::testing
