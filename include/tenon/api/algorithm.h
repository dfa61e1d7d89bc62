// Choosing kernels by hand, and following the progress of a build.
#ifndef TENON_API_ALGORITHM_H
#define TENON_API_ALGORITHM_H

#include "NvInferRuntime.h"

namespace nvinfer1 {

class IAlgorithmIOInfo : public INoCopy {
 public:
  DataType getDataType() const noexcept { return mImpl->getDataType(); }
  Dims getStrides() const noexcept { return mImpl->getStrides(); }
  int64_t getVectorizedDim() const noexcept { return mImpl->getVectorizedDim(); }
  int64_t getComponentsPerElement() const noexcept { return mImpl->getComponentsPerElement(); }

 protected:
  ~IAlgorithmIOInfo() noexcept override = default;

 public:
#include "tenon/compat8/IAlgorithmIOInfo.inl"
 protected:
  apiv::VAlgorithmIOInfo* mImpl;
};

class IAlgorithmVariant : public INoCopy {
 public:
  int64_t getImplementation() const noexcept { return mImpl->getImplementation(); }
  int64_t getTactic() const noexcept { return mImpl->getTactic(); }

 protected:
  ~IAlgorithmVariant() noexcept override = default;
  apiv::VAlgorithmVariant* mImpl;
};

class IAlgorithmContext : public INoCopy {
 public:
  const char* getName() const noexcept { return mImpl->getName(); }
  Dims getDimensions(int32_t index, OptProfileSelector selector) const noexcept {
    return mImpl->getDimensions(index, selector);
  }
  int32_t getNbInputs() const noexcept { return mImpl->getNbInputs(); }
  int32_t getNbOutputs() const noexcept { return mImpl->getNbOutputs(); }

 protected:
  ~IAlgorithmContext() noexcept override = default;
  apiv::VAlgorithmContext* mImpl;
};

class IAlgorithm : public INoCopy {
 public:
  const IAlgorithmVariant& getAlgorithmVariant() const noexcept {
    return mImpl->getAlgorithmVariant();
  }
  float getTimingMSec() const noexcept { return mImpl->getTimingMSec(); }
  size_t getWorkspaceSize() const noexcept { return mImpl->getWorkspaceSize(); }
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
class IAlgorithmSelector : public IVersionedInterface {
 public:
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IAlgorithmSelector", 1, 0}; }
  virtual int32_t selectAlgorithms(const IAlgorithmContext& context,
                                   const IAlgorithm* const* choices, int32_t nbChoices,
                                   int32_t* selection) noexcept = 0;
  virtual void reportAlgorithms(const IAlgorithmContext* const* contexts,
                                const IAlgorithm* const* choices,
                                int32_t nbAlgorithms) noexcept = 0;
  ~IAlgorithmSelector() noexcept override = default;
};

class IProgressMonitor : public IVersionedInterface {
 public:
  ~IProgressMonitor() noexcept override = default;
  InterfaceInfo getInterfaceInfo() const noexcept override { return {"IProgressMonitor", 1, 0}; }
  virtual void phaseStart(const char* phaseName, const char* parentPhase,
                          int32_t nbSteps) noexcept = 0;
  virtual bool stepComplete(const char* phaseName, int32_t step) noexcept = 0;
  virtual void phaseFinish(const char* phaseName) noexcept = 0;
};
}  // namespace v_1_0

}  // namespace nvinfer1

#endif  // TENON_API_ALGORITHM_H
