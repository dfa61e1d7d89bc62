// What a plugin's name becomes.
#include "new_plugin.h"

#include <gtest/gtest.h>

#include "error.h"

namespace tenon::tool {
namespace {

TEST(PluginNamesTest, ComeFromEitherSpelling) {
  const struct {
    const char *given, *type, *file;
  } cases[] = {{"MyPlugin", "MyPlugin", "my_plugin"},
               {"my_plugin", "MyPlugin", "my_plugin"},
               {"x", "X", "x"},
               {"GPUResize2x", "GPUResize2x", "gpu_resize2x"},
               {"Efficient_NMS", "EfficientNMS", "efficient_nms"},
               {"myPlugin", "MyPlugin", "my_plugin"}};
  for (const auto& c : cases) {
    const PluginNames names = plugin_names(c.given);
    EXPECT_EQ(names.type, c.type);
    EXPECT_EQ(names.file, c.file);
  }
}

TEST(PluginNamesTest, AreChecked) {
  for (const char* bad : {"", "2x", "a-b", "a b", "_a", "a_", "a__b", "a/b", "..", "größe"})
    EXPECT_THROW(plugin_names(bad), Failure) << bad;
}

}  // namespace
}  // namespace tenon::tool
