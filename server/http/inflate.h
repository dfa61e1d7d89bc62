// Bodies that were compressed.
#pragma once

#include <memory>
#include <string>
#include <variant>

#include "rest.h"

namespace tenon::server {

/// The bytes behind a Content-Encoding of gzip or deflate, which may be empty or identity, too.
/// What to answer where there are none: 413 beyond `max` bytes, 415 for other encodings, 400 for
/// what is damaged, 503 without memory.
/// @param json as of Body.
std::variant<std::shared_ptr<Body>, RestResponse> inflate(std::shared_ptr<Body> body,
                                                          const std::string& content_encoding,
                                                          size_t json, size_t max);

}  // namespace tenon::server
