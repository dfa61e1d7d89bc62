# Precompiled headers: what many files of one kind include, of the standard library and of packages. None of the
# engine's headers is among them, so that a change compiles only what includes it. One is compiled for each kind.
# Only with GCC: ccache cannot share clang's between folders.

set(TENON_STANDARD_HEADERS <algorithm> <array> <atomic> <bit> <cmath> <cstdint> <cstdlib> <cstring> <functional>
    <limits> <map> <memory> <mutex> <numeric> <optional> <set> <span> <sstream> <string> <string_view>
    <unordered_map> <unordered_set> <utility> <variant> <vector> <fmt/format.h>)

# tenon_precompile(TARGET HEADER...): the target's own, of the standard headers and these.
function(tenon_precompile target)
  if(TENON_PRECOMPILE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
    target_precompile_headers(${target} PRIVATE ${TENON_STANDARD_HEADERS} ${ARGN})
  endif()
endfunction()

# tenon_precompile_as(TARGET OTHER): shares the other's, which is compiled with the same options.
function(tenon_precompile_as target other)
  if(TENON_PRECOMPILE)
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-fpch-preprocess>)
    target_precompile_headers(${target} REUSE_FROM ${other})
  endif()
endfunction()

# tenon_without_precompiled(FILE...): files of the current folder whose own options do not fit.
function(tenon_without_precompiled)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_PRECOMPILE_HEADERS ON)
endfunction()
