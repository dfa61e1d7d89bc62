# Compiler settings that every target of the tree shares.
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CXX_VISIBILITY_PRESET hidden)
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
option(TENON_REPRODUCIBLE "Keep the folders of sources and build out of what is compiled" OFF)
if(TENON_REPRODUCIBLE)
  add_compile_options(-ffile-prefix-map=${CMAKE_BINARY_DIR}=build -ffile-prefix-map=${CMAKE_SOURCE_DIR}=.)
  set(CMAKE_BUILD_RPATH_USE_ORIGIN ON)
endif()
if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release)
endif()

find_program(TENON_CCACHE ccache)
if(TENON_CCACHE)
  # Compilations are shared between clones of the project and folders of builds; the two sloppinesses are what
  # precompiled headers ask for.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_NOHASHDIR=1
      CCACHE_SLOPPINESS=pch_defines,time_macros ${CMAKE_SOURCE_DIR}/cmake/ccache.sh ${TENON_CCACHE})
endif()
find_program(TENON_MOLD mold)
if(TENON_MOLD)
  add_link_options(-fuse-ld=mold)
endif()

option(TENON_UNITY "Compile the sources of a target several at once; off, an edit compiles its own file alone" ON)
set(CMAKE_UNITY_BUILD ${TENON_UNITY})
set(TENON_UNITY_SIZE 6)  # larger ones leave one of two cores without work at the end of a folder

# Precompiled headers, for GCC.
set(precompile OFF)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(precompile ON)
endif()
option(TENON_PRECOMPILE "Precompile headers of the standard library and of packages" ${precompile})

add_library(tenon_options INTERFACE)
target_compile_options(tenon_options INTERFACE
  $<$<COMPILE_LANGUAGE:CXX>:-Wall$<SEMICOLON>-Wextra$<SEMICOLON>-Werror$<SEMICOLON>-Wno-unused-parameter>)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # GCC 12 reports false positives of these two through inlined std::vector and std::string.
  target_compile_options(tenon_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-stringop-overflow$<SEMICOLON>-Wno-array-bounds>
    $<$<COMPILE_LANGUAGE:CXX>:-Wno-maybe-uninitialized$<SEMICOLON>-Wno-restrict>
    # A type of an anonymous namespace is no member for a class of a header; in a group every file is a header.
    $<$<AND:$<COMPILE_LANGUAGE:CXX>,$<BOOL:${TENON_UNITY}>>:-Wno-subobject-linkage>)
else()
  # libstdc++'s stable_sort uses what it deprecates, sanitized loops are not vectorised, and fields
  # have defaults.
  target_compile_options(tenon_options INTERFACE -Wno-deprecated-declarations -Wno-pass-failed
                                           -Wno-missing-designated-field-initializers)
endif()
# Of targets whose own code need not be fast: they compile in two thirds of the time.
set(TENON_COLD_OPTIONS $<$<AND:$<CONFIG:Release>,$<COMPILE_LANGUAGE:CXX>>:-O1>)

# The label of whole models, of the command line's options and of the installed package: what sanitizers can find there
# they find in smaller tests, so that only `./dev nightly` runs these under them.
set(TENON_WHOLE_MODELS_LABEL whole_models)
if(TENON_SANITIZE)
  set(TENON_WHOLE_MODELS_LABEL nightly)
  add_compile_options(-fsanitize=${TENON_SANITIZE} -fno-omit-frame-pointer
                      -fno-sanitize-recover=all)
  add_link_options(-fsanitize=${TENON_SANITIZE})
  if(TENON_SANITIZE MATCHES "thread")
    add_compile_definitions(TENON_THREAD_SANITIZER)
  endif()
endif()
