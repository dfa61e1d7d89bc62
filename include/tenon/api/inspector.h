// Reading what an engine consists of.
#ifndef TENON_API_INSPECTOR_H
#define TENON_API_INSPECTOR_H

#include "tenon/api/execution_context.h"

namespace nvinfer1 {

/// How an inspector writes.
enum class LayerInformationFormat : int32_t {
  kONELINE = 0,  ///< One line per layer.
  kJSON = 1,     ///< One JSON value.
};

template <> struct impl::EnumMaxImpl<LayerInformationFormat> {
  static constexpr int32_t kVALUE = 2;
};

/// Tells what an engine consists of, as far as its profiling verbosity allows. The caller deletes
/// it before the engine.
class IEngineInspector : public INoCopy {
 public:
  ~IEngineInspector() noexcept override = default;

  /// Sets a context whose shapes are shown; null for none. False if it is of another engine.
  bool setExecutionContext(const IExecutionContext* context) noexcept {
    return mImpl->setExecutionContext(context);
  }

  /// The context whose shapes are shown.
  const IExecutionContext* getExecutionContext() const noexcept {
    return mImpl->getExecutionContext();
  }

  /// Describes one layer; the text is valid until the next call.
  const char* getLayerInformation(int32_t layerIndex,
                                  LayerInformationFormat format) const noexcept {
    return mImpl->getLayerInformation(layerIndex, format);
  }

  /// Describes all layers; the text is valid until the next call.
  const char* getEngineInformation(LayerInformationFormat format) const noexcept {
    return mImpl->getEngineInformation(format);
  }

  /// Sets where errors are recorded, instead of the one set before; null for none.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  /// The recorder that was set; null if none.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

 protected:
  apiv::VEngineInspector* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_INSPECTOR_H
