// 8.x names of IGpuAllocator. A slot after the last one of 10.16, called only by deallocate() above.

/// Frees what allocate() returned; programs written for 8.x override this and not deallocate().
virtual void free(void* /*memory*/) noexcept {}
