// How requests reach a server: the same one again and again, over one protocol.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

namespace tenon::load {

using Clock = std::chrono::steady_clock;

enum class Outcome : uint8_t {
  kAnswered,
  kRefused,  ///< 429, RESOURCE_EXHAUSTED: the queue is full
  kExpired,  ///< 504, DEADLINE_EXCEEDED, or no answer within the client's own limit
  kFailed,   ///< everything else, connections that break among it
};

/// A request that is over.
struct Sent {
  Clock::time_point intended;  ///< when it should have been sent
  Clock::time_point sent;      ///< when it was
  Outcome outcome = Outcome::kAnswered;
  std::string text;  ///< why it was not answered
};

/// Called once for each request, in any thread; it may send the next one.
using Receive = std::function<void(Sent)>;

struct TransportOptions {
  size_t connections = 1;  ///< at most
  size_t threads = 1;
  std::chrono::milliseconds timeout{60'000};  ///< of a request
};

class Transport {
 public:
  /// Ends what is under way; nothing is received afterwards.
  virtual ~Transport() = default;
  /// From any thread; does not wait. Requests that no connection is free for are sent later.
  virtual void send(Clock::time_point intended) = 0;
};

using MakeTransport =
    std::function<std::unique_ptr<Transport>(const TransportOptions& options, Receive receive)>;

}  // namespace tenon::load
