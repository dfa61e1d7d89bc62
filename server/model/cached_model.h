// A model whose responses are kept, and given again to the same request.
#pragma once

#include <memory>

#include "response_cache.h"

namespace tenon::server {

/// What the cache keeps of it goes when it does: a model that is loaded anew answers anew.
std::shared_ptr<Model> make_cached_model(std::shared_ptr<Model> model,
                                         std::shared_ptr<ResponseCache> cache);

}  // namespace tenon::server
