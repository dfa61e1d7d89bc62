/// TENON_PLUGIN(P): makes a plugin known to the engine's registry when its library is loaded.
#pragma once

#if defined(__CUDACC__)
#include "tenon/plugin/entry.h"
#else
#include "tenon/plugin/adapter_v2.h"
#include "tenon/plugin/adapter_v3.h"
#include "tenon/plugin/describe.h"
#endif

namespace tenon {
namespace kit {

#if defined(__CUDACC__)
template <class P> bool register_plugin(const Spec& spec = P::spec) {
  Entry& entry = entries()[key_of(spec)];
  entry.cuda = &launch<P>;
  entry.cuda_workspace = &workspace_of<P>;
  return true;
}
#else
inline void describe(const nvinfer1::IPluginCreatorInterface& v2,
                     const nvinfer1::IPluginCreatorInterface& v3, const TenonPluginText* text) {
  if (engine().describe_plugin == nullptr) return;
  engine().describe_plugin(&v2, text);
  engine().describe_plugin(&v3, text);
}
/// Tells the engine what the entry's plugin is.
inline void describe(const Entry& entry) {
  describe(*entry.v2, *entry.v3, entry.text);
}

/// Makes the creators of an entry and registers one of them.
inline bool register_entry(Entry& entry) {
  struct __attribute__((visibility("hidden"))) Creators {  // as its members are
    explicit Creators(const Entry& entry) : v2(entry), v3(entry), ports(ports_text(entry)) {
      for (const std::string& text : entry.field_texts) fields.push_back(text.c_str());
      text = {entry.spec.text, entry.spec.differs, ports.c_str(), fields.data()};
    }
    Creators(const Creators&) = delete;
    Creators& operator=(const Creators&) = delete;
    ~Creators() { describe(v2, v3, nullptr); }

    CreatorV2 v2;
    CreatorV3 v3;
    std::string ports;
    std::vector<const char*> fields;
    TenonPluginText text;
  };
  const auto creators = std::make_shared<Creators>(entry);
  entry.creators = creators;
  entry.v2 = &creators->v2;
  entry.v3 = &creators->v3;
  entry.text = &creators->text;
  describe(entry);
  entry.run_v2 = &PluginV2::run;
  entry.run_v3 = &PluginV3::run;
  if (engine().plugin_registry == nullptr) return false;  // a test of the plugin alone
  nvinfer1::IPluginRegistry* registry = engine().plugin_registry();
  if (registry == nullptr) return false;
  const char* name_space = entry.spec.name_space;
  return entry.spec.protocol == Protocol::kV2 ? registry->registerCreator(creators->v2, name_space)
                                              : registry->registerCreator(creators->v3, name_space);
}

template <class P> bool register_plugin(const Spec& spec = P::spec) {
  static_assert(
      has_valid_ports<P>(),
      "a port has one type, kT, kU (with a type U), or (inputs only) kAny; optional ports "
      "come last; one may be repeated, if none is optional; there is an output");
  static_assert(!ShapesTakeQuery<P> || P::spec.protocol == Protocol::kV3,
                "IPluginV2 has no shape inputs and no size tensors");
  static_assert(!ShapesTakeQuery<P> || !TypesOfT<P>::type::has_quantized,
                "tensors that are Quantized have shapes that are known when they are copied");
  Entry& entry = entries()[key_of(spec)];
  entry.spec = spec;
  entry.t = TypesOfT<P>::type::mask;
  entry.u = TypesOfU<P>::type::mask;
  entry.first_t = TypesOfT<P>::type::first;
  entry.first_u = TypesOfU<P>::type::first;
  entry.needs_v3 = ShapesTakeQuery<P>;
  entry.is_quantized = TypesOfT<P>::type::has_quantized;
  entry.cpu = &launch<P>;
  entry.cpu_workspace = &workspace_of<P>;
  entry.create = &ModelOf<P>::create;
  entry.fields = declared_fields<P>();
  entry.field_texts = field_texts<P>();
  for_each_attribute<P>([&](const auto& a) { entry.stored.push_back(a.name); });
  return register_entry(entry);
}
#endif

}  // namespace kit
}  // namespace tenon

#define TENON_PLUGIN_JOIN(a, b) a##b
#define TENON_PLUGIN_NAME(a, b) TENON_PLUGIN_JOIN(a, b)
#define TENON_PLUGIN(P) \
  [[maybe_unused]] static const bool k##P##Registered = ::tenon::kit::register_plugin<P>()
/// TENON_PLUGIN_AS(P, "OtherName"), or with a version and a namespace after it: the same plugin
/// under another name, too.
#define TENON_PLUGIN_AS(P, ...)                                                         \
  [[maybe_unused]] static const bool TENON_PLUGIN_NAME(k##P##Registered, __COUNTER__) = \
      ::tenon::kit::register_plugin<P>(::tenon::kit::renamed(P::spec, __VA_ARGS__))
