# The coverage that fuzz targets steer by, of the libraries that they test.
if(TENON_FUZZ)
  # For programs that are no fuzz targets. It must not call what it defines: neither for other sources, compiled with it,
  # nor from the constructor that sanitizers add.
  add_library(tenon_no_coverage STATIC fuzz/no_coverage.cc)
  target_compile_options(tenon_no_coverage PRIVATE -fno-sanitize=all)
endif()

# tenon_count_coverage(TARGET [SOURCES...]): counts in all that the target compiles, or in those sources of the current folder.
# What links the target also has fuzz/no_coverage.cc.
function(tenon_count_coverage target)
  if(NOT TENON_FUZZ)
    return()
  endif()
  set(option -fsanitize-coverage=trace-pc,trace-cmp)
  if(ARGN)
    set_source_files_properties(${ARGN} PROPERTIES COMPILE_OPTIONS ${option} SKIP_UNITY_BUILD_INCLUSION ON)
  else()
    target_compile_options(${target} PRIVATE ${option})
  endif()
  target_link_libraries(${target} PUBLIC tenon_no_coverage)
endfunction()
