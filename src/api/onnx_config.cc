// IOnnxConfig: settings that 8.x samples pass around; they are stored and nothing reads them here.
#include <NvOnnxConfig.h>

#include <string>

namespace nvonnxparser {
namespace {

class OnnxConfig final : public IOnnxConfig {
 public:
  void setModelDtype(nvinfer1::DataType type) noexcept override { type_ = type; }
  nvinfer1::DataType getModelDtype() const noexcept override { return type_; }
  const char* getModelFileName() const noexcept override { return model_.c_str(); }
  void setModelFileName(const char* fileName) noexcept override { set(model_, fileName); }
  Verbosity getVerbosityLevel() const noexcept override { return verbosity_; }
  void addVerbosity() noexcept override { ++verbosity_; }
  void reduceVerbosity() noexcept override { --verbosity_; }
  void setVerbosityLevel(Verbosity level) noexcept override { verbosity_ = level; }
  const char* getTextFileName() const noexcept override { return text_.c_str(); }
  void setTextFileName(const char* fileName) noexcept override { set(text_, fileName); }
  const char* getFullTextFileName() const noexcept override { return full_text_.c_str(); }
  void setFullTextFileName(const char* fileName) noexcept override { set(full_text_, fileName); }
  bool getPrintLayerInfo() const noexcept override { return print_layers_; }
  void setPrintLayerInfo(bool enabled) noexcept override { print_layers_ = enabled; }

 private:
  static void set(std::string& to, const char* name) noexcept { to = name == nullptr ? "" : name; }

  std::string model_, text_, full_text_;
  nvinfer1::DataType type_ = nvinfer1::DataType::kFLOAT;
  Verbosity verbosity_ = static_cast<Verbosity>(nvinfer1::ILogger::Severity::kWARNING);
  bool print_layers_ = false;
};

}  // namespace

IOnnxConfig* createONNXConfig() {
  return new OnnxConfig;
}

}  // namespace nvonnxparser
