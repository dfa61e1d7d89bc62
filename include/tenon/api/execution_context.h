// Execution contexts: one engine, one set of shapes and buffers, one thread at a time.
#ifndef TENON_API_EXECUTION_CONTEXT_H
#define TENON_API_EXECUTION_CONTEXT_H

#include "tenon/api/engine.h"

namespace nvinfer1 {

/// One use of an engine: a profile, shapes, buffers and scratch memory. Used by one thread at a
/// time; the caller deletes it.
class IExecutionContext : public INoCopy {
 public:
  ~IExecutionContext() noexcept override = default;

  /// Sets whether each kernel is waited for, so that errors show where they happen.
  void setDebugSync(bool sync) noexcept { mImpl->setDebugSync(sync); }

  /// Whether each kernel is waited for.
  bool getDebugSync() const noexcept { return mImpl->getDebugSync(); }

  /// Sets who is told the time of each layer, not owned; null for nobody.
  void setProfiler(IProfiler* profiler) noexcept { mImpl->setProfiler(profiler); }

  /// Who is told the time of each layer.
  IProfiler* getProfiler() const noexcept { return mImpl->getProfiler(); }

  /// The engine of the context.
  const ICudaEngine& getEngine() const noexcept { return mImpl->getEngine(); }

  /// Sets a name for messages; the text is copied.
  void setName(const char* name) noexcept { mImpl->setName(name); }

  /// The name; empty at first.
  const char* getName() const noexcept { return mImpl->getName(); }

  /// Sets the scratch memory of a context made without; as large as the engine's
  /// getDeviceMemorySizeV2(), aligned to 256 bytes, and free for the context while it runs.
  void setDeviceMemory(void* memory) noexcept { mImpl->setDeviceMemory(memory); }

  /// Sets the scratch memory of a context made without, and its size in bytes.
  void setDeviceMemoryV2(void* memory, int64_t size) noexcept {
    mImpl->setDeviceMemoryV2(memory, size);
  }

  /// The distance of neighbours along each dimension, in elements; nbDims is -1 if there is no such
  /// tensor or its shape is not known.
  Dims getTensorStrides(const char* tensorName) const noexcept {
    return mImpl->getTensorStrides(tensorName);
  }

  /// The profile selected; -1 if none.
  int32_t getOptimizationProfile() const noexcept { return mImpl->getOptimizationProfile(); }

  /// Sets the shape of an input; false if it is not in the range of the profile.
  bool setInputShape(const char* tensorName, const Dims& dimensions) noexcept {
    return mImpl->setInputShape(tensorName, dimensions);
  }

  /// The shape of an input or output as far as it is known, with -1 for the rest; nbDims is -1 if
  /// there is no such tensor.
  Dims getTensorShape(const char* tensorName) const noexcept {
    return mImpl->getTensorShape(tensorName);
  }

  /// Whether every input has a shape.
  bool allInputDimensionsSpecified() const noexcept { return mImpl->allInputDimensionsSpecified(); }

  /// Whether every shape input has values.
  TENON_REMOVED_IN_11 bool allInputShapesSpecified() const noexcept {
    return mImpl->allInputShapesSpecified();
  }

  /// Sets where errors are recorded, instead of the one set before; null for none.
  void setErrorRecorder(IErrorRecorder* recorder) noexcept { mImpl->setErrorRecorder(recorder); }

  /// The recorder that was set; null if none.
  IErrorRecorder* getErrorRecorder() const noexcept { return mImpl->getErrorRecorder(); }

  /// Runs and waits. `bindings` holds one address per input and output, in the order of the
  /// engine's getIOTensorName(); false on failure.
  bool executeV2(void* const* bindings) noexcept { return mImpl->executeV2(bindings); }

  /// Selects a profile, which forgets all shapes; false if there is no such profile or another
  /// context has it alone.
  bool setOptimizationProfileAsync(int32_t profileIndex, cudaStream_t stream) noexcept {
    return mImpl->setOptimizationProfileAsync(profileIndex, stream);
  }

  /// Sets whether enqueueV3() tells the profiler at once, which is the default, or only when
  /// reportToProfiler() is called.
  void setEnqueueEmitsProfile(bool enqueueEmitsProfile) noexcept {
    mImpl->setEnqueueEmitsProfile(enqueueEmitsProfile);
  }

  /// Whether enqueueV3() tells the profiler at once.
  bool getEnqueueEmitsProfile() const noexcept { return mImpl->getEnqueueEmitsProfile(); }

  /// Tells the profiler about the last run; false if there was none.
  bool reportToProfiler() const noexcept { return mImpl->reportToProfiler(); }

  /// Sets the buffer of an input or output; false if there is no such tensor. Shape inputs are read
  /// from host memory.
  bool setTensorAddress(const char* tensorName, void* data) noexcept {
    return mImpl->setTensorAddress(tensorName, data);
  }

  /// The buffer that was set; null if none.
  const void* getTensorAddress(const char* tensorName) const noexcept {
    return mImpl->getTensorAddress(tensorName);
  }

  /// Sets the buffer of an output; false if there is no such output.
  bool setOutputTensorAddress(const char* tensorName, void* data) noexcept {
    return mImpl->setOutputTensorAddress(tensorName, data);
  }

  /// Sets the buffer of an input; false if there is no such input.
  bool setInputTensorAddress(const char* tensorName, const void* data) noexcept {
    return mImpl->setInputTensorAddress(tensorName, data);
  }

  /// The buffer set for an output; null if none.
  void* getOutputTensorAddress(const char* tensorName) const noexcept {
    return mImpl->getOutputTensorAddress(tensorName);
  }

  /// Computes the shapes of the outputs; 0 if all are known, how many inputs lack a shape, value or
  /// address (with the names of the first `capacity` of them), or -1 on failure.
  int32_t inferShapes(int32_t capacity, const char** tensorNames) noexcept {
    return mImpl->inferShapes(capacity, tensorNames);
  }

  /// The scratch memory in bytes that the shapes set now need; 0 on failure.
  size_t updateDeviceMemorySizeForShapes() noexcept {
    return mImpl->updateDeviceMemorySizeForShapes();
  }

  /// Sets an event that each run records once the inputs may be overwritten; null for none.
  bool setInputConsumedEvent(cudaEvent_t event) noexcept {
    return mImpl->setInputConsumedEvent(event);
  }

  /// The event that was set; null if none.
  cudaEvent_t getInputConsumedEvent() const noexcept { return mImpl->getInputConsumedEvent(); }

  /// Sets who gives memory to an output, not owned; null for nobody. False if there is no such
  /// output.
  bool setOutputAllocator(const char* tensorName, IOutputAllocator* outputAllocator) noexcept {
    return mImpl->setOutputAllocator(tensorName, outputAllocator);
  }

  /// Who gives memory to an output; null if nobody.
  IOutputAllocator* getOutputAllocator(const char* tensorName) const noexcept {
    return mImpl->getOutputAllocator(tensorName);
  }

  /// The largest size of an output in bytes for the shapes set now; -1 if it is not known.
  int64_t getMaxOutputSize(const char* tensorName) const noexcept {
    return mImpl->getMaxOutputSize(tensorName);
  }

  /// Sets who gives memory whose size only running tells, by allocateAsync(), until the run ends;
  /// not owned. Runs that were enqueued keep theirs. Null: the engine's allocator, and it stays.
  bool setTemporaryStorageAllocator(IGpuAllocator* allocator) noexcept {
    return mImpl->setTemporaryStorageAllocator(allocator);
  }

  /// Who gives scratch memory that is needed for a while only.
  IGpuAllocator* getTemporaryStorageAllocator() const noexcept {
    return mImpl->getTemporaryStorageAllocator();
  }

  /// Runs on `stream` without waiting, but on the CPU for code of the program that the run calls:
  /// plugins, debug listeners, output allocators for sizes that only running tells. False if a
  /// shape or an address is missing, the run could not be started, or that code refused.
  bool enqueueV3(cudaStream_t stream) noexcept { return mImpl->enqueueV3(stream); }

  /// Limits the cache of the device that may be kept for activations, in bytes.
  void setPersistentCacheLimit(size_t size) noexcept { mImpl->setPersistentCacheLimit(size); }

  /// The limit of the cache kept for activations, in bytes.
  size_t getPersistentCacheLimit() const noexcept { return mImpl->getPersistentCacheLimit(); }

  /// Sets how much ranges of the profiler tell; false if it is more than the engine knows.
  bool setNvtxVerbosity(ProfilingVerbosity verbosity) noexcept {
    return mImpl->setNvtxVerbosity(verbosity);
  }

  /// How much ranges of the profiler tell.
  ProfilingVerbosity getNvtxVerbosity() const noexcept { return mImpl->getNvtxVerbosity(); }

  /// Sets the streams that runs use besides the one they are given, instead of streams of the
  /// context's own: the first ICudaEngine::getNbAuxStreams() of them, which must differ and not be
  /// the default stream. The context makes those that are missing or null. They are not owned, and
  /// must live until they are replaced. A run's auxiliary streams begin after what was in its
  /// stream, which waits for them at the end.
  void setAuxStreams(cudaStream_t* auxStreams, int32_t nbStreams) noexcept {
    mImpl->setAuxStreams(auxStreams, nbStreams);
  }

  /// Sets who is given tensors marked for debugging, not owned; null for nobody.
  bool setDebugListener(IDebugListener* listener) noexcept {
    return mImpl->setDebugListener(listener);
  }

  /// Who is given tensors marked for debugging.
  IDebugListener* getDebugListener() noexcept { return mImpl->getDebugListener(); }

  /// Sets whether a tensor marked for debugging is given to the listener; false if it is not
  /// marked.
  bool setTensorDebugState(const char* name, bool flag) noexcept {
    return mImpl->setTensorDebugState(name, flag);
  }

  /// Whether a tensor is given to the listener.
  bool getDebugState(const char* name) const noexcept { return mImpl->getDebugState(name); }

  /// The configuration that the context was made with; null if none.
  IRuntimeConfig* getRuntimeConfig() const noexcept { return mImpl->getRuntimeConfig(); }

  /// Sets whether all debug tensors are given to the listener: those marked, and those between
  /// kernels.
  bool setAllTensorsDebugState(bool flag) noexcept { return mImpl->setAllTensorsDebugState(flag); }

  /// Sets whether all tensors between kernels are given to the listener.
  bool setUnfusedTensorsDebugState(bool flag) noexcept {
    return mImpl->setUnfusedTensorsDebugState(flag);
  }

  /// Whether all tensors between kernels are given to the listener.
  bool getUnfusedTensorsDebugState() const noexcept { return mImpl->getUnfusedTensorsDebugState(); }

  /// Sets the NCCL communicator of collective layers; false if it cannot be used.
  bool setCommunicator(void* communicator) noexcept { return mImpl->setCommunicator(communicator); }

#if TENON_TRT_OLDER_NAMES
#include "tenon/compat8/IExecutionContext.inl"
#endif
 protected:
  apiv::VExecutionContext* mImpl;
};

}  // namespace nvinfer1

#endif  // TENON_API_EXECUTION_CONTEXT_H
