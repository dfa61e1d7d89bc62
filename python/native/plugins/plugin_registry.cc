// The plugin registry, the creators in it that are written in C++, and layers of plugins.
#include <NvInferPlugin.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "bind.h"
#include "plugins/cpp_plugin.h"
#include "plugins/plugin_fields.h"
#include "plugins/plugin_libraries.h"
#include "plugins/python_object.h"
#include "plugins/python_plugin.h"

namespace tenon::python {
namespace {

using nvinfer1::IPluginCreator;
using nvinfer1::IPluginCreatorInterface;
using nvinfer1::IPluginCreatorV3One;
using nvinfer1::IPluginRegistry;
using nvinfer1::IPluginResource;

bool is_v3(const IPluginCreatorInterface& creator) {
  const char* const kind = creator.getInterfaceInfo().kind;
  return kind != nullptr && std::string_view(kind) == "PLUGIN CREATOR_V3ONE";
}

/// A creator of TensorRT's class Creator that is written in C++ and lies in the registry.
template <class Creator> class CppCreator {
 public:
  explicit CppCreator(Creator& creator) : creator_(&creator), is_common_(is_registered()) {}
  /// Throws when it is registered no more.
  Creator& get() const {
    if (is_common_ && !is_registered())
      throw std::runtime_error("this plugin creator is not registered any more");
    return *creator_;
  }

 private:
  bool is_registered() const {
    int32_t count = 0;
    IPluginCreatorInterface* const* const all =
        into_engine([&] { return getPluginRegistry()->getAllCreators(&count); });
    return std::find(all, all + count, creator_) != all + count;
  }

  Creator* creator_;
  bool is_common_;  // not in a registry of a builder or runtime alone
};
using CppCreatorV2 = CppCreator<IPluginCreator>;
using CppCreatorV3 = CppCreator<IPluginCreatorV3One>;

template <class Creator> auto bind_creator(nb::module_& m, const char* name, const char* text) {
  using C = CppCreator<Creator>;
  return nb::class_<C>(m, name, text)
      .def_prop_ro(
          "name", [](const C& c) { return c.get().getPluginName(); },
          "The name of the plugins it makes.")
      .def_prop_ro(
          "plugin_version", [](const C& c) { return c.get().getPluginVersion(); },
          "The version of the plugins it makes.")
      .def_prop_ro(
          "plugin_namespace", [](const C& c) { return c.get().getPluginNamespace(); },
          "The namespace of the plugins it makes.")
      .def_prop_ro(
          "field_names",
          [](const C& c) { return fields_to_python(c.get().getFieldNames(), false); },
          "The attributes it takes, without values.")
      .def_prop_ro(
          "interface_info",
          [](const C& c) -> Any {
            const auto info = c.get().getInterfaceInfo();
            return python_class("tenon.tensorrt.plugin_classes", "InterfaceInfo")(
                info.kind, info.major, info.minor);
          },
          "The kind and version of the interface.");
}

/// The creators that are written in Python. They stay for as long as the process: plans that need
/// one may still be open when it is not registered any more.
class PythonCreators {
 public:
  static bool add(nb::handle object, IPluginRegistry& registry, const char* name_space) {
    std::unique_ptr<IPluginCreatorInterface> creator = adapt_creator(object);
    if (!into_engine([&] { return registry.registerCreator(*creator, name_space); })) return false;
    all().emplace_back(object.ptr(), std::move(creator));
    return true;
  }
  static bool remove(nb::handle object, IPluginRegistry& registry) {
    bool removed = false;
    for (const auto& [known, creator] : all())
      if (known == object.ptr())
        removed |= into_engine([&] { return registry.deregisterCreator(*creator); });
    return removed;
  }

 private:
  using All = std::vector<std::pair<PyObject*, std::unique_ptr<IPluginCreatorInterface>>>;
  static All& all() {
    static auto* const list = new All;
    return *list;
  }
};

nb::list creators_list(IPluginCreatorInterface* const* creators, int32_t count) {
  nb::list list;
  for (int32_t i = 0; i < count; ++i) list.append(creator_to_python(creators[i]));
  return list;
}

/// A resource that is written in C++, while it is in the registry.
struct CppResource {
  IPluginResource* resource;
};

Any resource_to_python(IPluginResource* resource) {
  if (resource == nullptr) return nb::none();
  nb::object known = python_of(resource);
  return known.is_valid() ? known : nb::cast(CppResource{resource});
}

void bind_creators(nb::module_& m) {
  bind_creator<IPluginCreator>(m, "CppPluginCreator", "An IPluginCreator that is written in C++.")
      .def(
          "create_plugin",
          [](const CppCreatorV2& c, const std::string& name, nb::handle fields) {
            const Fields values(fields, "field_collection");
            IPluginCreator& creator = c.get();
            return plugin_to_python(into_engine(
                [&] { return creator.createPlugin(name.c_str(), values.collection()); }));
          },
          nb::arg("name"), nb::arg("field_collection"),
          "A plugin from attributes (a PluginFieldCollection); None when it refuses, which it "
          "tells "
          "the logger.")
      .def(
          "deserialize_plugin",
          [](const CppCreatorV2& c, const std::string& name, nb::bytes bytes) {
            IPluginCreator& creator = c.get();
            return plugin_to_python(into_engine([&] {
              return creator.deserializePlugin(name.c_str(), bytes.data(), bytes.size());
            }));
          },
          nb::arg("name"), nb::arg("serialized_plugin"),
          "A plugin from the bytes that its serialize() gave; None when it refuses.");

  bind_creator<IPluginCreatorV3One>(m, "CppPluginCreatorV3One",
                                    "An IPluginCreatorV3One that is written in C++.")
      .def(
          "create_plugin",
          [](const CppCreatorV3& c, const std::string& name, nb::handle fields,
             nvinfer1::TensorRTPhase phase) {
            const Fields values(fields, "field_collection");
            IPluginCreatorV3One& creator = c.get();
            return plugin_to_python(into_engine(
                [&] { return creator.createPlugin(name.c_str(), values.collection(), phase); }));
          },
          nb::arg("name"), nb::arg("field_collection"),
          nb::arg("phase") = nvinfer1::TensorRTPhase::kBUILD,
          "A plugin from attributes (a PluginFieldCollection); None when it refuses, which it "
          "tells "
          "the logger.");

  nb::class_<CppResource>(m, "CppPluginResource", "An IPluginResource that is written in C++.");
}

}  // namespace

Any creator_to_python(IPluginCreatorInterface* creator) {
  if (creator == nullptr) return nb::none();
  nb::object known = python_of(creator);
  if (known.is_valid()) return known;
  return is_v3(*creator) ? nb::cast(CppCreatorV3(static_cast<IPluginCreatorV3One&>(*creator)))
                         : nb::cast(CppCreatorV2(static_cast<IPluginCreator&>(*creator)));
}

IPluginCreatorInterface* cpp_creator(nb::handle object) {
  if (nb::isinstance<CppCreatorV2>(object)) return &nb::cast<CppCreatorV2&>(object).get();
  if (nb::isinstance<CppCreatorV3>(object)) return &nb::cast<CppCreatorV3&>(object).get();
  return nullptr;
}

void bind_plugin_registry(nb::module_& m) {
  bind_creators(m);

  using Registry = IPluginRegistry;
  nb::class_<Registry>(m, "IPluginRegistry", "Every plugin creator of the process.")
      .def_prop_ro(
          "plugin_creator_list",
          [](Registry& r) {
            int32_t count = 0;
            auto* const list = into_engine([&] { return r.getPluginCreatorList(&count); });
            return creators_list(std::vector<IPluginCreatorInterface*>(list, list + count).data(),
                                 count);
          },
          "The creators of version 2 (IPluginCreator).")
      .def_prop_ro(
          "all_creators",
          [](Registry& r) {
            int32_t count = 0;
            auto* const list = into_engine([&] { return r.getAllCreators(&count); });
            return creators_list(list, count);
          },
          "All creators of this registry.")
      .def_prop_ro(
          "all_creators_recursive",
          [](Registry& r) {
            int32_t count = 0;
            auto* const list = into_engine([&] { return r.getAllCreatorsRecursive(&count); });
            return creators_list(list, count);
          },
          "All creators of this registry and its parents.")
      .def(
          "register_creator",
          [](Registry& r, nb::handle creator, const char* name_space) {
            if (IPluginCreatorInterface* const known = cpp_creator(creator))
              return into_engine([&] { return r.registerCreator(*known, name_space); });
            return PythonCreators::add(creator, r, name_space);
          },
          nb::arg("creator"), nb::arg("plugin_namespace") = "",
          "Adds a creator; False if one of that name, version and namespace is there.")
      .def(
          "deregister_creator",
          [](Registry& r, nb::handle creator) {
            if (IPluginCreatorInterface* const known = cpp_creator(creator))
              return into_engine([&] { return r.deregisterCreator(*known); });
            return PythonCreators::remove(creator, r);
          },
          nb::arg("creator"), "Removes a creator; False if it was not there.")
      .def(
          "get_plugin_creator",
          [](Registry& r, const char* type, const char* version, const char* name_space) {
            return creator_to_python(
                into_engine([&] { return r.getPluginCreator(type, version, name_space); }));
          },
          nb::arg("type"), nb::arg("version"), nb::arg("plugin_namespace") = "",
          "The creator of version 2 (IPluginCreator) of that name; None if there is none.")
      .def(
          "get_creator",
          [](Registry& r, const char* type, const char* version, const char* name_space) {
            return creator_to_python(
                into_engine([&] { return r.getCreator(type, version, name_space); }));
          },
          nb::arg("type"), nb::arg("version"), nb::arg("plugin_namespace") = "",
          "The creator of that name, of any version; None if there is none.")
      .def(
          "load_library",
          [](Registry& r, const char* path) -> Any {
            prepare_for_plugin_libraries();
            void* const handle = into_engine([&] { return r.loadLibrary(path); });
            if (handle == nullptr) return nb::none();
            keep_loaded(path);
            return nb::capsule(handle);
          },
          nb::arg("plugin_path"),
          "Opens a plugin library and registers its creators. A handle; None on failure, which the "
          "logger is told of.")
      .def(
          "deregister_library",
          [](Registry& r, const nb::capsule& handle) {
            into_engine([&] { r.deregisterLibrary(handle.data()); });
          },
          nb::arg("handle"),
          "Removes the creators of a library. Its code stays, as objects may use it: a changed "
          "library is loaded under another name.")
      .def(
          "acquire_plugin_resource",
          [](Registry& r, const char* key, nb::handle resource) {
            const std::unique_ptr<IPluginResource> given(adapt_resource(resource));
            return resource_to_python(
                into_engine([&] { return r.acquirePluginResource(key, given.get()); }));
          },
          nb::arg("key"), nb::arg("resource"),
          "The resource under `key`, or a clone of `resource` put there if there is none.")
      .def(
          "release_plugin_resource",
          [](Registry& r, const char* key) {
            return into_engine([&] { return r.releasePluginResource(key); });
          },
          nb::arg("key"),
          "Counts one user less, and releases the resource after the last; 0 on "
          "success.")
      .def_prop_rw(
          "parent_search_enabled", [](Registry& r) { return r.isParentSearchEnabled(); },
          [](Registry& r, bool enabled) { r.setParentSearchEnabled(enabled); },
          "Whether lookups go on in the parent registry.")
      .def_prop_rw(
          "error_recorder", &Registry::getErrorRecorder,
          [](Registry& r, nb::handle object) {
            nvinfer1::IErrorRecorder* const recorder =
                object.is_none() ? nullptr : nb::cast<nvinfer1::IErrorRecorder*>(object);
            object.inc_ref();  // the registry is there for as long as the process
            into_engine([&] { r.setErrorRecorder(recorder); });
          },
          nb::for_getter(nb::rv_policy::reference), nb::for_setter(nb::arg().none()),
          "Where errors of the registry are recorded; None for nowhere.");

  m.def("get_plugin_registry", &getPluginRegistry, nb::rv_policy::reference,
        "The plugin registry of the process.");
  m.def("get_builder_plugin_registry", &nvinfer1::getBuilderPluginRegistry,
        nb::rv_policy::reference, nb::arg("capability"),
        "The plugin registry that engines of this kind are built with; None if there is none.");
  m.def(
      "init_libnvinfer_plugins",
      [](nvinfer1::ILogger* logger, const char* name_space) {
        return into_engine([&] { return initLibNvInferPlugins(logger, name_space); });
      },
      nb::arg("logger").none(), nb::arg("namespace"),
      "Registers the plugins that come along, which they are already; True.");
}

}  // namespace tenon::python
