#include "api/optimization_profile.h"

namespace tenon {
namespace {

using nvinfer1::OptProfileSelector;

constexpr std::array<const char*, 3> kPoints = {"minimum", "optimum", "maximum"};

size_t point(OptProfileSelector selector) {
  return static_cast<size_t>(checked(selector));
}

// Each of the points that are known is at most the next one.
template <class List>
std::string order_problem(const std::string& name, const char* what,
                          const std::array<const List*, 3>& points) {
  for (size_t a = 0; a < 3; ++a)
    for (size_t b = a + 1; b < 3; ++b) {
      if (points[a] == nullptr || points[b] == nullptr) continue;
      const auto low = std::span(points[a]->begin(), points[a]->end());
      const auto high = std::span(points[b]->begin(), points[b]->end());
      if (low.size() != high.size())
        return fmt::format("input '{}': {} and {} {} have different lengths", name, kPoints[a],
                           kPoints[b], what);
      for (size_t i = 0; i < low.size(); ++i)
        if (low[i] > high[i])
          return fmt::format("input '{}': the {} {} [{}] exceed the {} [{}]", name, kPoints[a],
                             what, fmt::join(low, ", "), kPoints[b], fmt::join(high, ", "));
    }
  return "";
}

std::string shape_problem(const std::string& name, const ProfileData::Input& input) {
  std::array<const Shape*, 3> shapes{};
  for (size_t i = 0; i < 3; ++i) shapes[i] = input.shapes[i] ? &*input.shapes[i] : nullptr;
  return order_problem(name, "dimensions", shapes);
}

std::string value_problem(const std::string& name, const ProfileData::Input& input) {
  std::array<const std::vector<int64_t>*, 3> values{};
  for (size_t i = 0; i < 3; ++i) values[i] = input.values[i].empty() ? nullptr : &input.values[i];
  return order_problem(name, "shape values", values);
}

}  // namespace

std::string ProfileData::problem() const {
  for (const auto& [name, input] : inputs) {
    size_t shapes = 0, values = 0;
    for (size_t i = 0; i < 3; ++i) {
      shapes += input.shapes[i].has_value();
      values += !input.values[i].empty();
    }
    if (shapes % 3 != 0 || values % 3 != 0)
      return fmt::format("input '{}' lacks some of kMIN, kOPT and kMAX", name);
    if (const auto wrong = shape_problem(name, input); !wrong.empty()) return wrong;
    if (const auto wrong = value_problem(name, input); !wrong.empty()) return wrong;
  }
  return "";
}

ProfileRequest ProfileData::request() const {
  ProfileRequest request;
  for (const auto& [name, input] : inputs)
    request.inputs[name] = {input.shapes[0], input.shapes[1], input.shapes[2],
                            input.values[0], input.values[1], input.values[2]};
  return request;
}

OptimizationProfile::OptimizationProfile(const Reporter& reporter)
    : Live(this, this), reporter_(reporter), data_(std::make_shared<ProfileData>()) {
  mImpl = this;
}

ProfileData::Input& OptimizationProfile::input(const char* name) {
  require(name != nullptr && *name != '\0', "the input name is empty");
  return data_->inputs[name];
}

const ProfileData::Input* OptimizationProfile::find_input(const char* name) const noexcept {
  if (name == nullptr) return nullptr;
  const auto found = data_->inputs.find(name);
  return found == data_->inputs.end() ? nullptr : &found->second;
}

bool OptimizationProfile::setDimensions(const char* inputName, OptProfileSelector selector,
                                        const nvinfer1::Dims& dimensions) noexcept {
  return reporter_.run([&] {
    const Shape shape(dimensions);
    for (int64_t extent : shape)
      require(extent >= 0, "input '{}': the dimensions {} hold {}",
              inputName != nullptr ? inputName : "", shape, extent);
    const size_t at = point(selector);
    ProfileData::Input& ours = input(inputName);
    ProfileData::Input changed = ours;
    changed.shapes[at] = shape;
    const std::string wrong = shape_problem(inputName, changed);
    require(wrong.empty(), "{}", wrong);
    ours = std::move(changed);
  });
}

nvinfer1::Dims OptimizationProfile::getDimensions(const char* inputName,
                                                  OptProfileSelector selector) const noexcept {
  return reporter_.guard(nvinfer1::Dims{-1, {}}, [&] {
    const ProfileData::Input* ours = find_input(inputName);
    const size_t at = point(selector);
    return ours != nullptr && ours->shapes[at] ? ours->shapes[at]->dims() : nvinfer1::Dims{-1, {}};
  });
}

void OptimizationProfile::set_values(const char* name, OptProfileSelector selector,
                                     std::vector<int64_t> values) {
  const size_t at = point(selector);
  ProfileData::Input& ours = input(name);
  ProfileData::Input changed = ours;
  changed.values[at] = std::move(values);
  changed.int32_values[at].clear();
  for (int64_t v : changed.values[at])
    changed.int32_values[at].push_back(
        static_cast<int32_t>(std::clamp<int64_t>(v, INT32_MIN, INT32_MAX)));
  const std::string wrong = value_problem(name, changed);
  require(wrong.empty(), "{}", wrong);
  ours = std::move(changed);
}

bool OptimizationProfile::setShapeValues(const char* inputName, OptProfileSelector selector,
                                         const int32_t* values, int32_t nbValues) noexcept {
  return reporter_.run([&] {
    require(values != nullptr && nbValues > 0, "{} values were given", nbValues);
    set_values(inputName, selector, {values, values + nbValues});
  });
}

bool OptimizationProfile::setShapeValuesV2(const char* inputName, OptProfileSelector selector,
                                           const int64_t* values, int32_t nbValues) noexcept {
  return reporter_.run([&] {
    require(values != nullptr && nbValues > 0, "{} values were given", nbValues);
    set_values(inputName, selector, {values, values + nbValues});
  });
}

int32_t OptimizationProfile::getNbShapeValues(const char* inputName) const noexcept {
  const ProfileData::Input* ours = find_input(inputName);
  if (ours == nullptr) return -1;
  for (const auto& values : ours->values)
    if (!values.empty()) return static_cast<int32_t>(values.size());
  return -1;
}

const int32_t* OptimizationProfile::getShapeValues(const char* inputName,
                                                   OptProfileSelector selector) const noexcept {
  return reporter_.guard<const int32_t*>(nullptr, [&]() -> const int32_t* {
    const ProfileData::Input* ours = find_input(inputName);
    const size_t at = point(selector);
    return ours != nullptr && !ours->values[at].empty() ? ours->int32_values[at].data() : nullptr;
  });
}

const int64_t* OptimizationProfile::getShapeValuesV2(const char* inputName,
                                                     OptProfileSelector selector) const noexcept {
  return reporter_.guard<const int64_t*>(nullptr, [&]() -> const int64_t* {
    const ProfileData::Input* ours = find_input(inputName);
    const size_t at = point(selector);
    return ours != nullptr && !ours->values[at].empty() ? ours->values[at].data() : nullptr;
  });
}

bool OptimizationProfile::setExtraMemoryTarget(float target) noexcept {
  if (!(target >= 0 && target <= 1)) return false;
  data_->extra_memory = target;
  return true;
}

bool OptimizationProfile::isValid() const noexcept {
  return reporter_.guard(false, [&] { return data_->problem().empty(); });
}

}  // namespace tenon
