#include "cuda/nvrtc/cubin_cache.h"

#include <fmt/ranges.h>
#include <xxhash.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "cuda/nvrtc/compiler.h"

namespace tenon::cuda {
namespace {

namespace files = std::filesystem;

constexpr std::string_view kExtension = ".tenon-cubin";

// What a file begins with; the machine code follows.
struct Header {
  char magic[8] = {'t', 'e', 'n', 'o', 'n', 'c', 'u', '1'};
  uint64_t sum = 0;  // of the machine code
};

uint64_t sum_of(std::span<const std::byte> bytes) {
  return XXH3_64bits(bytes.data(), bytes.size());
}

Tensor tensor_of(std::span<const std::byte> bytes) {
  return Tensor::of<std::byte>(DataType::kUINT8, {static_cast<int64_t>(bytes.size())}, bytes);
}

// Nothing when the file is not there or not whole.
std::optional<Tensor> read(const std::string& path) {
  std::error_code ignored;
  if (path.empty() || !files::exists(path, ignored)) return std::nullopt;
  try {
    const auto file = MappedFile::open(path);
    Header header;
    const Header expected;
    if (file->bytes().size() <= sizeof header) return std::nullopt;
    std::memcpy(&header, file->bytes().data(), sizeof header);
    const auto code = file->bytes().subspan(sizeof header);
    if (std::memcmp(header.magic, expected.magic, sizeof header.magic) != 0
        || header.sum != sum_of(code))
      return std::nullopt;
    files::last_write_time(path, files::file_time_type::clock::now(), ignored);  // it was used
    return tensor_of(code);
  } catch (const Error&) {
    return std::nullopt;  // another process removed it meanwhile
  }
}

void write(const std::string& path, std::span<const std::byte> code) {
  Header header;
  header.sum = sum_of(code);
  std::vector<std::byte> bytes(sizeof header);
  std::memcpy(bytes.data(), &header, sizeof header);
  bytes.insert(bytes.end(), code.begin(), code.end());
  write_file(path, bytes);
}

std::string default_folder() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value != nullptr ? value : "");
  };
  if (std::getenv("TENON_KERNEL_CACHE") != nullptr) return variable("TENON_KERNEL_CACHE");
  if (const auto cache = variable("XDG_CACHE_HOME"); !cache.empty())
    return cache + "/tenon/kernels";
  const auto home = variable("HOME");
  return home.empty() ? "" : home + "/.cache/tenon/kernels";
}

}  // namespace

std::string CubinCache::path_of(const Digest& key) const {
  if (folder_.empty()) return "";
  return fmt::format("{}/{:02x}{}", folder_, fmt::join(key, ""), kExtension);
}

void CubinCache::remove_oldest() const {
  struct File {
    files::file_time_type used;
    files::path path;
    size_t bytes;
  };
  std::vector<File> all;
  size_t bytes = 0;
  std::error_code error;
  for (const auto& entry : files::directory_iterator(folder_, error)) {
    if (entry.path().extension() != kExtension) continue;
    std::error_code gone;
    const auto size = static_cast<size_t>(entry.file_size(gone));
    const auto used = entry.last_write_time(gone);
    if (gone) continue;
    all.push_back({used, entry.path(), size});
    bytes += size;
  }
  std::sort(all.begin(), all.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (size_t i = 0; i < all.size() && bytes > max_bytes_; ++i) {
    files::remove(all[i].path, error);
    bytes -= all[i].bytes;
  }
}

Tensor CubinCache::cubin(const std::string& source, const std::string& architecture,
                         CodeCache* of_build) {
  const Digest key = code_key(source, architecture);
  if (of_build == nullptr) return own_cubin(key, source, architecture);
  if (const auto known = of_build->find_code(key)) return *known;
  const Tensor made = own_cubin(key, source, architecture);
  of_build->keep_code(key, made);
  return made;
}

Tensor CubinCache::own_cubin(const Digest& key, const std::string& source,
                             const std::string& architecture) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = cubins_.find(key); known != cubins_.end()) return known->second;
  }
  const std::string path = path_of(key);
  std::optional<Tensor> cubin = read(path);
  if (!cubin) {
    const std::vector<std::byte> code = compile_cuda(source, architecture);
    cubin = tensor_of(code);
    if (!path.empty()) {
      try {
        std::error_code ignored;
        files::create_directories(folder_, ignored);
        write(path, code);
        if (writes_++ % kWritesPerLook == 0) remove_oldest();
      } catch (const Error&) {
        // A full or read-only disk costs the next process some time, and nothing else.
      }
    }
  }
  const std::lock_guard lock(mutex_);
  return cubins_.emplace(key, *cubin).first->second;
}

CubinCache& cubin_cache() {
  static auto& cache = *new CubinCache(default_folder());  // never destroyed
  return cache;
}

}  // namespace tenon::cuda
