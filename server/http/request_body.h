// A request's body while it comes in.
#pragma once

#include <algorithm>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <new>

#include "rest.h"

namespace tenon::server {

/// Memory is made for what has come: a length that is only claimed takes none.
struct RequestBody {
  using value_type = Body;

  class reader {
   public:
    template <bool is_request, class Fields>
    reader(boost::beast::http::header<is_request, Fields>&, Body& body) : body_(body) {}

    void init(const boost::optional<uint64_t>& length, boost::system::error_code& error) {
      length_ = static_cast<size_t>(length.value_or(0));
      error = {};
    }

    template <class Buffers> size_t put(const Buffers& buffers, boost::system::error_code& error) {
      const size_t bytes = boost::beast::buffer_bytes(buffers);
      try {
        make_room(body_.size() + bytes + kPadding);
      } catch (const std::bad_alloc&) {
        error = make_error_code(boost::system::errc::not_enough_memory);
        return 0;
      }
      for (const auto buffer : boost::beast::buffers_range_ref(buffers)) {
        const auto* const data = static_cast<const unsigned char*>(buffer.data());
        body_.insert(body_.end(), data, data + buffer.size());
      }
      error = {};
      return bytes;
    }

    void finish(boost::system::error_code& error) { error = {}; }

   private:
    // All that is to come at once, but only when a part of it is there.
    void make_room(size_t wanted) {
      constexpr size_t kBelieved = size_t{1} << 20;
      if (wanted <= body_.capacity()) return;
      const size_t all = length_ + kPadding;
      body_.reserve(
          std::max(wanted, body_.empty() ? std::min(all, kBelieved) : std::max(all, 2 * wanted)));
    }

    Body& body_;
    size_t length_ = 0;
  };
};

}  // namespace tenon::server
