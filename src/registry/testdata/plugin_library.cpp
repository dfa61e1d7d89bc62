// A plugin library as loadLibrary() expects it: exported creators, and some that it registers
// itself.
#include <NvInferRuntime.h>

namespace {

class Creator : public nvinfer1::v_1_0::IPluginCreatorV3One {
 public:
  explicit Creator(const char* name) : name_(name) {}
  nvinfer1::IPluginV3* createPlugin(const char*, const nvinfer1::PluginFieldCollection*,
                                    nvinfer1::TensorRTPhase) noexcept override {
    return nullptr;
  }
  const nvinfer1::PluginFieldCollection* getFieldNames() noexcept override { return &none_; }
  const char* getPluginName() const noexcept override { return name_; }
  const char* getPluginVersion() const noexcept override { return "1"; }
  const char* getPluginNamespace() const noexcept override { return "library"; }

 private:
  const char* name_;
  nvinfer1::PluginFieldCollection none_{0, nullptr};
};

class StaticCreator final : public Creator {
 public:
  StaticCreator() : Creator("FromStaticConstructor") {}
};
REGISTER_TENSORRT_PLUGIN(StaticCreator);

nvinfer1::ILoggerFinder* logger_finder = nullptr;

}  // namespace

extern "C" TENSORRTAPI bool initLibNvInferPlugins(void*, const char* name_space) {
  static Creator registered("FromInitialization");
  return getPluginRegistry()->registerCreator(registered, name_space);
}

extern "C" TENSORRTAPI void setLoggerFinder(nvinfer1::ILoggerFinder* finder) {
  logger_finder = finder;
}

extern "C" TENSORRTAPI nvinfer1::IPluginCreatorInterface* const* getCreators(int32_t& count) {
  static Creator exported("FromGetCreators");
  static nvinfer1::IPluginCreatorInterface* const list[] = {&exported};
  if (logger_finder != nullptr && logger_finder->findLogger() != nullptr)
    logger_finder->findLogger()->log(nvinfer1::ILogger::Severity::kINFO, "hello from the library");
  count = 1;
  return list;
}
