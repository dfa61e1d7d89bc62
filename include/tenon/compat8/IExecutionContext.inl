// 8.x names of IExecutionContext. ICudaEngine's binding indices; arrays of getNbBindings() addresses,
// of which those of the selected profile are used.

/// Deletes the context.
void destroy() noexcept { delete this; }

/// Selects a profile on the default stream; false if the index is out of range.
bool setOptimizationProfile(int32_t profileIndex) noexcept {
  return setOptimizationProfileAsync(profileIndex, nullptr);
}

/// Sets the shape of an input; false if the binding is of another profile or the shape does not fit.
bool setBindingDimensions(int32_t bindingIndex, Dims dimensions) noexcept {
  return isSelected(bindingIndex) &&
         setInputShape(getEngine().getBindingName(bindingIndex), dimensions);
}

/// The shape of a binding of the selected profile; nbDims is -1 while it is not known.
Dims getBindingDimensions(int32_t bindingIndex) const noexcept {
  if (!isSelected(bindingIndex)) return Dims{-1, {}};
  return getTensorShape(getEngine().getBindingName(bindingIndex));
}

/// The strides of a binding of the selected profile, in elements.
Dims getStrides(int32_t bindingIndex) const noexcept {
  if (!isSelected(bindingIndex)) return Dims{-1, {}};
  return getTensorStrides(getEngine().getBindingName(bindingIndex));
}

/// Sets the values of a shape input; false if the binding is not one. Elsewhere than on Tenon the
/// values are not copied, and only inputs of type kINT32 can be set.
bool setInputShapeBinding(int32_t bindingIndex, const int32_t* data) noexcept {
  if (!isSelected(bindingIndex) || !getEngine().isShapeBinding(bindingIndex)) return false;
  const char* name = getEngine().getBindingName(bindingIndex);
  if (tenonSetShapeValues != nullptr) return tenonSetShapeValues(this, name, data);
  return getEngine().getTensorDataType(name) == DataType::kINT32 &&
         setInputTensorAddress(name, data);
}

/// Copies the values of a shape tensor to `data`; false if they are not known.
bool getShapeBinding(int32_t bindingIndex, int32_t* data) const noexcept {
  if (!isSelected(bindingIndex) || !getEngine().isShapeBinding(bindingIndex)) return false;
  const char* name = getEngine().getBindingName(bindingIndex);
  return impl::copyShapeValues(getTensorAddress(name), getEngine().getTensorDataType(name),
                               getTensorShape(name), data);
}

/// Runs the network on `stream`; records `*inputConsumed`, if given, once inputs may be overwritten.
/// False if a shape or an address is missing.
bool enqueueV2(void* const* bindings, cudaStream_t stream, cudaEvent_t* inputConsumed) noexcept {
  return setAddresses(bindings) &&
         setInputConsumedEvent(inputConsumed != nullptr ? *inputConsumed : nullptr) &&
         enqueueV3(stream);
}

/// Like enqueueV2, for `batchSize` items of an engine with an implicit batch; 1 for all others.
bool enqueue(int32_t batchSize, void* const* bindings, cudaStream_t stream,
             cudaEvent_t* inputConsumed) noexcept {
  return setBatchSize(batchSize) && enqueueV2(bindings, stream, inputConsumed);
}

/// Like executeV2, for `batchSize` items of an engine with an implicit batch; 1 for all others.
bool execute(int32_t batchSize, void* const* bindings) noexcept {
  return setBatchSize(batchSize) && bindings != nullptr && executeV2(bindings + firstBinding());
}

private:
int32_t firstBinding() const noexcept {
  const int32_t profile = getOptimizationProfile();
  return profile > 0 ? profile * getEngine().getNbIOTensors() : 0;
}

bool isSelected(int32_t bindingIndex) const noexcept {
  const int32_t position = bindingIndex - firstBinding();
  return position >= 0 && position < getEngine().getNbIOTensors();
}

bool setBatchSize(int32_t batchSize) noexcept {
  if (!getEngine().hasImplicitBatchDimension()) return batchSize == 1;
  return tenonSetBatchSize != nullptr && tenonSetBatchSize(this, batchSize);
}

bool setAddresses(void* const* bindings) noexcept {
  if (bindings == nullptr) return false;
  for (int32_t index = 0; index < getEngine().getNbIOTensors(); ++index) {
    const char* name = getEngine().getIOTensorName(index);
    void* address = bindings[firstBinding() + index];
    // Shape inputs were given by setInputShapeBinding; their place in the array was not read.
    const bool shapeInput = getEngine().isShapeInferenceIO(name) &&
                            getEngine().getTensorIOMode(name) == TensorIOMode::kINPUT;
    if (shapeInput && (address == nullptr || getTensorAddress(name) != nullptr)) continue;
    if (!setTensorAddress(name, address)) return false;
  }
  return true;
}
