// Where a server and its models are found over HTTP.
#pragma once

#include <boost/asio/generic/stream_protocol.hpp>
#include <string>

#include "http_transport.h"

namespace tenon::load {

/// Throws session::Error for names that are not found.
boost::asio::generic::stream_protocol::endpoint resolve(const HttpAddress& address);

/// "/v2/models/NAME/versions/VERSION", escaped; the version may be empty.
std::string model_path(const std::string& model, const std::string& version);

}  // namespace tenon::load
