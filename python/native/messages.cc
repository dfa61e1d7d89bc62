#include "messages.h"

#include <algorithm>
#include <cstdio>

namespace tenon::python {

void Messages::log(Severity severity, const char* message) noexcept {
  if (severity <= written_) std::fprintf(stderr, "[tenon] %s\n", message);
  if (severity > Severity::kWARNING) return;
  constexpr size_t kMaxEntries = 1000;  // nobody may ever take them
  try {
    const std::lock_guard lock(mutex_);
    if (entries_.size() >= kMaxEntries) entries_.erase(entries_.begin());
    entries_.push_back({std::this_thread::get_id(), {severity, message}});
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "[tenon] %s\n", message);
  }
}

std::vector<Messages::Kept> Messages::take(bool of_this_thread) {
  const std::lock_guard lock(mutex_);
  const auto first = std::stable_partition(entries_.begin(), entries_.end(), [&](const Entry& e) {
    return of_this_thread && e.thread != std::this_thread::get_id();
  });
  std::vector<Kept> taken;
  for (auto entry = first; entry != entries_.end(); ++entry)
    taken.push_back(std::move(entry->kept));
  entries_.erase(first, entries_.end());
  return taken;
}

}  // namespace tenon::python
