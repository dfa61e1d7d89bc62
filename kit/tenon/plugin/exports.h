/// What clients ask of a plugin library that they load, as IPluginRegistry::loadLibrary() does: its
/// creators. They are weak, so that those of several files of a library are one. A library that
/// defines its own defines TENON_KIT_NO_EXPORTS before it includes the kit.
#pragma once

#include "tenon/plugin/register.h"

namespace tenon {
namespace kit {

/// The creators of the library's plugins, one for each name, of the protocol that its Spec names.
__attribute__((visibility("hidden"))) inline std::vector<nvinfer1::IPluginCreatorInterface*>
creators() {
  engine() = find_engine();  // it may have come after the library
  std::vector<nvinfer1::IPluginCreatorInterface*> all;
  for (auto& [key, entry] : entries()) {
    describe(entry);
    all.push_back(entry.spec.protocol == Protocol::kV2 ? entry.v2 : entry.v3);
  }
  return all;
}

}  // namespace kit
}  // namespace tenon

extern "C" {

/// @return the library's creators, which it owns; valid while it is loaded.
TENSORRTAPI __attribute__((weak)) nvinfer1::IPluginCreatorInterface* const* getCreators(
    int32_t& count) noexcept {
  try {
    static const std::vector<nvinfer1::IPluginCreatorInterface*> all = tenon::kit::creators();
    count = static_cast<int32_t>(all.size());
    return all.data();
  } catch (const std::exception& e) {
    tenon::kit::report(e.what());
  }
  count = 0;
  return nullptr;
}

/// Says where errors go under an engine without getLogger().
TENSORRTAPI __attribute__((weak)) void setLoggerFinder(nvinfer1::ILoggerFinder* finder) noexcept {
  tenon::kit::logger_finder() = finder;
}
}
