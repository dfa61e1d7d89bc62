// An application chooses the kernels of a build.
#include <map>

#include "api/cnn_testing.h"

namespace tenon::testing {
namespace {

using namespace nvinfer1;  // the tests speak as an application does
using ::testing::HasSubstr;

// Takes the slowest kernel of each layer, or what it is told to.
struct SlowestSelector final : IAlgorithmSelector {
  struct Layer {
    std::vector<List> shapes[3];  // of inputs, then outputs, at kMIN, kOPT and kMAX
    int32_t inputs = 0, outputs = 0, choices = 0;
    std::vector<int64_t> tactics;
    int64_t taken = 0;
  };
  int32_t selectAlgorithms(const IAlgorithmContext& context, const IAlgorithm* const* choices,
                           int32_t count, int32_t* selection) noexcept override {
    Layer& layer = layers[context.getName()];
    layer = {};
    layer.inputs = context.getNbInputs();
    layer.outputs = context.getNbOutputs();
    layer.choices = count;
    for (int32_t point = 0; point < 3; ++point)
      for (int32_t i = 0; i < layer.inputs + layer.outputs; ++i)
        layer.shapes[point].push_back(
            list(context.getDimensions(i, static_cast<OptProfileSelector>(point))));
    int32_t slowest = 0;
    for (int32_t i = 0; i < count; ++i) {
      const IAlgorithm& choice = *choices[i];
      layer.tactics.push_back(choice.getAlgorithmVariant().getTactic());
      EXPECT_GE(choice.getTimingMSec(), 0);
      if (choice.getTimingMSec() > choices[slowest]->getTimingMSec()) slowest = i;
      for (int32_t tensor = 0; tensor < layer.inputs + layer.outputs; ++tensor) {
        const IAlgorithmIOInfo* info = choice.getAlgorithmIOInfoByIndex(tensor);
        ASSERT_ALWAYS(info != nullptr);
        EXPECT_EQ(info->getDataType(), DataType::kFLOAT);
        const int64_t components = info->getComponentsPerElement();
        EXPECT_EQ(info->getVectorizedDim(), components > 1 ? 1 : -1);
        EXPECT_EQ(info->getStrides().nbDims,
                  context.getDimensions(tensor, OptProfileSelector::kOPT).nbDims);
      }
      EXPECT_EQ(choice.getAlgorithmIOInfoByIndex(layer.inputs + layer.outputs), nullptr);
    }
    selection[0] = index >= 0 ? index : slowest;
    layer.taken = layer.tactics[static_cast<size_t>(selection[0] < count ? selection[0] : 0)];
    return selects;
  }
  void reportAlgorithms(const IAlgorithmContext* const* contexts, const IAlgorithm* const* choices,
                        int32_t count) noexcept override {
    for (int32_t i = 0; i < count; ++i)
      reported[contexts[i]->getName()] = choices[i]->getAlgorithmVariant().getTactic();
  }
  static void ASSERT_ALWAYS(bool holds) {
    if (!holds) std::abort();
  }

  std::map<std::string, Layer> layers;
  std::map<std::string, int64_t> reported;
  int32_t selects = 1, index = -1;
};

class AlgorithmSelectors : public ::testing::Test {
 protected:
  AlgorithmSelectors() {
    cnn_.add_to(s_, true);
    add_profile(s_, {1, 2, 4, 4}, {1, 2, 8, 8}, {2, 2, 16, 16});
    s_.config->setAlgorithmSelector(&selector_);
  }
  const Cnn cnn_;
  Session s_;
  SlowestSelector selector_;
};

TEST_F(AlgorithmSelectors, DecideTheKernels) {
  const auto engine = s_.engine();
  ASSERT_NE(engine, nullptr) << s_.logger.take_errors();
  const auto found = selector_.layers.lower_bound("conv");  // with the activation behind it
  ASSERT_NE(found, selector_.layers.end());
  ASSERT_THAT(found->first, ::testing::StartsWith("conv"));
  const SlowestSelector::Layer& conv = found->second;
  EXPECT_EQ(conv.inputs, 1) << "weights are none";
  EXPECT_EQ(conv.outputs, 1);
  EXPECT_GE(conv.choices, 2);
  EXPECT_EQ(conv.shapes[0], (std::vector<List>{{1, 2, 4, 4}, {1, 3, 4, 4}}));
  EXPECT_EQ(conv.shapes[1], (std::vector<List>{{1, 2, 8, 8}, {1, 3, 8, 8}}));
  EXPECT_EQ(conv.shapes[2], (std::vector<List>{{2, 2, 16, 16}, {2, 3, 16, 16}}));
  for (const auto& [name, layer] : selector_.layers)
    EXPECT_EQ(selector_.reported[name], layer.taken) << name;
  const CudaStream stream;
  expect_right(cnn_, *Context(engine->createExecutionContext()), 2, 6, 8, stream.stream);
}

TEST_F(AlgorithmSelectors, MayLeaveTheChoiceToTheBuilder) {
  selector_.selects = 0;
  EXPECT_NE(s_.build(), nullptr) << s_.logger.take_errors();
  EXPECT_EQ(selector_.reported.size(), selector_.layers.size());
  s_.config->setFlag(BuilderFlag::kREJECT_EMPTY_ALGORITHMS);
  EXPECT_EQ(s_.build(), nullptr);
  EXPECT_THAT(s_.logger.take_errors(), HasSubstr("kREJECT_EMPTY_ALGORITHMS"));
}

TEST_F(AlgorithmSelectors, SelectWhatThereIs) {
  selector_.index = 99;
  EXPECT_EQ(s_.build(), nullptr);
  EXPECT_THAT(s_.logger.take_errors(), HasSubstr("selectAlgorithms() selects algorithm 99 of "));
  selector_.index = 0;
  selector_.selects = 99;
  EXPECT_EQ(s_.build(), nullptr);
  EXPECT_THAT(s_.logger.take_errors(), HasSubstr("selectAlgorithms() selects 99 of "));
  selector_.selects = -1;
  EXPECT_EQ(s_.build(), nullptr);
}

}  // namespace
}  // namespace tenon::testing
