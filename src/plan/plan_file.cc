#include "plan/plan_file.h"

#include <xxhash.h>

#include <cstring>

#include "base/error.h"
#include "base/file.h"
#include "plan/plan_generated.h"

namespace tenon {
namespace {

namespace fb = flatbuffers;

constexpr char kMagic[8] = {'T', 'E', 'N', 'O', 'N', 'P', 'L', 'N'};
constexpr size_t kAlignment = 64;

enum class Section : uint32_t { kStructure = 1, kWeights = 2 };

// All integers are little endian; the checksum of the header covers what follows it there.
struct Header {
  char magic[8];
  uint32_t format;
  uint32_t section_count;
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

// Writing.

fb::Offset<schema::Field> write_field(fb::FlatBufferBuilder& b, const std::string& name,
                                      const FieldValue& value) {
  const auto name_offset = b.CreateString(name);
  fb::Offset<fb::Vector<uint8_t>> bytes;
  fb::Offset<fb::Vector<int64_t>> integers;
  fb::Offset<fb::Vector<double>> reals;
  if (const auto* text = std::get_if<std::string>(&value))
    bytes = b.CreateVector(reinterpret_cast<const uint8_t*>(text->data()), text->size());
  if (const auto* list = std::get_if<std::vector<int64_t>>(&value))
    integers = b.CreateVector(*list);
  if (const auto* list = std::get_if<std::vector<double>>(&value)) reals = b.CreateVector(*list);
  schema::FieldBuilder f(b);
  f.add_name(name_offset);
  f.add_kind(static_cast<uint8_t>(value.index()));
  if (const auto* v = std::get_if<bool>(&value)) f.add_flag(*v);
  if (const auto* v = std::get_if<int64_t>(&value)) f.add_integer(*v);
  if (const auto* v = std::get_if<double>(&value)) f.add_real(*v);
  if (!bytes.IsNull()) f.add_bytes(bytes);
  if (!integers.IsNull()) f.add_integers(integers);
  if (!reals.IsNull()) f.add_reals(reals);
  return f.Finish();
}

auto write_fields(fb::FlatBufferBuilder& b, const FieldList& fields) {
  std::vector<fb::Offset<schema::Field>> list;
  for (const auto& [name, value] : fields) list.push_back(write_field(b, name, value));
  return b.CreateVector(list);
}

std::vector<int64_t> list_of(const Shape& s) {
  return {s.begin(), s.end()};
}

auto write_instructions(fb::FlatBufferBuilder& b, const ShapeProgram& program) {
  std::vector<schema::Instruction> list;
  for (const auto& i : program.instructions)
    list.emplace_back(static_cast<uint8_t>(i.op), i.is_float,
                      schema::Number(i.value.is_float, i.value.integer, i.value.real), i.payload,
                      i.a, i.b, i.c);
  return b.CreateVectorOfStructs(list);
}

auto write_profiles(fb::FlatBufferBuilder& b, const Plan& plan) {
  std::vector<fb::Offset<schema::Profile>> list;
  for (const PlanProfile& p : plan.profiles) {
    std::vector<fb::Offset<schema::Range>> ranges;
    for (const auto& r : p.inputs) {
      const auto min = list_of(r.min), opt = list_of(r.opt), max = list_of(r.max);
      ranges.push_back(schema::CreateRangeDirect(b, &min, &opt, &max, &r.min_values, &r.opt_values,
                                                 &r.max_values));
    }
    list.push_back(schema::CreateProfileDirect(b, &ranges, p.device_memory));
  }
  return b.CreateVector(list);
}

auto write_steps(fb::FlatBufferBuilder& b, const Plan& plan) {
  std::vector<fb::Offset<schema::Step>> list;
  for (const PlanStep& s : plan.steps) {
    const auto attributes = write_fields(b, s.attributes);
    const auto state = write_fields(b, s.state);
    list.push_back(schema::CreateStep(
        b, b.CreateString(s.name), b.CreateString(s.metadata), b.CreateString(s.op), attributes,
        static_cast<int32_t>(s.layer), b.CreateString(s.kernel), state, b.CreateVector(s.packed),
        b.CreateVector(s.inputs), b.CreateVector(s.outputs)));
  }
  return b.CreateVector(list);
}

// Offsets of the weights in their section.
std::vector<size_t> weight_offsets(const Plan& plan, size_t& total) {
  std::vector<size_t> offsets;
  total = 0;
  for (const Tensor& w : plan.weights) {
    offsets.push_back(total);
    total = aligned(total + w.bytes());
  }
  return offsets;
}

void write_structure(fb::FlatBufferBuilder& b, const Plan& plan,
                     const std::vector<size_t>& offsets) {
  std::vector<fb::Offset<schema::Tensor>> tensors;
  for (const PlanTensor& t : plan.tensors)
    tensors.push_back(schema::CreateTensorDirect(
        b, t.name.c_str(), static_cast<int32_t>(t.type), static_cast<uint8_t>(t.layout),
        static_cast<uint8_t>(t.place), &t.extents, &t.content, t.alias_of, t.weight));
  std::vector<fb::Offset<schema::Binding>> bindings;
  for (const PlanBinding& p : plan.bindings) {
    const auto declared = list_of(p.declared);
    const auto names = b.CreateVectorOfStrings(p.dimension_names);
    bindings.push_back(schema::CreateBinding(b, p.tensor, p.is_input, p.is_shape,
                                             b.CreateVector(declared), names));
  }
  std::vector<schema::Symbol> symbols;
  for (const PlanSymbol& s : plan.symbols) symbols.emplace_back(s.binding, s.is_element, s.index);
  std::vector<fb::Offset<schema::Plugin>> plugins;
  for (const RequiredPlugin& p : plan.plugins)
    plugins.push_back(
        schema::CreatePluginDirect(b, p.name.c_str(), p.version.c_str(), p.name_space.c_str()));
  std::vector<fb::Offset<schema::Weight>> weights;
  for (size_t i = 0; i < plan.weights.size(); ++i) {
    const auto shape = list_of(plan.weights[i].shape());
    weights.push_back(schema::CreateWeightDirect(b, static_cast<int32_t>(plan.weights[i].type()),
                                                 &shape, offsets[i], plan.weights[i].bytes()));
  }
  const auto steps = write_steps(b, plan);
  const auto profiles = write_profiles(b, plan);
  const auto instructions = write_instructions(b, plan.shapes);
  b.Finish(schema::CreatePlan(
      b, b.CreateString(plan.name), b.CreateString(plan.target), b.CreateString(plan.fingerprint),
      b.CreateString(plan.instruction_set), static_cast<int32_t>(plan.verbosity), instructions,
      b.CreateVectorOfStructs(symbols), b.CreateVector(tensors), steps, b.CreateVector(bindings),
      profiles, b.CreateVector(plugins), b.CreateVector(weights)));
}

// Reading. The verifier has checked that offsets stay inside the section; everything that is an
// index, an enum or a count is checked here.

// The verifier does not look at the alignment of a vector's elements.
template <class T> const fb::Vector<T>* checked(const fb::Vector<T>* v, size_t alignment) {
  require(v == nullptr || v->size() == 0 || reinterpret_cast<uintptr_t>(v->Data()) % alignment == 0,
          "the plan is damaged: its structure is not aligned");
  return v;
}
template <class T> std::vector<T> list_from(const fb::Vector<T>* v) {
  checked(v, alignof(T));
  return v == nullptr ? std::vector<T>() : std::vector<T>(v->begin(), v->end());
}
std::string text_from(const fb::String* s) {
  return s == nullptr ? std::string() : s->str();
}
Shape shape_from(const fb::Vector<int64_t>* v) {
  return Shape(std::span<const int64_t>(list_from(v)));
}

template <class Table, class Visit>
void for_each(const fb::Vector<fb::Offset<Table>>* list, const Visit& visit) {
  if (list == nullptr) return;
  for (const Table* row : *list) visit(*row);
}

FieldList fields_from(const fb::Vector<fb::Offset<schema::Field>>* list) {
  FieldList fields;
  for_each(list, [&](const schema::Field& f) {
    FieldValue value;
    switch (f.kind()) {
      case 0:
        value = f.flag();
        break;
      case 1:
        value = f.integer();
        break;
      case 2:
        value = f.real();
        break;
      case 3: {
        const auto bytes = list_from(f.bytes());
        value = std::string(bytes.begin(), bytes.end());
        break;
      }
      case 4:
        value = list_from(f.integers());
        break;
      case 5:
        value = list_from(f.reals());
        break;
      default:
        fail(ErrorCode::kINVALID_ARGUMENT, "attribute of unknown kind {}", f.kind());
    }
    fields.emplace_back(text_from(f.name()), std::move(value));
  });
  return fields;
}

void check_index(int64_t index, size_t count, const char* what) {
  require(index >= 0 && static_cast<size_t>(index) < count, "{} {} is outside the {} there are",
          what, index, count);
}

DataType type_from(int32_t type) {
  name_of(static_cast<DataType>(type));  // throws for an unknown one
  return static_cast<DataType>(type);
}

void read_program(const schema::Plan& in, Plan& plan) {
  if (checked(in.instructions(), alignof(schema::Instruction)) != nullptr)
    for (const schema::Instruction* i : *in.instructions()) {
      require(i->op() <= static_cast<uint8_t>(ExprOp::kLog), "unknown shape operation {}", i->op());
      const auto position = static_cast<int32_t>(plan.shapes.instructions.size());
      const bool leaf = i->op() <= static_cast<uint8_t>(ExprOp::kSymbol);
      require(leaf || i->a() >= 0, "a shape operation has no operand");
      for (int32_t slot : {i->a(), i->b(), i->c()})
        require(slot >= -1 && slot < position, "a shape operation uses slot {} before it is set",
                slot);
      const schema::Number& v = i->value();
      plan.shapes.instructions.push_back({static_cast<ExprOp>(i->op()), i->is_float(),
                                          Number{v.is_float(), v.integer(), v.real()}, i->payload(),
                                          i->a(), i->b(), i->c()});
    }
  if (checked(in.symbols(), alignof(schema::Symbol)) != nullptr)
    for (const schema::Symbol* s : *in.symbols())
      plan.symbols.push_back({s->binding(), s->is_element(), s->index()});
  plan.shapes.symbol_count = static_cast<int64_t>(plan.symbols.size());
  for (const auto& i : plan.shapes.instructions)
    if (i.op == ExprOp::kSymbol) check_index(i.payload, plan.symbols.size(), "symbol");
}

void read_tensors(const schema::Plan& in, Plan& plan) {
  const size_t slots = plan.shapes.instructions.size();
  for_each(in.tensors(), [&](const schema::Tensor& t) {
    PlanTensor out;
    out.name = text_from(t.name());
    out.type = type_from(t.type());
    require(t.layout() <= static_cast<uint8_t>(Layout::kBlocked16),
            "tensor '{}': unknown layout {}", out.name, t.layout());
    require(t.place() <= static_cast<uint8_t>(PlanTensor::Place::kNone),
            "tensor '{}': unknown place {}", out.name, t.place());
    out.layout = static_cast<Layout>(t.layout());
    out.place = static_cast<PlanTensor::Place>(t.place());
    out.extents = list_from(t.extents());
    out.content = list_from(t.content());
    require(out.extents.size() <= Shape::kMaxRank, "tensor '{}' has {} dimensions", out.name,
            out.extents.size());
    require(out.layout == Layout::kLinear || out.extents.size() >= 2,
            "tensor '{}' has no channel axis", out.name);
    for (int32_t slot : out.extents) check_index(slot, slots, "shape slot");
    for (int32_t slot : out.content) check_index(slot, slots, "shape slot");
    out.alias_of = t.alias_of();
    out.weight = t.weight();
    plan.tensors.push_back(std::move(out));
  });
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const PlanTensor& t = plan.tensors[i];
    if (t.place == PlanTensor::Place::kWeight) {
      check_index(t.weight, plan.weights.size(), "weight");
      require(plan.weights[static_cast<size_t>(t.weight)].type() == t.type,
              "tensor '{}' and its weights have different types", t.name);
    }
    if (t.place != PlanTensor::Place::kAlias) continue;
    check_index(t.alias_of, plan.tensors.size(), "tensor");
    int32_t at = static_cast<int32_t>(i);
    for (size_t hops = 0; plan.tensors[static_cast<size_t>(at)].place == PlanTensor::Place::kAlias;
         ++hops) {
      require(hops <= plan.tensors.size(), "tensor '{}' is an alias of itself", t.name);
      at = plan.tensors[static_cast<size_t>(at)].alias_of;
      check_index(at, plan.tensors.size(), "tensor");
    }
  }
}

void read_steps(const schema::Plan& in, Plan& plan) {
  for_each(in.steps(), [&](const schema::Step& s) {
    PlanStep out;
    out.name = text_from(s.name());
    out.metadata = text_from(s.metadata());
    out.op = text_from(s.op());
    out.attributes = fields_from(s.attributes());
    out.layer = static_cast<LayerType>(s.layer());
    out.kernel = text_from(s.kernel());
    out.state = fields_from(s.state());
    out.packed = list_from(s.packed());
    out.inputs = list_from(s.inputs());
    out.outputs = list_from(s.outputs());
    for (int32_t w : out.packed) check_index(w, plan.weights.size(), "weight");
    for (int32_t t : out.inputs)
      if (t != -1) check_index(t, plan.tensors.size(), "tensor");
    for (int32_t t : out.outputs) {
      check_index(t, plan.tensors.size(), "tensor");
      const auto place = plan.tensors[static_cast<size_t>(plan.root_of(t))].place;
      require(place == PlanTensor::Place::kArena || place == PlanTensor::Place::kOutput,
              "layer {} writes to tensor '{}', which is not memory of the network", out.name,
              plan.tensors[static_cast<size_t>(t)].name);
    }
    plan.steps.push_back(std::move(out));
  });
}

void read_bindings(const schema::Plan& in, Plan& plan) {
  bool inputs_over = false;
  for_each(in.bindings(), [&](const schema::Binding& b) {
    PlanBinding out;
    out.tensor = b.tensor();
    out.is_input = b.is_input();
    out.is_shape = b.is_shape();
    check_index(out.tensor, plan.tensors.size(), "tensor");
    const PlanTensor& t = plan.tensors[static_cast<size_t>(out.tensor)];
    const auto place = out.is_input ? PlanTensor::Place::kInput : PlanTensor::Place::kOutput;
    require(t.place == place && t.layout == Layout::kLinear, "binding '{}' is not at the border",
            t.name);
    inputs_over |= !out.is_input;
    require(!inputs_over || !out.is_input, "input '{}' follows an output", t.name);
    if (out.is_input) {
      out.declared = shape_from(b.declared());
      require(out.declared.rank() == static_cast<int>(t.extents.size()),
              "input '{}': declared rank differs", t.name);
      if (b.dimension_names() != nullptr)
        for (const fb::String* name : *b.dimension_names())
          out.dimension_names.push_back(text_from(name));
    }
    plan.bindings.push_back(std::move(out));
  });
  std::vector<int> bound(plan.tensors.size(), 0);
  for (const PlanBinding& b : plan.bindings) ++bound[static_cast<size_t>(b.tensor)];
  for (size_t i = 0; i < plan.tensors.size(); ++i) {
    const auto place = plan.tensors[i].place;
    const bool border = place == PlanTensor::Place::kInput || place == PlanTensor::Place::kOutput;
    require(bound[i] == (border ? 1 : 0), "tensor '{}' is bound {} times", plan.tensors[i].name,
            bound[i]);
  }
  for (const PlanSymbol& s : plan.symbols) {
    check_index(s.binding, static_cast<size_t>(plan.input_count()), "input");
    const Shape& declared = plan.bindings[static_cast<size_t>(s.binding)].declared;
    if (!s.is_element) check_index(s.index, static_cast<size_t>(declared.rank()), "axis");
    require(s.index >= 0, "symbol index {} is negative", s.index);
  }
}

void read_profiles(const schema::Plan& in, Plan& plan) {
  const auto inputs = static_cast<size_t>(plan.input_count());
  for_each(in.profiles(), [&](const schema::Profile& p) {
    PlanProfile out;
    out.device_memory = p.device_memory();
    require(out.device_memory >= 0, "a profile needs {} bytes", out.device_memory);
    for_each(p.inputs(), [&](const schema::Range& r) {
      out.inputs.push_back({shape_from(r.min()), shape_from(r.opt()), shape_from(r.max()),
                            list_from(r.min_values()), list_from(r.opt_values()),
                            list_from(r.max_values())});
    });
    require(out.inputs.size() == inputs, "a profile has {} inputs; the plan has {}",
            out.inputs.size(), inputs);
    for (size_t i = 0; i < inputs; ++i)
      for (const Shape& s : {out.inputs[i].min, out.inputs[i].opt, out.inputs[i].max})
        require(s.rank() == plan.bindings[i].declared.rank(), "a profile has another rank");
    plan.profiles.push_back(std::move(out));
  });
  require(!plan.profiles.empty(), "there is no profile");
}

void read_weights(const schema::Plan& in, std::span<const std::byte> section,
                  const std::shared_ptr<const void>& owner, Plan& plan) {
  for_each(in.weights(), [&](const schema::Weight& w) {
    const DataType type = type_from(w.type());
    const Shape shape = shape_from(w.shape());
    const int64_t count = shape.volume();
    require(count <= INT64_MAX / 8 && bytes_of(type, count) == w.bytes(),
            "weights of shape {} have {} bytes", shape, w.bytes());
    require(w.offset() <= section.size() && w.bytes() <= section.size() - w.offset()
                && w.offset() % kAlignment == 0,
            "weights lie outside their section");
    plan.weights.emplace_back(type, shape, owner, section.data() + w.offset());
  });
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
  require(bytes.size() >= sizeof header && std::memcmp(bytes.data(), kMagic, sizeof kMagic) == 0,
          "this is not a Tenon plan (its first bytes are wrong); plans of NVIDIA's TensorRT cannot "
          "be read: build one with `tenon build model.onnx`");
  std::memcpy(&header, bytes.data(), sizeof header);
  require(header.format == kPlanFormat,
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
  std::memcpy(header.magic, kMagic, sizeof kMagic);
  header.format = kPlanFormat;
  header.section_count = kSections;
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
  size_t weight_bytes = 0;
  const auto offsets = weight_offsets(plan, weight_bytes);
  fb::FlatBufferBuilder b(1 << 16);
  write_structure(b, plan, offsets);
  const std::span structure(b.GetBufferPointer(), b.GetSize());
  return assemble_plan(std::as_bytes(structure), weight_bytes, [&](std::byte* to) {
    for (size_t i = 0; i < offsets.size(); ++i)
      if (plan.weights[i].bytes() > 0)
        std::memcpy(to + offsets[i], plan.weights[i].data(), plan.weights[i].bytes());
  });
}

uint64_t plan_file_bytes(std::span<const std::byte> beginning) {
  return read_header(beginning).file_bytes;
}

Plan read_plan(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
               const std::string& name) {
  return with_context(name, [&] {
    auto [structure, weights] = read_sections(bytes);
    if (owner == nullptr || reinterpret_cast<uintptr_t>(weights.data()) % kAlignment != 0) {
      auto copy = allocate_aligned(weights.size());
      if (!weights.empty()) std::memcpy(copy.get(), weights.data(), weights.size());
      weights = {copy.get(), weights.size()};
      owner = std::move(copy);
    }
    // FlatBuffers reads structs in place, so the structure must be aligned as well.
    const auto aligned_structure = allocate_aligned(structure.size());
    std::memcpy(aligned_structure.get(), structure.data(), structure.size());
    const auto* data = reinterpret_cast<const uint8_t*>(aligned_structure.get());
    fb::Verifier verifier(data, structure.size(), 64, 100'000'000);
    require(schema::VerifyPlanBuffer(verifier), "the plan is damaged: its structure is not valid");
    const schema::Plan& in = *schema::GetPlan(data);

    Plan plan;
    plan.name = text_from(in.name());
    plan.target = text_from(in.target());
    plan.fingerprint = text_from(in.fingerprint());
    plan.instruction_set = text_from(in.instruction_set());
    require(in.verbosity() >= 0 && in.verbosity() <= 2, "unknown profiling verbosity {}",
            in.verbosity());
    plan.verbosity = static_cast<nvinfer1::ProfilingVerbosity>(in.verbosity());
    read_weights(in, weights, owner, plan);
    read_program(in, plan);
    read_tensors(in, plan);
    read_steps(in, plan);
    read_bindings(in, plan);
    read_profiles(in, plan);
    for_each(in.plugins(), [&](const schema::Plugin& p) {
      plan.plugins.push_back(
          {text_from(p.name()), text_from(p.version()), text_from(p.name_space())});
    });
    return plan;
  });
}

Plan open_plan_file(const std::string& path) {
  const auto file = MappedFile::open(path);
  return read_plan(file->bytes(), file, path);
}

}  // namespace tenon
