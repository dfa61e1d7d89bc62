// Which objects of the API are ours: a foreign or dead one that is passed in is recognised by its
// address, without touching it.
#pragma once

#include <mutex>
#include <unordered_map>

namespace tenon {

/// Base of a facade: registers it under the address by which applications know it.
template <class Facade, class Handle> class Live {
 public:
  /// Our facade behind `handle`; null for null, foreign and deleted objects.
  static Facade* find(const Handle* handle) {
    const std::lock_guard lock(all().mutex);
    const auto found = all().facades.find(handle);
    return found == all().facades.end() ? nullptr : found->second;
  }

 protected:
  Live(Facade* facade, const Handle* handle) : handle_(handle) {
    const std::lock_guard lock(all().mutex);
    all().facades.emplace(handle, facade);
  }
  ~Live() {
    const std::lock_guard lock(all().mutex);
    all().facades.erase(handle_);
  }
  Live(const Live&) = delete;
  Live& operator=(const Live&) = delete;

 private:
  struct All {
    std::mutex mutex;
    std::unordered_map<const Handle*, Facade*> facades;
  };
  // Never destroyed: applications delete their objects after statics are gone.
  static All& all() {
    static auto* all = new All;
    return *all;
  }
  const Handle* handle_;
};

}  // namespace tenon
