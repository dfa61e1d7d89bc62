// 8.x names of IOnnxConfig. A slot after the last one of 10.16, which the library never calls.

/// Deletes the configuration.
virtual void destroy() noexcept { delete this; }
