// Plugins whose output shapes depend on data: IExprBuilder::declareSizeTensor through the engine.
#include <cuda_runtime_api.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "api/testing.h"
#include "plan/plan_file.h"
#include "plugin_layers/plugin_memory_test.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::ElementsAreArray;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Seen {
  List bound, usual, running;  // of the values: when configured, and when running
};
Seen seen;

// The elements above a threshold: their values (K), their positions (K, 2), and K.
class Above final : public IPluginV3,
                    public IPluginV3OneCore,
                    public IPluginV3OneBuild,
                    public IPluginV3OneRuntime {
 public:
  // How it misbehaves.
  enum Fault : int32_t {
    kNone,
    kTooMany,       // writes a size above the bound
    kNegative,      // writes a size below 0
    kRank,          // the size tensor is no scalar
    kType,          // the size tensor is of floats
    kOutput,        // there is no such output
    kTwice,         // declares it twice
    kBoundOfBound,  // the bound depends on a size
    kShrinking,     // an extent that is larger, the smaller the size is
  };
  Above(float threshold, Fault fault, bool is_long)
      : threshold_(threshold), fault_(fault), long_(is_long) {}

  IPluginCapability* getCapabilityInterface(PluginCapabilityType type) noexcept override {
    if (type == PluginCapabilityType::kCORE) return static_cast<IPluginV3OneCore*>(this);
    if (type == PluginCapabilityType::kBUILD) return static_cast<IPluginV3OneBuild*>(this);
    return static_cast<IPluginV3OneRuntime*>(this);
  }
  Above* clone() noexcept override { return new Above(*this); }
  const char* getPluginName() const noexcept override { return "Above"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
  int32_t getNbOutputs() const noexcept override { return 3; }
  int32_t configurePlugin(const DynamicPluginTensorDesc*, int32_t,
                          const DynamicPluginTensorDesc* out, int32_t) noexcept override {
    seen.bound = list(out[0].max);
    seen.usual = list(out[0].opt);
    return 0;
  }
  int32_t getOutputDataTypes(DataType* out, int32_t, const DataType* in,
                             int32_t) const noexcept override {
    out[0] = in[0];
    out[1] = DataType::kINT32;
    out[2] = fault_ == kType ? DataType::kFLOAT : long_ ? DataType::kINT64 : DataType::kINT32;
    return 0;
  }
  int32_t getOutputShapes(const DimsExprs* in, int32_t, const DimsExprs*, int32_t, DimsExprs* out,
                          int32_t, IExprBuilder& build) noexcept override {
    const auto* all = build.operation(DimensionOperation::kPROD, *in[0].d[0], *in[0].d[1]);
    const auto* half = build.operation(DimensionOperation::kFLOOR_DIV, *all, *build.constant(2));
    const auto* size = build.declareSizeTensor(fault_ == kOutput ? 3 : 2, *half, *all);
    if (fault_ == kTwice) build.declareSizeTensor(2, *half, *all);
    if (fault_ == kBoundOfBound) build.declareSizeTensor(1, *half, *size);
    EXPECT_TRUE(size->isSizeTensor() || fault_ == kOutput);
    EXPECT_FALSE(all->isSizeTensor());
    EXPECT_FALSE(size->isConstant() && fault_ != kOutput);
    if (fault_ == kShrinking) size = build.operation(DimensionOperation::kSUB, *all, *size);
    out[0] = {1, {size}};
    out[1] = {2, {size, build.constant(2)}};
    out[2].nbDims = fault_ == kRank ? 1 : 0;
    out[2].d[0] = build.constant(1);
    return 0;
  }
  bool supportsFormatCombination(int32_t, const DynamicPluginTensorDesc*, int32_t,
                                 int32_t) noexcept override {
    return true;
  }
  int32_t onShapeChange(const PluginTensorDesc*, int32_t, const PluginTensorDesc*,
                        int32_t) noexcept override {
    return 0;
  }
  int32_t enqueue(const PluginTensorDesc* in, const PluginTensorDesc* out,
                  const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    seen.running = list(out[0].dims);
    const int64_t rows = in[0].dims.d[0], columns = in[0].dims.d[1];
    const Floats x = on_host<float>(inputs[0], static_cast<size_t>(rows * columns), stream);
    Floats values;
    std::vector<int32_t> positions;
    for (int64_t i = 0; i < rows * columns; ++i) {
      if (x[static_cast<size_t>(i)] <= threshold_) continue;
      values.push_back(x[static_cast<size_t>(i)]);
      positions.push_back(static_cast<int32_t>(i / columns));
      positions.push_back(static_cast<int32_t>(i % columns));
    }
    auto size = static_cast<int32_t>(values.size());
    to_device(outputs[0], values, stream);
    to_device(outputs[1], positions, stream);
    if (fault_ == kTooMany) size = static_cast<int32_t>(rows * columns) + 1;
    if (fault_ == kNegative) size = -1;
    if (long_)
      to_device(outputs[2], List{size}, stream);
    else
      to_device(outputs[2], std::vector<int32_t>{size}, stream);
    return 0;
  }
  IPluginV3* attachToContext(IPluginResourceContext*) noexcept override { return clone(); }
  const PluginFieldCollection* getFieldsToSerialize() noexcept override {
    fields_[0] = {"threshold", &threshold_, PluginFieldType::kFLOAT32, 1};
    fields_[1] = {"fault", &fault_, PluginFieldType::kINT32, 1};
    fields_[2] = {"long", &long_, PluginFieldType::kINT32, 1};
    collection_ = {3, fields_};
    return &collection_;
  }

 private:
  float threshold_;
  int32_t fault_, long_;
  PluginField fields_[3];
  PluginFieldCollection collection_{};
};

class AboveCreator final : public IPluginCreatorV3One {
 public:
  IPluginV3* createPlugin(const char*, const PluginFieldCollection* fields,
                          TensorRTPhase) noexcept override {
    const auto integer = [&](int i) {
      return *static_cast<const int32_t*>(fields->fields[i].data);
    };
    return new Above(*static_cast<const float*>(fields->fields[0].data),
                     static_cast<Above::Fault>(integer(1)), integer(2) != 0);
  }
  const PluginFieldCollection* getFieldNames() noexcept override { return nullptr; }
  const char* getPluginName() const noexcept override { return "Above"; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return ""; }
};

// What an output allocator was told.
template <class T> struct Taken final : IOutputAllocator {
  void* reallocateOutputAsync(const char*, void*, uint64_t size, uint64_t, cudaStream_t) override {
    memory.resize(size / sizeof(T));
    return memory.data();
  }
  void notifyShape(const char*, const nvinfer1::Dims& d) noexcept override { shape = list(d); }
  std::vector<T> values() const {
    int64_t count = 1;
    for (int64_t extent : shape) count *= extent;
    return {memory.begin(), memory.begin() + count};
  }
  std::vector<T> memory;
  List shape;
};

class SizeTensors : public ::testing::Test {
 protected:
  SizeTensors() { getPluginRegistry()->registerCreator(creator_, ""); }
  ~SizeTensors() override { getPluginRegistry()->deregisterCreator(creator_); }

  IPluginV3Layer* add(ITensor& x, Above::Fault fault = Above::kNone, bool is_long = false) {
    ITensor* inputs[] = {&x};
    Above plugin(0.5f, fault, is_long);
    return s_.network->addPluginV3(inputs, 1, nullptr, 0, plugin);
  }
  ITensor& input() {
    IOptimizationProfile* profile = s_.builder->createOptimizationProfile();
    profile->setDimensions("x", OptProfileSelector::kMIN, dims({1, 1}));
    profile->setDimensions("x", OptProfileSelector::kOPT, dims({2, 4}));
    profile->setDimensions("x", OptProfileSelector::kMAX, dims({3, 5}));
    s_.config->addOptimizationProfile(profile);
    return s_.input("x", {-1, -1});
  }
  void mark(ITensor& tensor, const char* name) {
    tensor.setName(name);
    s_.network->markOutput(tensor);
  }
  // The context of the engine, after a round trip through a plan.
  void make() {
    engine_ = s_.engine();
    ASSERT_NE(engine_, nullptr) << s_.logger.take_errors();
    context_.reset(engine_->createExecutionContext());
    ASSERT_NE(context_, nullptr) << s_.logger.take_errors();
  }
  bool run(const Floats& x, std::initializer_list<int64_t> shape) {
    EXPECT_TRUE(context_->setInputShape("x", dims(shape)));
    EXPECT_TRUE(context_->setInputTensorAddress("x", x.data()));
    return context_->enqueueV3(nullptr) && cudaStreamSynchronize(nullptr) == cudaSuccess;
  }
  std::string build_error(Above::Fault fault) {
    Session fresh;
    std::swap(s_.network, fresh.network);
    IPluginV3Layer* layer = add(s_.input("x", {2, 2}), fault);
    if (layer != nullptr) s_.network->markOutput(*layer->getOutput(0));
    EXPECT_EQ(s_.build(), nullptr);
    std::swap(s_.network, fresh.network);
    return s_.logger.take_errors();
  }

  AboveCreator creator_;
  Session s_;
  std::unique_ptr<ICudaEngine> engine_;
  std::unique_ptr<IExecutionContext> context_;
};

const Floats kMixed{1, 0, 2, 0, 0, 3, 0.5f, 4};  // 2x4
const Floats kNoneAbove{0, 0, 0, 0, 0, 0, 0, 0};

TEST_F(SizeTensors, OutputsHaveTheSizeThatThePluginWrote) {
  for (const bool is_long : {false, true}) {
    SCOPED_TRACE(is_long ? "int64" : "int32");
    s_.network.reset(s_.builder->createNetworkV2(0));
    s_.config.reset(s_.builder->createBuilderConfig());
    IPluginV3Layer* layer = add(input(), Above::kNone, is_long);
    mark(*layer->getOutput(0), "values");
    mark(*layer->getOutput(1), "positions");
    mark(*layer->getOutput(2), "size");
    EXPECT_EQ(list(layer->getOutput(1)->getDimensions()), (List{-1, 2}));
    make();
    EXPECT_EQ(seen.bound, (List{8}));
    EXPECT_EQ(seen.usual, (List{4}));
    EXPECT_EQ(list(engine_->getTensorShape("values")), (List{-1}));
    Taken<float> values;
    Taken<int32_t> positions;
    List memory(1);
    int64_t& size = memory[0];
    context_->setOutputAllocator("values", &values);
    context_->setOutputAllocator("positions", &positions);
    context_->setTensorAddress("size", &size);
    ASSERT_TRUE(run(kMixed, {2, 4})) << s_.logger.take_errors();
    EXPECT_EQ(seen.running, (List{-1}));
    EXPECT_EQ(values.shape, (List{4}));
    EXPECT_THAT(values.values(), ElementsAre(1, 2, 3, 4));
    EXPECT_EQ(positions.shape, (List{4, 2}));
    EXPECT_THAT(positions.values(), ElementsAre(0, 0, 0, 2, 1, 1, 1, 3));
    EXPECT_EQ(size, 4);
    EXPECT_EQ(list(context_->getTensorShape("positions")), (List{4, 2}));
    // Again with none, all, and another shape.
    ASSERT_TRUE(run(kNoneAbove, {2, 4})) << s_.logger.take_errors();
    EXPECT_EQ(values.shape, (List{0}));
    EXPECT_EQ(positions.shape, (List{0, 2}));
    EXPECT_EQ(size, 0);
    const Floats all{5, 6, 7};
    ASSERT_TRUE(run(all, {3, 1})) << s_.logger.take_errors();
    EXPECT_THAT(values.values(), ElementsAreArray(all));
    EXPECT_THAT(positions.values(), ElementsAre(0, 0, 1, 0, 2, 0));
    ASSERT_TRUE(run(kMixed, {2, 4}));
    EXPECT_THAT(values.values(), ElementsAre(1, 2, 3, 4));
    EXPECT_THAT(s_.logger.take_errors(), IsEmpty());
  }
}

TEST_F(SizeTensors, MemoryOfTheLargestSizeDoesWithoutAnAllocator) {
  mark(*add(input())->getOutput(0), "values");
  make();
  context_->setInputShape("x", dims({2, 4}));
  ASSERT_EQ(context_->getMaxOutputSize("values"), 3 * 5 * static_cast<int64_t>(sizeof(float)));
  Floats values(15);
  context_->setTensorAddress("values", values.data());
  ASSERT_TRUE(run(kMixed, {2, 4})) << s_.logger.take_errors();
  ASSERT_EQ(list(context_->getTensorShape("values")), (List{4}));
  values.resize(4);
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4));
}

// values * 2 + sum(values), a reshape of the positions, the size as a shape of something else, and
// a second plugin on what the first one found.
TEST_F(SizeTensors, FollowingLayersGoOnWithTheRealSize) {
  IPluginV3Layer* found = add(input());
  ITensor& values = *found->getOutput(0);
  ITensor& twice =
      *s_.network->addElementWise(values, values, ElementWiseOperation::kSUM)->getOutput(0);
  ITensor& sum = *s_.network->addReduce(values, ReduceOperation::kSUM, 1, true)->getOutput(0);
  mark(*s_.network->addElementWise(twice, sum, ElementWiseOperation::kSUM)->getOutput(0), "sums");
  IShuffleLayer* flat = s_.network->addShuffle(*found->getOutput(1));
  flat->setReshapeDimensions(dims({-1}));
  mark(*flat->getOutput(0), "flat");
  IShuffleLayer* columns = s_.network->addShuffle(values);
  columns->setReshapeDimensions(dims({-1, 1}));
  mark(*add(*columns->getOutput(0))->getOutput(1), "again");
  make();
  Taken<float> sums;
  Taken<int32_t> positions, again;
  context_->setOutputAllocator("sums", &sums);
  context_->setOutputAllocator("flat", &positions);
  context_->setOutputAllocator("again", &again);
  ASSERT_TRUE(run(kMixed, {2, 4})) << s_.logger.take_errors();
  EXPECT_THAT(sums.values(), ElementsAre(12, 14, 16, 18));
  EXPECT_EQ(positions.shape, (List{8}));
  EXPECT_THAT(positions.values(), ElementsAre(0, 0, 0, 2, 1, 1, 1, 3));
  EXPECT_THAT(again.values(), ElementsAre(0, 0, 1, 0, 2, 0, 3, 0));
  ASSERT_TRUE(run(kNoneAbove, {2, 4})) << s_.logger.take_errors();
  EXPECT_EQ(sums.shape, (List{0}));
  EXPECT_EQ(again.shape, (List{0, 2}));
}

TEST_F(SizeTensors, ASizeOutOfItsBoundsIsOneClearError) {
  for (const auto& [fault, text] :
       {std::pair{Above::kTooMany, "it wrote the size 9 to 'size'; expected 0 to 8"},
        std::pair{Above::kNegative, "it wrote the size -1 to 'size'; expected 0 to 8"}}) {
    s_.network.reset(s_.builder->createNetworkV2(0));
    s_.config.reset(s_.builder->createBuilderConfig());
    IPluginV3Layer* layer = add(input(), fault);
    layer->setName("picky");
    mark(*layer->getOutput(0), "values");
    mark(*layer->getOutput(2), "size");
    make();
    Taken<float> values;
    std::vector<int32_t> size(1);
    context_->setOutputAllocator("values", &values);
    context_->setTensorAddress("size", size.data());
    EXPECT_FALSE(run(kMixed, {2, 4}));
    EXPECT_THAT(s_.logger.take_errors(),
                AllOf(HasSubstr("layer picky (PluginV3)"), HasSubstr(text)));
    cudaGetLastError();
  }
}

// The bound of an extent is what it is at the bound of the size; one that falls is caught.
TEST_F(SizeTensors, AnExtentLargerThanItsBoundIsAnError) {
  mark(*add(input(), Above::kShrinking)->getOutput(0), "values");
  make();
  Taken<float> values;
  context_->setOutputAllocator("values", &values);
  EXPECT_FALSE(run(kMixed, {2, 4}));
  EXPECT_THAT(s_.logger.take_errors(), HasSubstr("of shape 4 is larger than what bounds it, 0"));
  cudaGetLastError();
}

TEST_F(SizeTensors, AMissingPluginIsNamedWhenThePlanIsLoaded) {
  mark(*add(input())->getOutput(0), "values");
  const auto plan = s_.build();
  ASSERT_NE(plan, nullptr) << s_.logger.take_errors();
  getPluginRegistry()->deregisterCreator(creator_);
  EXPECT_EQ(s_.runtime->deserializeCudaEngine(plan->data(), plan->size()), nullptr);
  EXPECT_THAT(s_.logger.take_errors(),
              HasSubstr("no plugin \"Above\" version \"1\" is registered in namespace \"\""));
}

// The checksums of a plan may be right and what it says wrong.
TEST_F(SizeTensors, ACraftedPlanIsAnError) {
  mark(*add(input())->getOutput(0), "values");
  const auto bytes = s_.build();
  ASSERT_NE(bytes, nullptr) << s_.logger.take_errors();
  const auto error_after = [&](const std::function<void(Plan&, PlanSymbol&)>& change) {
    const auto* data = static_cast<const std::byte*>(bytes->data());
    Plan plan = read_plan({data, bytes->size()}, nullptr, "plan");
    for (PlanSymbol& symbol : plan.symbols)
      if (symbol.is_data_dependent()) change(plan, symbol);
    const auto crafted = write_plan(plan);
    engine_.reset(s_.runtime->deserializeCudaEngine(crafted.data(), crafted.size()));
    if (engine_ == nullptr) return s_.logger.take_errors();
    context_.reset(engine_->createExecutionContext());
    Taken<float> values;
    context_->setOutputAllocator("values", &values);
    EXPECT_FALSE(run(kMixed, {2, 4}));
    cudaGetLastError();
    context_.reset();
    return s_.logger.take_errors();
  };
  EXPECT_THAT(error_after([](Plan&, PlanSymbol& s) { s.upper = -1; }),
              AllOf(HasSubstr("(PluginV3)"), HasSubstr("shape -1 has a negative extent")));
  EXPECT_THAT(error_after([](Plan&, PlanSymbol& s) { s.tensor = -1; }),
              HasSubstr("needs a size before the layer that tells it"));
  EXPECT_THAT(error_after([](Plan&, PlanSymbol& s) { s.index = 1; }),
              HasSubstr("has no element 1"));
  EXPECT_THAT(error_after([](Plan& plan, PlanSymbol& s) {
                for (size_t i = plan.tensors.size(); i-- > 0;)
                  if (plan.tensors[i].type == DataType::kFLOAT
                      && plan.tensors[i].place == PlanTensor::Place::kDataDependent)
                    s.tensor = static_cast<int32_t>(i);  // the values
              }),
              HasSubstr("cannot decide shapes"));
}

TEST_F(SizeTensors, DeclaringThemWronglyIsAnError) {
  const std::string who = "plugin \"Above\" version \"1\"";
  EXPECT_THAT(build_error(Above::kRank),
              AllOf(HasSubstr(who), HasSubstr("output 2 is declared a size tensor, but it is int32 "
                                              "of rank 1; expected a scalar")));
  EXPECT_THAT(build_error(Above::kType), HasSubstr("but it is float32 of rank 0"));
  EXPECT_THAT(build_error(Above::kOutput),
              AllOf(HasSubstr(who), HasSubstr("names output 3; the plugin has 3")));
  EXPECT_THAT(build_error(Above::kTwice), HasSubstr("output 2 was declared a size tensor twice"));
  EXPECT_THAT(build_error(Above::kBoundOfBound),
              HasSubstr("a value or bound that depends on a size tensor"));
}

}  // namespace
}  // namespace tenon::testing
