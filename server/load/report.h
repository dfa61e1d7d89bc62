// What levels of load were like, for people and for programs.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "generator.h"

namespace tenon::load {

/// The first line of the table, with the columns' names.
std::string table_head(Loop loop, const std::vector<double>& percentiles);
std::string table_row(const LevelResult& result, int64_t batch);

/// Times in milliseconds.
nlohmann::ordered_json to_json(const LevelResult& result, int64_t batch);
/// Each request's intended, sent and end times in milliseconds since the level began.
nlohmann::ordered_json times_json(const LevelResult& result);

}  // namespace tenon::load
