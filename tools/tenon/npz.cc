#include "npz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

#include "error.h"

namespace tenon::tool {
namespace {

using nvinfer1::DataType;

struct Descr {
  std::string_view text;  // NumPy's dtype string
  DataType type;
};
constexpr Descr kDescrs[] = {{"<f4", DataType::kFLOAT}, {"<f2", DataType::kHALF},
                             {"|i1", DataType::kINT8},  {"<i4", DataType::kINT32},
                             {"|b1", DataType::kBOOL},  {"|u1", DataType::kUINT8},
                             {"<i8", DataType::kINT64}};

// The text after `'key':` in the header's dictionary.
std::string_view entry(std::string_view header, std::string_view key) {
  const auto at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) fail("its header has no '{}'", key);
  auto rest = header.substr(at + key.size() + 3);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

std::vector<int64_t> parse_shape(std::string_view text) {
  const auto close = text.find(')');
  if (text.empty() || text.front() != '(' || close == std::string_view::npos)
    fail("its header has a bad shape");
  std::vector<int64_t> shape;
  for (const char *at = text.data() + 1, *end = text.data() + close; at < end;) {
    if (*at == ' ' || *at == ',') {
      ++at;
      continue;
    }
    int64_t extent = 0;
    const auto [next, error] = std::from_chars(at, end, extent);
    if (error != std::errc() || extent < 0) fail("its header has a bad shape");
    shape.push_back(extent);
    at = next;
  }
  return shape;
}

Array parse_npy(const std::vector<std::byte>& file) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  if (file.size() < 12 || std::memcmp(bytes, "\x93NUMPY", 6) != 0) fail("it is not a NumPy array");
  const bool old = bytes[6] == 1;
  const size_t start = old ? 10 : 12;
  size_t length = bytes[8] | static_cast<size_t>(bytes[9]) << 8;
  if (!old) length |= static_cast<size_t>(bytes[10]) << 16 | static_cast<size_t>(bytes[11]) << 24;
  if (length > file.size() - start) fail("its header is truncated");
  const std::string_view header(reinterpret_cast<const char*>(bytes) + start, length);
  if (entry(header, "fortran_order").substr(0, 5) != "False")
    fail("it is in Fortran order: save it with numpy.ascontiguousarray");
  const auto shape = parse_shape(entry(header, "shape"));
  const auto descr = entry(header, "descr").substr(1, 3);
  const std::byte* data = file.data() + start + length;
  const size_t left = file.size() - start - length;
  const auto check = [&](size_t wanted) {
    if (left != wanted)
      fail("its shape {} needs {} bytes; it has {}", shape_text(shape), wanted, left);
  };
  if (descr == "<f8") {
    Array array = make_array(DataType::kFLOAT, shape);
    check(array.bytes.size() * 2);
    for (size_t i = 0; i < array.bytes.size() / 4; ++i) {
      double value = 0;
      std::memcpy(&value, data + i * sizeof value, sizeof value);
      const auto rounded = static_cast<float>(value);
      if (std::isinf(rounded) && !std::isinf(value))
        fail("element {} is {}, which float32 cannot hold", position_text(shape, i), value);
      array.was_rounded |= rounded != value && !std::isnan(value);
      array.as<float>()[i] = rounded;
    }
    return array;
  }
  for (const Descr& row : kDescrs)
    if (row.text == descr) {
      Array array = make_array(row.type, shape);
      check(array.bytes.size());
      if (left > 0) std::memcpy(array.bytes.data(), data, left);
      return array;
    }
  fail("its data type '{}' is not one that tensors have", descr);
}

std::vector<std::byte> npy_of(const Array& given) {
  const Array array = given.type == DataType::kBF16 ? convert(given, DataType::kFLOAT) : given;
  std::string_view descr;
  for (const Descr& row : kDescrs)
    if (row.type == array.type) descr = row.text;
  if (descr.empty()) fail("{} tensors cannot be written as NumPy arrays", type_name(array.type));
  std::string header =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': ({}{}), }}", descr,
                  fmt::join(array.shape, ", "), array.shape.size() == 1 ? "," : "");
  header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 10 - 1, ' ');
  header += '\n';
  const auto length = static_cast<uint16_t>(header.size());
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(length & 0xff);
  head += static_cast<char>(length >> 8);
  head += header;
  std::vector<std::byte> out(head.size() + array.bytes.size());
  std::memcpy(out.data(), head.data(), head.size());
  if (!array.bytes.empty())
    std::memcpy(out.data() + head.size(), array.bytes.data(), array.bytes.size());
  return out;
}

struct ZipClose {
  void operator()(zip_t* z) const { zip_discard(z); }
};
struct ZipFileClose {
  void operator()(zip_file_t* f) const { zip_fclose(f); }
};

std::vector<std::byte> read_member(zip_t* zip, zip_uint64_t index, const zip_stat_t& info) {
  constexpr zip_uint64_t kLargest = zip_uint64_t{1} << 36;
  if (info.size > kLargest) fail("it is larger than {} bytes", kLargest);
  const std::unique_ptr<zip_file_t, ZipFileClose> file(zip_fopen_index(zip, index, 0));
  if (file == nullptr) fail("{}", zip_strerror(zip));
  // Grows as data arrives: the size that a damaged directory claims is not to be trusted.
  std::vector<std::byte> bytes;
  constexpr size_t kStep = 1 << 20;
  for (;;) {
    const size_t at = bytes.size();
    bytes.resize(at + kStep);
    const zip_int64_t n = zip_fread(file.get(), bytes.data() + at, kStep);
    if (n < 0) fail("it is damaged: {}", zip_file_strerror(file.get()));
    bytes.resize(at + static_cast<size_t>(n));
    if (bytes.size() > kLargest) fail("it is larger than {} bytes", kLargest);
    if (n == 0) return bytes;
  }
}

}  // namespace

std::vector<std::byte> read_file(const std::string& path, size_t most) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) fail("{}: cannot open: {}", path, std::strerror(errno));
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat info{};
  if (::fstat(fd, &info) != 0 || S_ISDIR(info.st_mode))
    fail("{}: is a directory; expected a file", path);
  if (!S_ISREG(info.st_mode)) fail("{}: is not a regular file", path);
  std::vector<std::byte> bytes(std::min(most, static_cast<size_t>(info.st_size)));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(fd, bytes.data() + done, bytes.size() - done);
    if (n <= 0)
      fail("{}: cannot read: {}", path, n < 0 ? std::strerror(errno) : "it was cut short");
    done += static_cast<size_t>(n);
  }
  return bytes;
}

void write_file(const std::string& path, const void* data, size_t size) {
  struct stat info{};
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode))
    fail("{}: cannot write: it is {}", path,
         S_ISDIR(info.st_mode) ? "a directory" : "not a regular file");
  // Written aside with the permissions that the process gives new files, which mkstemp would not.
  std::string aside;
  int fd = -1;
  for (int i = 0; fd < 0 && (i == 0 || errno == EEXIST); ++i) {
    aside = fmt::format("{}.{}.{}", path, ::getpid(), i);
    fd = ::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  }
  if (fd < 0) fail("{}: cannot write: {}", path, std::strerror(errno));
  bool good = true;
  const char* at = static_cast<const char*>(data);
  while (good && size > 0) {
    const ssize_t n = ::write(fd, at, size);
    good = n > 0 || (n < 0 && errno == EINTR);
    if (n > 0) {
      at += n;
      size -= static_cast<size_t>(n);
    }
  }
  good = good && ::fsync(fd) == 0;
  good = ::close(fd) == 0 && good;
  good = good && ::rename(aside.c_str(), path.c_str()) == 0;
  if (good) return;
  const int cause = errno;
  ::unlink(aside.c_str());
  fail("{}: cannot write: {}", path, std::strerror(cause));
}

Arrays read_npz(const std::string& path) {
  const auto file = read_file(path);
  if (file.empty()) fail("{}: is not an .npz file: it is empty", path);  // libzip takes it for one
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(file.data(), file.size(), 0, &error);
  const std::unique_ptr<zip_t, ZipClose> zip(
      source == nullptr ? nullptr : zip_open_from_source(source, ZIP_RDONLY, &error));
  if (zip == nullptr) {
    if (source != nullptr) zip_source_free(source);
    fail("{}: is not an .npz file: {}", path, zip_error_strerror(&error));
  }
  Arrays arrays;
  const zip_int64_t count = zip_get_num_entries(zip.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t info;
    if (zip_stat_index(zip.get(), static_cast<zip_uint64_t>(i), 0, &info) != 0)
      fail("{}: is damaged", path);
    std::string name = info.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    try {
      arrays[name] = parse_npy(read_member(zip.get(), static_cast<zip_uint64_t>(i), info));
    } catch (const Failure& e) {
      fail("{}: array '{}': {}", path, name, e.what());
    }
  }
  return arrays;
}

void write_npz(const std::string& path, const Arrays& arrays) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* target = zip_source_buffer_create(nullptr, 0, 0, &error);
  if (target == nullptr) fail("{}: {}", path, zip_error_strerror(&error));
  zip_source_keep(target);
  zip_t* zip = zip_open_from_source(target, ZIP_TRUNCATE, &error);
  if (zip == nullptr) fail("{}: {}", path, zip_error_strerror(&error));
  std::vector<std::vector<std::byte>> members;
  for (const auto& [name, array] : arrays) {
    members.push_back(npy_of(array));
    zip_source_t* member = zip_source_buffer(zip, members.back().data(), members.back().size(), 0);
    const zip_int64_t index =
        member == nullptr ? -1
                          : zip_file_add(zip, (name + ".npy").c_str(), member, ZIP_FL_ENC_UTF_8);
    if (index < 0) fail("{}: array '{}': {}", path, name, zip_strerror(zip));
    zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
    zip_file_set_mtime(zip, static_cast<zip_uint64_t>(index), 315532800, 0);  // 1980: same bytes
  }
  if (zip_close(zip) != 0) fail("{}: {}", path, zip_strerror(zip));
  zip_stat_t info;
  zip_stat_init(&info);
  if (zip_source_stat(target, &info) != 0 || zip_source_open(target) != 0)
    fail("{}: cannot be put together", path);
  std::vector<std::byte> bytes(info.size);
  const zip_int64_t n = zip_source_read(target, bytes.data(), bytes.size());
  zip_source_close(target);
  zip_source_free(target);
  if (n != static_cast<zip_int64_t>(bytes.size())) fail("{}: cannot be put together", path);
  write_file(path, bytes.data(), bytes.size());
}

}  // namespace tenon::tool
