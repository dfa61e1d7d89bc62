// A response's body while it goes out.
#pragma once

#include <boost/asio/buffer.hpp>
#include <boost/beast/http.hpp>
#include <utility>
#include <vector>

#include "rest.h"

namespace tenon::server {

/// The text of a response, and the bytes of tensors behind it, which are not copied.
struct ResponseBody {
  using Buffers = std::vector<boost::asio::const_buffer>;
  struct value_type {
    RestResponse response;
    Buffers buffers;
  };
  static uint64_t size(const value_type& body) { return boost::asio::buffer_size(body.buffers); }

  class writer {
   public:
    using const_buffers_type = Buffers;
    template <bool is_request, class Fields>
    writer(const boost::beast::http::header<is_request, Fields>&, const value_type& body)
        : body_(body) {}
    void init(boost::system::error_code& error) { error = {}; }
    boost::optional<std::pair<Buffers, bool>> get(boost::system::error_code& error) {
      error = {};
      return {{body_.buffers, false}};
    }

   private:
    const value_type& body_;
  };
};

}  // namespace tenon::server
