// 8.x names of IAlgorithmIOInfo.

/// Always kLINEAR: getVectorizedDim and getStrides say how the tensor really lies in memory.
TensorFormat getTensorFormat() const noexcept { return TensorFormat::kLINEAR; }
