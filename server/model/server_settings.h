// What clients may change while the server runs.
#pragma once

#include "request_traces.h"
#include "server_log.h"

namespace tenon::server {

struct ServerSettings {
  ServerLog log;
  RequestTraces traces;
};

}  // namespace tenon::server
