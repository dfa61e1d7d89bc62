#include "tenon/session/npz.h"

#include <tenon/error_codes.h>
#include <tenon/printable.h>
#include <tenon/replace_file.h>
#include <zip.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "guard.h"
#include "npy.h"
#include "read_file.h"

namespace tenon::session {
namespace {

// All arrays of a file may take so many bytes, and so many times its own.
constexpr zip_uint64_t kMaxUnpacked = zip_uint64_t{64} << 20, kMaxUnpackedTimes = 100;

struct ZipClose {
  void operator()(zip_t* zip) const { zip_discard(zip); }
};
struct ZipFileClose {
  void operator()(zip_file_t* file) const { zip_fclose(file); }
};
struct ZipSourceFree {
  void operator()(zip_source_t* source) const { zip_source_free(source); }
};
using Zip = std::unique_ptr<zip_t, ZipClose>;
using ZipSource = std::unique_ptr<zip_source_t, ZipSourceFree>;

// A member of so many bytes, as the directory says. It is damaged when it has more or fewer.
std::vector<std::byte> read_member(zip_t* zip, zip_uint64_t index, zip_uint64_t size) {
  const std::unique_ptr<zip_file_t, ZipFileClose> file(zip_fopen_index(zip, index, 0));
  if (file == nullptr) throw Error{zip_strerror(zip)};
  std::vector<std::byte> bytes(size + 1);  // the end is only seen by reading on
  size_t at = 0;
  while (at < bytes.size()) {
    const zip_int64_t n = zip_fread(file.get(), bytes.data() + at, bytes.size() - at);
    if (n < 0) throw Error{std::string("it is damaged: ") + zip_file_strerror(file.get())};
    if (n == 0) break;
    at += static_cast<size_t>(n);
  }
  if (at != size)
    throw Error{"it is damaged: it is said to have " + std::to_string(size) + " bytes, and has "
                + std::to_string(at)};
  bytes.pop_back();
  return bytes;
}

// Opens the archive in the source, of which both then hold a share.
Zip open_zip(const ZipSource& source, int flags, zip_error_t& error) {
  if (source == nullptr) return nullptr;
  zip_source_keep(source.get());
  Zip zip(zip_open_from_source(source.get(), flags, &error));
  if (zip == nullptr) zip_source_free(source.get());
  return zip;
}

Arrays arrays_of(const std::vector<std::byte>& file) {
  if (file.empty()) throw Error{"is not an .npz file: it is empty"};  // libzip takes it for one
  zip_error_t error;
  zip_error_init(&error);
  const ZipSource source(zip_source_buffer_create(file.data(), file.size(), 0, &error));
  const Zip zip = open_zip(source, ZIP_RDONLY, error);
  if (zip == nullptr)
    throw Error{std::string("is not an .npz file: ") + zip_error_strerror(&error)};
  Arrays arrays;
  zip_uint64_t left = kMaxUnpacked + kMaxUnpackedTimes * file.size();
  const zip_int64_t count = zip_get_num_entries(zip.get(), 0);
  for (zip_int64_t i = 0; i < count; ++i) {
    zip_stat_t info;
    if (zip_stat_index(zip.get(), static_cast<zip_uint64_t>(i), 0, &info) != 0)
      throw Error{"is damaged"};
    std::string name = info.name;
    if (name.ends_with(".npy")) name.resize(name.size() - 4);
    try {
      if (info.size > left)
        throw Error{"the arrays take more than " + std::to_string(kMaxUnpacked >> 20) + " MiB and "
                    + std::to_string(kMaxUnpackedTimes) + " times the file's "
                    + std::to_string(file.size())
                    + " bytes: save them with numpy.savez, which does not compress"};
      left -= info.size;
      arrays[name] = parse_npy(read_member(zip.get(), static_cast<zip_uint64_t>(i), info.size));
    } catch (const Error& cause) {
      throw Error{"array '" + printable(name) + "': " + cause.text};
    }
  }
  return arrays;
}

void add_member(zip_t* zip, const std::string& name, const std::vector<std::byte>& bytes) {
  zip_source_t* const member = zip_source_buffer(zip, bytes.data(), bytes.size(), 0);
  const zip_int64_t index =
      member == nullptr ? -1 : zip_file_add(zip, (name + ".npy").c_str(), member, ZIP_FL_ENC_UTF_8);
  if (index < 0) {
    if (member != nullptr) zip_source_free(member);
    throw Error{"array '" + printable(name) + "': " + zip_strerror(zip)};
  }
  zip_set_file_compression(zip, static_cast<zip_uint64_t>(index), ZIP_CM_STORE, 0);
  zip_file_set_mtime(zip, static_cast<zip_uint64_t>(index), 315532800, 0);  // 1980: same bytes
}

std::vector<std::byte> npz_of(const Arrays& arrays) {
  zip_error_t error;
  zip_error_init(&error);
  const ZipSource target(zip_source_buffer_create(nullptr, 0, 0, &error));
  Zip zip = open_zip(target, ZIP_TRUNCATE, error);
  if (zip == nullptr) throw Error{zip_error_strerror(&error)};
  std::vector<std::vector<std::byte>> members;  // which the archive refers to until it is closed
  for (const auto& [name, array] : arrays)
    add_member(zip.get(), name, members.emplace_back(npy_of(array)));
  if (zip_close(zip.get()) != 0) throw Error{zip_strerror(zip.get())};
  zip.release();
  zip_stat_t info;
  zip_stat_init(&info);
  if (zip_source_stat(target.get(), &info) != 0 || zip_source_open(target.get()) != 0)
    throw Error{"cannot be put together"};
  std::vector<std::byte> bytes(info.size);
  const zip_int64_t n = zip_source_read(target.get(), bytes.data(), bytes.size());
  zip_source_close(target.get());
  if (n != static_cast<zip_int64_t>(bytes.size())) throw Error{"cannot be put together"};
  return bytes;
}

// Writes what `make` returns; an error of its has the path in front.
template <class Bytes> Result<void> write(const std::string& path, Bytes&& make) noexcept {
  return guard([&] {
    std::vector<std::byte> bytes;
    try {
      bytes = make();
    } catch (const Error& cause) {
      throw Error{path + ": " + cause.text};
    }
    try {
      replace_file(path, bytes.data(), bytes.size());
    } catch (const std::runtime_error& cause) {
      throw Error{with_code(cause.what(), ErrorClass::kFile)};
    }
  });
}

}  // namespace

Result<Arrays> read_npz(const std::string& path) noexcept {
  return guard([&] {
    const std::vector<std::byte> file = read_file(path);
    try {
      return arrays_of(file);
    } catch (const Error& cause) {
      throw Error{with_code(path + ": " + cause.text, ErrorClass::kContent)};
    }
  });
}

Result<void> write_npy(const std::string& path, const Array& array) noexcept {
  return write(path, [&] { return npy_of(array); });
}

Result<void> write_npz(const std::string& path, const Arrays& arrays) noexcept {
  return write(path, [&] { return npz_of(arrays); });
}

}  // namespace tenon::session
