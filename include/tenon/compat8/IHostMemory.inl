// 8.x names of IHostMemory.
void destroy() noexcept { delete this; }
