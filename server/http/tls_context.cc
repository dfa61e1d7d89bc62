#include "tls_context.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/sslerr.h>

#include <boost/asio/ssl/error.hpp>

namespace tenon::server {
namespace {

namespace ssl = boost::asio::ssl;
using boost::system::error_code;

void check(const error_code& error, const char* what, const std::string& path) {
  if (error)
    throw Error{"the " + std::string(what) + ", " + printable(path)
                + ", does not serve: " + error.message()};
}

}  // namespace

std::unique_ptr<ssl::context> make_tls_context(const TlsFiles& files) {
  const TlsTexts texts = read_tls_files(files);
  if (texts.certificate.empty()) return nullptr;
  auto context = std::make_unique<ssl::context>(ssl::context::tls_server);
  SSL_CTX* const native = context->native_handle();
  SSL_CTX_set_min_proto_version(native, TLS1_2_VERSION);
  SSL_CTX_set_options(
      native, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Sessions would be kept for clients that ask for them; each connection has a handshake instead.
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(native, SSL_OP_NO_TICKET);
  SSL_CTX_set_num_tickets(native, 0);
  // A key that is locked is an error, and no question on the terminal.
  error_code error;
  context->set_password_callback([](auto...) { return std::string(); }, error);
  context->use_certificate_chain(boost::asio::buffer(texts.certificate), error);
  check(error, "certificate", files.certificate);
  context->use_private_key(boost::asio::buffer(texts.key), ssl::context::pem, error);
  check(error, "key", files.key);
  if (!texts.authorities.empty()) {
    context->add_certificate_authority(boost::asio::buffer(texts.authorities), error);
    check(error, "certificates of clients' authorities", files.authorities);
    context->set_verify_mode(ssl::verify_peer | ssl::verify_fail_if_no_peer_cert);
  }
  return context;
}

bool is_plain_http(const error_code& error) {
  return error.category() == boost::asio::error::get_ssl_category()
         && ERR_GET_REASON(static_cast<unsigned long>(error.value())) == SSL_R_HTTP_REQUEST;
}

}  // namespace tenon::server
