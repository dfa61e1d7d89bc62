#include "plan/profiles.h"

namespace tenon {
namespace {

bool is_dynamic(const Value& input) {
  for (int64_t extent : input.declared)
    if (extent < 0) return true;
  return false;
}

void check_shape(const Value& input, const Shape& shape, const char* point) {
  require(shape.rank() == input.declared.rank(),
          "profile of input '{}': the {} shape {} has {} dimensions; the network has {}",
          input.name, point, shape, shape.rank(), input.declared.rank());
  for (int axis = 0; axis < shape.rank(); ++axis)
    require(shape[axis] >= 0 && (input.declared[axis] < 0 || input.declared[axis] == shape[axis]),
            "profile of input '{}': the {} shape {} has extent {} on axis {}; the network fixes {}",
            input.name, point, shape, shape[axis], axis, input.declared[axis]);
}

PlanProfile::Range resolve_range(const Value& input, const ProfileRequest::Range* given,
                                 bool is_shape, size_t profile) {
  PlanProfile::Range range;
  if (is_dynamic(input)) {
    if (given == nullptr || !given->min || !given->opt || !given->max)
      fail(ErrorClass::kProfile,
           "input '{}' has extents known only at run time ({}) and profile {} does not give its "
           "minimum, optimum and maximum shape: call IOptimizationProfile::setDimensions for kMIN, "
           "kOPT and kMAX, or pass --minShapes, --optShapes and --maxShapes",
           input.name, input.declared, profile);
    range = {*given->min, *given->opt, *given->max, {}, {}, {}};
  } else {
    range = {input.declared, input.declared, input.declared, {}, {}, {}};
    if (given != nullptr) {
      if (given->min) range.min = *given->min;
      if (given->opt) range.opt = *given->opt;
      if (given->max) range.max = *given->max;
    }
  }
  check_shape(input, range.min, "minimum");
  check_shape(input, range.opt, "optimum");
  check_shape(input, range.max, "maximum");
  for (int axis = 0; axis < range.opt.rank(); ++axis)
    require(range.min[axis] <= range.opt[axis] && range.opt[axis] <= range.max[axis],
            "profile of input '{}': expected min <= opt <= max, found {}, {}, {}", input.name,
            range.min, range.opt, range.max);
  if (!is_shape) return range;
  const auto count = static_cast<size_t>(range.opt.volume());
  const bool complete = given != nullptr && given->min_values.size() == count
                        && given->opt_values.size() == count && given->max_values.size() == count;
  if (!complete)
    fail(ErrorClass::kProfile,
         "input '{}' decides shapes and profile {} does not give its {} minimum, optimum and "
         "maximum "
         "values: call IOptimizationProfile::setShapeValues",
         input.name, profile, count);
  range.min_values = given->min_values;
  range.opt_values = given->opt_values;
  range.max_values = given->max_values;
  return range;
}

}  // namespace

std::vector<PlanProfile> resolve_profiles(const Network& network,
                                          const std::vector<ProfileRequest>& requests,
                                          const std::vector<bool>& is_shape) {
  std::vector<ProfileRequest> given = requests;
  if (given.empty()) given.emplace_back();
  std::vector<PlanProfile> profiles;
  for (size_t p = 0; p < given.size(); ++p) {
    for (const auto& [name, range] : given[p].inputs) {
      bool found = false;
      for (const Value* input : network.inputs()) found |= input->name == name;
      require(found, "profile {} names input '{}', which the network does not have", p, name);
    }
    PlanProfile profile;
    for (size_t i = 0; i < network.inputs().size(); ++i) {
      const Value& input = *network.inputs()[i];
      const auto it = given[p].inputs.find(input.name);
      profile.inputs.push_back(resolve_range(
          input, it == given[p].inputs.end() ? nullptr : &it->second, is_shape[i], p));
    }
    profiles.push_back(std::move(profile));
  }
  return profiles;
}

std::vector<SymbolValue> symbols_at(const Plan& plan, const PlanProfile& profile,
                                    ProfilePoint point) {
  std::vector<Shape> shapes;
  std::vector<std::vector<int64_t>> elements;
  for (const PlanProfile::Range& r : profile.inputs) {
    const bool min = point == ProfilePoint::kMin, opt = point == ProfilePoint::kOpt;
    shapes.push_back(min ? r.min : opt ? r.opt : r.max);
    elements.push_back(min ? r.min_values : opt ? r.opt_values : r.max_values);
  }
  return symbol_values(plan, shapes, elements);
}

}  // namespace tenon
