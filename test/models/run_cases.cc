// Runs models one after the other, as `tenon run` does, in one process: for a device that takes
// long to start. A line of standard input is "MODEL INPUTS OUTPUTS", the last two .npz files, and
// INPUTS "-" if there is none; the line that answers it is "ok", or what was refused.
#include <fmt/format.h>
#include <tenon/session/session.h>

#include <algorithm>
#include <iostream>
#include <sstream>

#include "error.h"
#include "model.h"
#include "npz.h"

namespace {

using namespace tenon::tool;

void run_case(const std::string& path, const std::string& given, const std::string& results) {
  Logger logger;
  Arrays arrays;
  RunInputs known;
  if (given != "-") arrays = read_npz(given);
  for (const auto& [name, array] : arrays) known.add(name, array);
  const LoadedModel model = load_model(path, BuildOptions(), known, logger, true);
  const auto session = value_or_fail(tenon::session::Session::make(*model.engine, logger));
  value_or_fail(session->set_inputs(arrays));
  value_or_fail(session->run());
  write_npz(results, session->outputs());
}

std::string answer(const std::string& line) {
  std::istringstream words(line);
  std::string path, given, results;
  words >> path >> given >> results;
  try {
    run_case(path, given, results);
    return "ok";
  } catch (const std::exception& e) {
    std::string text = e.what();
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) std::cout << answer(line) << std::endl;
}
