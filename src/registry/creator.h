// What plugin creators say of themselves, whoever compiled them.
#pragma once

#include <NvInferRuntime.h>

#include <string>

namespace tenon {

enum class CreatorKind { kV1, kV3, kUnknown };

CreatorKind kind_of(const nvinfer1::IPluginCreatorInterface& creator);

/// What a creator is found by.
struct PluginKey {
  std::string name_space, name, version;
  auto operator<=>(const PluginKey&) const = default;

  /// plugin "NAME" version "VERSION" in namespace "NAMESPACE"
  std::string text() const;
};

/// What the creator calls its plugin. Throws when it is of another TensorRT, of no known kind, or
/// without a name.
PluginKey key_of(nvinfer1::IPluginCreatorInterface& creator);

/// The program or library that a creator was compiled into.
struct Origin {
  bool is_ours = false;  // that of the registry
  std::string file;
};
Origin origin_of(const nvinfer1::IPluginCreatorInterface& creator);

}  // namespace tenon
