// Clones, and what serialisation brings back.
#include <algorithm>

#include "check/checks.h"

namespace tenon::check {
namespace {

void require_equal(const Subject& original, const Subject& copy, const char* what) {
  if (copy.identity() != original.identity())
    throw Broken{fmt::format("{} to be {}", what, original.identity().text()),
                 copy.identity().text()};
  if (std::string(copy.family()) != original.family())
    throw Broken{fmt::format("{} to be an {}", what, original.family()), copy.family()};
  const std::string a = original.serialized(), b = copy.serialized();
  if (a == b) return;
  const auto at = std::ranges::mismatch(a, b).in1 - a.begin();
  throw Broken{fmt::format("{} to be serialised to the same {} bytes", what, a.size()),
               a.size() != b.size() ? fmt::format("{} bytes", b.size())
                                    : fmt::format("another byte at {}", at)};
}

}  // namespace

void check_copies(const Creator& creator, const Subject& plugin, const std::string& label,
                  Report& report) {
  report.check("serialisation", label, [&] {
    if (plugin.serialized() != plugin.serialized())
      throw Broken{"the same bytes from serialize() each time", "others"};
    require_equal(plugin, *creator.restore(plugin), "what is made of the serialised form");
  });
  report.check("clone", label, [&] {
    const auto original = plugin.clone();
    require_equal(plugin, *original, "a clone");
    if (original->set_name_space("tenon.check")) {
      if (const std::string found = original->identity().name_space; found != "tenon.check")
        throw Broken{"the namespace \"tenon.check\" that setPluginNamespace() was given",
                     '"' + found + '"'};
      require_equal(*original, *original->clone(), "a clone");
    }
    if (const int outputs = plugin.output_count(); original->output_count() != outputs)
      throw Broken{fmt::format("a clone with {} outputs", outputs),
                   std::to_string(original->output_count())};
  });
}

}  // namespace tenon::check
