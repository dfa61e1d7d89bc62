// The files of TLS, of both protocols.
#pragma once

#include <tenon/printable.h>

#include <fstream>
#include <iterator>
#include <string>

#include "model/model.h"

namespace tenon::server {

/// PEM files. A certificate chain and its key make a server speak TLS; with the certificates of
/// authorities, clients must have a certificate of one of these.
struct TlsFiles {
  std::string certificate, key, authorities;
};

/// What the files say; all empty where there is no TLS.
struct TlsTexts {
  std::string certificate, key, authorities;
};

inline std::string read_pem(const std::string& path, const std::string& what) {
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), {}};
  if (!file.good() && !file.eof()) throw Error{"cannot read the " + what + ", " + printable(path)};
  if (text.find("-----BEGIN ") == std::string::npos)
    throw Error{"the " + what + ", " + printable(path) + ", is no PEM file"};
  return text;
}

/// Throws Error for what is missing or cannot be read.
inline TlsTexts read_tls_files(const TlsFiles& files) {
  if (files.certificate.empty() != files.key.empty())
    throw Error{"a certificate and a key go together; found only the "
                + std::string(files.key.empty() ? "certificate" : "key")};
  TlsTexts texts;
  if (files.certificate.empty()) {
    if (files.authorities.empty()) return texts;
    throw Error{
        "certificates of clients are checked with TLS; expected a certificate and a key of "
        "the server, too"};
  }
  texts.key = read_pem(files.key, "key");
  texts.certificate = read_pem(files.certificate, "certificate");
  if (!files.authorities.empty())
    texts.authorities = read_pem(files.authorities, "certificates of clients' authorities");
  return texts;
}

}  // namespace tenon::server
