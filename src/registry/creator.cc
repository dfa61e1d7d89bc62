#include "registry/creator.h"

#include <dlfcn.h>

#include "base/error.h"
#include "base/text.h"

namespace tenon {
namespace {

template <class Creator> PluginKey key_by(Creator& creator) {
  return {text_or_empty(creator.getPluginNamespace()), text_or_empty(creator.getPluginName()),
          text_or_empty(creator.getPluginVersion())};
}

}  // namespace

// Foreign objects may be built without RTTI, so the kind string decides.
CreatorKind kind_of(const nvinfer1::IPluginCreatorInterface& creator) {
  const std::string kind = text_or_empty(creator.getInterfaceInfo().kind);
  if (kind == "PLUGIN CREATOR_V1") return CreatorKind::kV1;
  if (kind == "PLUGIN CREATOR_V3ONE") return CreatorKind::kV3;
  return CreatorKind::kUnknown;
}

std::string PluginKey::text() const {
  return fmt::format("plugin \"{}\" version \"{}\" in namespace \"{}\"", name, version, name_space);
}

PluginKey key_of(nvinfer1::IPluginCreatorInterface& creator) {
  // TensorRT 8's creators answer their version number here, and have other slots behind it.
  const auto language = static_cast<int32_t>(creator.getAPILanguage());
  require(language == 0 || language == 1,
          "a plugin creator was built for another TensorRT (its first method answers {}): compile "
          "the plugin library again with TensorRT 10's headers",
          language);
  const CreatorKind kind = kind_of(creator);
  if (kind == CreatorKind::kUnknown)
    fail(ErrorCode::kUNSUPPORTED_STATE, "plugin creators of kind \"{}\" are not supported yet",
         text_or_empty(creator.getInterfaceInfo().kind));
  PluginKey key = kind == CreatorKind::kV1
                      ? key_by(static_cast<nvinfer1::IPluginCreator&>(creator))
                      : key_by(static_cast<nvinfer1::IPluginCreatorV3One&>(creator));
  require(!key.name.empty(), "a plugin creator without a name cannot be registered");
  return key;
}

// The object begins with the address of its class's table of functions.
Origin origin_of(const nvinfer1::IPluginCreatorInterface& creator) {
  Dl_info its{}, ours{};
  const void* const table = *reinterpret_cast<const void* const*>(&creator);
  if (dladdr(table, &its) == 0 || dladdr(reinterpret_cast<const void*>(&origin_of), &ours) == 0)
    return {};
  return {its.dli_fbase == ours.dli_fbase, text_or_empty(its.dli_fname)};
}

}  // namespace tenon
