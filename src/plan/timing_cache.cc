#include "plan/timing_cache.h"

#include <xxhash.h>

#include <charconv>
#include <cstring>

#include "base/error.h"

namespace tenon {
namespace {

constexpr char kTimingCacheMagic[8] = {'T', 'E', 'N', 'O', 'N', 'T', 'C', '3'};

void append(std::vector<std::byte>& out, const void* data, size_t size) {
  const auto* bytes = static_cast<const std::byte*>(data);
  out.insert(out.end(), bytes, bytes + size);
}

// Takes one thing after another from bytes.
class Bytes {
 public:
  explicit Bytes(std::span<const std::byte> left) : left_(left) {}
  std::span<const std::byte> next(size_t size) {
    require(size <= left_.size(), "the timing cache is truncated");
    const auto taken = left_.first(size);
    left_ = left_.subspan(size);
    return taken;
  }
  template <class T> T next() {
    T value;
    std::memcpy(&value, next(sizeof value).data(), sizeof value);
    return value;
  }
  size_t left() const { return left_.size(); }

 private:
  std::span<const std::byte> left_;
};

}  // namespace

TimingKey timing_key(const Target& target, const KernelRequest& request, std::string_view id) {
  std::string text =
      fmt::format("{}|{}|{}", target.name(), target.fingerprint(), request.op.name());
  for (const auto& [name, value] : fields_of(request.op))
    text += fmt::format("|{}={}", name, text_of(value));
  for (const auto& specs : {request.inputs, request.outputs})
    for (const TensorSpec& s : specs)
      text += s.present ? fmt::format("|{} {} {}", name_of(s.type), name_of(s.layout), s.shape)
                        : std::string("|-");
  for (const Tensor* constant : request.constants) text += constant != nullptr ? "|c" : "|v";
  if (request.tf32) text += "|tf32";
  if (request.bf16) text += "|bf16";
  if (request.cold_weights) text += "|cold";
  if (!id.empty()) text += fmt::format("|id {}", id);
  return digest_of(text);
}

std::string tactic_name(std::string_view kernel, std::string_view variant) {
  return variant.empty() ? std::string(kernel) : fmt::format("{}/{}", kernel, variant);
}

// FNV-1a.
uint64_t tactic_number(std::string_view name) {
  uint64_t hash = 0;
  if (name.starts_with('#')
      && std::from_chars(name.data() + 1, name.data() + name.size(), hash, 16).ec == std::errc())
    return hash;
  hash = 0xcbf29ce484222325u;
  for (char c : name) hash = (hash ^ static_cast<uint8_t>(c)) * 0x100000001b3u;
  return hash;
}

std::string name_of_tactic(uint64_t number) {
  return fmt::format("#{:x}", number);
}

std::optional<TimingEntry> TimingCache::find(const TimingKey& key) const {
  const std::lock_guard lock(mutex_);
  const auto it = entries_.find(key);
  return it == entries_.end() ? std::nullopt : std::optional(it->second);
}

void TimingCache::insert(const TimingKey& key, TimingEntry entry) {
  const std::lock_guard lock(mutex_);
  entries_[key] = std::move(entry);
}

void TimingCache::erase(const TimingKey& key) {
  const std::lock_guard lock(mutex_);
  entries_.erase(key);
}

std::vector<TimingKey> TimingCache::keys() const {
  const std::lock_guard lock(mutex_);
  std::vector<TimingKey> keys;
  for (const auto& [key, entry] : entries_) keys.push_back(key);
  return keys;
}

bool TimingCache::fits(const Tensor& code) const {
  size_t bytes = code.bytes();
  for (const auto& [key, kept] : code_) bytes += kept.bytes.bytes();
  return bytes <= max_code_bytes_;
}

std::optional<Tensor> TimingCache::find_code(const Digest& key) {
  const std::lock_guard lock(mutex_);
  const auto it = code_.find(key);
  if (it == code_.end()) return std::nullopt;
  it->second.is_used = true;
  return it->second.bytes;
}

void TimingCache::keep_code(const Digest& key, const Tensor& code) {
  const std::lock_guard lock(mutex_);
  if (code_.contains(key)) return;
  if (!fits(code)) std::erase_if(code_, [](const auto& kept) { return !kept.second.is_used; });
  if (fits(code)) code_[key] = {code, true};
}

void TimingCache::combine(const TimingCache& other) {
  const std::scoped_lock lock(mutex_, other.mutex_);
  entries_.insert(other.entries_.begin(), other.entries_.end());
  for (const auto& [key, code] : other.code_)
    if (fits(code.bytes)) code_.emplace(key, code);
}

void TimingCache::reset() {
  const std::lock_guard lock(mutex_);
  entries_.clear();
  code_.clear();
}

std::vector<std::byte> TimingCache::write() const {
  const std::lock_guard lock(mutex_);
  std::vector<std::byte> out;
  const auto append = [&](const auto& value) { tenon::append(out, &value, sizeof value); };
  append(kTimingCacheMagic);
  append(static_cast<uint32_t>(entries_.size()));
  for (const auto& [key, entry] : entries_) {
    append(key);
    append(entry.milliseconds);
    append(static_cast<uint32_t>(entry.kernel.size()));
    tenon::append(out, entry.kernel.data(), entry.kernel.size());
  }
  append(static_cast<uint32_t>(code_.size()));
  for (const auto& [key, code] : code_) {
    append(key);
    append(uint64_t{code.bytes.bytes()});
    tenon::append(out, code.bytes.data(), code.bytes.bytes());
  }
  append(XXH3_64bits(out.data(), out.size()));
  return out;
}

void TimingCache::read(std::span<const std::byte> bytes) {
  Bytes from(bytes);
  require(std::memcmp(from.next(sizeof kTimingCacheMagic).data(), kTimingCacheMagic,
                      sizeof kTimingCacheMagic)
              == 0,
          "these bytes are not a timing cache of this version");
  require(from.left() >= sizeof(XXH64_hash_t), "the timing cache is truncated");
  const auto contents = bytes.first(bytes.size() - sizeof(XXH64_hash_t));
  require(Bytes(bytes.subspan(contents.size())).next<XXH64_hash_t>()
              == XXH3_64bits(contents.data(), contents.size()),
          "the timing cache is damaged: its checksum does not match");
  from = Bytes(contents.subspan(sizeof kTimingCacheMagic));
  std::map<TimingKey, TimingEntry> entries;
  for (auto left = from.next<uint32_t>(); left > 0; --left) {
    const auto key = from.next<TimingKey>();
    const auto milliseconds = from.next<float>();
    const auto name = from.next(from.next<uint32_t>());
    entries[key] = {{reinterpret_cast<const char*>(name.data()), name.size()}, milliseconds};
  }
  std::map<Digest, Code> code;
  for (auto left = from.next<uint32_t>(); left > 0; --left) {
    const auto key = from.next<Digest>();
    const auto cubin = from.next(from.next<uint64_t>());
    const Shape shape = {static_cast<int64_t>(cubin.size())};
    code[key].bytes = Tensor::of(DataType::kUINT8, shape, cubin);
  }
  require(from.left() == 0, "the timing cache has {} bytes too many", from.left());
  const std::lock_guard lock(mutex_);
  entries_ = std::move(entries);
  code_ = std::move(code);
}

}  // namespace tenon
