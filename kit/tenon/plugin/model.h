/// A plugin struct behind an interface, so that the adapters are compiled once for all plugins.
#pragma once

#include <algorithm>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tenon/plugin/entry.h"
#include "tenon/plugin/shapes.h"
#include "tenon/plugin/stored_attributes.h"

namespace tenon {
namespace kit {

class __attribute__((visibility("hidden"))) Model {
 public:
  virtual ~Model() = default;
  virtual std::unique_ptr<Model> copy() const = 0;
  virtual StoredAttributes stored() const = 0;
  /// The plugin struct.
  virtual const void* object() const = 0;
  virtual int output_count() const = 0;
  virtual void shapes(const ShapeQuery& query, std::span<Extents> out) const = 0;
  virtual void check(std::span<const Shape> in) const = 0;
};

template <class P>
concept ShapesTakeQuery =
    requires(const P& p, const ShapeQuery& query, std::span<Extents> out) { p.shapes(query, out); };

template <class P> class __attribute__((visibility("hidden"))) ModelOf final : public Model {
 public:
  explicit ModelOf(P plugin) : plugin_(std::move(plugin)) {}
  static std::unique_ptr<Model> create(const PluginFieldCollection* fields,
                                       const std::string& label) {
    return std::make_unique<ModelOf>(parse<P>(fields, label));
  }

  std::unique_ptr<Model> copy() const override { return std::make_unique<ModelOf>(plugin_); }
  StoredAttributes stored() const override { return StoredAttributes(plugin_); }
  const void* object() const override { return &plugin_; }
  int output_count() const override {
    if constexpr (requires { plugin_.output_count(); })
      return std::clamp<int>(plugin_.output_count(), P::spec.outputs.min_count(),
                             P::spec.outputs.max_count());
    else
      return P::spec.outputs.min_count();
  }
  void shapes(const ShapeQuery& query, std::span<Extents> out) const override {
    if constexpr (ShapesTakeQuery<P>)
      plugin_.shapes(query, out);
    else if constexpr (requires { plugin_.shapes(query.in, out); })
      plugin_.shapes(query.in, out);
    else
      for (Extents& o : out) o = query.in.front();
  }
  void check(std::span<const Shape> in) const override {
    if constexpr (requires { plugin_.check(in); }) plugin_.check(in);
  }

 private:
  P plugin_;
};

template <class P> constexpr bool has_valid_ports() {
  const auto valid = [](const Ports& ports, bool is_input) {
    int repeated = 0, optional = 0;
    bool follows_t = false;
    for (int i = 0; i < ports.count; ++i) {
      const Port& port = ports[static_cast<size_t>(i)];
      const bool is_one = port.types != 0 && (port.types & (port.types - 1)) == 0;
      if (!is_one || (port.types == kAny && !is_input)) return false;
      follows_t |= port.types == kT;
      if (port.types == kReal && (!is_input || !follows_t)) return false;
      if (port.types == kU && !requires { typename P::U; }) return false;
      repeated += port.presence == Presence::kRepeated;
      optional += port.presence == Presence::kOptional;
      if (port.presence != Presence::kOptional && optional > 0) return false;
    }
    return repeated <= 1 && (repeated == 0 || optional == 0);
  };
  return valid(P::spec.inputs, true) && valid(P::spec.outputs, false)
         && P::spec.outputs.min_count() > 0;
}

}  // namespace kit
}  // namespace tenon
