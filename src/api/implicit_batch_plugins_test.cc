// Plugins of the older families in networks with TensorRT 8's implicit batch.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <tenon/extensions.h>

#include "api/testing.h"
#include "plugin_layers/idle_plugin_test.h"
#include "plugin_layers/plugin_families_test.h"
#include "plugin_layers/plugin_memory_test.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using List = std::vector<int64_t>;

// An application that makes a network of items of three elements, of at most four.
class Application {
 protected:
  Application() {
    s_.builder->setMaxBatchSize(4);
    s_.network.reset(s_.builder->createNetworkV2(kImplicitBatchFlag));
    plugin_calls.clear();
  }
  ITensor& add(IPluginV2& plugin, std::vector<ITensor*> inputs, int32_t output = 0) {
    return *s_.network->addPluginV2(inputs.data(), static_cast<int32_t>(inputs.size()), plugin)
                ->getOutput(output);
  }
  ITensor& constant() {
    return *s_.network->addConstant(dims({3}), weights(values_))->getOutput(0);
  }
  // An engine that gives `y`, as read from its plan; null when it is refused.
  std::unique_ptr<ICudaEngine> engine_of(ITensor& y) {
    y.setName("y");
    s_.network->markOutput(y);
    return s_.engine();
  }
  std::vector<float> run(ICudaEngine& engine, std::vector<float> x) {
    const std::unique_ptr<IExecutionContext> context(engine.createExecutionContext());
    std::vector<float> y(x.size());
    void* bindings[] = {x.data(), y.data()};
    EXPECT_TRUE(context->execute(static_cast<int32_t>(x.size() / 3), bindings))
        << s_.logger.take_errors();
    return y;
  }

  const std::vector<float> values_ = {10, 20, 30};
  Session s_;
};

template <class Plugin> class ImplicitBatchOfPlugins : public ::testing::Test, public Application {
 protected:
  ImplicitBatchOfPlugins() { getPluginRegistry()->registerCreator(creator_, ""); }
  ~ImplicitBatchOfPlugins() override { getPluginRegistry()->deregisterCreator(creator_); }
  ScaledCreator<Plugin> creator_;
};

using Families = ::testing::Types<ScaledBasic, ScaledExt, ScaledIOExt>;
TYPED_TEST_SUITE(ImplicitBatchOfPlugins, Families);

TYPED_TEST(ImplicitBatchOfPlugins, SeesItemsAndTheirNumber) {
  TypeParam plugin({2, -1});
  ITensor& y = this->add(plugin, {&this->s_.input("x", {3})});
  EXPECT_EQ(list(y.getDimensions()), (List{3}));
  const auto engine = this->engine_of(y);
  ASSERT_NE(engine, nullptr) << this->s_.logger.take_errors();
  EXPECT_EQ(list(engine->getBindingDimensions(1)), (List{3}));
  // IPluginV2IOExt is not told of the largest batch when it is configured.
  constexpr bool kIO = std::is_same_v<TypeParam, ScaledIOExt>;
  EXPECT_THAT(plugin_calls,
              Contains(HasSubstr(kIO ? " 3 to 3 float batch 1" : " 3 to 3 float batch 4")));
  EXPECT_THAT(plugin_calls, Not(Contains(HasSubstr("wrongly"))));
  plugin_calls.clear();
  EXPECT_THAT(this->run(*engine, {1, 2, 3, 4, 5, 6}), ElementsAre(2, 4, 6, 8, 10, 12));
  EXPECT_THAT(plugin_calls, Contains("enqueue 2"));
  EXPECT_THAT(plugin_calls, Contains("workspace 4"));
  EXPECT_THAT(this->run(*engine, {7, 8, 9}), ElementsAre(14, 16, 18));
  EXPECT_THAT(plugin_calls, Contains("enqueue 1"));
}

TYPED_TEST(ImplicitBatchOfPlugins, DoesNotReadOneTensorForAllItems) {
  TypeParam plugin({2, -1});
  ITensor& constant = this->add(plugin, {&this->constant()});
  ILayer* sum = this->s_.network->addElementWise(this->s_.input("x", {3}), constant,
                                                 ElementWiseOperation::kSUM);
  EXPECT_EQ(this->engine_of(*sum->getOutput(0)), nullptr);
  EXPECT_THAT(this->s_.logger.take_errors(),
              HasSubstr("input 0 is one tensor for all items of the batch, which the plugin does "
                        "not take (canBroadcastInputAcrossBatch)"));
}

// y0 = x + shift for each item, y1 = 2 * shift; items may share the shift, and then share y1.
class Shifted final : public ScaledTyped<IPluginV2Ext> {
 public:
  using ScaledTyped::ScaledTyped;
  DataType getOutputDataType(int32_t, const DataType*, int32_t) const noexcept override {
    return DataType::kFLOAT;
  }
  Dims getOutputDimensions(int32_t, const Dims* in, int32_t) noexcept override { return in[0]; }
  bool canBroadcastInputAcrossBatch(int32_t index) const noexcept override { return index == 1; }
  bool isOutputBroadcastAcrossBatch(int32_t index, const bool* shared,
                                    int32_t) const noexcept override {
    return index == 1 && shared[1];
  }
  void configurePlugin(const Dims*, int32_t, const Dims*, int32_t, const DataType*, const DataType*,
                       const bool* in_shared, const bool* out_shared, PluginFormat,
                       int32_t) noexcept override {
    const auto word = [](bool shared) { return shared ? " one" : " each"; };
    plugin_calls.push_back(std::string("configure") + word(in_shared[0]) + word(in_shared[1])
                           + " to" + word(out_shared[0]) + word(out_shared[1]));
  }
  int32_t enqueue(int32_t batch, const void* const* inputs, void* const* outputs, void*,
                  cudaStream_t stream) noexcept override {
    Floats x = on_host<float>(inputs[0], static_cast<size_t>(batch) * 3, stream),
           shift = on_host<float>(inputs[1], 3, stream);
    for (size_t i = 0; i < x.size(); ++i) x[i] += shift[i % 3];
    to_device(outputs[0], x, stream);
    for (float& element : shift) element *= 2;
    to_device(outputs[1], shift, stream);
    return 0;
  }
  Shifted* clone() const noexcept override { return new Shifted(*this); }
};

using SharedTensors = ImplicitBatchOfPlugins<Shifted>;

TEST_F(SharedTensors, GoToPluginsThatTakeThem) {
  Shifted plugin({1, -1});
  const auto engine = engine_of(add(plugin, {&s_.input("x", {3}), &constant()}));
  ASSERT_NE(engine, nullptr) << s_.logger.take_errors();
  EXPECT_THAT(plugin_calls, Contains("configure each one to each one"));
  EXPECT_THAT(run(*engine, {1, 2, 3, 4, 5, 6}), ElementsAre(11, 22, 33, 14, 25, 36));
}

TEST_F(SharedTensors, ComeFromPlugins) {
  Shifted plugin({1, -1});
  ITensor& x = s_.input("x", {3});
  ITensor& shared = add(plugin, {&x, &constant()}, 1);
  ILayer* sum = s_.network->addElementWise(x, shared, ElementWiseOperation::kSUM);
  const auto engine = engine_of(*sum->getOutput(0));
  ASSERT_NE(engine, nullptr) << s_.logger.take_errors();
  EXPECT_THAT(run(*engine, {1, 2, 3, 4, 5, 6}), ElementsAre(21, 42, 63, 24, 45, 66));
}

TEST_F(SharedTensors, AndPluginsOfDynamicShapesDoNotGoTogether) {
  IdlePlugin plugin;
  EXPECT_EQ(engine_of(add(plugin, {&s_.input("x", {3})})), nullptr);
  EXPECT_THAT(s_.logger.take_errors(),
              HasSubstr("plugins of IPluginV2DynamicExt need the batch as a dimension"));
}

}  // namespace
}  // namespace tenon::testing
