// 8.x names of IBuilder.

/// Deletes the builder.
void destroy() noexcept { delete this; }

/// Sets the largest batch that networks with an implicit batch are built for.
void setMaxBatchSize(int32_t batchSize) noexcept {
  if (tenonSetMaxBatchSize != nullptr) tenonSetMaxBatchSize(this, batchSize);
}

/// The largest batch that networks with an implicit batch are built for; 1 if none was set.
int32_t getMaxBatchSize() const noexcept {
  return tenonGetMaxBatchSize != nullptr ? tenonGetMaxBatchSize(this) : 1;
}
