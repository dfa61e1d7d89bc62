// 8.x names of IPluginCreator. A slot after the last one of 10.16, which the library never calls.

/// The version of the headers that the creator was compiled with.
virtual int32_t getTensorRTVersion() const noexcept { return TENON_TRT_ABI_VERSION; }
