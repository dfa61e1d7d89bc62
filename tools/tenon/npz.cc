#include "npz.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <tenon/replace_file.h>
#include <unistd.h>
#include <zip.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <memory>
#include <stdexcept>

#include "error.h"

namespace tenon::tool {
namespace {

using nvinfer1::DataType;

struct Descr {
  std::string_view text;  // NumPy's dtype string, without the byte order
  DataType type;
};
constexpr Descr kDescrs[] = {{"f4", DataType::kFLOAT}, {"f2", DataType::kHALF},
                             {"i1", DataType::kINT8},  {"i4", DataType::kINT32},
                             {"b1", DataType::kBOOL},  {"u1", DataType::kUINT8},
                             {"i8", DataType::kINT64}};

// What the header of an array says.
struct Header {
  std::string_view descr;
  bool is_fortran = false;  // the first axis is the fastest
  std::vector<int64_t> shape;

  bool is_swapped() const { return descr.front() == '>'; }
  std::string_view type() const { return descr.substr(1); }
};

// The text after `'key':` in the header's dictionary.
std::string_view entry(std::string_view header, std::string_view key) {
  const auto at = header.find(fmt::format("'{}':", key));
  if (at == std::string_view::npos) fail("its header has no '{}'", key);
  auto rest = header.substr(at + key.size() + 3);
  while (!rest.empty() && rest.front() == ' ') rest.remove_prefix(1);
  return rest;
}

std::string_view parse_descr(std::string_view text) {
  const auto close = text.find('\'', 1);
  if (text.empty() || text.front() != '\'' || close == std::string_view::npos || close < 3)
    fail("its header has no data type that tensors have");
  return text.substr(1, close - 1);
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

Header parse_header(std::string_view text) {
  Header header{parse_descr(entry(text, "descr")), false, parse_shape(entry(text, "shape"))};
  const auto order = entry(text, "fortran_order");
  header.is_fortran = order.starts_with("True");
  if (!header.is_fortran && !order.starts_with("False"))
    fail("its header has a bad 'fortran_order'");
  return header;
}

// Bytes of the elements; SIZE_MAX for more than there can be.
size_t bytes_of(const std::vector<int64_t>& shape, size_t element) {
  size_t bytes = element;
  for (const int64_t extent : shape)
    if (__builtin_mul_overflow(bytes, static_cast<size_t>(std::max<int64_t>(extent, 1)), &bytes))
      return SIZE_MAX;
  return std::ranges::count(shape, 0) > 0 ? 0 : bytes;
}

void swap_bytes(std::vector<std::byte>& bytes, size_t element) {
  for (size_t at = 0; at < bytes.size(); at += element)
    std::reverse(bytes.begin() + static_cast<std::ptrdiff_t>(at),
                 bytes.begin() + static_cast<std::ptrdiff_t>(at + element));
}

// From the first axis fastest to the last axis fastest.
std::vector<std::byte> to_rows(const std::vector<std::byte>& bytes,
                               const std::vector<int64_t>& shape, size_t element) {
  std::vector<std::byte> rows(bytes.size());
  std::vector<size_t> stride(shape.size(), 1), at(shape.size(), 0);
  for (size_t axis = 1; axis < shape.size(); ++axis)
    stride[axis] = stride[axis - 1] * static_cast<size_t>(shape[axis - 1]);
  size_t from = 0;
  for (size_t to = 0; to < rows.size(); to += element) {
    std::memcpy(rows.data() + to, bytes.data() + from * element, element);
    for (size_t axis = shape.size(); axis-- > 0;) {
      from += stride[axis];
      if (++at[axis] < static_cast<size_t>(shape[axis])) break;
      from -= stride[axis] * at[axis];
      at[axis] = 0;
    }
  }
  return rows;
}

// float64, which tensors do not have, as float32.
Array rounded(const std::vector<std::byte>& doubles, const std::vector<int64_t>& shape) {
  Array array = value_or_fail(session::make_array(DataType::kFLOAT, shape));
  for (size_t i = 0; i < doubles.size() / sizeof(double); ++i) {
    double value = 0;
    std::memcpy(&value, doubles.data() + i * sizeof value, sizeof value);
    const auto single = static_cast<float>(value);
    if (std::isinf(single) && !std::isinf(value))
      fail("element {} is {}, which float32 cannot hold", session::position_text(shape, i), value);
    array.was_rounded |= single != value && !std::isnan(value);
    array.as<float>()[i] = single;
  }
  return array;
}

Array parse_npy(std::vector<std::byte> file) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(file.data());
  if (file.size() < 12 || std::memcmp(bytes, "\x93NUMPY", 6) != 0) fail("it is not a NumPy array");
  const bool old = bytes[6] == 1;
  const size_t start = old ? 10 : 12;
  size_t length = bytes[8] | static_cast<size_t>(bytes[9]) << 8;
  if (!old) length |= static_cast<size_t>(bytes[10]) << 16 | static_cast<size_t>(bytes[11]) << 24;
  if (length > file.size() - start) fail("its header is truncated");
  const std::string text(reinterpret_cast<const char*>(bytes) + start, length);
  const Header header = parse_header(text);
  const bool is_double = header.type() == "f8";
  const auto row = std::ranges::find(kDescrs, header.type(), &Descr::text);
  if (!is_double && row == std::end(kDescrs))
    fail("its data type '{}' is not one that tensors have", header.descr);
  const size_t element = is_double ? sizeof(double) : session::element_size(row->type);
  // Only the data become memory here: what the shape says is compared with them.
  file.erase(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(start + length));
  if (const size_t wanted = bytes_of(header.shape, element); file.size() != wanted)
    fail("its shape {} needs {} bytes; it has {}", session::shape_text(header.shape), wanted,
         file.size());
  if (header.is_swapped()) swap_bytes(file, element);
  if (header.is_fortran) file = to_rows(file, header.shape, element);
  if (is_double) return rounded(file, header.shape);
  return {row->type, header.shape, std::move(file)};
}

std::vector<std::byte> npy_of(const Array& given) {
  const Array array = given.type == DataType::kBF16
                          ? value_or_fail(session::convert(given, DataType::kFLOAT))
                          : given;
  const auto row = std::ranges::find(kDescrs, array.type, &Descr::type);
  if (row == std::end(kDescrs))
    fail("{} tensors cannot be written as NumPy arrays", session::type_name(array.type));
  const std::string descr =
      (session::element_size(array.type) == 1 ? "|" : "<") + std::string(row->text);
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

// All arrays of a file may take so many bytes, and so many times its own.
constexpr zip_uint64_t kMaxUnpacked = zip_uint64_t{64} << 20, kMaxUnpackedTimes = 100;

struct ZipClose {
  void operator()(zip_t* z) const { zip_discard(z); }
};
struct ZipFileClose {
  void operator()(zip_file_t* f) const { zip_fclose(f); }
};

// A member of so many bytes, as the directory says. It is damaged when it has more or fewer.
std::vector<std::byte> read_member(zip_t* zip, zip_uint64_t index, zip_uint64_t size) {
  const std::unique_ptr<zip_file_t, ZipFileClose> file(zip_fopen_index(zip, index, 0));
  if (file == nullptr) fail("{}", zip_strerror(zip));
  std::vector<std::byte> bytes(size + 1);  // the end is only seen by reading on
  size_t at = 0;
  while (at < bytes.size()) {
    const zip_int64_t n = zip_fread(file.get(), bytes.data() + at, bytes.size() - at);
    if (n < 0) fail("it is damaged: {}", zip_file_strerror(file.get()));
    if (n == 0) break;
    at += static_cast<size_t>(n);
  }
  if (at != size) fail("it is damaged: it is said to have {} bytes, and has {}", size, at);
  bytes.pop_back();
  return bytes;
}

}  // namespace

std::vector<std::byte> read_file(const std::string& path, size_t max_bytes) {
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
  std::vector<std::byte> bytes(std::min(max_bytes, static_cast<size_t>(info.st_size)));
  size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t n = ::read(fd, bytes.data() + done, bytes.size() - done);
    if (n <= 0)
      fail("{}: cannot read: {}", path, n < 0 ? std::strerror(errno) : "it was cut short");
    done += static_cast<size_t>(n);
  }
  return bytes;
}

std::string read_standard_input() {
  std::string bytes;
  char block[1 << 16];
  while (const size_t n = std::fread(block, 1, sizeof block, stdin)) {
    if (bytes.size() + n > INT_MAX)
      fail("standard input has more than 2 GiB, at which ONNX models end: give a file");
    bytes.append(block, n);
  }
  if (std::ferror(stdin) != 0) fail("standard input cannot be read");
  return bytes;
}

void write_file(const std::string& path, const void* data, size_t size) {
  try {
    replace_file(path, data, size);
  } catch (const std::runtime_error& e) {
    throw Failure(e.what());
  }
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
  zip_uint64_t left = kMaxUnpacked + kMaxUnpackedTimes * file.size();
  const zip_int64_t count = zip_get_num_entries(zip.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t info;
    if (zip_stat_index(zip.get(), static_cast<zip_uint64_t>(i), 0, &info) != 0)
      fail("{}: is damaged", path);
    std::string name = info.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    try {
      if (info.size > left)
        fail(
            "the arrays take more than {} MiB and {} times the file's {} bytes: save them with "
            "numpy.savez, which does not compress",
            kMaxUnpacked >> 20, kMaxUnpackedTimes, file.size());
      left -= info.size;
      arrays[name] = parse_npy(read_member(zip.get(), static_cast<zip_uint64_t>(i), info.size));
    } catch (const Failure& e) {
      fail("{}: array '{}': {}", path, name, e.what());
    }
  }
  return arrays;
}

void write_npy(const std::string& path, const Array& array) {
  const auto bytes = npy_of(array);
  write_file(path, bytes.data(), bytes.size());
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
