// Loops that cannot be built say why.
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

TEST(FlowErrors, LoopsThatAreNotComplete) {
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

TEST(FlowErrors, LoopsThatAreWrong) {
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
TEST(FlowErrors, LoopsThatOverlap) {
  Small m;
  m.loop.addTripLimit(m.number(2), TripLimit::kCOUNT);
  ILoop& other = m.counted(m.number(3));
  IRecurrenceLayer& state = *other.addRecurrence(m.x);
  m.state.setInput(1, m.sum(*state.getOutput(0), *m.state.getOutput(0)));
  state.setInput(1, m.next);
  EXPECT_THAT(m.refusal(m.result), HasSubstr("overlap"));
}

// What gives nothing disappears.
TEST(FlowErrors, LoopsAndConditionalsWithoutOutputs) {
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
  EXPECT_THAT(m.run({{"x", in.data()}, {"b", &yes}}), ElementsAre(2, 4));
}

// Loops are cycles in what getInput and getOutput show, and may be walked and removed all the same.
TEST(FlowErrors, NetworksWithLoopsAreDropped) {
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
