# One folder is one OBJECT library; its edges say which folders it may include and link.

# Takes each *_test.cc out of the list `sources`: they become the list `tests`.
macro(tenon_split_tests)
  set(tests ${sources})
  list(FILTER tests INCLUDE REGEX "_test\\.cc$")
  list(FILTER sources EXCLUDE REGEX "_test\\.cc$")
endmacro()

# tenon_module(NAME [SOURCES ...] DEPENDS a b ... LIBRARIES x y ... EXCEPT folder/)
#
# Compiles SOURCES, or every .cc under the current folder except *_test.cc and *_bench.cc, into the
# OBJECT library tenon_NAME. DEPENDS names other modules (declared before); LIBRARIES names packages.
# Every *_test.cc becomes part of the test program test_NAME, linked with the module and all that
# it depends on, and nothing else but TEST_SOURCES and TEST_DEPENDS. EXCEPT names a folder that is not part of it.
function(tenon_module name)
  cmake_parse_arguments(arg "" "EXCEPT" "SOURCES;DEPENDS;LIBRARIES;TEST_SOURCES;TEST_LIBRARIES;TEST_DEPENDS" ${ARGN})
  if(arg_SOURCES)
    set(sources ${arg_SOURCES})
  else()
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/*.cc)
  endif()
  if(arg_EXCEPT)
    list(FILTER sources EXCLUDE REGEX "^${CMAKE_CURRENT_SOURCE_DIR}/${arg_EXCEPT}")
  endif()
  tenon_split_tests()
  list(APPEND tests ${arg_TEST_SOURCES})
  list(FILTER sources EXCLUDE REGEX "_bench\\.cc$")

  set(target tenon_${name})
  add_library(${target} OBJECT ${sources})
  target_include_directories(${target} PUBLIC ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/src)
  target_link_libraries(${target} PUBLIC tenon_options tenon_api_headers ${arg_LIBRARIES})
  # The lowest module has the precompiled header of all.
  if(name STREQUAL "base")
    tenon_precompile(${target})
  else()
    tenon_precompile_as(${target} tenon_base)
  endif()
  foreach(dependency ${arg_DEPENDS})
    target_link_libraries(${target} PUBLIC tenon_${dependency})
  endforeach()

  tenon_closure(closure ${arg_DEPENDS})
  list(APPEND closure ${name})
  set_property(GLOBAL PROPERTY TENON_CLOSURE_${name} ${closure})

  if(TENON_TESTS AND tests)
    tenon_test(test_${name} SOURCES ${tests} MODULES ${name} ${arg_TEST_DEPENDS}
               LIBRARIES ${arg_TEST_LIBRARIES})
  endif()
endfunction()

# tenon_closure(OUT a b ...): the modules and all that they depend on, dependencies first.
function(tenon_closure out)
  set(closure "")
  foreach(module ${ARGN})
    get_property(one GLOBAL PROPERTY TENON_CLOSURE_${module})
    list(APPEND closure ${one})
  endforeach()
  list(REMOVE_DUPLICATES closure)
  set(${out} ${closure} PARENT_SCOPE)
endfunction()

# tenon_link_modules(TARGET a b ...): links the object files of the modules and of all below them.
function(tenon_link_modules target)
  tenon_closure(closure ${ARGN})
  foreach(module ${closure})
    target_link_libraries(${target} PRIVATE tenon_${module})
    target_sources(${target} PRIVATE $<TARGET_OBJECTS:tenon_${module}>)
  endforeach()
endfunction()

# tenon_source_dir(NAME): a program that finds TENON_SOURCE_DIR, the root of the sources, in
# tenon_source_dir.h. A definition for all files would make each compile of a checkout its own.
function(tenon_source_dir name)
  file(CONFIGURE OUTPUT ${PROJECT_BINARY_DIR}/generated/tenon_source_dir.h
       CONTENT "#pragma once\n#define TENON_SOURCE_DIR \"${PROJECT_SOURCE_DIR}\"\n")
  target_include_directories(${name} PRIVATE ${PROJECT_BINARY_DIR}/generated)
endfunction()

# What test programs share. Their own code is compiled for speed of compilation: most of a build is tests, and what
# they test is compiled elsewhere, as it is shipped. UBSan's checks of test code would double its time.
if(TENON_TESTS)
  add_library(tenon_test_options INTERFACE)
  target_link_libraries(tenon_test_options INTERFACE tenon_options fmt::fmt GTest::gmock GTest::gtest_main)
  target_compile_options(tenon_test_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-O0>)
  if(TENON_SANITIZE MATCHES "undefined")
    target_compile_options(tenon_test_options INTERFACE $<$<COMPILE_LANGUAGE:CXX>:-fno-sanitize=undefined>)
  endif()
  # A program, since those are compiled with other options than libraries. It does nothing.
  file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/generated/test_headers.cc CONTENT "int main() {}\n")
  add_executable(tenon_test_headers ${PROJECT_BINARY_DIR}/generated/test_headers.cc)
  target_link_libraries(tenon_test_headers PRIVATE tenon_test_options)
  tenon_precompile(tenon_test_headers <fstream> <random> <thread> <gmock/gmock.h> <gtest/gtest.h>)
endif()

# tenon_test(NAME [WHOLE] SOURCES ... MODULES ... LIBRARIES ... PROPERTIES ...): a GoogleTest program
# known to CTest. WHOLE makes one test of it, where it has very many fast ones.
function(tenon_test name)
  cmake_parse_arguments(arg "WHOLE" "" "SOURCES;MODULES;LIBRARIES;PROPERTIES" ${ARGN})
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE tenon_test_options ${arg_LIBRARIES})
  tenon_precompile_as(${name} tenon_test_headers)
  tenon_source_dir(${name})
  if(arg_MODULES)
    tenon_link_modules(${name} ${arg_MODULES})
  endif()
  set(seconds 300)
  if(TENON_SANITIZE)
    set(seconds 1500)  # ThreadSanitizer runs reference kernels, at a tenth of their speed
  endif()
  if(arg_WHOLE)
    add_test(NAME ${name} COMMAND ${name} --gtest_brief=1)
    set_tests_properties(${name} PROPERTIES TIMEOUT ${seconds} ${arg_PROPERTIES})
  elseif(TENON_SANITIZE)
    # A sanitized program takes longer to start than most tests to run: two processes share all of them.
    foreach(shard 0 1)
      add_test(NAME ${name}/shard_${shard} COMMAND ${name} --gtest_brief=1)
      set_tests_properties(${name}/shard_${shard} PROPERTIES TIMEOUT ${seconds} ${arg_PROPERTIES}
                           ENVIRONMENT "GTEST_TOTAL_SHARDS=2;GTEST_SHARD_INDEX=${shard}")
    endforeach()
  else()
    gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST TEST_PREFIX "${name}/"
                         PROPERTIES TIMEOUT ${seconds} ${arg_PROPERTIES})
  endif()
endfunction()
