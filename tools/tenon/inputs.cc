#include "inputs.h"

#include <algorithm>
#include <random>

#include "error.h"

namespace tenon::tool {

std::unique_ptr<session::Session> make_session(nvinfer1::ICudaEngine& engine, Logger& logger,
                                               int32_t profile) {
  const int32_t count = engine.getNbOptimizationProfiles();
  if (profile < 0 || profile >= count)
    fail("--useProfile={}: the engine has {} profile{}, numbered from 0", profile, count,
         count == 1 ? "" : "s");
  return value_or_fail(session::Session::make(engine, logger, profile));
}

void set_inputs(session::Session& session, const Arrays& arrays, const Shapes& shapes) {
  const auto inputs = session.input_names();
  for (const auto& [name, array] : arrays) check_name(name, inputs, "input");
  Shapes wanted, values;
  for (const auto& [name, numbers] : shapes) {
    check_name(name, inputs, "input");
    const auto i = static_cast<size_t>(session.context().find(name));
    (session.context().tensors()[i].decides_shapes ? values : wanted)[name] = numbers;
  }
  for (const auto& [name, array] : arrays)
    if (const auto entry = wanted.try_emplace(name, array.shape).first;
        entry->second != array.shape)
      fail(
          "input '{}' gets data of shape {}, and --shapes says {}: leave out --shapes, or change "
          "the data",
          name, session::shape_text(array.shape), session::shape_text(entry->second));
  if (const auto done = session.set_shapes(wanted); !done) {
    const int32_t profiles = session.context().engine().getNbOptimizationProfiles();
    throw Failure(profiles == 1
                      ? done.error()
                      : fmt::format("{}; the engine has {} profiles, and --useProfile chooses one",
                                    done.error(), profiles));
  }
  value_or_fail(session.set_values(arrays, values));
}

void fill_with_noise(session::Session& session) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> noise(0, 1);
  for (const std::string& name : session.zero_filled()) {
    Array& array = session.inputs().at(name);
    if (array.type != nvinfer1::DataType::kFLOAT) continue;
    std::generate_n(array.as<float>(), array.count(), [&] { return noise(random); });
  }
}

}  // namespace tenon::tool
