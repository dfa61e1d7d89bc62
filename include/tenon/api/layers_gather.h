// Layers that pick or place elements by index.
#ifndef TENON_API_LAYERS_GATHER_H
#define TENON_API_LAYERS_GATHER_H

#include "tenon/api/tensor.h"

namespace nvinfer1 {

/// How indices name elements; as ONNX's operators of these names do.
enum class GatherMode : int32_t {
  kDEFAULT = 0,  ///< Gather: each index names a slice along one dimension.
  kELEMENT = 1,  ///< GatherElements: each index replaces the coordinate of its own place.
  kND = 2,       ///< GatherND: the last dimension of the indices holds coordinates.
};

template <> struct impl::EnumMaxImpl<GatherMode> {
  static constexpr int32_t kVALUE = 3;
};

/// Picks elements of input 0 by the indices in input 1.
class IGatherLayer : public ILayer {
 public:
  /// Sets the dimension that indices count along; not for kND.
  void setGatherAxis(int32_t axis) noexcept { mImpl->setGatherAxis(axis); }

  /// The dimension that indices count along.
  int32_t getGatherAxis() const noexcept { return mImpl->getGatherAxis(); }

  /// Sets how many leading dimensions input and indices share.
  void setNbElementWiseDims(int32_t elementWiseDims) noexcept {
    mImpl->setNbElementWiseDims(elementWiseDims);
  }

  /// How many leading dimensions input and indices share.
  int32_t getNbElementWiseDims() const noexcept { return mImpl->getNbElementWiseDims(); }

  /// Sets how indices name elements.
  void setMode(GatherMode mode) noexcept { mImpl->setMode(mode); }

  /// How indices name elements.
  GatherMode getMode() const noexcept { return mImpl->getMode(); }

 protected:
  ~IGatherLayer() noexcept override = default;
  apiv::VGatherLayer* mImpl;
};

/// How indices name elements; as ONNX's operators of these names do.
enum class ScatterMode : int32_t {
  kELEMENT = 0,  ///< ScatterElements: each index replaces the coordinate of its own place.
  kND = 1,       ///< ScatterND: the last dimension of the indices holds coordinates.
};

template <> struct impl::EnumMaxImpl<ScatterMode> {
  static constexpr int32_t kVALUE = 2;
};

/// Copies input 0 and writes the elements of input 2 where the indices in input 1 say. What is left
/// where two indices are equal is not defined.
class IScatterLayer : public ILayer {
 public:
  /// Sets how indices name elements.
  void setMode(ScatterMode mode) noexcept { mImpl->setMode(mode); }

  /// How indices name elements.
  ScatterMode getMode() const noexcept { return mImpl->getMode(); }

  /// Sets the dimension that indices of kELEMENT count along.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  /// The dimension that indices of kELEMENT count along.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

 protected:
  ~IScatterLayer() noexcept override = default;
  apiv::VScatterLayer* mImpl;
};

/// A new dimension with one element "on" per index: input 0 holds the indices, input 1 the values
/// for off and on, input 2 the size.
class IOneHotLayer : public ILayer {
 public:
  /// Sets where the new dimension goes; -1 for the end.
  void setAxis(int32_t axis) noexcept { mImpl->setAxis(axis); }

  /// Where the new dimension goes.
  int32_t getAxis() const noexcept { return mImpl->getAxis(); }

 protected:
  ~IOneHotLayer() noexcept override = default;
  apiv::VOneHotLayer* mImpl;
};

/// The coordinates of the elements that are not zero, (rank, count) in row-major order.
class INonZeroLayer : public ILayer {
 public:
  /// Sets the type of the coordinates, kINT32 or kINT64; false for others.
  bool setIndicesType(DataType type) noexcept { return mImpl->setIndicesType(type); }

  /// The type of the coordinates.
  DataType getIndicesType() const noexcept { return mImpl->getIndicesType(); }

 protected:
  ~INonZeroLayer() noexcept override = default;
  apiv::VNonZeroLayer* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_LAYERS_GATHER_H
