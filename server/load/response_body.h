// The beginning of a response's body, for errors; tensors behind it are read and forgotten.
#pragma once

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional.hpp>
#include <string>

namespace tenon::load {

/// A Body of Boost.Beast.
struct ResponseBeginning {
  static constexpr size_t kMaxBytes = 1000;

  struct value_type {
    std::string begin;
    uint64_t bytes = 0;  ///< of the whole body
  };

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>&, value_type& body) : body_(body) {}
    void init(const boost::optional<std::uint64_t>&, boost::system::error_code& error) {
      error = {};
    }
    template <class Buffers> size_t put(const Buffers& buffers, boost::system::error_code& error) {
      error = {};
      size_t bytes = 0;
      for (const boost::asio::const_buffer buffer : boost::beast::buffers_range_ref(buffers)) {
        const size_t kept = std::min(buffer.size(), kMaxBytes - body_.begin.size());
        body_.begin.append(static_cast<const char*>(buffer.data()), kept);
        bytes += buffer.size();
      }
      body_.bytes += bytes;
      return bytes;
    }
    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace tenon::load
