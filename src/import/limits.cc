// How much a model may make the importer compute, and of how many nodes it may be.
#include <atomic>
#include <cstdint>

#include "base/environment.h"
#include "import/import.h"

namespace tenon {
namespace {

// A limit: what was set last, else an environment variable, else a default.
struct Limit {
  const char* variable;
  size_t unit;  // that the variable counts in
  const char* unit_name;
  size_t otherwise;
  std::atomic<size_t> chosen = 0;

  size_t now() const {
    if (const size_t limit = chosen; limit > 0) return limit;
    const auto count = environment_number(variable, 1, SIZE_MAX / unit, unit_name);
    return count ? *count * unit : otherwise;
  }
};

Limit computed_bytes{"TENON_IMPORT_LIMIT", size_t{1} << 20, "MiB", size_t{1} << 31};
Limit nodes{"TENON_IMPORT_NODES", 1, "nodes", 200'000};

}  // namespace

size_t computed_bytes_limit() {
  return computed_bytes.now();
}

void set_computed_bytes_limit(size_t bytes) {
  computed_bytes.chosen = bytes;
}

size_t node_limit() {
  return nodes.now();
}

void set_node_limit(size_t count) {
  nodes.chosen = count;
}

}  // namespace tenon
