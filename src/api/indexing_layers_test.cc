// Layers that gather, scatter and fill: attributes come back, and networks run.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "api/testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ITensor& integers(Session& s, std::initializer_list<int64_t> extents,
                  const std::vector<int64_t>& values) {
  return *s.network
              ->addConstant(dims(extents),
                            {DataType::kINT64, values.data(), static_cast<int64_t>(values.size())})
              ->getOutput(0);
}

// Builds a network of the given outputs, and runs it once.
class OneRun {
 public:
  OneRun(Session& s, std::initializer_list<ITensor*> outputs) {
    for (ITensor* out : outputs) {
      s.network->markOutput(*out);
      out->setName(("out" + std::to_string(outputs_++)).c_str());
    }
    engine_ = s.engine();
    EXPECT_THAT(s.logger.take_errors(), IsEmpty());
    if (engine_ != nullptr) context_.reset(engine_->createExecutionContext());
  }
  bool ready() const { return context_ != nullptr; }
  template <class T> void input(const char* name, std::vector<T>& values) {
    EXPECT_TRUE(context_->setTensorAddress(name, values.data()));
  }
  template <class T> void output(int index, std::vector<T>& values) {
    EXPECT_TRUE(context_->setTensorAddress(("out" + std::to_string(index)).c_str(), values.data()));
  }
  bool enqueue() {
    const bool queued = context_->enqueueV3(nullptr);
    return cudaStreamSynchronize(nullptr) == cudaSuccess && queued;
  }

 private:
  int outputs_ = 0;
  std::unique_ptr<ICudaEngine> engine_;
  std::unique_ptr<IExecutionContext> context_;
};

TEST(IndexingLayers, TopK) {
  Session s;
  ITensor& x = s.input("x", {2, 4});
  ITopKLayer* l = s.network->addTopK(x, TopKOperation::kMAX, 3, 2);
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getType(), LayerType::kTOPK);
  EXPECT_EQ(l->getNbOutputs(), 2);
  EXPECT_EQ(l->getK(), 3);
  EXPECT_EQ(l->getReduceAxes(), 2u);
  EXPECT_EQ(l->getIndicesType(), DataType::kINT32);
  EXPECT_EQ(l->getOutput(1)->getType(), DataType::kINT32);
  EXPECT_EQ(list(l->getOutput(1)->getDimensions()), (List{2, 3}));
  l->setOperation(TopKOperation::kMIN);
  l->setK(2);
  EXPECT_TRUE(l->setIndicesType(DataType::kINT64));
  EXPECT_EQ(l->getOperation(), TopKOperation::kMIN);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{2, 2}));
  EXPECT_EQ(l->getOutput(1)->getType(), DataType::kINT64);
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
  EXPECT_FALSE(l->setIndicesType(DataType::kFLOAT));
  l->setK(-1);
  l->setOperation(static_cast<TopKOperation>(2));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("-1 elements are not possible"));
  EXPECT_EQ(s.network->addTopK(x, TopKOperation::kMAX, 1, 2, DataType::kHALF), nullptr);
  s.logger.take_errors();

  OneRun run(s, {l->getOutput(0), l->getOutput(1)});
  ASSERT_TRUE(run.ready());
  std::vector<float> in{3, 1, 2, 1, -1, -5, 7, 0}, values(4);
  std::vector<int64_t> indices(4);
  run.input("x", in);
  run.output(0, values);
  run.output(1, indices);
  EXPECT_TRUE(run.enqueue());
  EXPECT_THAT(values, ElementsAre(1, 1, -5, -1));
  EXPECT_THAT(indices, ElementsAre(1, 3, 1, 0));
}

TEST(IndexingLayers, TopKTakesKFromATensor) {
  Session s;
  ITopKLayer* l = s.network->addTopK(s.input("x", {2, 4}), TopKOperation::kMAX, 3, 1);
  l->setInput(1, integers(s, {}, {1}));
  EXPECT_EQ(l->getK(), -1);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{1, 4}));
  l->setInput(2, integers(s, {}, {1}));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("has no input 2"));
  l->setK(2);
  EXPECT_EQ(l->getK(), 2);
  EXPECT_EQ(l->getNbInputs(), 1);
}

TEST(IndexingLayers, NonZero) {
  Session s;
  INonZeroLayer* l = s.network->addNonZero(s.input("x", {2, 3}));
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getIndicesType(), DataType::kINT32);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{2, -1}));
  EXPECT_TRUE(l->setIndicesType(DataType::kINT64));
  EXPECT_EQ(l->getOutput(0)->getType(), DataType::kINT64);
  EXPECT_FALSE(l->setIndicesType(DataType::kBOOL));
  EXPECT_EQ(l->getIndicesType(), DataType::kINT64);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("int32 or int64"));
}

// The elements that are not zero, picked by a gather: its extent is known once the network ran.
TEST(IndexingLayers, NonZeroRuns) {
  Session s;
  ITensor& x = s.input("x", {6});
  IShuffleLayer* indices = s.network->addShuffle(*s.network->addNonZero(x)->getOutput(0));
  indices->setReshapeDimensions(dims({-1}));
  ITensor& picked = *s.network->addGather(x, *indices->getOutput(0), 0)->getOutput(0);
  picked.setName("picked");
  s.network->markOutput(picked);
  const auto engine = s.engine();
  ASSERT_NE(engine, nullptr) << s.logger.take_errors();
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  struct Allocator final : IOutputAllocator {
    void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t,
                                cudaStream_t) noexcept override {
      memory.resize(size / sizeof(float));
      return memory.data();
    }
    void notifyShape(const char*, const Dims& d) noexcept override { shape = list(d); }
    std::vector<float> memory;
    List shape;
  } allocator;
  ASSERT_TRUE(context->setOutputAllocator("picked", &allocator));
  for (const std::vector<float>& in :
       {std::vector<float>{0, 3, 0, -1, 0, 2}, {0, 0, 0, 0, 5, 0}, {0, 0, 0, 0, 0, 0}}) {
    std::vector<float> expected;
    std::copy_if(in.begin(), in.end(), std::back_inserter(expected),
                 [](float v) { return v != 0; });
    ASSERT_TRUE(context->setInputTensorAddress("x", in.data()));
    ASSERT_TRUE(context->enqueueV3(nullptr)) << s.logger.take_errors();
    EXPECT_EQ(cudaStreamSynchronize(nullptr), cudaSuccess) << s.logger.take_errors();
    EXPECT_EQ(allocator.shape, (List{static_cast<int64_t>(expected.size())}));
    allocator.memory.resize(expected.size());
    EXPECT_EQ(allocator.memory, expected);
    // Not what this run took: the next may take more.
    EXPECT_EQ(context->getMaxOutputSize("picked"), 6 * static_cast<int64_t>(sizeof(float)));
  }
}

TEST(IndexingLayers, Scatter) {
  Session s;
  ITensor& x = s.input("x", {3, 2});
  ITensor& updates = s.input("updates", {1, 2});
  IScatterLayer* l =
      s.network->addScatter(x, integers(s, {1, 1}, {2}), updates, ScatterMode::kELEMENT);
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getMode(), ScatterMode::kELEMENT);
  EXPECT_EQ(l->getAxis(), 0);
  l->setAxis(1);
  EXPECT_EQ(l->getAxis(), 1);
  l->setMode(ScatterMode::kND);
  EXPECT_EQ(l->getMode(), ScatterMode::kND);
  OneRun run(s, {l->getOutput(0)});
  ASSERT_TRUE(run.ready());
  std::vector<float> in{1, 2, 3, 4, 5, 6}, given{8, 9}, out(6);
  run.input("x", in);
  run.input("updates", given);
  run.output(0, out);
  EXPECT_TRUE(run.enqueue());
  EXPECT_THAT(out, ElementsAre(1, 2, 3, 4, 8, 9));
}

TEST(IndexingLayers, OneHot) {
  Session s;
  IOneHotLayer* l = s.network->addOneHot(s.input("x", {2}, DataType::kINT32),
                                         constant(s, {2}, {0.5f, 2}), integers(s, {}, {3}), -1);
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getAxis(), -1);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{2, 3}));
  l->setAxis(0);
  EXPECT_EQ(l->getAxis(), 0);
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{3, 2}));
  OneRun run(s, {l->getOutput(0)});
  ASSERT_TRUE(run.ready());
  std::vector<int32_t> in{2, 0};
  std::vector<float> out(6);
  run.input("x", in);
  run.output(0, out);
  EXPECT_TRUE(run.enqueue());
  EXPECT_THAT(out, ElementsAre(0.5f, 2, 0.5f, 0.5f, 2, 0.5f));
}

TEST(IndexingLayers, Cumulative) {
  Session s;
  ICumulativeLayer* l = s.network->addCumulative(s.input("x", {2, 3}), integers(s, {}, {1}),
                                                 CumulativeOperation::kSUM, false, false);
  ASSERT_NE(l, nullptr);
  EXPECT_FALSE(l->getExclusive());
  EXPECT_FALSE(l->getReverse());
  l->setExclusive(true);
  l->setReverse(true);
  EXPECT_TRUE(l->setOperation(CumulativeOperation::kSUM));
  EXPECT_FALSE(l->setOperation(static_cast<CumulativeOperation>(1)));
  EXPECT_EQ(l->getOperation(), CumulativeOperation::kSUM);
  EXPECT_TRUE(l->getExclusive());
  EXPECT_TRUE(l->getReverse());
  s.logger.take_errors();
  OneRun run(s, {l->getOutput(0)});
  ASSERT_TRUE(run.ready());
  std::vector<float> in{1, 2, 4, 8, 16, 32}, out(6);
  run.input("x", in);
  run.output(0, out);
  EXPECT_TRUE(run.enqueue());
  EXPECT_THAT(out, ElementsAre(6, 4, 0, 48, 32, 0));
}

TEST(IndexingLayers, ReverseSequence) {
  Session s;
  IReverseSequenceLayer* l =
      s.network->addReverseSequence(s.input("x", {3, 2}), integers(s, {2}, {3, 2}));
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getBatchAxis(), 1);
  EXPECT_EQ(l->getSequenceAxis(), 0);
  l->setBatchAxis(0);
  l->setSequenceAxis(1);
  EXPECT_EQ(l->getBatchAxis(), 0);
  EXPECT_EQ(l->getSequenceAxis(), 1);
  l->setBatchAxis(-1);
  l->setSequenceAxis(0);
  OneRun run(s, {l->getOutput(0)});
  ASSERT_TRUE(run.ready());
  std::vector<float> in{1, 2, 3, 4, 5, 6}, out(6);
  run.input("x", in);
  run.output(0, out);
  EXPECT_TRUE(run.enqueue());
  EXPECT_THAT(out, ElementsAre(5, 4, 3, 2, 1, 6));
}

TEST(IndexingLayers, SqueezeAndUnsqueeze) {
  Session s;
  ITensor& x = s.input("x", {1, 3, 1});
  ISqueezeLayer* squeeze = s.network->addSqueeze(x, integers(s, {1}, {-1}));
  ASSERT_NE(squeeze, nullptr);
  EXPECT_EQ(squeeze->getType(), LayerType::kSQUEEZE);
  EXPECT_EQ(list(squeeze->getOutput(0)->getDimensions()), (List{1, 3}));
  squeeze->setInput(1, integers(s, {2}, {0, 2}));
  EXPECT_EQ(list(squeeze->getOutput(0)->getDimensions()), (List{3}));
  IUnsqueezeLayer* unsqueeze =
      s.network->addUnsqueeze(*squeeze->getOutput(0), integers(s, {2}, {0, 2}));
  ASSERT_NE(unsqueeze, nullptr);
  EXPECT_EQ(list(unsqueeze->getOutput(0)->getDimensions()), (List{1, 3, 1}));
}

TEST(IndexingLayers, Padding) {
  Session s;
  ITensor& x = s.input("x", {1, 2, 2});
  IPaddingLayer* l = s.network->addPaddingNd(x, dims({0, 0}), dims({0, 0}));
  ASSERT_NE(l, nullptr);
  l->setPrePaddingNd(dims({1, -1}));
  l->setPostPaddingNd(dims({-1, 2}));
  EXPECT_EQ(list(l->getPrePaddingNd()), (List{1, -1}));
  EXPECT_EQ(list(l->getPostPaddingNd()), (List{-1, 2}));
  EXPECT_EQ(list(l->getOutput(0)->getDimensions()), (List{1, 2, 3}));
  l->setPrePaddingNd(dims({1}));
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("the padding has 1 entries; 2 are possible"));
  EXPECT_EQ(s.network->addPaddingNd(x, dims({1, 2, 3}), dims({0, 0})), nullptr);
  s.logger.take_errors();
  OneRun run(s, {l->getOutput(0)});
  ASSERT_TRUE(run.ready());
  std::vector<float> in{1, 2, 3, 4}, out(6);
  run.input("x", in);
  run.output(0, out);
  EXPECT_TRUE(run.enqueue());
  EXPECT_THAT(out, ElementsAre(0, 0, 0, 2, 0, 0));
}

TEST(IndexingLayers, Fill) {
  Session s;
  IFillLayer* l = s.network->addFill(dims({4}), FillOperation::kRANDOM_UNIFORM);
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getToType(), DataType::kFLOAT);
  EXPECT_EQ(l->getAlpha(), 0);
  EXPECT_EQ(l->getBeta(), 1);
  l->setOperation(FillOperation::kLINSPACE);
  EXPECT_EQ(l->getOperation(), FillOperation::kLINSPACE);
  l->setAlpha(2);
  l->setBeta(0.5);
  EXPECT_EQ(l->getAlpha(), 2);
  EXPECT_EQ(l->getBeta(), 0.5);
  EXPECT_FALSE(l->isAlphaBetaInt64());
  l->setDimensions(dims({3}));
  EXPECT_EQ(list(l->getDimensions()), (List{3}));
  IFillLayer* whole = s.network->addFill(dims({2}), FillOperation::kLINSPACE, DataType::kINT64);
  whole->setAlphaInt64(int64_t{1} << 60);
  whole->setBetaInt64(3);
  EXPECT_TRUE(whole->isAlphaBetaInt64());
  EXPECT_EQ(whole->getAlphaInt64(), int64_t{1} << 60);
  EXPECT_EQ(whole->getBetaInt64(), 3);
  EXPECT_EQ(whole->getOutput(0)->getType(), DataType::kINT64);
  OneRun run(s, {l->getOutput(0), whole->getOutput(0)});
  ASSERT_TRUE(run.ready());
  std::vector<float> out(3);
  std::vector<int64_t> integers(2);
  run.output(0, out);
  run.output(1, integers);
  EXPECT_TRUE(run.enqueue());
  EXPECT_THAT(out, ElementsAre(2, 2.5f, 3));
  EXPECT_THAT(integers, ElementsAre(int64_t{1} << 60, (int64_t{1} << 60) + 3));
}

TEST(IndexingLayers, FillTakesTensors) {
  Session s;
  IFillLayer* l = s.network->addFill(dims({}), FillOperation::kLINSPACE);
  l->setInput(0, integers(s, {2}, {2, 2}));
  l->setInput(1, constant(s, {}, {1}));
  l->setInput(2, s.input("steps", {2}));
  EXPECT_EQ(list(l->getDimensions()), (List{-100}));
  EXPECT_TRUE(std::isnan(l->getAlpha()));
  EXPECT_TRUE(std::isnan(l->getBeta()));
  EXPECT_EQ(l->getAlphaInt64(), -1);
  EXPECT_EQ(l->getBetaInt64(), -1);
  OneRun run(s, {l->getOutput(0)});
  ASSERT_TRUE(run.ready());
  std::vector<float> in{10, 0.5f}, out(4);
  run.input("steps", in);
  run.output(0, out);
  EXPECT_TRUE(run.enqueue());
  EXPECT_THAT(out, ElementsAre(1, 1.5f, 11, 11.5f));
}

// Three elements before the five of the input, and three behind; every second one, backwards. The
// expected values are those of numpy.pad.
TEST(IndexingLayers, SlicesBeyondTheirInput) {
  const struct {
    SampleMode mode;
    std::vector<float> expected;
  } cases[] = {
      {SampleMode::kFILL, {9, 9, 4, 2, 0, 9}},
      {SampleMode::kCLAMP, {4, 4, 4, 2, 0, 0}},
      {SampleMode::kWRAP, {3, 1, 4, 2, 0, 3}},
      {SampleMode::kREFLECT, {0, 2, 4, 2, 0, 2}},
  };
  for (const auto& c : cases) {
    Session s;
    ISliceLayer* l = s.network->addSlice(s.input("x", {5}), dims({8}), dims({6}), dims({-2}));
    l->setMode(c.mode);
    if (c.mode == SampleMode::kFILL) l->setInput(4, constant(s, {}, {9}));
    OneRun run(s, {l->getOutput(0)});
    ASSERT_TRUE(run.ready());
    std::vector<float> in{0, 1, 2, 3, 4}, out(6);
    run.input("x", in);
    run.output(0, out);
    EXPECT_TRUE(run.enqueue());
    EXPECT_EQ(out, c.expected) << "mode " << static_cast<int>(c.mode);
  }
  Session s;
  s.network->markOutput(
      *s.network->addSlice(s.input("x", {5}), dims({8}), dims({6}), dims({-2}))->getOutput(0));
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("expected samples within [0, 5)"));
}

TEST(IndexingLayers, Assertion) {
  Session s;
  ITensor& x = s.input("x", {2}, DataType::kBOOL);
  IAssertionLayer* l = s.network->addAssertion(x, "both are true");
  ASSERT_NE(l, nullptr);
  EXPECT_EQ(l->getNbOutputs(), 0);
  EXPECT_STREQ(l->getMessage(), "both are true");
  l->setMessage("they are");
  EXPECT_STREQ(l->getMessage(), "they are");
  l->setMessage(nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("the message is null"));
  OneRun run(s, {s.network->addIdentity(x)->getOutput(0)});
  ASSERT_TRUE(run.ready());
  std::vector<uint8_t> in{1, 1}, out(2);
  run.input("x", in);
  run.output(0, out);
  EXPECT_TRUE(run.enqueue());
  EXPECT_THAT(out, ElementsAre(1, 1));
  EXPECT_THAT(s.logger.take_errors(), IsEmpty());
  in[1] = 0;
  run.enqueue();
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("assertion failed: they are"));
}

TEST(IndexingLayers, AnAssertionThatCannotHoldIsAnErrorWhenBuilding) {
  Session s;
  const std::vector<uint8_t> no{0};
  ITensor& never = *s.network->addConstant(dims({}), {DataType::kBOOL, no.data(), 1})->getOutput(0);
  s.network->addAssertion(never, "never mind");
  s.network->markOutput(*s.network->addIdentity(s.input("x", {1}))->getOutput(0));
  EXPECT_EQ(s.build(), nullptr);
  EXPECT_THAT(s.logger.take_errors(), HasSubstr("assertion failed: never mind"));
}

}  // namespace
}  // namespace tenon::testing
