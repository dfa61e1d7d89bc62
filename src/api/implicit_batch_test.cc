// Networks with TensorRT 8's implicit batch, layer by layer: what axes and extents mean without the
// batch. test/programs8x has whole programs.
#include <NvOnnxParser.h>
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/extensions.h>

#include <deque>
#include <functional>
#include <ostream>

#include "api/testing.h"
#include "base/shape.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

using List = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr int kItems = 3;
constexpr int64_t kElements = 2 * 4 * 4;  // of the input's items

Floats ramp(int64_t count, float step) {
  Floats v;
  for (int64_t i = 0; i < count; ++i) v.push_back(static_cast<float>(i * i * 3 % 11 - 5) * step);
  return v;
}

// The network that a layer is added to, and weights that live as long as the test.
struct Place {
  INetworkDefinition& network;
  bool implicit;

  static Weights weights(int64_t count, float step) {
    static std::deque<Floats> memory;
    memory.push_back(ramp(count, step));
    return testing::weights(memory.back());
  }
  // Extents or entries for each axis: those of an item, and what the batch's axis has.
  Dims item(std::initializer_list<int64_t> extents, int64_t batch) const {
    Dims d = dims(extents);
    if (implicit) return d;
    std::copy_backward(d.d, d.d + d.nbDims, d.d + d.nbDims + 1);
    d.d[0] = batch;
    ++d.nbDims;
    return d;
  }
  uint32_t axes(uint32_t of_item) const { return implicit ? of_item : of_item << 1; }
  ITensor& constant(std::initializer_list<int64_t> extents) const {
    const Dims d = item(extents, 1);
    return *network.addConstant(d, weights(tenon::Shape(d).volume(), 0.5f))->getOutput(0);
  }
};

struct Layer {
  const char* name;
  std::function<ILayer*(const Place&, ITensor& x)> add;  // x: items of 2x4x4
  List item;                                             // the result's shape
};
std::ostream& operator<<(std::ostream& out, const Layer& layer) {
  return out << layer.name;
}

class ImplicitBatchLayers : public ::testing::TestWithParam<Layer> {
 protected:
  std::unique_ptr<ICudaEngine> build(bool implicit) {
    s_.builder->setMaxBatchSize(kItems);
    s_.network.reset(s_.builder->createNetworkV2(implicit ? kImplicitBatchFlag : 0));
    const Place place{*s_.network, implicit};
    ITensor& x = *s_.network->addInput("x", DataType::kFLOAT, place.item({2, 4, 4}, kItems));
    ITensor& y = *GetParam().add(place, x)->getOutput(0);
    y.setName("y");
    s_.network->markOutput(y);
    EXPECT_TRUE(!implicit || list(y.getDimensions()) == GetParam().item);
    return s_.engine();
  }
  Session s_;
};

TEST_P(ImplicitBatchLayers, GiveWhatTheBatchAsADimensionGives) {
  Floats x = ramp(kItems * kElements, 0.25f);
  const size_t count =
      static_cast<size_t>(tenon::Shape(std::span<const int64_t>(GetParam().item)).volume());
  Floats expected(kItems * count), found(kItems * count);
  {
    const auto engine = build(false);
    ASSERT_NE(engine, nullptr) << s_.logger.take_errors();
    const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
    void* bindings[] = {x.data(), expected.data()};
    ASSERT_TRUE(context->executeV2(bindings)) << s_.logger.take_errors();
  }
  const auto engine = build(true);
  ASSERT_NE(engine, nullptr) << s_.logger.take_errors();
  EXPECT_EQ(list(engine->getBindingDimensions(1)), GetParam().item);
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  void* bindings[] = {x.data(), found.data()};
  ASSERT_TRUE(context->execute(kItems, bindings)) << s_.logger.take_errors();
  EXPECT_THAT(found, Pointwise(::testing::FloatNear(1e-5f), expected));
  // The last item alone.
  found.assign(found.size(), -100);
  void* last[] = {x.data() + (kItems - 1) * kElements, found.data()};
  ASSERT_TRUE(context->execute(1, last)) << s_.logger.take_errors();
  const auto from = expected.end() - static_cast<ptrdiff_t>(count);
  EXPECT_THAT(Floats(found.begin(), found.begin() + static_cast<ptrdiff_t>(count)),
              Pointwise(::testing::FloatNear(1e-5f), Floats(from, expected.end())));
  EXPECT_EQ(found[count], -100);  // not written
  EXPECT_EQ(s_.logger.take_errors(), "");
}

const Layer kLayers[] = {
    {"softmax",
     [](const Place& p, ITensor& x) {
       ISoftMaxLayer* layer = p.network.addSoftMax(x);
       layer->setAxes(p.axes(1u << 1));
       return layer;
     },
     {2, 4, 4}},
    {"softmax_by_default",
     [](const Place& p, ITensor& x) { return p.network.addSoftMax(x); },
     {2, 4, 4}},
    {"reduce",
     [](const Place& p, ITensor& x) {
       return p.network.addReduce(x, ReduceOperation::kAVG, p.axes(0b101), false);
     },
     {4}},
    {"reduce_all",
     [](const Place& p, ITensor& x) {
       return p.network.addReduce(x, ReduceOperation::kMAX, p.axes(0b111), true);
     },
     {1, 1, 1}},
    {"top_k",
     [](const Place& p, ITensor& x) {
       return p.network.addTopK(x, TopKOperation::kMAX, 3, p.axes(1u << 2));
     },
     {2, 4, 3}},
    {"concatenation",
     [](const Place& p, ITensor& x) {
       ITensor* both[] = {&x, p.network.addUnary(x, UnaryOperation::kABS)->getOutput(0)};
       IConcatenationLayer* layer = p.network.addConcatenation(both, 2);
       layer->setAxis(p.implicit ? 2 : 3);
       return layer;
     },
     {2, 4, 8}},
    {"concatenation_by_default",
     [](const Place& p, ITensor& x) {
       ITensor* both[] = {&x, &x};
       return p.network.addConcatenation(both, 2);
     },
     {4, 4, 4}},
    {"shuffle",
     [](const Place& p, ITensor& x) {
       IShuffleLayer* layer = p.network.addShuffle(x);
       layer->setFirstTranspose(p.implicit ? Permutation{{2, 0, 1}} : Permutation{{0, 3, 1, 2}});
       layer->setReshapeDimensions(p.implicit ? dims({0, -1}) : dims({0, 0, -1}));
       layer->setSecondTranspose(p.implicit ? Permutation{{1, 0}} : Permutation{{0, 2, 1}});
       return layer;
     },
     {8, 4}},
    {"flatten",
     [](const Place& p, ITensor& x) {
       IShuffleLayer* layer = p.network.addShuffle(x);
       layer->setReshapeDimensions(p.implicit ? dims({-1}) : dims({0, -1}));
       return layer;
     },
     {32}},
    {"slice",
     [](const Place& p, ITensor& x) {
       return p.network.addSlice(x, p.item({1, 0, 3}, 0), p.item({1, 2, 4}, kItems),
                                 p.item({1, 2, -1}, 1));
     },
     {1, 2, 4}},
    {"matrix_multiply",
     [](const Place& p, ITensor& x) {
       return p.network.addMatrixMultiply(x, MatrixOperation::kTRANSPOSE, p.constant({1, 4, 5}),
                                          MatrixOperation::kNONE);
     },
     {2, 4, 5}},
    {"matrix_by_vector",
     [](const Place& p, ITensor& x) {
       ITensor& rows =
           *p.network.addReduce(x, ReduceOperation::kSUM, p.axes(0b001), false)->getOutput(0);
       return p.network.addMatrixMultiply(rows, MatrixOperation::kNONE, p.constant({4}),
                                          MatrixOperation::kVECTOR);
     },
     {4}},
    {"constant",
     [](const Place& p, ITensor& x) {
       return p.network.addElementWise(p.constant({1, 4, 1}), x, ElementWiseOperation::kSUB);
     },
     {2, 4, 4}},
    {"scale_channels",
     [](const Place& p, ITensor& x) {
       return p.network.addScale(x, ScaleMode::kCHANNEL, p.weights(2, 1), p.weights(2, 0.5f),
                                 kNone);
     },
     {2, 4, 4}},
    {"scale_elements",
     [](const Place& p, ITensor& x) {
       return p.network.addScale(x, ScaleMode::kELEMENTWISE, p.weights(32, 1), p.weights(32, 0.5f),
                                 kNone);
     },
     {2, 4, 4}},
    {"scale_another_axis",
     [](const Place& p, ITensor& x) {
       return p.network.addScaleNd(x, ScaleMode::kCHANNEL, p.weights(4, 1), kNone, kNone,
                                   p.implicit ? 1 : 2);
     },
     {2, 4, 4}},
    {"convolution",
     [](const Place& p, ITensor& x) {
       IConvolutionLayer* layer =
           p.network.addConvolutionNd(x, 3, dims({3, 3}), p.weights(54, 0.125f), p.weights(3, 1));
       layer->setPaddingNd(dims({1, 1}));
       return layer;
     },
     {3, 4, 4}},
    {"deconvolution",
     [](const Place& p, ITensor& x) {
       IDeconvolutionLayer* layer =
           p.network.addDeconvolutionNd(x, 3, dims({2, 2}), p.weights(24, 0.125f), kNone);
       layer->setStrideNd(dims({2, 2}));
       return layer;
     },
     {3, 8, 8}},
    {"pooling",
     [](const Place& p, ITensor& x) {
       return p.network.addPoolingNd(x, PoolingType::kAVERAGE, dims({2, 3}));
     },
     {2, 3, 2}},
    {"padding",
     [](const Place& p, ITensor& x) {
       return p.network.addPaddingNd(x, dims({1, 0}), dims({2, -1}));
     },
     {2, 7, 3}},
    {"lrn",
     [](const Place& p, ITensor& x) { return p.network.addLRN(x, 3, 0.5f, 0.75f, 1); },
     {2, 4, 4}},
    {"slopes",
     [](const Place& p, ITensor& x) {
       return p.network.addParametricReLU(x, p.constant({2, 1, 1}));
     },
     {2, 4, 4}},
    {"resize",
     [](const Place& p, ITensor& x) {
       IResizeLayer* layer = p.network.addResize(x);
       const float scales[] = {1, 1, 2, 1.5f};
       layer->setScales(p.implicit ? scales + 1 : scales, p.implicit ? 3 : 4);
       layer->setResizeMode(InterpolationMode::kLINEAR);
       return layer;
     },
     {2, 8, 6}},
    {"resize_and_join",
     [](const Place& p, ITensor& x) {
       IResizeLayer* layer = p.network.addResize(x);
       const float scales[] = {1, 1, 2, 1};
       layer->setScales(p.implicit ? scales + 1 : scales, p.implicit ? 3 : 4);
       ITensor* both[] = {layer->getOutput(0), &x};
       IConcatenationLayer* joined = p.network.addConcatenation(both, 2);
       joined->setAxis(p.implicit ? 1 : 2);
       return joined;
     },
     {2, 12, 4}},
    {"fully_connected",
     [](const Place& p, ITensor& x) {
       return p.network.addFullyConnected(x, 5, p.weights(160, 0.125f), p.weights(5, 1));
     },
     {5, 1, 1}},
};

INSTANTIATE_TEST_SUITE_P(All, ImplicitBatchLayers, ::testing::ValuesIn(kLayers),
                         [](const auto& info) { return std::string(info.param.name); });

class ImplicitBatch : public ::testing::Test {
 protected:
  ImplicitBatch() {
    s_.builder->setMaxBatchSize(4);
    s_.network.reset(s_.builder->createNetworkV2(kImplicitBatchFlag));
  }
  ITensor& constant(std::initializer_list<int64_t> extents) {
    return *s_.network->addConstant(dims(extents), weights(ones_))->getOutput(0);
  }
  // What is said when a network with that output is built.
  std::string refusal(ITensor* y) {
    if (y != nullptr) s_.network->markOutput(*y);
    EXPECT_EQ(s_.build(), nullptr);
    return s_.logger.take_errors();
  }
  const Floats ones_ = {1, 1, 1, 1};
  Session s_;
};

TEST_F(ImplicitBatch, NamesTheLayersItDoesNotDo) {
  ITensor& x = s_.input("x", {4});
  ILayer* layer = s_.network->addNonZero(x);
  layer->setName("find");
  EXPECT_THAT(
      refusal(layer->getOutput(0)),
      HasSubstr("layer find (NonZero): this layer is not supported yet in a network with an "
                "implicit batch: create the network with kEXPLICIT_BATCH"));
}

TEST_F(ImplicitBatch, RefusesTensorsThatGiveDimensions) {
  ITensor& x = s_.input("x", {4});
  IShuffleLayer* layer = s_.network->addShuffle(x);
  const int32_t sizes[] = {2, 2};
  layer->setInput(1,
                  *s_.network->addConstant(dims({2}), {DataType::kINT32, sizes, 2})->getOutput(0));
  EXPECT_THAT(refusal(layer->getOutput(0)), HasSubstr("tensors that tell what it does"));
}

TEST_F(ImplicitBatch, RefusesSizesOfAResize) {
  IResizeLayer* layer = s_.network->addResize(s_.input("x", {1, 2, 2}));
  layer->setOutputDimensions(dims({1, 4, 4}));
  EXPECT_THAT(refusal(layer->getOutput(0)), HasSubstr("call setScales"));
}

TEST_F(ImplicitBatch, RefusesToJoinConstantsWithItems) {
  ITensor* both[] = {&s_.input("x", {4}), &constant({4})};
  EXPECT_THAT(refusal(s_.network->addConcatenation(both, 2)->getOutput(0)),
              HasSubstr("constants, which have no implicit batch"));
}

TEST_F(ImplicitBatch, RefusesAnOutputThatHasNoItems) {
  s_.input("x", {4});
  EXPECT_THAT(refusal(&constant({4})), HasSubstr("has the same value for all items"));
}

TEST_F(ImplicitBatch, DoesNotTakeTheBatchForARow) {
  ITensor& x = s_.input("x", {4});
  ILayer* layer = s_.network->addMatrixMultiply(x, MatrixOperation::kNONE, constant({4, 1}),
                                                MatrixOperation::kNONE);
  EXPECT_THAT(refusal(layer->getOutput(0)),
              HasSubstr("expected input 0 of rank 2 or more, without the batch, found 4"));
}

TEST_F(ImplicitBatch, HasNoOpenExtents) {
  ITensor& x = s_.input("x", {4, -1});
  ILayer* layer = s_.network->addUnary(x, UnaryOperation::kABS);
  EXPECT_EQ(list(layer->getOutput(0)->getDimensions()), (List{-100}));
  EXPECT_THAT(s_.logger.take_errors(), HasSubstr("only the batch may change"));
  EXPECT_THAT(refusal(layer->getOutput(0)), HasSubstr("has an extent that is left open"));
}

TEST_F(ImplicitBatch, HasNoProfiles) {
  ITensor& x = s_.input("x", {4});
  IOptimizationProfile* profile = s_.builder->createOptimizationProfile();
  for (const auto selector :
       {OptProfileSelector::kMIN, OptProfileSelector::kOPT, OptProfileSelector::kMAX})
    profile->setDimensions("x", selector, dims({4}));
  s_.config->addOptimizationProfile(profile);
  EXPECT_THAT(refusal(s_.network->addUnary(x, UnaryOperation::kABS)->getOutput(0)),
              HasSubstr("has no optimization profiles"));
}

TEST_F(ImplicitBatch, NeedsALargestBatch) {
  s_.builder->setMaxBatchSize(0);
  ITensor& x = s_.input("x", {4});
  EXPECT_THAT(refusal(s_.network->addUnary(x, UnaryOperation::kABS)->getOutput(0)),
              HasSubstr("a largest batch of 0 is not possible (setMaxBatchSize)"));
}

TEST_F(ImplicitBatch, IsNotForOnnx) {
  const std::unique_ptr<nvonnxparser::IParser> parser(
      nvonnxparser::createParser(*s_.network, s_.logger));
  EXPECT_FALSE(parser->parse("", 0));
  EXPECT_THAT(s_.logger.take_errors(), HasSubstr("create the network with kEXPLICIT_BATCH"));
}

TEST_F(ImplicitBatch, DoesNotShareInputs) {
  ITensor& x = s_.input("x", {4});
  x.setBroadcastAcrossBatch(true);
  EXPECT_TRUE(x.getBroadcastAcrossBatch());
  EXPECT_THAT(
      refusal(s_.network->addUnary(x, UnaryOperation::kABS)->getOutput(0)),
      HasSubstr("input 'x', which items of the batch share (setBroadcastAcrossBatch), is not "
                "supported yet"));
}

TEST_F(ImplicitBatch, FollowsChanges) {
  ITensor& x = s_.input("x", {2, 6});
  IReduceLayer* first = s_.network->addReduce(x, ReduceOperation::kSUM, 1u << 0, true);
  IUnaryLayer* second = s_.network->addUnary(*first->getOutput(0), UnaryOperation::kABS);
  const ITensor& y = *second->getOutput(0);
  EXPECT_EQ(list(y.getDimensions()), (List{1, 6}));
  first->setReduceAxes(1u << 1);
  EXPECT_EQ(list(y.getDimensions()), (List{2, 1}));
  x.setDimensions(dims({3, 6}));
  EXPECT_EQ(list(x.getDimensions()), (List{3, 6}));
  EXPECT_EQ(list(y.getDimensions()), (List{3, 1}));
  second->setInput(0, x);
  EXPECT_EQ(list(y.getDimensions()), (List{3, 6}));
}

TEST_F(ImplicitBatch, OfOneItemIsTheDefault) {
  s_.builder->reset();
  ITensor& x = s_.input("x", {4});
  s_.network->markOutput(*s_.network->addUnary(x, UnaryOperation::kABS)->getOutput(0));
  const auto engine = s_.engine();
  ASSERT_NE(engine, nullptr) << s_.logger.take_errors();
  EXPECT_EQ(engine->getMaxBatchSize(), 1);
  const std::unique_ptr<IExecutionContext> context(engine->createExecutionContext());
  std::vector<float> in{1, -2, 3, -4}, out(4);
  void* bindings[] = {in.data(), out.data()};
  ASSERT_TRUE(context->execute(1, bindings));
  EXPECT_THAT(out, ElementsAre(1, 2, 3, 4));
  EXPECT_FALSE(context->execute(2, bindings));
  EXPECT_THAT(s_.logger.take_errors(), HasSubstr("was built for 1 to 1"));
}

}  // namespace
}  // namespace tenon::testing
