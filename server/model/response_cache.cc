#include "response_cache.h"

#include <xxhash.h>

#include <cstring>

#include "guard.h"
#include "tensor_memory.h"

namespace tenon::server {
namespace {

using session::value_of;

// Of an entry, besides the bytes of tensors: nodes, names and shapes.
constexpr size_t kEntryBytes = 512;

void append(std::string& to, const std::string& text) {
  to += std::to_string(text.size()) + ':' + text;
}

size_t bytes_of(const std::vector<NamedTensor>& outputs) {
  size_t bytes = 0;
  for (const NamedTensor& output : outputs) bytes += output.name.size() + output.tensor.bytes();
  return bytes;
}

const char* bytes_at(Tensor& tensor) {
  return static_cast<const char*>(value_of(tensor.cpu()));
}

}  // namespace

CacheKey::CacheKey(uint64_t model, InferRequest& request) : model_(model) {
  append(head_, std::to_string(model));
  for (NamedTensor& input : request.inputs) {
    append(head_, input.name);
    append(head_, std::to_string(static_cast<int>(input.tensor.type())));
    append(head_, input.tensor.shape_string());
    tensors_.push_back(shared_view(input.tensor));
  }
  head_ += '>';
  for (const std::string& output : request.outputs) append(head_, output);
  XXH3_state_t* const state = XXH3_createState();
  if (state == nullptr) throw std::bad_alloc();
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> owner(state,
                                                                              &XXH3_freeState);
  XXH3_64bits_reset(state);
  XXH3_64bits_update(state, head_.data(), head_.size());
  for (Tensor& tensor : tensors_)
    if (!tensor.empty()) XXH3_64bits_update(state, bytes_at(tensor), tensor.bytes());
  hash_ = XXH3_64bits_digest(state);
}

size_t CacheKey::bytes() const {
  size_t bytes = head_.size();
  for (const Tensor& tensor : tensors_) bytes += tensor.bytes();
  return bytes;
}

std::string CacheKey::text() {
  std::string text = head_;
  text.reserve(bytes());
  for (Tensor& tensor : tensors_)
    if (!tensor.empty()) text.append(bytes_at(tensor), tensor.bytes());
  return text;
}

bool CacheKey::is(const std::string& text) {
  if (text.size() != bytes() || !text.starts_with(head_)) return false;
  const char* at = text.data() + head_.size();
  for (Tensor& tensor : tensors_) {
    if (!tensor.empty() && std::memcmp(at, bytes_at(tensor), tensor.bytes()) != 0) return false;
    at += tensor.bytes();
  }
  return true;
}

ResponseCache::Entries::iterator ResponseCache::find_entry(CacheKey& key) {
  for (auto [at, end] = by_hash_.equal_range(key.hash()); at != end; ++at)
    if (at->second->model == key.model() && key.is(at->second->request)) return at->second;
  return entries_.end();
}

void ResponseCache::erase(Entries::iterator entry) {
  for (auto [at, end] = by_hash_.equal_range(entry->hash); at != end; ++at)
    if (at->second == entry) {
      by_hash_.erase(at);
      break;
    }
  bytes_ -= entry->bytes;
  entries_.erase(entry);
}

std::optional<std::vector<NamedTensor>> ResponseCache::find(CacheKey& key) {
  const std::lock_guard lock(mutex_);
  const auto entry = find_entry(key);
  if (entry == entries_.end()) return std::nullopt;
  entries_.splice(entries_.begin(), entries_, entry);
  std::vector<NamedTensor> outputs;
  for (NamedTensor& output : entry->outputs)
    outputs.push_back({output.name, shared_view(output.tensor)});
  return outputs;
}

void ResponseCache::insert(CacheKey& key, std::vector<NamedTensor>& outputs) {
  const size_t bytes = kEntryBytes + key.bytes() + bytes_of(outputs);
  if (bytes > max_bytes_) return;
  // Of a batch's outputs the response is a part, which would keep the whole.
  Entry entry{key.model(), key.hash(), key.text(), {}, bytes};
  for (NamedTensor& output : outputs)
    entry.outputs.push_back({output.name, heap_copy(output.tensor)});
  const std::lock_guard lock(mutex_);
  if (find_entry(key) != entries_.end()) return;  // of the same request at the same time
  while (bytes_ + bytes > max_bytes_) erase(std::prev(entries_.end()));
  entries_.push_front(std::move(entry));
  by_hash_.emplace(key.hash(), entries_.begin());
  bytes_ += bytes;
}

void ResponseCache::erase(uint64_t model) {
  const std::lock_guard lock(mutex_);
  for (auto at = entries_.begin(); at != entries_.end();) {
    const auto entry = at++;
    if (entry->model == model) erase(entry);
  }
}

size_t ResponseCache::bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

}  // namespace tenon::server
