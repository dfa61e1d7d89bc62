// 8.x names of IBuilderConfig.

/// Deletes the configuration.
void destroy() noexcept { delete this; }

/// Limits the scratch memory of an engine, in bytes.
void setMaxWorkspaceSize(size_t size) noexcept {
  setMemoryPoolLimit(MemoryPoolType::kWORKSPACE, size);
}

/// The limit of scratch memory, in bytes.
size_t getMaxWorkspaceSize() const noexcept {
  return getMemoryPoolLimit(MemoryPoolType::kWORKSPACE);
}

/// Makes every kernel be timed at least so often.
void setMinTimingIterations(int32_t iterations) noexcept {
  if (getAvgTimingIterations() < iterations) setAvgTimingIterations(iterations);
}

/// How often every kernel is timed at least.
int32_t getMinTimingIterations() const noexcept { return getAvgTimingIterations(); }
