// Plugins as the tutorials around tensorRT_Pro write them, with loops in place of kernels.
#include <cmath>
#include <nlohmann/json.hpp>

#include "onnxplugin/onnxplugin.hpp"

using namespace ONNXPlugin;  // NOLINT: as in the tutorials

// x * sigmoid(x), with what the layer does when a plugin says nothing.
class TutorialSELU : public TRTPlugin {
 public:
  SetupPlugin(TutorialSELU);
  using TRTPlugin::enqueue;
  int enqueue(const std::vector<GTensor>& inputs, std::vector<GTensor>& outputs,
              const std::vector<GTensor>&, void*, cudaStream_t) override {
    const float* x = inputs[0].ptr<float>();
    for (int i = 0; i < inputs[0].count(); ++i)
      outputs[0].ptr<float>()[i] = x[i] / (1 + std::exp(-x[i]));
    return 0;
  }
};
RegisterPlugin(TutorialSELU);

struct HSwishConfig : LayerConfig {
  float scale = 0;
  void init() override {
    if (scale == 0) scale = nlohmann::json::parse(info_).at("scale").get<float>();
  }
  void seril(OutStream& out) override { out << scale << std::vector<std::string>{"end"}; }
  void deseril(InStream& in) override {
    std::vector<std::string> end;
    in >> scale >> end;
    if (end != std::vector<std::string>{"end"}) throw std::runtime_error("saved bytes are wrong");
  }
};

// HSwish of x + bias (a weight for each channel), times a number from the node's info.
class BiasedHSwish : public TRTPlugin {
 public:
  SetupPlugin(BiasedHSwish);
  std::shared_ptr<LayerConfig> new_config() override {
    auto config = std::make_shared<HSwishConfig>();
    config->support_dtype_set_ = {nvinfer1::DataType::kFLOAT, nvinfer1::DataType::kHALF};
    return config;
  }
  using TRTPlugin::enqueue;
  int enqueue(const std::vector<GTensor>& inputs, std::vector<GTensor>& outputs,
              const std::vector<GTensor>& weights, void*, cudaStream_t) override {
    if (weights.size() != 1 || weights[0].dtype_ != inputs[0].dtype_) return 1;
    if (config_->usage_dtype_ == DataType::Float)
      return run<float>(inputs[0], outputs[0], weights[0]);
    return run<tenon::kit::Half>(inputs[0], outputs[0], weights[0]);
  }

 private:
  template <class E> int run(const GTensor& in, GTensor& out, const GTensor& bias) const {
    const float scale = static_cast<HSwishConfig&>(*config_).scale;
    for (int n = 0; n < in.batch(); ++n)
      for (int c = 0; c < in.channel(); ++c)
        for (int i = 0; i < in.count(2); ++i) {
          const float x =
              static_cast<float>(in.ptr<E>(n, c)[i]) + static_cast<float>(bias.ptr<E>(c)[0]);
          const float y = x * std::min(std::max(x + 3, 0.f), 6.f) / 6 * scale;
          out.ptr<E>(n, c)[i] = static_cast<E>(y);
        }
    return 0;
  }
};
RegisterPlugin(BiasedHSwish);
