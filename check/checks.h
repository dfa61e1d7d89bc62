// The checks of one plugin. Each is reported by its name, so that the one in which a process ends
// is known.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "check/report.h"
#include "check/setup.h"
#include "check/trial.h"

namespace tenon::check {

/// All checks, of all trials that the options give or that are found to be accepted.
void check_plugin(const Creator& creator, const Options& options, Report& report);

// The parts of it.

/// What getFieldNames() says.
void check_fields(const Creator& creator, Report& report);
/// Fields of a wrong type or length, unknown ones, none. `seen` has the names that were tried.
void check_wrong_fields(const Creator& creator, const Trial& trial, std::set<std::string>& seen,
                        Report& report);
/// Clones and serialised forms of a plugin just created.
void check_copies(const Creator& creator, const Subject& plugin, const std::string& label,
                  Report& report);
/// Combinations of types and formats that the plugin takes: its setups.
std::vector<Setup> check_formats(const Subject& plugin, const Trial& trial,
                                 const std::string& label, Report& report);
/// What enqueue() reads and writes, alone and side by side. `linear` is what it gave in linear
/// tensors for a type variable: that is added, or compared with.
void check_runs(const Creator& creator, const Subject& plugin, const Setup& setup,
                std::map<DataType, kit::testing::PluginCase>& linear, Report& report);
/// Tensors without elements: refused, or run.
void check_empty(const Subject& plugin, const Setup& setup, Report& report);

}  // namespace tenon::check
