// Layers that pick or place elements by index.
#ifndef TENON_API_LAYERS_GATHER_H
#define TENON_API_LAYERS_GATHER_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

enum class GatherMode : int32_t {
  kDEFAULT = 0,
  kELEMENT = 1,
  kND = 2,
};

template <> struct impl::EnumMaxImpl<GatherMode> {
  static constexpr int32_t kVALUE = 3;
};

class IGatherLayer : public ILayer {
 public:
  void setGatherAxis(int32_t axis) noexcept { mImpl->setGatherAxis(axis); }
  int32_t getGatherAxis() const noexcept { return mImpl->getGatherAxis(); }
  void setNbElementWiseDims(int32_t elementWiseDims) noexcept {
    mImpl->setNbElementWiseDims(elementWiseDims);
  }
  int32_t getNbElementWiseDims() const noexcept { return mImpl->getNbElementWiseDims(); }
  void setMode(GatherMode mode) noexcept { mImpl->setMode(mode); }
  GatherMode getMode() const noexcept { return mImpl->getMode(); }

 protected:
  ~IGatherLayer() noexcept override = default;
  apiv::VGatherLayer* mImpl;
};

enum class ScatterMode : int32_t {
  kELEMENT = 0,
  kND = 1,
};

template <> struct impl::EnumMaxImpl<ScatterMode> {
  static constexpr int32_t kVALUE = 2;
};

class IScatterLayer : public ILayer {
 public:
  void setMode(ScatterMode mode) noexcept { mImpl->setMode(mode); }
  ScatterMode getMode() const noexcept { return mImpl->getMode(); }
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

 protected:
  ~IScatterLayer() noexcept override = default;
  apiv::VScatterLayer* mImpl;
};

class IOneHotLayer : public ILayer {
 public:
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

 protected:
  ~IOneHotLayer() noexcept override = default;
  apiv::VOneHotLayer* mImpl;
};

class INonZeroLayer : public ILayer {
 public:
  bool setIndicesType(DataType type) noexcept { return mImpl->setIndicesType(type); }
  DataType getIndicesType() const noexcept { return mImpl->getIndicesType(); }

 protected:
  ~INonZeroLayer() noexcept override = default;
  apiv::VNonZeroLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_GATHER_H
