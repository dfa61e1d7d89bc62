/// TENON_PLUGIN(P): makes a plugin known to the engine's registry when its library is loaded.
#pragma once

#include "tenon/plugin/adapter_v2.h"
#include "tenon/plugin/adapter_v3.h"

namespace tenon {
namespace kit {

#if defined(__CUDACC__)
template <class P> bool register_plugin() {
  entries()[key_of(P::spec)].cuda = &launch<P>;
  return true;
}
#else
template <class P> bool register_plugin() {
  static_assert(has_valid_ports<P>(),
                "a port has one type, kT, or (inputs only) kAny; there is at least one output");
  static CreatorV2<P> v2;
  static CreatorV3<P> v3;
  Entry& entry = entries()[key_of(P::spec)];
  entry.cpu = &launch<P>;
  entry.v2 = &v2;
  entry.v3 = &v3;
  entry.run_v2 = &PluginV2<P>::run_on_cpu;
  entry.run_v3 = &PluginV3<P>::run_on_cpu;
  entry.types = TypesOf<P>::type::mask;
  if (getPluginRegistry == nullptr) return false;  // a test of the plugin alone
  nvinfer1::IPluginRegistry* registry = getPluginRegistry();
  if (registry == nullptr) return false;
  return P::spec.protocol == Protocol::kV2 ? registry->registerCreator(v2, P::spec.name_space)
                                           : registry->registerCreator(v3, P::spec.name_space);
}
#endif

}  // namespace kit
}  // namespace tenon

#define TENON_PLUGIN(P) \
  [[maybe_unused]] static const bool k##P##Registered = ::tenon::kit::register_plugin<P>()
