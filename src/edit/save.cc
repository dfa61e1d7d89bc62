// A model as a file, with its tensors inside, beside it or where they were.
#include <tenon/onnx.h>
#include <tenon/replace_file.h>

#include <climits>
#include <cstring>
#include <filesystem>

#include "base/error.h"
#include "edit/attributes.h"
#include "edit/store.h"
#include "edit/values.h"
#include "edit/wire.h"

namespace tenon::edit {
namespace {

namespace fs = std::filesystem;

// A file that appears whole; what is written comes in blocks.
class FileWriter {
 public:
  explicit FileWriter(const std::string& path) : path_(path), file_(path) {
    tenon::detail::require_regular(path);
    buffer_.reserve(kBlock);
  }
  void write(std::string_view bytes) {
    written_ += bytes.size();
    if (bytes.size() >= kBlock) {
      empty_buffer();
      check(file_.append(bytes.data(), bytes.size()));
      return;
    }
    if (buffer_.size() + bytes.size() > kBlock) empty_buffer();
    buffer_ += bytes;
  }
  uint64_t written() const { return written_; }
  void flush() {
    empty_buffer();
    check(file_.flush());
  }
  void move_into_place() { check(file_.move_into_place()); }

 private:
  static constexpr size_t kBlock = size_t{1} << 20;
  void empty_buffer() {
    check(file_.append(buffer_.data(), buffer_.size()));
    buffer_.clear();
  }
  void check(bool is_done) const {
    require(is_done, "{}: cannot write: {}", path_, std::strerror(errno));
  }

  std::string path_;
  tenon::detail::NewFile file_;
  std::string buffer_;
  uint64_t written_ = 0;
};

// Fields without those that say where the elements are.
std::string bare_fields(std::string_view fields) {
  std::string bare;
  Records records(fields);
  while (const auto record = records.next()) switch (record->field) {
      case 4:
      case 5:
      case 7:
      case 9:
      case 10:
      case 11:
      case 13:
      case 14:
        break;
      default:
        bare += record->whole;
    }
  return bare;
}

void append_entry(std::string& fields, const char* key, const std::string& value) {
  std::string entry;
  append_bytes(entry, 1, key);
  append_bytes(entry, 2, value);
  append_bytes(fields, 13, entry);
}

void take_in_constants(Store& store, Id graph) {
  for (const Id id : store.items(graph, Kind::kNode)) {
    const AttributeContent* value = store.node(id).find("value");
    if (value == nullptr) continue;
    const std::string_view tensor = bytes_field(value->bytes, 5);
    if (tensor.empty() || !stored_tensor(tensor).is_external) continue;
    std::string message = bare_fields(tensor);
    append_bytes(message, 9, external_bytes(store, tensor));
    NodeDraft draft = store.draft(id);
    const std::string_view kept = store.keep(with_name(value->bytes, 5, message));
    draft.set({value->name, kept, {}});
    store.replace_node(id, std::move(draft));
  }
}

void take_in(Store& store) {
  for (const Id graph : store.containers()) {
    take_in_constants(store, graph);
    for (const Id id : store.items(graph, Kind::kInitializer)) {
      const Content& content = store.content(id);
      if (content.record.empty() || !stored_tensor(content).is_external) continue;
      const std::string_view bytes = external_bytes(store, content.fields);
      store.replace_tensor(id, store.keep(bare_fields(content.fields)), bytes);
    }
  }
}

// The elements of a tensor that may lie in a file of its own; none for one that may not.
std::optional<std::string_view> elements_of(Store& store, const Content& content, size_t threshold,
                                            bool only_external) {
  const StoredTensor stored = stored_tensor(content);
  if (stored.type == kText || !data_type_of(stored.type)) return std::nullopt;
  if (stored.is_external) return external_bytes(store, content.fields);
  if (only_external || stored.stored_bytes() < threshold) return std::nullopt;
  if (stored.raw) return stored.raw;
  if (!is_exact(stored.type)) return std::nullopt;
  const auto tensor = std::make_shared<Tensor>(read_tensor(store, content));
  store.keep(tensor);
  return std::string_view(tensor->data<char>(), tensor->bytes());
}

void put_beside(Store& store, FileWriter& file, const std::string& location, size_t threshold,
                bool only_external) {
  for (const Id graph : store.containers())
    for (const Id id : store.items(graph, Kind::kInitializer)) {
      const Content& content = store.content(id);
      const auto bytes = elements_of(store, content, threshold, only_external);
      if (!bytes) continue;
      // Pages can be mapped as they are.
      const uint64_t alignment = bytes->size() >= 1 << 20 ? 4096 : 64;
      const std::string padding((alignment - file.written() % alignment) % alignment, '\0');
      file.write(padding);
      std::string fields = bare_fields(content.fields);
      append_entry(fields, "location", location);
      append_entry(fields, "offset", std::to_string(file.written()));
      append_entry(fields, "length", std::to_string(bytes->size()));
      append_number(fields, 14, 1);
      file.write(*bytes);
      store.replace(id, fields);
    }
}

bool has_external(const Store& store) {
  for (const Id graph : store.containers())
    for (const Id id : store.items(graph, Kind::kInitializer))
      if (stored_tensor(store.content(id)).is_external) return true;
  return false;
}

fs::path folder_of(const std::string& path) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  return fs::weakly_canonical(folder.empty() ? fs::path(".") : folder, error);
}

// What saving changes is taken back.
class Undone {
 public:
  explicit Undone(Store& store) : store_(store), steps_(store.journal().size()) {}
  Undone(const Undone&) = delete;
  Undone& operator=(const Undone&) = delete;
  ~Undone() { store_.undo_to(steps_); }

 private:
  Store& store_;
  size_t steps_;
};

void require_size(const Store& store) {
  require(store.size() <= INT_MAX,
          "the model has {} bytes, and ONNX files end at 2 GiB: save it with external data",
          store.size());
}

}  // namespace

void Model::save(const std::string& path, const SaveOptions& options) const {
  require(!path.empty(), "the path to save to is empty");
  Store& store = *store_;
  const Undone undone(store);
  std::optional<FileWriter> data;
  const bool moves = options.external == ExternalData::kAsIs && has_external(store)
                     && folder_of(path) != folder_of(store.path());
  if (options.external == ExternalData::kInside) take_in(store);
  if (options.external == ExternalData::kBeside || moves) {
    const std::string location =
        options.location.empty() ? fs::path(path).filename().string() + ".data" : options.location;
    require(fs::path(location).filename() == location && location != "." && location != "..",
            "external data location '{}' is not the name of a file beside the model", location);
    require(location != fs::path(path).filename(), "the model and its data are both '{}'", path);
    data.emplace((fs::path(path).parent_path() / location).string());
    put_beside(store, *data, location, options.threshold, moves);
    if (data->written() == 0) data.reset();
  }
  require_size(store);
  FileWriter file(path);
  store.write([&](std::string_view bytes) { file.write(bytes); });
  file.flush();
  if (data) {
    data->flush();
    data->move_into_place();
  }
  file.move_into_place();
}

std::string Model::serialize(ExternalData external) const {
  require(external != ExternalData::kBeside, "bytes have no file beside them");
  Store& store = *store_;
  const Undone undone(store);
  if (external == ExternalData::kInside) take_in(store);
  require_size(store);
  return store.bytes();
}

}  // namespace tenon::edit
