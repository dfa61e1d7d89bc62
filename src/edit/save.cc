// A model as a file, with its tensors inside, beside it or where they were.
#include <tenon/onnx.h>
#include <tenon/replace_file.h>
#include <unistd.h>

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

// The tensor in a node's attribute `value`, if its elements lie in a file of their own.
std::string_view external_constant(const NodeContent& node) {
  const AttributeContent* value = node.find("value");
  if (value == nullptr) return {};
  const std::string_view tensor = bytes_field(value->bytes, 5);
  return tensor.empty() || !stored_tensor(tensor).is_external ? std::string_view() : tensor;
}

void set_constant_tensor(Store& store, Id id, std::string_view tensor) {
  NodeDraft draft = store.draft(id);
  const AttributeContent* value = draft.content.find("value");
  draft.set({value->name, store.keep(with_name(value->bytes, 5, tensor)), {}});
  store.replace_node(id, std::move(draft));
}

void take_in_constants(Store& store, Id graph) {
  for (const Id id : store.items(graph, Kind::kNode)) {
    const std::string_view tensor = external_constant(store.node(id));
    if (tensor.empty()) continue;
    std::string message = bare_fields(tensor);
    append_bytes(message, 9, external_bytes(store, tensor));
    set_constant_tensor(store, id, message);
  }
}

}  // namespace

void take_in_external(Store& store) {
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

namespace {

// The elements of a tensor that may lie in a file of its own; none for one that may not.
std::optional<std::string_view> elements_of(Store& store, const Content& content, size_t threshold,
                                            bool only_external) {
  const StoredTensor stored = stored_tensor(content);
  if (stored.is_external) return external_bytes(store, content.fields);
  if (stored.type == kText || !data_type_of(stored.type)) return std::nullopt;
  if (only_external || stored.stored_bytes() < threshold) return std::nullopt;
  if (stored.raw) return stored.raw;
  if (!is_exact(stored.type)) return std::nullopt;
  const auto tensor = std::make_shared<Tensor>(read_tensor(store, content));
  store.keep(tensor);
  return std::string_view(tensor->data<char>(), tensor->bytes());
}

// The elements go to the file; the fields then say where they are.
std::string fields_beside(FileWriter& file, const std::string& location, std::string_view fields,
                          std::string_view bytes) {
  // Pages can be mapped as they are.
  const uint64_t alignment = bytes.size() >= 1 << 20 ? 4096 : 64;
  file.write(std::string((alignment - file.written() % alignment) % alignment, '\0'));
  std::string beside = bare_fields(fields);
  append_entry(beside, "location", location);
  append_entry(beside, "offset", std::to_string(file.written()));
  append_entry(beside, "length", std::to_string(bytes.size()));
  append_number(beside, 14, 1);
  file.write(bytes);
  return beside;
}

void put_beside(Store& store, FileWriter& file, const std::string& location, size_t threshold,
                bool only_external) {
  for (const Id graph : store.containers()) {
    for (const Id id : store.items(graph, Kind::kInitializer)) {
      const Content& content = store.content(id);
      if (const auto bytes = elements_of(store, content, threshold, only_external))
        store.replace(id, fields_beside(file, location, content.fields, *bytes));
    }
    for (const Id id : store.items(graph, Kind::kNode))
      if (const auto tensor = external_constant(store.node(id)); !tensor.empty())
        set_constant_tensor(store, id,
                            fields_beside(file, location, tensor, external_bytes(store, tensor)));
  }
}

// Tensors whose elements lie in files of their own.
std::vector<std::string_view> external_tensors(const Store& store) {
  std::vector<std::string_view> found;
  for (const Id graph : store.containers()) {
    for (const Id id : store.items(graph, Kind::kInitializer))
      if (stored_tensor(store.content(id)).is_external) found.push_back(store.content(id).fields);
    for (const Id id : store.items(graph, Kind::kNode))
      if (const auto tensor = external_constant(store.node(id)); !tensor.empty())
        found.push_back(tensor);
  }
  return found;
}

// Another file for what lies in the file `from`.
void relocate(Store& store, const std::string& from, const std::string& to) {
  const auto moved = [&](std::string_view fields) {
    std::string message;
    Records records(fields);
    while (const auto record = records.next()) {
      const bool is_location = record->field == 13 && bytes_field(record->payload, 1) == "location"
                               && bytes_field(record->payload, 2) == from;
      if (is_location)
        append_entry(message, "location", to);
      else
        message += record->whole;
    }
    return message;
  };
  for (const Id graph : store.containers()) {
    for (const Id id : store.items(graph, Kind::kInitializer))
      if (stored_tensor(store.content(id)).is_external)
        store.replace(id, moved(store.content(id).fields));
    for (const Id id : store.items(graph, Kind::kNode))
      if (const auto tensor = external_constant(store.node(id)); !tensor.empty())
        set_constant_tensor(store, id, moved(tensor));
  }
}

// A file of that name may hold the weights of a model that is to stay: only that of the model which
// is replaced goes.
void require_own_data(const std::string& model, const std::string& data,
                      const std::string& location) {
  std::error_code error;
  if (!fs::exists(data, error)) return;
  bool is_own = false;
  if (fs::exists(model, error)) try {
      const Model old = Model::load(model);
      for (const std::string_view tensor : external_tensors(old.store()))
        is_own = is_own || stored_tensor(tensor).location == location;
    } catch (const Error&) {
      is_own = false;  // what is there is no model
    }
  require(is_own,
          "'{}' is there already, and the model '{}' that is to be replaced does not lie in it: "
          "give another name for the data, or remove the file",
          data, model);
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

void write_model(const Store& store, const std::string& path) {
  require_size(store);
  FileWriter file(path);
  store.write([&](std::string_view bytes) { file.write(bytes); });
  file.flush();
  file.move_into_place();
}

// A name beside the data that no file has.
std::string fresh_location(const fs::path& folder, const std::string& location) {
  std::error_code error;
  for (size_t i = 1;; ++i) {
    std::string name = fmt::format("{}.{}.{}", location, ::getpid(), i);
    if (!fs::exists(folder / name, error)) return name;
  }
}

// The model and its data; false when no tensor lies beside. Whenever the program ends, the model
// that is there finds its own data: over the data of the model before, the new one is at first one
// of data under another name.
bool write_beside(Store& store, const std::string& path, const std::string& location,
                  size_t threshold, bool only_external) {
  const fs::path folder = fs::path(path).parent_path();
  const std::string data = (folder / location).string();
  std::error_code error;
  const bool replaces = fs::exists(data, error);
  tenon::detail::require_regular(data);
  const std::string first = replaces ? fresh_location(folder, location) : location;
  const std::string first_data = (folder / first).string();
  FileWriter file(first_data);
  put_beside(store, file, first, threshold, only_external);
  if (file.written() == 0) return false;
  require_own_data(path, data, location);
  file.flush();
  require_size(store);
  file.move_into_place();
  try {
    write_model(store, path);
  } catch (...) {
    fs::remove(first_data, error);
    throw;
  }
  if (!replaces) return true;
  const std::string again = (folder / fresh_location(folder, location)).string();
  fs::create_hard_link(first_data, again, error);
  if (error) fs::copy_file(first_data, again);  // a file system without links
  fs::rename(again, data);
  relocate(store, first, location);
  write_model(store, path);
  fs::remove(first_data, error);
  return true;
}

}  // namespace

void Model::save(const std::string& path, const SaveOptions& options) const {
  require(!path.empty(), "the path to save to is empty");
  Store& store = *store_;
  const Undone undone(store);
  const bool moves = options.external == ExternalData::kAsIs && !external_tensors(store).empty()
                     && folder_of(path) != folder_of(store.path());
  if (options.external == ExternalData::kInside) take_in_external(store);
  // One with external data may have become too large for a file: then all that is large lies
  // beside.
  const bool is_too_large = options.external == ExternalData::kAsIs && store.size() > INT_MAX;
  if (options.external == ExternalData::kBeside || moves || is_too_large) {
    const std::string location =
        options.location.empty() ? fs::path(path).filename().string() + ".data" : options.location;
    require(fs::path(location).filename() == location && location != "." && location != "..",
            "external data location '{}' is not the name of a file beside the model", location);
    require(location != fs::path(path).filename(), "the model and its data are both '{}'", path);
    if (write_beside(store, path, location, options.threshold, moves && !is_too_large)) return;
  }
  write_model(store, path);
}

std::string Model::serialize(ExternalData external) const {
  require(external != ExternalData::kBeside, "bytes have no file beside them");
  Store& store = *store_;
  const Undone undone(store);
  if (external == ExternalData::kInside) take_in_external(store);
  require_size(store);
  return store.bytes();
}

}  // namespace tenon::edit
