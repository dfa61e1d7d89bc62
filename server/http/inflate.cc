#include "inflate.h"

#include <tenon/printable.h>
#include <zlib.h>

#include <algorithm>

#include "guard.h"

namespace tenon::server {
namespace {

class Inflater {
 public:
  Inflater() {
    constexpr int kGzipOrZlib = 15 + 32;
    if (inflateInit2(&stream_, kGzipOrZlib) != Z_OK) throw Error{"out of memory"};
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void run(Body& from, Body& to, size_t max) {
    stream_.next_in = from.data();
    stream_.avail_in = static_cast<uInt>(from.size());
    for (int status = Z_OK; status != Z_STREAM_END;) {
      if (to.size() == max)
        throw Error{"the body is larger than " + std::to_string(max) + " bytes"};
      to.reserve(std::min(max, std::max<size_t>(2 * to.size(), 1 << 16)));
      const auto room = to.room();
      stream_.next_out = room.data();
      stream_.avail_out = static_cast<uInt>(room.size());
      status = ::inflate(&stream_, Z_NO_FLUSH);
      to.add(room.size() - stream_.avail_out);
      if (status != Z_OK && status != Z_STREAM_END)
        throw Error{status == Z_BUF_ERROR ? "the compressed body is cut short"
                                          : "the compressed body is damaged"};
      if (status == Z_OK && stream_.avail_in == 0 && stream_.avail_out > 0)
        throw Error{"the compressed body is cut short"};
    }
  }

 private:
  z_stream stream_{};
};

}  // namespace

Result<std::shared_ptr<Body>> inflate(std::shared_ptr<Body> body,
                                      const std::string& content_encoding, size_t json,
                                      size_t max) noexcept {
  return session::guard([&] {
    if (content_encoding.empty() || content_encoding == "identity") return std::move(body);
    if (content_encoding != "gzip" && content_encoding != "deflate")
      throw Error{"Content-Encoding: expected gzip, deflate or identity, found '"
                  + printable(content_encoding) + "'"};
    auto inflated = std::make_shared<Body>(json);
    Inflater().run(*body, *inflated, max);
    return inflated;
  });
}

}  // namespace tenon::server
