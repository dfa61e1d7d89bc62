// What `tenon plugins check` was told.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "check/trial.h"

namespace tenon::tool::check {

struct Options {
  std::string library;
  std::vector<std::string> plugins;  // names; all when empty
  TrialOptions trial;
  std::string device = "cpu", cudart = "libcudart.so.13";
  std::string mode;     // "address", "race", "order", or "" for none
  int seeds = 3;        // of the order
  int time_limit = 60;  // seconds, of one check
  bool json = false, verbose = false;

  // Of a process that checks one creator.
  int creator = -1;
  bool lists = false;
  std::vector<std::string> left_out;

  void add_to(CLI::App& app);
  bool wants_gpu() const { return device == "cuda"; }
  /// The command line of a process that is told the same.
  std::vector<std::string> arguments() const;
};

}  // namespace tenon::tool::check
