#include "picture_options.h"

#include <fmt/format.h>

#include <cctype>
#include <cmath>
#include <map>

namespace tenon::tool {
namespace {

std::string option_name(const std::string& prefix, std::string name) {
  if (!prefix.ends_with('-')) name[0] = static_cast<char>(std::toupper(name[0]));
  return prefix + name;
}

// One number or three, as CLI11 sees them one by one: their number is checked when all are there.
CLI::Option* add_channels(CLI::App& app, const std::string& name, std::vector<double>& values,
                          bool may_be_zero, const std::string& description) {
  return app
      .add_option_function<std::vector<double>>(
          name,
          [name, may_be_zero, &values](const std::vector<double>& given) {
            if (given.size() != 1 && given.size() != 3)
              throw CLI::ValidationError(
                  name, fmt::format("takes one value or three; {} were given", given.size()));
            for (const double v : given)
              if (!std::isfinite(v) || (v == 0 && !may_be_zero))
                throw CLI::ValidationError(
                    name, fmt::format("{} is not possible; expected finite numbers{}", v,
                                      may_be_zero ? "" : " other than 0"));
            values = given;
          },
          description)
      ->delimiter(',');
}

CLI::Option* add_choice(CLI::App& app, const std::string& name, bool& value, const char* otherwise,
                        const char* set, const std::string& description) {
  return app
      .add_option_function<std::string>(
          name, [set, &value](const std::string& given) { value = given == set; }, description)
      ->check(CLI::IsMember({otherwise, set}));
}

}  // namespace

std::vector<CLI::Option*> PictureOptions::add_to(CLI::App& app, const std::string& prefix) {
  return {add_channels(app, option_name(prefix, "scale"), scale, false,
                       "Tensor = (pixel - mean) * scale; one value or three (default 1/255)"),
          add_channels(app, option_name(prefix, "mean"), mean, true,
                       "Subtracted from pixels; one value or three"),
          add_choice(app, option_name(prefix, "layout"), channels_last, "nchw", "nhwc",
                     "Of pictures in tensors: nchw or nhwc"),
          add_choice(app, option_name(prefix, "color"), bgr, "rgb", "bgr",
                     "Order of a picture's channels: rgb or bgr")};
}

std::vector<CLI::Option*> PictureSampleOptions::add_to(CLI::App& app, const std::string& prefix) {
  std::vector<CLI::Option*> options = PictureOptions::add_to(app, prefix);
  static const std::map<std::string, PictureFit> kFits = {{"resize", PictureFit::kResize},
                                                          {"letterbox", PictureFit::kLetterbox},
                                                          {"crop", PictureFit::kCrop}};
  options.push_back(app.add_option(option_name(prefix, "fit"), fit,
                                   "How pictures fill the input: resize (default), letterbox "
                                   "(their own aspect, with border) or crop (the middle 7/8)")
                        ->transform(CLI::CheckedTransformer(kFits)));
  options.push_back(app.add_option_function<int>(
                           option_name(prefix, "border"),
                           [this](int value) { border = static_cast<uint8_t>(value); },
                           "Grey around letterboxed pictures (default 114)")
                        ->check(CLI::Range(0, 255)));
  return options;
}

}  // namespace tenon::tool
