// Tensors that a listener is told of while a network runs.
#include <cmath>
#include <map>

#include "api/cnn_testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

// Copies what it is told of.
struct CopyingListener final : IDebugListener {
  struct Tensor {
    TensorLocation location;
    DataType type;
    List shape;
    std::vector<std::byte> data;
    cudaStream_t stream;

    template <class T> std::vector<T> as() const {
      const T* first = reinterpret_cast<const T*>(data.data());
      return {first, first + data.size() / sizeof(T)};
    }
  };
  bool processDebugTensor(const void* address, TensorLocation location, DataType type,
                          const nvinfer1::Dims& shape, const char* name,
                          cudaStream_t stream) override {
    int64_t count = 1;
    for (int i = 0; i < shape.nbDims; ++i) count *= shape.d[i];
    std::vector<std::byte> data(static_cast<size_t>(count)
                                * (type == DataType::kINT64  ? 8
                                   : type == DataType::kBOOL ? 1
                                                             : 4));
    cudaMemcpyAsync(data.data(), address, data.size(), cudaMemcpyDefault, stream);
    names.emplace_back(name);
    tensors[name] = {location, type, list(shape), std::move(data), stream};
    return goes_on;
  }
  std::vector<std::string> names;  // in the order of calls
  std::map<std::string, Tensor> tensors;
  bool goes_on = true;
};

// x (2x16x4x4), scaled by factors of channels, is "scaled"; its ReLU "kept"; three times that, "y".
// Both convolutions are 1x1, with weights that only the diagonal has.
class DebugTensors : public ::testing::Test {
 protected:
  static constexpr int64_t kChannels = 16, kCount = 2 * kChannels * 16;

  // Layouts that timing chooses would change how many layers there are.
  DebugTensors() { s_.config->setBuilderOptimizationLevel(0); }

  static float factor(int64_t channel) { return static_cast<float>(channel % 5 - 2); }

  void add() {
    for (int64_t c = 0; c < kChannels; ++c) {
      first_[static_cast<size_t>(c * kChannels + c)] = factor(c);
      second_[static_cast<size_t>(c * kChannels + c)] = 3;
    }
    ITensor& x = s_.input("x", {2, kChannels, 4, 4});
    scaled_ = &convolved(x, first_);
    scaled_->setName("scaled");
    kept_ = s_.network->addActivation(*scaled_, ActivationType::kRELU)->getOutput(0);
    kept_->setName("kept");
    ITensor& y = convolved(*kept_, second_);
    y.setName("y");
    s_.network->markOutput(y);
  }
  ITensor& convolved(ITensor& x, const Floats& w) {
    return *s_.network->addConvolutionNd(x, kChannels, dims({1, 1}), weights(w), kNone)
                ->getOutput(0);
  }
  void make() {
    engine_ = s_.engine();
    ASSERT_NE(engine_, nullptr) << s_.logger.take_errors();
    context_.reset(engine_->createExecutionContext());
    ASSERT_NE(context_, nullptr);
  }
  bool run() {
    context_->setTensorAddress("x", x_.data());
    context_->setTensorAddress("y", y_.data());
    const bool fine = context_->enqueueV3(stream_.stream);
    EXPECT_EQ(cudaStreamSynchronize(stream_.stream), cudaSuccess);
    return fine;
  }
  // What the first convolution makes, no smaller than `min_value`, `times` as large.
  Floats expected(float min_value, float times) const {
    Floats out;
    for (int64_t i = 0; i < kCount; ++i)
      out.push_back(times
                    * std::max(min_value, x_[static_cast<size_t>(i)] * factor(i / 16 % kChannels)));
    return out;
  }

  Session s_;
  Floats first_ = Floats(kChannels * kChannels), second_ = first_;
  Floats x_ = numbers(kCount, 0.5f), y_ = Floats(kCount);
  ITensor *scaled_ = nullptr, *kept_ = nullptr;
  const CudaStream stream_;
  std::unique_ptr<ICudaEngine> engine_;
  std::unique_ptr<IExecutionContext> context_;
  CopyingListener listener_;
};

TEST_F(DebugTensors, AreToldToTheListener) {
  add();
  EXPECT_FALSE(s_.network->isDebugTensor(*scaled_));
  EXPECT_TRUE(s_.network->markDebug(*scaled_));
  EXPECT_TRUE(s_.network->isDebugTensor(*scaled_));
  make();
  EXPECT_TRUE(engine_->isDebugTensor("scaled"));
  EXPECT_FALSE(engine_->isDebugTensor("kept"));
  context_->setDebugListener(&listener_);
  EXPECT_FALSE(context_->getDebugState("scaled"));
  ASSERT_TRUE(run());  // off, as at first
  EXPECT_THAT(listener_.names, IsEmpty());
  EXPECT_EQ(y_, expected(0, 3));

  EXPECT_TRUE(context_->setTensorDebugState("scaled", true));
  EXPECT_TRUE(context_->getDebugState("scaled"));
  ASSERT_TRUE(run()) << s_.logger.take_errors();
  ASSERT_THAT(listener_.names, ElementsAre("scaled"));
  const CopyingListener::Tensor& told = listener_.tensors.at("scaled");
  EXPECT_EQ(told.location, TensorLocation::kDEVICE);
  EXPECT_EQ(told.type, DataType::kFLOAT);
  EXPECT_EQ(told.shape, (List{2, kChannels, 4, 4}));
  EXPECT_EQ(told.stream, stream_.stream);
  EXPECT_EQ(told.as<float>(), expected(-100, 1));
  EXPECT_EQ(y_, expected(0, 3));

  EXPECT_TRUE(context_->setAllTensorsDebugState(false));
  ASSERT_TRUE(run());
  EXPECT_EQ(listener_.names.size(), 1u);
  EXPECT_TRUE(context_->setAllTensorsDebugState(true));
  ASSERT_TRUE(run());
  EXPECT_EQ(listener_.names.size(), 2u);
  context_->setDebugListener(nullptr);
  ASSERT_TRUE(run());
  EXPECT_EQ(listener_.names.size(), 2u);
  EXPECT_FALSE(context_->setTensorDebugState("kept", true));
  EXPECT_THAT(s_.logger.take_errors(), HasSubstr("tensor 'kept' was not marked for debugging"));
}

// Unmarked, it is a tensor like any other.
TEST_F(DebugTensors, AreFusedAwayOnlyWhereTheyAreNotMarked) {
  add();
  make();
  const int32_t layers = engine_->getNbLayers();
  s_.network->markDebug(*scaled_);
  make();
  EXPECT_GE(engine_->getNbLayers(), layers + 2) << "the ReLU, and what tells of its input";
  EXPECT_TRUE(s_.network->unmarkDebug(*scaled_));
  EXPECT_FALSE(s_.network->isDebugTensor(*scaled_));
  make();
  EXPECT_EQ(engine_->getNbLayers(), layers);
  EXPECT_FALSE(engine_->isDebugTensor("scaled"));
}

TEST_F(DebugTensors, FalseEndsTheRun) {
  add();
  s_.network->markDebug(*scaled_);
  s_.network->markDebug(*kept_);
  make();
  Recorder recorder;
  context_->setErrorRecorder(&recorder);
  context_->setDebugListener(&listener_);
  context_->setAllTensorsDebugState(true);
  ASSERT_TRUE(run());
  EXPECT_THAT(listener_.names, ElementsAre("scaled", "kept"));
  EXPECT_EQ(listener_.tensors.at("kept").as<float>(), expected(0, 1));
  listener_.goes_on = false;
  std::fill(y_.begin(), y_.end(), -1.f);
  EXPECT_FALSE(run());
  EXPECT_THAT(listener_.names, ElementsAre("scaled", "kept", "scaled"));
  EXPECT_EQ(y_, Floats(kCount, -1));
  EXPECT_THAT(s_.logger.take_errors(), HasSubstr("ended the run at tensor 'scaled'"));
  EXPECT_EQ(recorder.getNbErrors(), 1);
  context_->setErrorRecorder(nullptr);
}

TEST_F(DebugTensors, MayBeThoseThatAreThereAnyway) {
  add();
  make();
  const int32_t layers = engine_->getNbLayers();
  EXPECT_TRUE(s_.network->markUnfusedTensorsAsDebugTensors());
  EXPECT_FALSE(s_.network->isDebugTensor(*kept_));
  make();
  EXPECT_GT(engine_->getNbLayers(), layers);
  EXPECT_FALSE(engine_->isDebugTensor("y"));
  context_->setDebugListener(&listener_);
  EXPECT_FALSE(context_->getUnfusedTensorsDebugState());
  ASSERT_TRUE(run());
  EXPECT_THAT(listener_.names, IsEmpty());
  EXPECT_TRUE(context_->setUnfusedTensorsDebugState(true));
  EXPECT_TRUE(context_->getUnfusedTensorsDebugState());
  ASSERT_TRUE(run()) << s_.logger.take_errors();
  EXPECT_THAT(listener_.names, IsSupersetOf({"kept", "y"}));
  EXPECT_EQ(listener_.tensors.at("kept").as<float>(), expected(0, 1));
  EXPECT_EQ(listener_.tensors.at("y").as<float>(), expected(0, 3));
  s_.network->unmarkUnfusedTensorsAsDebugTensors();
  make();
  EXPECT_EQ(engine_->getNbLayers(), layers);
}

// Those that are marked, and those that are there anyway.
TEST_F(DebugTensors, AreAllSetOnAndOffTogether) {
  add();
  s_.network->markDebug(*scaled_);
  s_.network->markUnfusedTensorsAsDebugTensors();
  make();
  context_->setDebugListener(&listener_);
  EXPECT_TRUE(context_->setAllTensorsDebugState(true));
  EXPECT_TRUE(context_->getUnfusedTensorsDebugState());
  ASSERT_TRUE(run()) << s_.logger.take_errors();
  EXPECT_THAT(listener_.names, IsSupersetOf({"scaled", "kept", "y"}));
  listener_.names.clear();
  EXPECT_TRUE(context_->setAllTensorsDebugState(false));
  EXPECT_FALSE(context_->getUnfusedTensorsDebugState());
  ASSERT_TRUE(run());
  EXPECT_THAT(listener_.names, IsEmpty());
}

TEST_F(DebugTensors, MayDecideShapesOrHaveOnesThatDependOnData) {
  ITensor& x = s_.input("x", {-1, 4});
  IOptimizationProfile* profile = s_.builder->createOptimizationProfile();
  profile->setDimensions("x", OptProfileSelector::kMIN, dims({1, 4}));
  profile->setDimensions("x", OptProfileSelector::kOPT, dims({2, 4}));
  profile->setDimensions("x", OptProfileSelector::kMAX, dims({8, 4}));
  s_.config->addOptimizationProfile(profile);
  ITensor& shape = *s_.network->addShape(x)->getOutput(0);
  shape.setName("shape");
  ITensor& found = *s_.network->addNonZero(x)->getOutput(0);
  found.setName("found");
  IShuffleLayer* reshape = s_.network->addShuffle(found);
  reshape->setReshapeDimensions(dims({-1}));
  reshape->getOutput(0)->setName("y");
  s_.network->markOutput(*reshape->getOutput(0));
  for (ITensor* tensor : {&x, &shape, &found}) s_.network->markDebug(*tensor);
  make();
  context_->setDebugListener(&listener_);
  context_->setAllTensorsDebugState(true);
  context_->setInputShape("x", dims({3, 4}));
  x_.assign(12, 0);
  x_[5] = 2;
  y_.assign(24, 0);
  ASSERT_TRUE(run()) << s_.logger.take_errors();
  EXPECT_THAT(listener_.names, ::testing::UnorderedElementsAre("x", "shape", "found"));
  EXPECT_EQ(listener_.tensors.at("x").as<float>(), x_);
  EXPECT_EQ(listener_.tensors.at("shape").location, TensorLocation::kHOST);
  EXPECT_EQ(listener_.tensors.at("shape").as<int64_t>(), (List{3, 4}));
  EXPECT_EQ(listener_.tensors.at("found").shape, (List{2, 1}));
  EXPECT_EQ(listener_.tensors.at("found").type, DataType::kINT32);
  EXPECT_THAT(listener_.tensors.at("found").as<int32_t>(), ElementsAre(1, 1));
}

TEST_F(DebugTensors, WithinALoopAreRefused) {
  ITensor& x = s_.input("x", {1});
  ILoop* loop = s_.network->addLoop();
  const int32_t trips = 3;
  loop->addTripLimit(
      *s_.network->addConstant(Dims{0, {}}, {DataType::kINT32, &trips, 1})->getOutput(0),
      TripLimit::kCOUNT);
  IRecurrenceLayer* sum = loop->addRecurrence(x);
  ITensor& next =
      *s_.network->addElementWise(*sum->getOutput(0), x, ElementWiseOperation::kSUM)->getOutput(0);
  next.setName("next");
  sum->setInput(1, next);
  ITensor& y = *loop->addLoopOutput(*sum->getOutput(0), LoopOutput::kLAST_VALUE)->getOutput(0);
  y.setName("y");
  s_.network->markOutput(y);
  s_.network->markDebug(next);
  EXPECT_EQ(s_.build(), nullptr);
  EXPECT_THAT(s_.logger.take_errors(),
              HasSubstr("tensor 'next' is made inside and marked for debugging"));
  s_.network->unmarkDebug(next);
  s_.network->markDebug(y);
  make();
  context_->setDebugListener(&listener_);
  context_->setAllTensorsDebugState(true);
  x_ = {5};
  ASSERT_TRUE(run());
  EXPECT_THAT(listener_.tensors.at("y").as<float>(), ElementsAre(20));
}

}  // namespace
}  // namespace tenon::testing
