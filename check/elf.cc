#include "check/elf.h"

#include <elf.h>

#include <cstring>
#include <fstream>
#include <optional>

namespace tenon::check {
namespace {

// A file of which nothing is believed.
class File {
 public:
  explicit File(const std::string& path) : file_(path, std::ios::binary) {}
  template <class T> std::optional<T> read(uint64_t at) {
    T value;
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(at));
    if (!file_.read(reinterpret_cast<char*>(&value), sizeof value)) return std::nullopt;
    return value;
  }
  std::string text(uint64_t at, uint64_t bytes) {
    constexpr uint64_t kMaxBytes = uint64_t{1} << 28;
    std::string text(bytes < kMaxBytes ? bytes : 0, '\0');
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(at));
    file_.read(text.data(), static_cast<std::streamsize>(text.size()));
    text.resize(static_cast<size_t>(file_.gcount()));
    return text;
  }

 private:
  std::ifstream file_;
};

std::vector<Elf64_Phdr> segments_of(File& file) {
  std::vector<Elf64_Phdr> list;
  const auto header = file.read<Elf64_Ehdr>(0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0
      || header->e_ident[EI_CLASS] != ELFCLASS64)
    return list;
  for (int i = 0; i < header->e_phnum; ++i)
    if (const auto segment =
            file.read<Elf64_Phdr>(header->e_phoff + static_cast<uint64_t>(i) * sizeof(Elf64_Phdr)))
      list.push_back(*segment);
  return list;
}

// Where an address of the loaded library lies in its file.
uint64_t offset_of(const std::vector<Elf64_Phdr>& segments, uint64_t address) {
  for (const Elf64_Phdr& s : segments)
    if (s.p_type == PT_LOAD && address >= s.p_vaddr && address - s.p_vaddr < s.p_filesz)
      return s.p_offset + (address - s.p_vaddr);
  return address;
}

}  // namespace

SharedLibrary read_shared_library(const std::string& path) {
  File file(path);
  SharedLibrary library;
  const std::vector<Elf64_Phdr> segments = segments_of(file);
  std::vector<uint64_t> needed;
  uint64_t names = 0, bytes = 0;
  for (const Elf64_Phdr& s : segments) {
    if (s.p_type != PT_DYNAMIC) continue;
    for (uint64_t at = 0; at + sizeof(Elf64_Dyn) <= s.p_filesz; at += sizeof(Elf64_Dyn)) {
      const auto entry = file.read<Elf64_Dyn>(s.p_offset + at);
      if (!entry || entry->d_tag == DT_NULL) break;
      if (entry->d_tag == DT_NEEDED) needed.push_back(entry->d_un.d_val);
      if (entry->d_tag == DT_STRTAB) names = entry->d_un.d_ptr;
      if (entry->d_tag == DT_STRSZ) bytes = entry->d_un.d_val;
    }
  }
  library.names = file.text(offset_of(segments, names), bytes);
  for (const uint64_t at : needed)
    if (at < library.names.size()) library.needed.emplace_back(library.names.c_str() + at);
  return library;
}

}  // namespace tenon::check
