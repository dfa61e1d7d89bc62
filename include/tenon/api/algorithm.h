// Choosing kernels by hand, and following the progress of a build.
#ifndef TENON_API_ALGORITHM_H
#define TENON_API_ALGORITHM_H

#include "NvInferRuntime.h"

namespace nvinfer1 {

#if TENON_TRT_OLDER_NAMES

/// How one tensor of a kernel lies in memory.
class IAlgorithmIOInfo : public INoCopy {
 public:
  /// The type of the elements.
  DataType getDataType() const noexcept { return mImpl->getDataType(); }

  /// The distance of neighbours along each dimension, in vectors of elements.
  Dims getStrides() const noexcept { return mImpl->getStrides(); }

  /// The dimension that is packed into vectors; -1 if none.
  int64_t getVectorizedDim() const noexcept { return mImpl->getVectorizedDim(); }

  /// How many elements a vector has; 1 if none.
  int64_t getComponentsPerElement() const noexcept { return mImpl->getComponentsPerElement(); }

 protected:
  ~IAlgorithmIOInfo() noexcept override = default;

 public:
#include "tenon/compat8/IAlgorithmIOInfo.inl"
 protected:
  apiv::VAlgorithmIOInfo* mImpl;
};

/// A kernel and its variant, as numbers that stay the same from build to build.
class IAlgorithmVariant : public INoCopy {
 public:
  /// The kernel.
  int64_t getImplementation() const noexcept { return mImpl->getImplementation(); }

  /// The variant.
  int64_t getTactic() const noexcept { return mImpl->getTactic(); }

 protected:
  ~IAlgorithmVariant() noexcept override = default;
  apiv::VAlgorithmVariant* mImpl;
};

/// The layer that a kernel is chosen for.
class IAlgorithmContext : public INoCopy {
 public:
  /// The name of the layer.
  const char* getName() const noexcept { return mImpl->getName(); }

  /// A shape of input or output `index`, inputs first.
  Dims getDimensions(int32_t index, OptProfileSelector selector) const noexcept {
    return mImpl->getDimensions(index, selector);
  }

  /// The number of inputs.
  int32_t getNbInputs() const noexcept { return mImpl->getNbInputs(); }

  /// The number of outputs.
  int32_t getNbOutputs() const noexcept { return mImpl->getNbOutputs(); }

 protected:
  ~IAlgorithmContext() noexcept override = default;
  apiv::VAlgorithmContext* mImpl;
};

/// A kernel that could run a layer.
class IAlgorithm : public INoCopy {
 public:
  /// What it is.
  const IAlgorithmVariant& getAlgorithmVariant() const noexcept {
    return mImpl->getAlgorithmVariant();
  }

  /// How long it took, in milliseconds.
  float getTimingMSec() const noexcept { return mImpl->getTimingMSec(); }

  /// The scratch memory it needs, in bytes.
  size_t getWorkspaceSize() const noexcept { return mImpl->getWorkspaceSize(); }

  /// How input or output `index` lies in memory, inputs first; null if it is out of range.
  const IAlgorithmIOInfo* getAlgorithmIOInfoByIndex(int32_t index) const noexcept {
    return mImpl->getAlgorithmIOInfoByIndex(index);
  }

 protected:
  ~IAlgorithm() noexcept override = default;

 public:
#include "tenon/compat8/IAlgorithm.inl"
 protected:
  apiv::VAlgorithm* mImpl;
};

namespace v_1_0 {
/// Chooses kernels instead of the builder; the application implements it.
class IAlgorithmSelector : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IAlgorithmSelector", 1, 0}; }

  /// Writes which of `choices` the builder may take to `selection`, and returns how many; 0 leaves
  /// the choice to the builder.
  virtual int32_t selectAlgorithms(const IAlgorithmContext& context,
                                   const IAlgorithm* const* choices, int32_t nbChoices,
                                   int32_t* selection) noexcept = 0;

  /// Tells what was chosen for each layer.
  virtual void reportAlgorithms(const IAlgorithmContext* const* contexts,
                                const IAlgorithm* const* choices,
                                int32_t nbAlgorithms) noexcept = 0;
  ~IAlgorithmSelector() noexcept override = default;
};

}  // namespace v_1_0
#endif  // TENON_TRT_OLDER_NAMES

namespace v_1_0 {
/// Follows a build; the application implements it. Called from several threads.
class IProgressMonitor : public IVersionedInterface {
 public:
  ~IProgressMonitor() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IProgressMonitor", 1, 0}; }

  /// A phase of `nbSteps` steps begins, as a part of `parentPhase` unless that is null.
  virtual void phaseStart(const char* phaseName, const char* parentPhase,
                          int32_t nbSteps) noexcept = 0;

  /// A step of a phase is done, the first being 0; false stops the build.
  virtual bool stepComplete(const char* phaseName, int32_t step) noexcept = 0;

  /// A phase ends.
  virtual void phaseFinish(const char* phaseName) noexcept = 0;
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // TENON_API_ALGORITHM_H
