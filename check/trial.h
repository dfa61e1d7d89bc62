// What a plugin is tried with: fields and input tensors.
#pragma once

#include <tenon/plugin/cases.h>

#include <string>
#include <vector>

#include "check/check.h"
#include "check/subject.h"

namespace tenon::check {

/// A case of the kit's form. Its outputs are empty when nothing is known of them.
using Trial = kit::testing::NamedCase;

/// The trials that the user gave for a plugin, from files and options; none when nothing was said
/// of its inputs. Throws Failure for what cannot be read.
std::vector<Trial> given_trials(const Creator& creator, const Options& options);
/// Inputs to try on a plugin that nothing is known of, the usual ones first.
std::vector<Trial> guessed_trials(const Creator& creator, const Options& options);

std::vector<PluginField> fields_of(const Trial& trial);

}  // namespace tenon::check
