// Runs the cases of a file: test_plugins CASES.json
#include <tenon/plugin/cases.h>

#include <iostream>

int main(int count, char** arguments) {
  if (count != 2) {
    std::cerr << "usage: test_plugins CASES.json\n";
    return 2;
  }
  int failed = 0;
  for (const auto& [name, test] : tenon::kit::testing::read_cases(arguments[1])) {
    const std::string why = test.check();
    std::cout << test.name() << ", " << name << ": " << (why.empty() ? "passed" : why) << '\n';
    failed += !why.empty();
  }
  return failed;
}
