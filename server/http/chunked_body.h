// A request's body in chunks while it comes in.
#pragma once

#include <boost/beast/core/buffer_traits.hpp>
#include <boost/beast/core/buffers_range.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/optional.hpp>
#include <memory>
#include <new>

#include "body.h"

namespace tenon::server {

/// A Body of Boost.Beast over one that is set before the first chunk is read.
struct ChunkedBody {
  using value_type = std::shared_ptr<Body>;

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>&, value_type& body) : body_(body) {}

    void init(const boost::optional<uint64_t>&, boost::system::error_code& error) { error = {}; }

    template <class Buffers> size_t put(const Buffers& buffers, boost::system::error_code& error) {
      const size_t bytes = boost::beast::buffer_bytes(buffers);
      try {
        body_->make_room(bytes, 0);
      } catch (const std::bad_alloc&) {
        error = make_error_code(boost::system::errc::not_enough_memory);
        return 0;
      }
      for (const auto buffer : boost::beast::buffers_range_ref(buffers))
        body_->append(buffer.data(), buffer.size());
      error = {};
      return bytes;
    }

    void finish(boost::system::error_code& error) { error = {}; }

   private:
    value_type& body_;
  };
};

}  // namespace tenon::server
