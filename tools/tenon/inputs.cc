#include "inputs.h"

#include <algorithm>

#include "error.h"

namespace tenon::tool {
namespace {

Array read_raw(const std::string& path, const nvinfer1::ICudaEngine& engine,
               const std::string& name, const Shapes& shapes) {
  const auto it = shapes.find(name);
  const auto shape = it != shapes.end() ? it->second : declared_shape(engine, name);
  for (int64_t extent : shape)
    if (extent < 0)
      fail(ErrorClass::kShape, "--loadInputs: give the shape of input '{}' with --shapes={}:…",
           name, name);
  Array array = value_or_fail(session::make_array(engine.getTensorDataType(name.c_str()), shape));
  const auto bytes = read_file(path);
  const session::Format format(engine.getTensorFormat(name.c_str()));
  const size_t expected = value_or_fail(format.bytes(array.type, shape));
  if (bytes.size() != expected)
    fail(ErrorClass::kContent, "{}: has {} bytes; input '{}' of shape {} takes {}", path,
         bytes.size(), name, session::shape_text(shape), expected);
  value_or_fail(format.unpack(bytes.data(), array));
  return array;
}

}  // namespace

std::string name_or_only(const std::string& name, const std::vector<std::string>& names,
                         const std::string& option, const char* kind) {
  if (!name.empty()) check_name(name, names, kind);
  if (!name.empty()) return name;
  if (names.size() == 1) return names[0];
  fail(ErrorClass::kOptions, "{}: name one of: {} (as {}={}:FILE)", option, fmt::join(names, ", "),
       option, names[0]);
}

session::Shape declared_shape(const nvinfer1::ICudaEngine& engine, const std::string& name) {
  return session::to_shape(engine.getTensorShape(name.c_str()));
}

Arrays read_inputs(const std::string& path) {
  Arrays arrays;
  for (auto& [name, array] : read_npz(path))
    if (!name.starts_with("out:"))
      arrays[name.starts_with("in:") ? name.substr(3) : name] = std::move(array);
  return arrays;
}

Arrays read_inputs(const std::string& path, RunInputs& known) {
  Arrays arrays;
  if (path.empty()) return arrays;
  arrays = read_inputs(path);
  for (const auto& [name, array] : arrays) known.add(name, array);
  return arrays;
}

Shapes run_shapes(const BuildOptions& build, int profile, bool is_built) {
  Shapes shapes = parse_shapes("--shapes", build.shapes);
  const auto at = static_cast<size_t>(profile);
  if (is_built && profile >= 0 && at < build.profiles.size())
    shapes.merge(parse_shapes("--optShapes", build.profiles[at].opt));
  return shapes;
}

Arrays read_raw_inputs(const std::vector<std::string>& texts, const nvinfer1::ICudaEngine& engine,
                       const std::vector<std::string>& inputs, const Shapes& shapes) {
  Arrays arrays;
  for (const std::string& text : texts) {
    const auto [given, path] = split_file(text);
    const std::string name = name_or_only(given, inputs, "--loadInputs", "input");
    arrays[name] = read_raw(path, engine, name, shapes_of_inputs(shapes, inputs));
  }
  return arrays;
}

std::unique_ptr<session::Session> make_session(nvinfer1::ICudaEngine& engine, Logger& logger,
                                               const session::SessionOptions& options) {
  const int32_t profile = options.profile;
  const int32_t count = engine.getNbOptimizationProfiles();
  if (profile < 0 || profile >= count)
    fail(ErrorClass::kOptions, "--useProfile={}: the engine has {} profile{}, numbered from 0",
         profile, count, count == 1 ? "" : "s");
  return value_or_fail(session::Session::make(engine, logger, options));
}

void set_inputs(session::Session& session, const Arrays& arrays, const Shapes& shapes) {
  const auto inputs = session.input_names();
  for (const auto& [name, array] : arrays) check_name(name, inputs, "input");
  Shapes wanted, values;
  for (const auto& [name, numbers] : shapes_of_inputs(shapes, inputs)) {
    check_name(name, inputs, "input");
    const auto i = static_cast<size_t>(session.context().find(name));
    (session.context().tensors()[i].decides_shapes ? values : wanted)[name] = numbers;
  }
  for (const auto& [name, array] : arrays)
    if (const auto entry = wanted.try_emplace(name, array.shape).first;
        entry->second != array.shape)
      fail(ErrorClass::kContent,
           "input '{}' gets data of shape {}, and --shapes says {}: leave out --shapes, or change "
           "the data",
           name, session::shape_text(array.shape), session::shape_text(entry->second));
  if (const auto done = session.set_shapes(wanted); !done) {
    const int32_t profiles = session.context().engine().getNbOptimizationProfiles();
    throw Failure(
        profiles == 1
            ? done.error()
            : continued(done.error(), fmt::format("; the engine has {} profiles, and --useProfile "
                                                  "chooses one",
                                                  profiles)));
  }
  value_or_fail(session.set_values(arrays, values));
}

void fill_with_noise(Array& array, std::mt19937& random) {
  std::uniform_real_distribution<float> noise(0, 1);
  std::generate_n(array.as<float>(), array.count(), [&] { return noise(random); });
}

void fill_with_noise(session::Session& session) {
  std::mt19937 random(1);
  for (const std::string& name : session.zero_filled()) {
    Array& array = session.inputs().at(name);
    if (array.type == nvinfer1::DataType::kFLOAT) fill_with_noise(array, random);
  }
}

}  // namespace tenon::tool
