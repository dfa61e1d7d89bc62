// What a session sends and refuses, as HTTP has it.
#pragma once

#include <boost/beast/http/message.hpp>
#include <optional>
#include <string>

#include "byte_stream.h"
#include "http_server.h"

namespace tenon::server {

/// Status line and fields. @param bytes of the body. @param keeps the connection.
std::string head_of(const RestResponse& response, size_t bytes, bool keeps);

/// Of the body.
size_t bytes_of(const RestResponse& response);

/// The body: the buffers point into the response.
Buffers body_of(RestResponse& response);

/// What is left of them when the first bytes went.
void drop(Buffers& buffers, size_t bytes);

/// Why a request is not read, as far as its header says; nothing for one that is.
std::optional<RestResponse> refusal_of(const boost::beast::http::request_header<>& request,
                                       const HttpOptions& options);

/// To what is no request, or one that is too large.
RestResponse refusal_of(boost::system::error_code error, const HttpOptions& options);

}  // namespace tenon::server
