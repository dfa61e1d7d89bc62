// kernel_suite [NAME...]: runs all cases, or those that are named.
#include "suite.h"

int main(int count, char** names) {
  for (const suite::Case& c : suite::cases()) {
    bool is_wanted = count == 1;
    for (int i = 1; i < count; ++i) is_wanted |= std::strcmp(names[i], c.name) == 0;
    if (is_wanted) c.run();
  }
  return suite::failures == 0 ? 0 : 1;
}
