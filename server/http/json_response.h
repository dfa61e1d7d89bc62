// Responses to inference requests as the REST protocol writes them: JSON, and tensors in binary
// behind it.
#pragma once

#include <set>
#include <string>

#include "model/requested_tensors.h"
#include "rest.h"

namespace tenon::server {

/// Which outputs the response has in binary.
struct OutputFormat {
  bool is_binary = false;        ///< those that the request does not name
  std::set<std::string> named;   ///< by the request
  std::set<std::string> binary;  ///< of these

  bool wants_binary(const std::string& output) const {
    return named.contains(output) ? binary.contains(output) : is_binary;
  }
};

/// An error for numbers that JSON does not have, NaN and infinities, and for datatypes that only
/// are binary.
Result<RestResponse> infer_response(OutputResponse response, const OutputFormat& format) noexcept;

/// The text as a JSON string, with its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_string(std::string_view text);

}  // namespace tenon::server
