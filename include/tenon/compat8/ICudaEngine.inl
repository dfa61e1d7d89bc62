// 8.x names of ICudaEngine. Binding `profile * getNbIOTensors() + i` is I/O tensor i of a profile.

/// Deletes the engine; its contexts must have been deleted before.
void destroy() noexcept { delete this; }

/// The number of bindings: one per I/O tensor and profile.
int32_t getNbBindings() const noexcept {
  const int32_t profiles = getNbOptimizationProfiles();
  return getNbIOTensors() * (profiles > 0 ? profiles : 1);
}

/// The binding of a tensor in the first profile, or in profile p for "name [profile p]"; -1 if none.
int32_t getBindingIndex(const char* name) const noexcept {
  if (name == nullptr) return -1;
  for (int32_t index = 0; index < getNbBindings(); ++index) {
    if (impl::isBindingName(name, getBindingName(index), index / getNbIOTensors())) return index;
  }
  return -1;
}

/// The tensor's name, the same for all profiles; null if the index is out of range.
const char* getBindingName(int32_t bindingIndex) const noexcept {
  if (bindingIndex < 0 || bindingIndex >= getNbBindings()) return nullptr;
  return getIOTensorName(bindingIndex % getNbIOTensors());
}

/// Whether the binding is an input of the network.
bool bindingIsInput(int32_t bindingIndex) const noexcept {
  return getTensorIOMode(getBindingName(bindingIndex)) == TensorIOMode::kINPUT;
}

/// The shape, with -1 where it is fixed only when the context's shapes are set.
Dims getBindingDimensions(int32_t bindingIndex) const noexcept {
  return getTensorShape(getBindingName(bindingIndex));
}

/// The type of the elements.
DataType getBindingDataType(int32_t bindingIndex) const noexcept {
  return getTensorDataType(getBindingName(bindingIndex));
}

/// Whether the buffer lies on the device or on the host.
TensorLocation getLocation(int32_t bindingIndex) const noexcept {
  return getTensorLocation(getBindingName(bindingIndex));
}

/// The size of one component in bytes.
int32_t getBindingBytesPerComponent(int32_t bindingIndex) const noexcept {
  return getTensorBytesPerComponent(getBindingName(bindingIndex), profileOf(bindingIndex));
}

/// How many components one element of a vectorised format has; 1 otherwise.
int32_t getBindingComponentsPerElement(int32_t bindingIndex) const noexcept {
  return getTensorComponentsPerElement(getBindingName(bindingIndex), profileOf(bindingIndex));
}

/// The memory format of the buffer.
TensorFormat getBindingFormat(int32_t bindingIndex) const noexcept {
  return getTensorFormat(getBindingName(bindingIndex), profileOf(bindingIndex));
}

/// The memory format of the buffer in words.
const char* getBindingFormatDesc(int32_t bindingIndex) const noexcept {
  return getTensorFormatDesc(getBindingName(bindingIndex), profileOf(bindingIndex));
}

/// The dimension that a vectorised format packs; -1 for scalar formats.
int32_t getBindingVectorizedDim(int32_t bindingIndex) const noexcept {
  return getTensorVectorizedDim(getBindingName(bindingIndex), profileOf(bindingIndex));
}

/// The smallest, usual or largest shape of an input in a profile.
Dims getProfileDimensions(int32_t bindingIndex, int32_t profileIndex,
                          OptProfileSelector selector) const noexcept {
  return getProfileShape(getBindingName(bindingIndex), profileIndex, selector);
}

/// The smallest, usual or largest values of a shape input in a profile; null if it has none.
const int32_t* getProfileShapeValues(int32_t profileIndex, int32_t inputIndex,
                                     OptProfileSelector selector) const noexcept {
  return getProfileTensorValues(getBindingName(inputIndex), profileIndex, selector);
}

/// Whether the values of the tensor decide shapes.
bool isShapeBinding(int32_t bindingIndex) const noexcept {
  return isShapeInferenceIO(getBindingName(bindingIndex));
}

/// Whether the tensor is data for the kernels.
bool isExecutionBinding(int32_t bindingIndex) const noexcept {
  return !isShapeBinding(bindingIndex);
}

/// The largest batch of an engine with an implicit batch; 1 for all others.
int32_t getMaxBatchSize() const noexcept {
  return tenonGetEngineMaxBatchSize != nullptr ? tenonGetEngineMaxBatchSize(this) : 1;
}

private:
int32_t profileOf(int32_t bindingIndex) const noexcept {
  return getNbIOTensors() > 0 ? bindingIndex / getNbIOTensors() : 0;
}
