// TLS of HTTP.
#pragma once

#include <boost/asio/ssl/context.hpp>
#include <memory>

#include "tls_files.h"

namespace tenon::server {

/// TLS 1.2 and later, by OpenSSL; null where no certificate is given. Clients need a certificate
/// where authorities are given. Throws Error for files that do not serve.
std::unique_ptr<boost::asio::ssl::context> make_tls_context(const TlsFiles& files);

/// Whether a handshake failed since the client spoke HTTP without TLS.
bool is_plain_http(const boost::system::error_code& error);

}  // namespace tenon::server
