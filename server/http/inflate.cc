#include "inflate.h"

#include <tenon/printable.h>
#include <zlib.h>

#include <algorithm>
#include <new>

#include "rest_routes.h"

namespace tenon::server {
namespace {

// What the client is answered.
struct Refusal {
  int status;
  std::string text;
};

class Inflater {
 public:
  Inflater() {
    constexpr int kGzipOrZlib = 15 + 32;
    if (inflateInit2(&stream_, kGzipOrZlib) != Z_OK) throw std::bad_alloc();
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void run(Body& from, Body& to, size_t max) {
    stream_.next_in = from.data();
    stream_.avail_in = static_cast<uInt>(from.size());
    for (int status = Z_OK; status != Z_STREAM_END;) {
      // One more, as the stream's end may take another call behind its last byte.
      to.reserve(std::min(max + 1, std::max<size_t>(2 * to.size(), 1 << 16)));
      const auto room = to.room();
      stream_.next_out = room.data();
      stream_.avail_out = static_cast<uInt>(room.size());
      status = ::inflate(&stream_, Z_NO_FLUSH);
      to.add(room.size() - stream_.avail_out);
      if (to.size() > max)
        throw Refusal{413, "the body is larger than " + std::to_string(max) + " bytes"};
      if (status == Z_BUF_ERROR
          || (status == Z_OK && stream_.avail_in == 0 && stream_.avail_out > 0))
        throw Refusal{400, "the compressed body is cut short"};
      if (status != Z_OK && status != Z_STREAM_END)
        throw Refusal{400, "the compressed body is damaged"};
    }
    if (stream_.avail_in > 0)
      throw Refusal{400, "the compressed body goes on behind its end: expected one stream, found "
                             + std::to_string(stream_.avail_in) + " bytes more"};
  }

 private:
  z_stream stream_{};
};

}  // namespace

std::variant<std::shared_ptr<Body>, RestResponse> inflate(std::shared_ptr<Body> body,
                                                          const std::string& content_encoding,
                                                          size_t json, size_t max) {
  if (content_encoding.empty() || content_encoding == "identity") return body;
  if (content_encoding != "gzip" && content_encoding != "deflate")
    return error_response(415, "Content-Encoding: expected gzip, deflate or identity, found '"
                                   + printable(content_encoding) + "'");
  try {
    auto inflated = std::make_shared<Body>(json);
    Inflater().run(*body, *inflated, max);
    return inflated;
  } catch (const Refusal& refusal) {
    return error_response(refusal.status, refusal.text);
  } catch (const std::bad_alloc&) {
    return error_response(503, "out of memory");
  }
}

}  // namespace tenon::server
