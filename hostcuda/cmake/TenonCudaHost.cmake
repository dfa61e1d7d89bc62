# tenon_cuda_host(TARGET): compiles the .cu files of a target for the CPU. The project needs no LANGUAGES CUDA.
#   include(<tenon>/hostcuda/cmake/TenonCudaHost.cmake)
#   add_library(my_plugins SHARED plugin.cpp kernel.cu)
#   tenon_cuda_host(my_plugins)
get_filename_component(TENON_HOSTCUDA_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

function(tenon_cuda_host target)
  get_target_property(sources ${target} SOURCES)
  get_target_property(folder ${target} SOURCE_DIR)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.cu$")
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CXX)
    endif()
  endforeach()
  get_target_property(launcher ${target} CXX_COMPILER_LAUNCHER)
  if(NOT launcher)
    set(launcher "")
  endif()
  set_target_properties(${target} PROPERTIES
    CXX_COMPILER_LAUNCHER "${TENON_HOSTCUDA_ROOT}/bin/tenon-nvcc;${launcher}"
    BUILD_RPATH ${TENON_HOSTCUDA_ROOT}/lib64)
  target_link_directories(${target} PRIVATE ${TENON_HOSTCUDA_ROOT}/lib64)
  target_link_libraries(${target} PRIVATE tenon_hostcuda cudart)
endfunction()
