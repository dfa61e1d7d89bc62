// Triton's extensions of shared memory over REST.
#pragma once

#include <string>
#include <vector>

#include "model/shared_memory.h"
#include "rest.h"

namespace tenon::server {

/// @param memory null where there is none.
/// @param path of the request: "v2", "systemsharedmemory" or "cudasharedmemory", and the rest.
RestResponse shared_memory_response(SharedMemory* memory, const RestRequest& request,
                                    const std::vector<std::string>& path);

}  // namespace tenon::server
