// 8.x names of IRuntime.

/// Deletes the runtime.
void destroy() noexcept { delete this; }

/// Opens a plan; the third argument was already ignored in 8.x.
ICudaEngine* deserializeCudaEngine(const void* blob, size_t size, IPluginFactory*) noexcept {
  return deserializeCudaEngine(blob, size);
}
