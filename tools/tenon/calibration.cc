#include "calibration.h"

#include <NvInfer.h>

#include "error.h"
#include "npz.h"

namespace tenon::tool {
namespace {

using nvinfer1::OptProfileSelector;

class CacheReader final : public nvinfer1::IInt8EntropyCalibrator2 {
 public:
  explicit CacheReader(const std::string& path) : cache_(read_file(path)) {
    if (cache_.empty()) fail("--calib: {}: is empty", path);
  }
  int32_t getBatchSize() const noexcept override { return 1; }
  bool getBatch(void**, const char**, int32_t) noexcept override { return false; }
  const void* readCalibrationCache(size_t& length) noexcept override {
    length = cache_.size();
    return cache_.data();
  }
  void writeCalibrationCache(const void*, size_t) noexcept override {}

 private:
  std::vector<std::byte> cache_;
};

// The profile's shapes stand in for those of --optShapesCalib.
ProfileOptions shapes_of(const BuildOptions& options) {
  const auto index = static_cast<size_t>(options.calibration_profile);
  if (options.calibration_profile < 0 || index >= options.profiles.size())
    fail("--calibProfile={}: there are {} profiles, numbered from 0", options.calibration_profile,
         options.profiles.size());
  ProfileOptions shapes = options.calibration_shapes;
  if (shapes.opt.empty() && (!shapes.min.empty() || !shapes.max.empty()))
    fail("--optShapesCalib: is not given, and --minShapesCalib or --maxShapesCalib is");
  if (shapes.opt.empty()) shapes.opt = options.profiles[index].opt;
  if (shapes.opt.empty()) shapes.opt = options.shapes;
  if (shapes.min.empty()) shapes.min = shapes.opt;
  if (shapes.max.empty()) shapes.max = shapes.opt;
  return shapes;
}

void set_profile(session::Model& model, const BuildOptions& options) {
  const ProfileOptions texts = shapes_of(options);
  nvinfer1::IOptimizationProfile* profile = model.builder->createOptimizationProfile();
  for (const auto& [option, text, selector] :
       {std::tuple("--minShapesCalib", &texts.min, OptProfileSelector::kMIN),
        std::tuple("--optShapesCalib", &texts.opt, OptProfileSelector::kOPT),
        std::tuple("--maxShapesCalib", &texts.max, OptProfileSelector::kMAX)}) {
    const Shapes shapes = parse_shapes(option, *text);
    std::vector<std::string> names;
    for (const nvinfer1::ITensor* input : model.varying_inputs()) {
      names.emplace_back(input->getName());
      const auto shape = shapes.find(input->getName());
      if (input->isShapeTensor()) continue;
      if (shape == shapes.end())
        fail("{}: gives no shape for input '{}'", option, input->getName());
      profile->setDimensions(input->getName(), selector,
                             value_or_fail(session::to_dims(shape->second)));
    }
    for (const auto& [name, shape] : shapes) check_name(name, names, "dynamic input");
  }
  model.config->setCalibrationProfile(profile);
}

}  // namespace

Calibration::Calibration(session::Model& model, const BuildOptions& options) {
  if (options.calibration_cache.empty()) return;
  calibrator_ = std::make_unique<CacheReader>(options.calibration_cache);
  model.config->setInt8Calibrator(calibrator_.get());
  if (!model.varying_inputs().empty()) set_profile(model, options);
}

}  // namespace tenon::tool
