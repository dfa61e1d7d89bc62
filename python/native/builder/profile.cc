// IOptimizationProfile: the ranges of shapes that an engine is built for.
#include <NvInfer.h>
#include <nanobind/stl/vector.h>

#include <span>
#include <string>

#include "bind.h"
#include "dims.h"
#include "engine_call.h"
#include "keep.h"

namespace tenon::python {
namespace {

using nvinfer1::Dims;
using nvinfer1::IOptimizationProfile;
using Selector = nvinfer1::OptProfileSelector;

constexpr std::pair<Selector, const char*> kSelectorNames[] = {
    {Selector::kMIN, "min"}, {Selector::kOPT, "opt"}, {Selector::kMAX, "max"}};

[[noreturn]] void refuse(const char* what, const char* input, const char* which) {
  throw std::runtime_error(std::string(what) + " of input '" + input + "': `" + which
                           + "` does not agree with the others; the log says how");
}

using Shape = Given<Dims>;

void set_shape(IOptimizationProfile& profile, const char* input, const Shape& min, const Shape& opt,
               const Shape& max) {
  const Dims* const shapes[] = {&min.get(), &opt.get(), &max.get()};
  for (const auto& [selector, name] : kSelectorNames)
    if (!into_engine([&] {
          return profile.setDimensions(input, selector, *shapes[static_cast<int>(selector)]);
        }))
      refuse("the shapes", input, name);
}

std::vector<Dims> profile_shapes(const IOptimizationProfile& profile, const char* input) {
  std::vector<Dims> shapes;
  for (const auto& [selector, name] : kSelectorNames) {
    shapes.push_back(profile.getDimensions(input, selector));
    if (shapes.back().nbDims < 0) return {};
  }
  return shapes;
}

using Values = Given<ShapeValues>;

void set_profile_shape_input(IOptimizationProfile& profile, const char* input, const Values& min,
                             const Values& opt, const Values& max) {
  const ShapeValues* const values[] = {&min.get(), &opt.get(), &max.get()};
  for (const auto& [selector, name] : kSelectorNames) {
    const ShapeValues& v = *values[static_cast<int>(selector)];
    if (!into_engine([&] {
          return profile.setShapeValuesV2(input, selector, v.data(),
                                          static_cast<int32_t>(v.size()));
        }))
      refuse("the values", input, name);
  }
}

std::vector<ShapeValues> get_shape_input(const IOptimizationProfile& profile, const char* input) {
  std::vector<ShapeValues> result;
  const int32_t count = profile.getNbShapeValues(input);
  for (const auto& [selector, name] : kSelectorNames) {
    const int64_t* const values = profile.getShapeValuesV2(input, selector);
    if (values == nullptr || count < 0) return {};
    result.emplace_back(values, values + count);
  }
  return result;
}

}  // namespace

void bind_profile(nb::module_& m) {
  nb::class_<IOptimizationProfile>(
      m, "IOptimizationProfile", nb::type_slots(kKeeper),
      "The smallest, usual and largest shape of each input; Builder.create_optimization_profile() "
      "makes one.")
      .def("set_shape", &set_shape, nb::arg("input"), nb::arg("min"), nb::arg("opt"),
           nb::arg("max"),
           "Sets the shapes of an input. RuntimeError if they differ in rank or decrease.")
      .def("get_shape", &profile_shapes, nb::arg("input"),
           "The three shapes of an input; an empty list if they were not set.")
      .def("set_shape_input", &set_profile_shape_input, nb::arg("input"), nb::arg("min"),
           nb::arg("opt"), nb::arg("max"),
           "Sets the values of a shape input, one per element. RuntimeError if they decrease.")
      .def("get_shape_input", &get_shape_input, nb::arg("input"),
           "The three lists of values of a shape input; an empty list if they were not set.")
      .def_prop_rw(
          "extra_memory_target", engine_call(&IOptimizationProfile::getExtraMemoryTarget),
          [](IOptimizationProfile& profile, float target) {
            if (!profile.setExtraMemoryTarget(target))
              throw nb::value_error("extra_memory_target must be from 0 to 1");
          },
          "How much more memory than needed may be used, from 0 to 1.")
      .def("__bool__", engine_call(&IOptimizationProfile::isValid));
}

}  // namespace tenon::python
