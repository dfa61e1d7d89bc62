// What may cross the borders of loops, and loops that cannot be built.
#include <array>

#include "api/flow_test.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

// A loop of one recurrence x -> x + step.
struct Small : Model {
  ITensor& x = input("x", {2});
  ILoop& loop = *network->addLoop();
  IRecurrenceLayer& state = *loop.addRecurrence(x);
  ITensor& next = sum(*state.getOutput(0), constant<float>(DataType::kFLOAT, {1}, {1}));
  ITensor& result = last(loop, *state.getOutput(0));
  Small() { loop.setName("small"); }
};

TEST(FlowBoundaries, LoopsThatAreNotComplete) {
  {
    Small m;
    m.state.setInput(1, m.next);
    EXPECT_THAT(m.refusal(m.result), HasSubstr("loop 'small': it has no trip limit"));
  }
  {
    Small m;
    m.loop.addTripLimit(m.number(2), TripLimit::kCOUNT);
    m.state.setName("state");
    EXPECT_THAT(m.refusal(m.result), HasSubstr("loop 'small': layer state (Recurrence): the value "
                                               "for the next iteration is missing"));
  }
  {
    Small m;
    m.loop.addTripLimit(m.number(2), TripLimit::kCOUNT);
    m.state.setInput(1, m.next);
    EXPECT_THAT(m.refusal(*m.loop.addLoopOutput(m.next, LoopOutput::kCONCATENATE)->getOutput(0)),
                HasSubstr("call setInput(1"));
  }
}

TEST(FlowBoundaries, LoopsThatAreWrong) {
  const auto refusal = [](const auto& change) {
    Small m;
    m.state.setInput(1, m.next);
    ITensor& result = change(m);
    return m.refusal(result);
  };
  const auto with_count = [&](const auto& change) {
    return refusal([&](Small& m) -> ITensor& {
      m.loop.addTripLimit(m.number(2), TripLimit::kCOUNT);
      return change(m);
    });
  };
  EXPECT_THAT(with_count([](Small& m) -> ITensor& { return m.next; }),
              HasSubstr("is an output of the network: return it by ILoop::addLoopOutput"));
  EXPECT_THAT(with_count([](Small& m) -> ITensor& { return m.last(m.loop, m.next); }),
              HasSubstr("is not the output of a recurrence of the loop, as kLAST_VALUE needs"));
  EXPECT_THAT(
      with_count([](Small& m) -> ITensor& {
        m.state.setInput(1, m.input("other", {3}));
        return m.result;
      }),
      HasSubstr("its first value has extent 2 along axis 0, the next one (tensor 'other') 3"));
  EXPECT_THAT(with_count([](Small& m) -> ITensor& {
                m.state.setInput(1, m.input("other", {2}, DataType::kINT32));
                return m.result;
              }),
              HasSubstr("the next one int32 (tensor 'other')"));
  EXPECT_THAT(refusal([](Small& m) -> ITensor& {
                m.loop.addTripLimit(m.constant<uint8_t>(DataType::kBOOL, {}, {1}),
                                    TripLimit::kWHILE);
                return m.result;
              }),
              HasSubstr("the loop would never end"));
  EXPECT_THAT(refusal([](Small& m) -> ITensor& {
                m.loop.addTripLimit(m.counter(m.loop, 0), TripLimit::kCOUNT);
                return m.result;
              }),
              HasSubstr("the number of iterations must come from outside"));
  EXPECT_THAT(refusal([](Small& m) -> ITensor& {
                m.loop.addTripLimit(m.x, TripLimit::kCOUNT);
                return m.result;
              }),
              HasSubstr("the number of iterations"));
}

// Each loop reads what the other makes in an iteration.
TEST(FlowBoundaries, LoopsThatOverlap) {
  Small m;
  m.loop.addTripLimit(m.number(2), TripLimit::kCOUNT);
  ILoop& other = m.counted(m.number(3));
  IRecurrenceLayer& state = *other.addRecurrence(m.x);
  m.state.setInput(1, m.sum(*state.getOutput(0), *m.state.getOutput(0)));
  state.setInput(1, m.next);
  EXPECT_THAT(m.refusal(m.result), HasSubstr("overlap"));
}

// What gives nothing disappears.
TEST(FlowBoundaries, LoopsAndConditionalsWithoutOutputs) {
  Model m;
  ITensor &x = m.input("x", {2}), &b = m.input("b", {}, DataType::kBOOL);
  ILoop& loop = m.counted(m.number(3));
  IRecurrenceLayer& state = *loop.addRecurrence(x);
  state.setInput(1, m.sum(*state.getOutput(0), x));
  m.counted(m.number(2));
  IIfConditional& choice = *m.network->addIfConditional();
  choice.setCondition(b);
  m.sum(*choice.addInput(x)->getOutput(0), x);
  ASSERT_TRUE(m.compile(m.sum(x, x))) << m.logger.take_errors();
  const Floats in{1, 2};
  const bool yes = true;
  EXPECT_THAT(m.run({{"x", in}, {"b", yes}}), ElementsAre(2, 4));
}

// As the ONNX parser of TensorRT writes loops: the condition is a state, which an iteration makes
// for the next; values are handed on as they are, and one comes from outside.
TEST(FlowBoundaries, StatesOfEveryKind) {
  Model m;
  ITensor &x = m.input("x", {}), &first = m.input("first", {}, DataType::kBOOL);
  ILoop& loop = *m.network->addLoop();
  IRecurrenceLayer& condition = *loop.addRecurrence(first);
  loop.addTripLimit(*condition.getOutput(0), TripLimit::kWHILE);
  IRecurrenceLayer &value = *loop.addRecurrence(x), &same = *loop.addRecurrence(x),
                   &outer = *loop.addRecurrence(m.real(0));
  same.setInput(1, *same.getOutput(0));
  outer.setInput(1, x);
  value.setInput(1, m.sum(*value.getOutput(0), *value.getOutput(0)));
  condition.setInput(1, m.apply(Op::kLESS, *value.getOutput(0), m.real(100)));
  ITensor* parts[3];
  for (size_t i = 0; i < 3; ++i) {
    IShuffleLayer& part =
        *m.network->addShuffle(m.last(loop, *std::array{&value, &same, &outer}[i]->getOutput(0)));
    part.setReshapeDimensions(dims({1}));
    parts[i] = part.getOutput(0);
  }
  ASSERT_TRUE(m.compile(*m.network->addConcatenation(parts, 3)->getOutput(0)))
      << m.logger.take_errors();
  const float in = 3;
  bool yes = true;
  EXPECT_THAT(m.run({{"x", in}, {"first", yes}}), ElementsAre(384, 3, 3));
  yes = false;
  EXPECT_THAT(m.run({{"x", in}, {"first", yes}}), ElementsAre(3, 3, 0));
}

// Start and size of a slice follow from the iteration: its sum has the same shape in all of them.
TEST(FlowBoundaries, ShapesThatChangeInside) {
  Model m;
  ITensor& x = m.input("x", {-1});
  IOptimizationProfile* p = m.builder->createOptimizationProfile();
  p->setDimensions("x", OptProfileSelector::kMIN, dims({4}));
  p->setDimensions("x", OptProfileSelector::kOPT, dims({5}));
  p->setDimensions("x", OptProfileSelector::kMAX, dims({8}));
  m.config->addOptimizationProfile(p);
  ILoop& loop = m.counted(m.number(3));
  IShuffleLayer& at = *m.network->addShuffle(m.counter(loop, 1));
  at.setReshapeDimensions(dims({1}));
  ISliceLayer& slice = *m.network->addSlice(x, dims({0}), dims({1}), dims({1}));
  slice.setInput(1, *at.getOutput(0));
  slice.setInput(
      2, m.apply(Op::kSUB, m.constant<int32_t>(DataType::kINT32, {1}, {4}), *at.getOutput(0)));
  ITensor& sum =
      *m.network->addReduce(*slice.getOutput(0), ReduceOperation::kSUM, 1, true)->getOutput(0);
  IRecurrenceLayer& total = *loop.addRecurrence(m.constant<float>(DataType::kFLOAT, {1}, {0}));
  total.setInput(
      1,
      m.sum(m.product(*total.getOutput(0), m.constant<float>(DataType::kFLOAT, {1}, {100})), sum));
  ASSERT_TRUE(m.compile(m.last(loop, *total.getOutput(0)))) << m.logger.take_errors();
  const Floats in{1, 2, 3, 4, 5};
  EXPECT_THAT(m.run({{"x", in, {5}}}), ElementsAre(90704));  // 2+3+4, 3+4, 4
}

// What comes from outside cannot come from inside.
TEST(FlowBoundaries, FirstValuesFromInside) {
  Small m;
  m.loop.addTripLimit(m.number(2), TripLimit::kCOUNT);
  m.state.setInput(1, m.next);
  IRecurrenceLayer& other = *m.loop.addRecurrence(m.next);
  other.setInput(1, m.next);
  EXPECT_THAT(m.refusal(m.result), HasSubstr("it must come from outside"));
}

// Loops are cycles in what getInput and getOutput show, and may be walked and removed all the same.
TEST(FlowBoundaries, NetworksWithLoopsAreDropped) {
  Model m;
  m.network->addLoop();
  ILoop& loop = *m.network->addLoop();
  IRecurrenceLayer& state = *loop.addRecurrence(m.real(1));
  state.setInput(1, m.product(*state.getOutput(0), *state.getOutput(0)));
  EXPECT_EQ(m.network->getNbLayers(), 3);
  EXPECT_EQ(m.network->getLayer(1), &state);
  EXPECT_EQ(list(m.network->getLayer(2)->getOutput(0)->getDimensions()), List{});
  m.network.reset();
  EXPECT_THAT(m.logger.take_errors(), IsEmpty());
}

}  // namespace
}  // namespace tenon::testing
