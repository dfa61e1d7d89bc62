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
///       static constexpr Spec spec{
///           .name = "Twice", .inputs = {{"x", kT}}, .outputs = {{"y", kT}}};
///
///       template <class E> void run(const Device& device, Tensor<const E> x, Tensor<E> y) const {
///         device.parallel_for(x.shape.volume(), [=, f = factor] TENON_DEVICE(int64_t i) {
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
/// - `void shapes(const ShapeQuery& query, std::span<Extents> out) const` instead: for shapes that
///   depend on the values of shape inputs, or on what running finds. Only as IPluginV3.
/// - `void check(std::span<const Shape> in) const`: preconditions; throws std::invalid_argument, as
///   what tenon/plugin/require.h has does.
/// - `void prepare()`: called when the attributes are set; throws std::invalid_argument for those
///   that do not fit, and may set members that follow from them.
/// - `size_t workspace(std::span<const Shape> in, std::span<const Shape> out) const`: bytes wanted
///   at Device::workspace. The CPU's compilation is asked for both targets.
/// - `int output_count() const`: how many outputs there are, where some are optional or repeated.
/// - `using U = Types<int32_t, int64_t>;`: a second type variable, for ports that say kU; run() is
///   then `template <class E, class I> run(...)`.
/// Lists of shapes hold the tensors that are there: none for an optional input that is left out,
/// and all of a repeated one. Exceptions of these functions become errors that name the plugin.
#pragma once

#include "tenon/plugin/attribute.h"
#include "tenon/plugin/convert.h"
#include "tenon/plugin/device.h"
#if !defined(__CUDACC__) && !defined(TENON_KIT_NO_EXPORTS)
#include "tenon/plugin/exports.h"
#endif
#include "tenon/plugin/register.h"
#include "tenon/plugin/require.h"
#include "tenon/plugin/shapes.h"
#include "tenon/plugin/spec.h"
