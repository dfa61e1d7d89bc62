#include "calibration.h"

#include <NvInfer.h>
#include <tenon/build.h>

#include <filesystem>
#include <span>
#include <string_view>

#include "builder_settings.h"
#include "calibration_data.h"
#include "error.h"
#include "npz.h"

namespace tenon::tool {
namespace {

using nvinfer1::CalibrationAlgoType;
using nvinfer1::OptProfileSelector;

CalibrationAlgoType kind_of(const std::string& algorithm) {
  if (algorithm == "entropy") return CalibrationAlgoType::kENTROPY_CALIBRATION;
  if (algorithm == "minmax") return CalibrationAlgoType::kMINMAX_CALIBRATION;
  return CalibrationAlgoType::kENTROPY_CALIBRATION_2;
}

// Of the cache's first line; what is none, the builder refuses.
CalibrationAlgoType kind_of_cache(std::span<const std::byte> cache) {
  std::string_view line(reinterpret_cast<const char*>(cache.data()), cache.size());
  line = line.substr(0, line.find_first_of("\r\n"));
  if (line.ends_with("-EntropyCalibration")) return CalibrationAlgoType::kENTROPY_CALIBRATION;
  if (line.ends_with("-MinMaxCalibration")) return CalibrationAlgoType::kMINMAX_CALIBRATION;
  if (line.ends_with("-LegacyCalibration")) return CalibrationAlgoType::kLEGACY_CALIBRATION;
  return CalibrationAlgoType::kENTROPY_CALIBRATION_2;
}

bool is_quantized(const nvinfer1::INetworkDefinition& network) {
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    const nvinfer1::LayerType type = network.getLayer(i)->getType();
    if (type == nvinfer1::LayerType::kQUANTIZE || type == nvinfer1::LayerType::kDEQUANTIZE)
      return true;
  }
  return false;
}

// As trtexec does, so that int8 can be timed without data.
void set_placeholders(nvinfer1::INetworkDefinition& network, Logger& logger) {
  constexpr float kOfInputs = 2, kOfResults = 4;
  const auto set = [](nvinfer1::ITensor* tensor, float range) {
    if (tensor != nullptr && !tensor->dynamicRangeIsSet()) tensor->setDynamicRange(-range, range);
  };
  for (int32_t i = 0; i < network.getNbLayers(); ++i) {
    const nvinfer1::ILayer& layer = *network.getLayer(i);
    const bool pools = layer.getType() == nvinfer1::LayerType::kPOOLING;
    for (int32_t k = 0; k < layer.getNbInputs(); ++k) set(layer.getInput(k), kOfInputs);
    for (int32_t k = 0; k < layer.getNbOutputs(); ++k)
      set(layer.getOutput(k), pools ? kOfInputs : kOfResults);
  }
  logger.log(nvinfer1::ILogger::Severity::kWARNING,
             "int8 without --calib or --calibData: ranges of tensors are placeholders, good for "
             "measuring time and not for results");
}

// The profile's shapes stand in for those of --optShapesCalib.
ProfileOptions shapes_of(const BuildOptions& options) {
  const int profile = options.calibration_profile.value_or(0);
  const auto index = static_cast<size_t>(profile);
  if (profile < 0 || index >= options.profiles.size())
    fail(ErrorClass::kOptions, "--calibProfile={}: there are {} profiles, numbered from 0", profile,
         options.profiles.size());
  ProfileOptions shapes = options.calibration_shapes;
  if (shapes.opt.empty() && (!shapes.min.empty() || !shapes.max.empty()))
    fail(ErrorClass::kOptions,
         "--optShapesCalib: is not given, and --minShapesCalib or --maxShapesCalib is");
  if (shapes.opt.empty()) shapes.opt = options.profiles[index].opt;
  if (shapes.opt.empty()) shapes.opt = options.shapes;
  if (shapes.min.empty()) shapes.min = shapes.opt;
  if (shapes.max.empty()) shapes.max = shapes.opt;
  return shapes;
}

// The shapes of varying inputs. What the data is of stands in for those that nothing gives.
session::Shapes varying_shapes(const session::Model& model, const char* option,
                               const std::string& text, const CalibrationData* data) {
  session::Shapes shapes = parse_shapes(option, text);
  std::vector<std::string> names;
  for (const nvinfer1::ITensor* input : model.varying_inputs()) {
    const std::string name = input->getName();
    names.push_back(name);
    if (input->isShapeTensor() || shapes.contains(name)) continue;
    if (data == nullptr)
      fail(ErrorClass::kOptions, "{}: gives no shape for input '{}'", option, name);
    shapes[name] = data->sample_shape(name);
  }
  for (const auto& [name, shape] : shapes) check_name(name, names, "dynamic input");
  return shapes;
}

void add_fixed_shapes(const nvinfer1::INetworkDefinition& network, session::Shapes& shapes) {
  for (int32_t i = 0; i < network.getNbInputs(); ++i) {
    const nvinfer1::ITensor& input = *network.getInput(i);
    shapes.try_emplace(input.getName(), session::to_shape(input.getDimensions()));
  }
}

}  // namespace

CalibrationData open_samples(const session::Model& model, const std::string& path,
                             const BuildOptions& options, session::Memory::Kind memory) {
  std::vector<const nvinfer1::ITensor*> inputs;
  for (int32_t i = 0; i < model.network->getNbInputs(); ++i)
    inputs.push_back(model.network->getInput(i));
  CalibrationData data(path, std::move(inputs), memory, options.calibration_pictures);
  session::Shapes batch = varying_shapes(model, "--optShapesCalib", shapes_of(options).opt, &data);
  add_fixed_shapes(*model.network, batch);
  data.set_shapes(std::move(batch));
  return data;
}

class Calibration::Calibrator final : public nvinfer1::IInt8EntropyCalibrator2 {
 public:
  Calibrator(session::Model& model, const BuildOptions& options, Logger& logger)
      : model_(model),
        kind_(kind_of(options.calibration_algorithm)),
        path_(options.calibration_cache),
        logger_(logger) {
    const bool has_data = !options.calibration_data.empty();
    if (!path_.empty() && (!has_data || std::filesystem::exists(path_))) {
      cache_ = read_file(path_);
      if (cache_.empty()) fail(ErrorClass::kContent, "--calib: {}: is empty", path_);
      if (options.calibration_algorithm.empty()) kind_ = kind_of_cache(cache_);
    } else {
      open(options);
    }
    const ProfileOptions texts = shapes_of(options);
    set_profile(texts);
  }

  int32_t getBatchSize() const noexcept override { return 1; }  // the profile says it
  CalibrationAlgoType getAlgorithm() noexcept override { return kind_; }

  bool getBatch(void** bindings, const char**, int32_t) noexcept override {
    if (!data_) return false;
    try {
      return data_->next(bindings);
    } catch (const std::exception& e) {
      logger_.log(nvinfer1::ILogger::Severity::kERROR, e.what());
      std::fill_n(bindings, model_.network->getNbInputs(), nullptr);  // ends the build
      return true;
    }
  }
  const void* readCalibrationCache(size_t& length) noexcept override {
    length = cache_.size();
    return cache_.empty() ? nullptr : cache_.data();
  }
  void writeCalibrationCache(const void* data, size_t length) noexcept override {
    found_.assign(static_cast<const char*>(data), length);
  }

  const std::string& found() const { return found_; }
  const session::Shapes& shapes() const { return batch_; }

  void save() const {
    if (data_ && data_->left_out() > 0)
      logger_.log(nvinfer1::ILogger::Severity::kWARNING,
                  fmt::format("--calibData: {} samples at the ends of files did not fill a batch",
                              data_->left_out())
                      .c_str());
    if (!path_.empty() && !found_.empty()) write_file(path_, found_.data(), found_.size());
  }

 private:
  void open(const BuildOptions& options) {
    if (options.calibration_pictures != PictureSampleOptions()
        && !holds_pictures(options.calibration_data))
      fail(ErrorClass::kOptions,
           "--calibFit, --calibMean and the like: say how pictures fill an input, and --calibData "
           "{} holds none: remove them",
           options.calibration_data);
    using Kind = session::Memory::Kind;
    data_ = open_samples(model_, options.calibration_data, options,
                         builds_for_gpu(options, logger_) ? Kind::kDevice : Kind::kPinned);
    if (options.calibration_algorithm == "percentile" || options.calibration_algorithm.empty())
      set_calibration_search(*model_.config, CalibrationSearch::kPercentile);
    if (options.calibration_algorithm == "mse")
      set_calibration_search(*model_.config, CalibrationSearch::kMeanSquaredError);
  }

  void set_profile(const ProfileOptions& texts) {
    nvinfer1::IOptimizationProfile* profile = model_.builder->createOptimizationProfile();
    for (const auto& [option, text, selector] :
         {std::tuple("--minShapesCalib", &texts.min, OptProfileSelector::kMIN),
          std::tuple("--maxShapesCalib", &texts.max, OptProfileSelector::kMAX),
          std::tuple("--optShapesCalib", &texts.opt, OptProfileSelector::kOPT)}) {
      batch_ = varying_shapes(model_, option, *text, data_ ? &*data_ : nullptr);
      for (const auto& [name, shape] : batch_)
        profile->setDimensions(name.c_str(), selector, value_or_fail(session::to_dims(shape)));
    }
    if (!batch_.empty()) model_.config->setCalibrationProfile(profile);
    if (data_) add_fixed_shapes(*model_.network, batch_);
  }

  session::Model& model_;
  CalibrationAlgoType kind_;
  std::string path_;
  Logger& logger_;
  std::vector<std::byte> cache_;
  std::optional<CalibrationData> data_;
  session::Shapes batch_;  // of the data
  std::string found_;
};

Calibration::Calibration(session::Model& model, const BuildOptions& options, Logger& logger) {
  const ProfileOptions& shapes = options.calibration_shapes;
  if (!options.calibration_cache.empty() || !options.calibration_data.empty()) {
    calibrator_ = std::make_unique<Calibrator>(model, options, logger);
    model.config->setInt8Calibrator(calibrator_.get());
    return;
  }
  if (!shapes.min.empty() || !shapes.opt.empty() || !shapes.max.empty()
      || options.calibration_profile)
    fail(ErrorClass::kOptions,
         "--minShapesCalib, --optShapesCalib, --maxShapesCalib and --calibProfile: are shapes of "
         "--calib or --calibData, and neither is given");
  if ((options.int8 || options.best) && !options.strongly_typed && !is_quantized(*model.network))
    set_placeholders(*model.network, logger);
}

Calibration::~Calibration() = default;

std::string Calibration::found() const {
  return calibrator_ != nullptr ? calibrator_->found() : std::string();
}

session::Shapes Calibration::shapes() const {
  return calibrator_ != nullptr ? calibrator_->shapes() : session::Shapes();
}

void Calibration::save() const {
  if (calibrator_ != nullptr) calibrator_->save();
}

}  // namespace tenon::tool
