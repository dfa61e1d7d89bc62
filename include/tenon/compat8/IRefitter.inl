// 8.x names of IRefitter.
void destroy() noexcept { delete this; }
