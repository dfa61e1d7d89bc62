/// Write a TensorRT plugin as one struct: attributes with defaults, ports with types, a shape rule,
/// and `run`. Both plugin protocols (IPluginV2DynamicExt, IPluginV3), their creators, field
/// parsing, serialisation and cloning are derived from it.
///
///     #include <tenon/plugin.h>
///     namespace my::TENON_TARGET {
///     using namespace tenon::kit;
///
///     struct Twice {
///       float factor = 2;
///
///       using T = Types<float, Half>;
///       static constexpr auto attributes = std::tuple{attribute("factor", &Twice::factor)};
///       static constexpr Spec spec{.name = "Twice", .inputs = {{"x", kT}}, .outputs = {{"y",
///       kT}}};
///
///       template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
///         device.parallel_for(x.shape.volume(), [=, f = factor](int64_t i) {
///           y.data[i] = static_cast<E>(static_cast<float>(x.data[i]) * f);
///         });
///       }
///     };
///     TENON_PLUGIN(Twice);
///     }
///
/// What a plugin struct may also have:
/// - `void shapes(std::span<const Extents> in, std::span<Extents> out) const`: the shape rule.
///   Without it every output has the shape of input 0.
/// - `void check(std::span<const Shape> in) const`: preconditions; throws std::invalid_argument.
/// - `size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const`: bytes wanted
///   at Device::workspace.
/// Exceptions of these functions become errors that name the plugin.
#pragma once

#include "tenon/plugin/adapter_v2.h"
#include "tenon/plugin/adapter_v3.h"
#include "tenon/plugin/convert.h"
#include "tenon/plugin/device.h"
#include "tenon/plugin/register.h"
#include "tenon/plugin/spec.h"
