// What a plugin is tried with: fields and input tensors.
#pragma once

#include <tenon/plugin/cases.h>

#include <string>
#include <vector>

#include "check/subject.h"

namespace tenon::tool::check {

/// A case of the kit's form. Its outputs are empty when nothing is known of them.
using Trial = kit::testing::NamedCase;

/// What the command line says of fields and inputs; texts as they were given.
struct TrialOptions {
  std::vector<std::string> fields;  // "name=value", "name=1,2,3"
  std::string shapes, types;        // "2x3x8x8,5", "float32,int32"
  std::vector<std::string> cases;   // files
};

/// The trials that the user gave for a plugin, from files and options; none when nothing was said
/// of its inputs. Throws Failure for what cannot be read.
std::vector<Trial> given_trials(const Creator& creator, const TrialOptions& options);
/// Inputs to try on a plugin that nothing is known of, the usual ones first.
std::vector<Trial> guessed_trials(const Creator& creator, const TrialOptions& options);

std::vector<PluginField> fields_of(const Trial& trial);

}  // namespace tenon::tool::check
