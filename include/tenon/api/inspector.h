// Reading what an engine consists of.
#ifndef TENON_API_INSPECTOR_H
#define TENON_API_INSPECTOR_H

#include "tenon/api/execution_context.h"

namespace nvinfer1 {

enum class LayerInformationFormat : int32_t {
  kONELINE = 0,
  kJSON = 1,
};

template <>
struct impl::EnumMaxImpl<LayerInformationFormat> {
  static constexpr int32_t kVALUE = 2;
};

class IEngineInspector : public INoCopy {
 public:
  ~IEngineInspector() noexcept override = default;
  bool setExecutionContext(const IExecutionContext* context) noexcept {
    return mImpl->setExecutionContext(context);
  }
  const IExecutionContext* getExecutionContext() const noexcept {
    return mImpl->getExecutionContext();
  }
  const char* getLayerInformation(int32_t layerIndex,
                                  LayerInformationFormat format) const noexcept {
    return mImpl->getLayerInformation(layerIndex, format);
  }
  const char* getEngineInformation(LayerInformationFormat format) const noexcept {
    return mImpl->getEngineInformation(format);
  }
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

 protected:
  apiv::VEngineInspector* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_INSPECTOR_H
