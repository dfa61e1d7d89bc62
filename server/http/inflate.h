// Bodies that were compressed.
#pragma once

#include <memory>
#include <string>

#include "body.h"

namespace tenon::server {

/// The bytes behind a Content-Encoding of gzip or deflate, which may be empty or identity, too; an
/// error for others, for what is damaged, and beyond `max` bytes.
/// @param json as of Body.
Result<std::shared_ptr<Body>> inflate(std::shared_ptr<Body> body,
                                      const std::string& content_encoding, size_t json,
                                      size_t max) noexcept;

}  // namespace tenon::server
