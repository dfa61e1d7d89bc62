// The health of the server, which needs no token.
#pragma once

#include <atomic>
#include <memory>

#include "call_queues.h"
#include "model/models.h"

namespace tenon::server {

/// SERVING so long as all models are ready; there is no service but the whole server, ''.
/// @param models outlive it.
/// @param is_stopping ends those that watch.
std::unique_ptr<CallService> make_health_service(const Models& models,
                                                 const std::atomic<bool>& is_stopping);

}  // namespace tenon::server
