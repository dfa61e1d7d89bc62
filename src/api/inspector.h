// IEngineInspector: an engine's layers as text.
#pragma once

#include <NvInfer.h>

#include <memory>
#include <string>

#include "api/guard.h"
#include "run/engine.h"

namespace tenon {

class Inspector final : public nvinfer1::IEngineInspector, public nvinfer1::apiv::VEngineInspector {
 public:
  Inspector(std::shared_ptr<const Engine> engine, const Reporter& reporter);

  nvinfer1::IEngineInspector* getPImpl() noexcept override { return this; }
  /// With a context that has all its shapes, extents are those of the context.
  bool setExecutionContext(const nvinfer1::IExecutionContext* context) noexcept override;
  const nvinfer1::IExecutionContext* getExecutionContext() const noexcept override {
    return context_;
  }
  const char* getLayerInformation(int32_t layerIndex,
                                  nvinfer1::LayerInformationFormat format) const noexcept override;
  const char* getEngineInformation(nvinfer1::LayerInformationFormat format) const noexcept override;
  void setErrorRecorder(nvinfer1::IErrorRecorder* recorder) noexcept override {
    reporter_.set_recorder(recorder);
  }
  nvinfer1::IErrorRecorder* getErrorRecorder() const noexcept override {
    return reporter_.recorder();
  }

 private:
  std::vector<Shape> shapes() const;

  std::shared_ptr<const Engine> engine_;
  Reporter reporter_;
  const nvinfer1::IExecutionContext* context_ = nullptr;
  mutable std::string text_;  // of the last answer
};

}  // namespace tenon
