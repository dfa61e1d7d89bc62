// Bodies that were compressed.
#pragma once

#include <string>

#include "model/model.h"
#include "rest.h"

namespace tenon::server {

/// The bytes behind a Content-Encoding of gzip or deflate, which may be empty or identity, too; an
/// error for others, for what is damaged, and beyond `max` bytes.
Result<Body> inflate(Body body, const std::string& content_encoding, size_t max) noexcept;

}  // namespace tenon::server
