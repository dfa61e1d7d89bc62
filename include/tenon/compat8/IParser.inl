// 8.x names of IParser.
void destroy() noexcept { delete this; }
