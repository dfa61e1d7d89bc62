#include "shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <tenon/printable.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "guard.h"
#include "tensor_memory.h"

namespace tenon::server {
namespace {

// Throws a RequestError.
[[noreturn]] void refuse(Failure failure, std::string text) {
  throw RequestError{failure, std::move(text)};
}

std::optional<RequestError> refusal_of(auto&& call) {
  try {
    call();
    return std::nullopt;
  } catch (RequestError& error) {
    return std::move(error);
  } catch (const Error& error) {
    return RequestError{Failure::kInvalid, error.text};
  } catch (const std::bad_alloc&) {
    return RequestError{Failure::kFull, "out of memory"};
  }
}

std::string label_of(const std::string& region) {
  return "shared memory region '" + printable(region) + "'";
}

std::string reason() {
  return std::generic_category().message(errno);
}

// The object's name without its slash. What the C library keeps beside objects is none.
std::string object_of(const std::string& key, const std::string& prefix) {
  const std::string name = key.starts_with('/') ? key.substr(1) : key;
  const bool is_name = !name.empty() && name.size() < 255 && name[0] != '.'
                       && name.find('/') == std::string::npos
                       && name.find('\0') == std::string::npos && !name.starts_with("sem.");
  if (!is_name)
    refuse(Failure::kInvalid,
           "key: expected the name of a shared memory object, as in '/frames', "
           "found '"
               + printable(key) + "'");
  if (!name.starts_with(prefix))
    refuse(Failure::kInvalid, "key: expected '/" + prefix + "...', which the server's "
                              "--shared-memory-prefix says, found '" + printable(key) + "'");
  return name;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

// Calls `transfer(data, bytes, offset)`, pread or pwrite, until all is over; how much that was.
size_t transfer_all(auto transfer, size_t bytes, size_t offset) {
  size_t done = 0;
  while (done < bytes) {
    const ssize_t now = transfer(done, bytes - done, static_cast<off_t>(offset + done));
    if (now < 0 && errno == EINTR) continue;
    if (now <= 0) break;
    done += static_cast<size_t>(now);
  }
  return done;
}

// Elements that were read, which count until the request is over.
struct Elements {
  Elements(size_t size, std::shared_ptr<std::atomic<size_t>> counter, size_t max)
      : bytes(size), all(std::move(counter)) {
    if (all->fetch_add(bytes) + bytes > max) {
      all->fetch_sub(bytes);
      refuse(Failure::kFull, "inputs in shared memory take too much memory: try again");
    }
    try {
      data = std::make_unique_for_overwrite<std::byte[]>(bytes);
    } catch (...) {
      all->fetch_sub(bytes);
      throw;
    }
  }
  ~Elements() { all->fetch_sub(bytes); }
  Elements(const Elements&) = delete;
  Elements& operator=(const Elements&) = delete;

  size_t bytes;
  std::shared_ptr<std::atomic<size_t>> all;
  std::unique_ptr<std::byte[]> data;
};

}  // namespace

struct SharedMemory::Opened {
  explicit Opened(SharedMemoryRegion said) : region(std::move(said)) {}
  ~Opened() {
    if (descriptor >= 0) ::close(descriptor);
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  // An object may become shorter at any time.
  void check_size() const {
    struct stat info{};
    if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode))
      refuse(Failure::kInvalid, label_of(region.name) + ": its key is no shared memory object");
    if (std::cmp_less(info.st_size, region.offset + region.bytes))
      refuse(Failure::kInvalid, label_of(region.name) + ": its object has "
                                    + std::to_string(info.st_size)
                                    + " bytes, and the region ends at "
                                    + std::to_string(region.offset + region.bytes));
  }

  SharedMemoryRegion region;
  int descriptor = -1;
};

RequestError no_shared_memory() {
  return {Failure::kInvalid, "shared memory is off: start the server with --allow-shared-memory"};
}

std::optional<RequestError> SharedMemory::add(const SharedMemoryRegion& region) {
  return refusal_of([&] {
    if (region.name.empty() || region.name.size() > 255)
      refuse(Failure::kInvalid, "name of a region: expected 1 to 255 bytes, found "
                                    + std::to_string(region.name.size()));
    // Protobuf's strings are UTF-8: a region with another name could not be named over gRPC.
    if (!is_utf8(region.name))
      refuse(Failure::kInvalid, label_of(region.name) + ": expected a name in UTF-8");
    off_t end = 0;
    if (region.bytes == 0 || __builtin_add_overflow(region.offset, region.bytes, &end))
      refuse(Failure::kInvalid, label_of(region.name)
                                    + ": expected a byte_size of 1 or more, and an end that fits "
                                      "63 bits, found an offset of "
                                    + std::to_string(region.offset) + " and "
                                    + std::to_string(region.bytes) + " bytes");
    auto opened = std::make_shared<Opened>(region);
    const std::string object = "/" + object_of(region.key, options_.prefix);
    const std::lock_guard lock(mutex_);
    if (regions_.contains(region.name))
      refuse(Failure::kInvalid, label_of(region.name) + " is registered already");
    if (regions_.size() >= options_.max_regions)
      refuse(Failure::kInvalid, "expected at most " + std::to_string(options_.max_regions)
                                    + " regions of shared memory: unregister one");
    opened->descriptor = ::shm_open(object.c_str(), O_RDWR, 0);
    if (opened->descriptor < 0)
      refuse(Failure::kInvalid, label_of(region.name) + ": cannot open the shared memory object '"
                                    + printable(region.key) + "': " + reason());
    opened->check_size();
    regions_.emplace(region.name, std::move(opened));
  });
}

std::optional<RequestError> SharedMemory::remove(const std::string& name) {
  return refusal_of([&] {
    const std::lock_guard lock(mutex_);
    if (name.empty())
      regions_.clear();
    else
      regions_.erase(name);
  });
}

std::variant<std::vector<SharedMemoryRegion>, RequestError> SharedMemory::regions(
    const std::string& name) const {
  std::vector<SharedMemoryRegion> found;
  auto refusal = refusal_of([&] {
    const std::lock_guard lock(mutex_);
    for (const auto& [key, opened] : regions_)
      if (name.empty() || key == name) found.push_back(opened->region);
    if (!name.empty() && found.empty()) refuse(Failure::kNotFound, "there is no " + label_of(name));
  });
  if (refusal) return *std::move(refusal);
  return found;
}

// That of the part, which lies in it.
std::shared_ptr<const SharedMemory::Opened> SharedMemory::find(const RegionPart& part) const {
  std::shared_ptr<const Opened> opened;
  {
    const std::lock_guard lock(mutex_);
    const auto found = regions_.find(part.region);
    if (found == regions_.end()) refuse(Failure::kInvalid, "there is no " + label_of(part.region));
    opened = found->second;
  }
  size_t end = 0;
  if (__builtin_add_overflow(part.offset, part.bytes, &end) || end > opened->region.bytes)
    refuse(Failure::kInvalid, label_of(part.region) + " has " + std::to_string(opened->region.bytes)
                                  + " bytes; found an offset of " + std::to_string(part.offset)
                                  + " and " + std::to_string(part.bytes) + " bytes");
  return opened;
}

std::optional<RequestError> SharedMemory::read(const RegionPart& part, Tensor& tensor) const {
  return refusal_of([&] {
    const size_t bytes = tensor.bytes();
    if (part.bytes != bytes)
      refuse(Failure::kInvalid, "shared_memory_byte_size: expected the " + std::to_string(bytes)
                                    + " bytes of the shape, found " + std::to_string(part.bytes));
    const auto opened = find(part);
    if (bytes > options_.max_bytes)
      refuse(Failure::kInvalid, "inputs in shared memory may have "
                                    + std::to_string(options_.max_bytes) + " bytes, found "
                                    + std::to_string(bytes));
    auto elements = std::make_shared<Elements>(bytes, bytes_, options_.max_bytes);
    std::byte* const data = elements->data.get();
    const size_t got =
        transfer_all([&](size_t done, size_t left,
                         off_t at) { return ::pread(opened->descriptor, data + done, left, at); },
                     bytes, opened->region.offset + part.offset);
    if (got < bytes)
      refuse(Failure::kInvalid,
             label_of(part.region) + ": its object is shorter than when it was registered");
    tensor = tensor_over(tensor.shape(), tensor.type(), data, std::move(elements));
  });
}

std::optional<RequestError> SharedMemory::write(Tensor& tensor, RegionPart& part) const {
  return refusal_of([&] {
    const size_t bytes = tensor.bytes();
    if (part.bytes < bytes)
      refuse(Failure::kInvalid, "shared_memory_byte_size: expected the " + std::to_string(bytes)
                                    + " bytes of the output or more, found "
                                    + std::to_string(part.bytes));
    const auto opened = find(part);
    // Beyond its end an object would grow.
    opened->check_size();
    const auto* const data = static_cast<const std::byte*>(session::value_of(tensor.cpu()));
    const size_t written =
        transfer_all([&](size_t done, size_t left,
                         off_t at) { return ::pwrite(opened->descriptor, data + done, left, at); },
                     bytes, opened->region.offset + part.offset);
    if (written < bytes)
      refuse(Failure::kInternal, label_of(part.region) + ": cannot be written: " + reason());
    part.bytes = bytes;
  });
}

}  // namespace tenon::server
