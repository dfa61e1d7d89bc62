// getFieldNames(), and fields that a creator must not take.
#include "check/checks.h"

namespace tenon::check {
namespace {

using nvinfer1::PluginFieldCollection;
using nvinfer1::PluginFieldType;

void require_sane(const PluginFieldCollection* collection) {
  if (collection == nullptr) throw Broken{"a list from getFieldNames()", "null"};
  if (collection->nbFields < 0 || (collection->nbFields > 0 && collection->fields == nullptr))
    throw Broken{"a list from getFieldNames()",
                 fmt::format("{} fields{}", collection->nbFields,
                             collection->fields == nullptr ? " at a null pointer" : "")};
  std::set<std::string> names;
  for (int i = 0; i < collection->nbFields; ++i) {
    const PluginField& f = collection->fields[i];
    const std::string name = text_or_empty(f.name);
    if (name.empty())
      throw Broken{fmt::format("a name for field {} of getFieldNames()", i), "none"};
    if (!names.insert(name).second)
      throw Broken{"each name once in getFieldNames()", '"' + name + "\" twice"};
    const auto type = static_cast<int32_t>(f.type);
    if (type < 0 || type >= nvinfer1::impl::EnumMaxImpl<PluginFieldType>::kVALUE)
      throw Broken{fmt::format("a type for field \"{}\"", name), std::to_string(type)};
    if (f.length < 0)
      throw Broken{fmt::format("a length for field \"{}\"", name), std::to_string(f.length)};
  }
}

std::vector<PluginField> without_field(std::vector<PluginField> fields, const std::string& name) {
  std::erase_if(fields, [&](const PluginField& f) { return text_or_empty(f.name) == name; });
  return fields;
}
// `fields` without those called as `bad`, and with it.
std::vector<PluginField> with(std::vector<PluginField> fields, const PluginField& bad) {
  fields = without_field(std::move(fields), text_or_empty(bad.name));
  fields.push_back(bad);
  return fields;
}

class WrongFields {
 public:
  WrongFields(const Creator& creator, const Trial& trial, Report& report)
      : creator_(creator), fields_(fields_of(trial)), report_(report) {}

  void of(const std::string& name, PluginFieldType type) {
    constexpr float kNumber = 1.5f;
    constexpr const char* kText = "no number";
    const bool is_text = type == PluginFieldType::kCHAR;
    if (type != PluginFieldType::kUNKNOWN)
      refuse(name, is_text ? "a number for a text" : "a text for a number",
             is_text ? PluginField(name.c_str(), &kNumber, PluginFieldType::kFLOAT32, 1)
                     : PluginField(name.c_str(), kText, PluginFieldType::kCHAR, 9));
    refuse(name, "no data", PluginField(name.c_str(), nullptr, type, 1));
    refuse(name, "a length of -1", PluginField(name.c_str(), kText, type, -1));
  }

  // Whether a given field makes another plugin than none.
  bool counts(const std::string& name) const {
    const auto with_it = creator_.create(fields_);
    const auto without = creator_.create(without_field(fields_, name));
    if (with_it == nullptr || without == nullptr) return with_it != without;
    return with_it->serialized() != without->serialized();
  }
  // Models carry attributes that plugins do not know.
  void unknown() {
    report_.check("wrong fields", "an unknown field", [&] {
      constexpr int32_t kValue = 1;
      const auto plain = creator_.create(fields_);
      const auto made = creator_.create(
          with(fields_, PluginField("no_such_field", &kValue, PluginFieldType::kINT32, 1)));
      if (made != nullptr && plain != nullptr && made->serialized() != plain->serialized())
        throw Broken{"an unknown field to be refused or to change nothing",
                     "a plugin that is serialised to other bytes"};
    });
  }
  void none() {
    report_.check("wrong fields", "no fields", [&] { creator_.create({}); });
  }

 private:
  void refuse(const std::string& name, const std::string& what, const PluginField& bad) {
    report_.check("wrong fields", fmt::format("{}: {}", name, what), [&] {
      if (creator_.create(with(fields_, bad)) == nullptr) return;
      // The field is another spelling of one that was given.
      if (creator_.create({bad}) == nullptr) return;
      throw Broken{"null from createPlugin()", "a plugin"};
    });
  }

  const Creator& creator_;
  std::vector<PluginField> fields_;
  Report& report_;
};

}  // namespace

void check_fields(const Creator& creator, Report& report) {
  report.check("fields", "", [&] {
    require_sane(creator.fields());
    if (creator.fields() != creator.fields())
      throw Broken{"the same list from getFieldNames() each time", "another"};
    if (const Identity id = creator.identity(); id.name.empty() || id.version.empty())
      throw Broken{"a name and a version of the creator", '"' + id.text() + '"'};
  });
}

void check_wrong_fields(const Creator& creator, const Trial& trial, std::set<std::string>& seen,
                        Report& report) {
  WrongFields wrong(creator, trial, report);
  if (seen.insert("").second) {
    wrong.none();
    wrong.unknown();
    const PluginFieldCollection* declared = creator.fields();
    for (int i = 0; declared != nullptr && i < declared->nbFields; ++i)
      if (seen.insert(text_or_empty(declared->fields[i].name)).second)
        wrong.of(text_or_empty(declared->fields[i].name), declared->fields[i].type);
  }
  // Plugins may take fields that they do not declare. Others are for other plugins of the library.
  for (const PluginField& f : fields_of(trial))
    if (seen.insert(f.name).second && wrong.counts(f.name)) wrong.of(f.name, f.type);
}

}  // namespace tenon::check
