// Certificates for tests, which openssl makes.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

namespace tenon::server {

/// In the folder, an authority NAME.pem, and what it signed for localhost and 127.0.0.1:
/// NAME_leaf.pem with its key, NAME_leaf.key.
inline void make_certificates(const std::filesystem::path& folder, const std::string& name) {
  const std::string script =
      "cd '" + folder.string() + "' && name=" + name
      + " && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=$name "
        "-keyout $name.key -out $name.pem && openssl req -newkey rsa:2048 -nodes -subj "
        "/CN=localhost -keyout ${name}_leaf.key -out ${name}_leaf.csr && "
        "echo subjectAltName=DNS:localhost,IP:127.0.0.1 > $name.ext && "
        "openssl x509 -req -in ${name}_leaf.csr -CA $name.pem -CAkey $name.key -CAcreateserial "
        "-days 2 -extfile $name.ext -out ${name}_leaf.pem";
  ASSERT_EQ(std::system(("(" + script + ") > /dev/null 2>&1").c_str()), 0) << script;
}

}  // namespace tenon::server
