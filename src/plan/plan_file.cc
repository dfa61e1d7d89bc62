#include "plan/plan_file.h"

#include <NvInferVersion.h>
#include <xxhash.h>

#include <cstddef>
#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "plan/structure.h"

namespace tenon {
namespace {

// The first bytes of TensorRT's plans, and what tells ours from NVIDIA's.
constexpr char kPlanMagic[16] = {'f', 't', 'r', 't', 0,   0,   0,   0,
                                 'T', 'E', 'N', 'O', 'N', 'P', 'L', 'N'};
constexpr size_t kAlignment = kPlanAlignment;

enum class Section : uint32_t { kStructure = 1, kWeights = 2 };

// All integers are little endian; the checksum of the header covers what follows it there.
struct Header {
  char magic[16];
  uint32_t format;
  uint32_t section_count;
  uint8_t version[4];  // TensorRT's, where its plans have it: trtexec --getPlanVersionOnly
  uint32_t reserved;
  uint64_t file_bytes;
  uint64_t table_checksum;
};
struct SectionEntry {
  uint32_t kind;
  uint32_t reserved;
  uint64_t offset, bytes, checksum;
};
constexpr size_t kSections = 2;

uint64_t checksum(const void* data, size_t bytes) {
  return XXH3_64bits(data, bytes);
}
size_t aligned(size_t n) {
  return (n + kAlignment - 1) / kAlignment * kAlignment;
}

// The header's checksum covers its own fields and the table.
uint64_t table_checksum(Header header, std::span<const SectionEntry> table) {
  header.table_checksum = 0;
  std::vector<std::byte> bytes(sizeof header + table.size_bytes());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, table.data(), table.size_bytes());
  return checksum(bytes.data(), bytes.size());
}

// Exporters of Ultralytics put the length of a JSON text and the text before an engine.
bool starts_with_json(std::span<const std::byte> bytes) {
  uint32_t length = 0;
  if (bytes.size() <= sizeof length) return false;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length < bytes.size() - sizeof length && bytes[sizeof length] == std::byte{'{'};
}

Header read_header(std::span<const std::byte> bytes) {
  require(!starts_with_json(bytes),
          "this starts with a description in JSON, as engines of Ultralytics do, and plans of "
          "NVIDIA's TensorRT cannot be read: export the model as ONNX and build a plan from that");
  Header header;
  static_assert(sizeof header == kPlanHeaderBytes);
  require(bytes.size() >= sizeof header
              && std::memcmp(bytes.data(), kPlanMagic, sizeof kPlanMagic) == 0,
          "this is not a Tenon plan (its first bytes are wrong); plans of NVIDIA's TensorRT cannot "
          "be read: build one with `tenon build model.onnx`, or with tenon.compile() in Python");
  std::memcpy(&header, bytes.data(), sizeof header);
  require(header.format == kPlanFormat, ErrorClass::kPlanVersion,
          "the plan has format {}; this build reads format {}: build the plan again", header.format,
          kPlanFormat);
  return header;
}

// The sections that the header promises, after checking every bound and checksum.
std::array<std::span<const std::byte>, kSections> read_sections(std::span<const std::byte> bytes) {
  const Header header = read_header(bytes);
  require(header.file_bytes == bytes.size(), "the plan is {} bytes long; its header says {}",
          bytes.size(), header.file_bytes);
  require(header.section_count == kSections, "the plan has {} sections; expected {}",
          header.section_count, kSections);
  std::array<SectionEntry, kSections> table;
  require(bytes.size() >= sizeof header + sizeof table, "the plan is truncated");
  std::memcpy(table.data(), bytes.data() + sizeof header, sizeof table);
  require(header.table_checksum == table_checksum(header, table),
          "the plan is damaged: the checksum of its section table does not match");
  std::array<std::span<const std::byte>, kSections> sections;
  size_t end = sizeof header + sizeof table;
  for (size_t i = 0; i < kSections; ++i) {
    const SectionEntry& e = table[i];
    require(e.kind == i + 1 && e.offset % kAlignment == 0 && e.offset == aligned(end)
                && e.offset <= bytes.size() && e.bytes <= bytes.size() - e.offset,
            "the plan is damaged: section {} lies outside it", i + 1);
    for (size_t gap = end; gap < e.offset; ++gap)
      require(bytes[gap] == std::byte{0}, "the plan is damaged: padding is not zero");
    sections[i] = bytes.subspan(e.offset, e.bytes);
    require(checksum(sections[i].data(), sections[i].size()) == e.checksum,
            "the plan is damaged: the checksum of section {} does not match", i + 1);
    end = e.offset + e.bytes;
  }
  require(end == bytes.size(), "the plan is damaged: it has {} bytes too many", bytes.size() - end);
  return sections;
}

}  // namespace

std::vector<std::byte> assemble_plan(std::span<const std::byte> structure, size_t weight_bytes,
                                     FunctionRef<void(std::byte*)> fill_weights) {
  std::array<SectionEntry, kSections> table{};
  Header header{};
  static_assert(offsetof(Header, version) == 24);
  std::memcpy(header.magic, kPlanMagic, sizeof kPlanMagic);
  header.format = kPlanFormat;
  header.section_count = kSections;
  header.version[0] = TENON_TRT_ABI_VERSION / 10000;
  header.version[1] = TENON_TRT_ABI_VERSION / 100 % 100;
  header.version[2] = TENON_TRT_ABI_VERSION % 100;
  table[0] = {static_cast<uint32_t>(Section::kStructure), 0, aligned(sizeof header + sizeof table),
              structure.size(), 0};
  table[1] = {static_cast<uint32_t>(Section::kWeights), 0,
              aligned(table[0].offset + table[0].bytes), weight_bytes, 0};
  std::vector<std::byte> file(table[1].offset + table[1].bytes);
  header.file_bytes = file.size();
  if (!structure.empty())
    std::memcpy(file.data() + table[0].offset, structure.data(), structure.size());
  fill_weights(file.data() + table[1].offset);
  for (SectionEntry& e : table) e.checksum = checksum(file.data() + e.offset, e.bytes);
  header.table_checksum = table_checksum(header, table);
  std::memcpy(file.data(), &header, sizeof header);
  std::memcpy(file.data() + sizeof header, table.data(), sizeof table);
  return file;
}

std::vector<std::byte> write_plan(const Plan& plan) {
  WeightSection weights;
  const auto structure = write_structure(plan, weights);
  return assemble_plan(std::as_bytes(std::span(structure)), weights.bytes(), [&](std::byte* to) {
    for (const auto& [offset, tensor] : weights.tensors())
      if (tensor.bytes() > 0) std::memcpy(to + offset, tensor.data(), tensor.bytes());
  });
}

uint64_t plan_file_bytes(std::span<const std::byte> beginning) {
  return read_header(beginning).file_bytes;
}

Plan read_plan(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
               const std::string& name) {
  return with_context(name, [&] {
    auto [structure, weights] = in_class(ErrorClass::kPlan, [&] { return read_sections(bytes); });
    if (owner == nullptr || reinterpret_cast<uintptr_t>(weights.data()) % kAlignment != 0) {
      auto copy = allocate_aligned(weights.size());
      if (!weights.empty()) std::memcpy(copy.get(), weights.data(), weights.size());
      weights = {copy.get(), weights.size()};
      owner = std::move(copy);
    }
    // FlatBuffers reads structs in place, so the structure must be aligned as well.
    const auto aligned_structure = allocate_aligned(structure.size());
    std::memcpy(aligned_structure.get(), structure.data(), structure.size());
    return in_class(ErrorClass::kPlan, [&] {
      return read_structure({aligned_structure.get(), structure.size()}, weights, owner);
    });
  });
}

Plan open_plan_file(const std::string& path) {
  const auto file = MappedFile::open(path);
  return read_plan(file->bytes(), file, path);
}

}  // namespace tenon
