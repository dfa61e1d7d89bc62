// 8.x names of IOutputAllocator. A slot after the last one of 10.16, which the library never calls.

/// The version of this interface in 8.x.
virtual int32_t getInterfaceVersion() const noexcept { return 1; }
