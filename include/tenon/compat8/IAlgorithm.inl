// 8.x names of IAlgorithm.

/// Describes input or output `index`, inputs first; the index must be valid.
const IAlgorithmIOInfo& getAlgorithmIOInfo(int32_t index) const noexcept {
  return *getAlgorithmIOInfoByIndex(index);
}
