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

#if TENON_TRT_API == 8
/// Makes a network, which the caller deletes before the builder; without the bit of kEXPLICIT_BATCH
/// its batch is implicit. Null on failure.
__attribute__((abi_tag("trt8"))) INetworkDefinition* createNetworkV2(
    NetworkDefinitionCreationFlags flags) noexcept {
  constexpr uint32_t kExplicit =
      1U << static_cast<uint32_t>(NetworkDefinitionCreationFlag::kEXPLICIT_BATCH);
  return mImpl->createNetworkV2((flags & kExplicit) != 0 ? flags
                                                         : flags | tenon::kImplicitBatchFlag);
}
#else
/// Makes a network, which the caller deletes before the builder; null on failure. `flags` has bit n
/// for value n of NetworkDefinitionCreationFlag.
INetworkDefinition* createNetworkV2(NetworkDefinitionCreationFlags flags) noexcept {
  return mImpl->createNetworkV2(flags);
}
#endif
