# tenon_cuda_host(TARGET): compiles the .cu files of a target for the CPU. The project needs no LANGUAGES CUDA.
#   include(<tenon>/hostcuda/cmake/TenonCudaHost.cmake)
#   add_library(my_plugins SHARED plugin.cpp kernel.cu)
#   tenon_cuda_host(my_plugins)
get_filename_component(TENON_HOSTCUDA_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)

function(tenon_cuda_host target)
  get_target_property(sources ${target} SOURCES)
  foreach(source IN LISTS sources)
    if(source MATCHES "\\.cu$")
      set_source_files_properties(${source} TARGET_DIRECTORY ${target} PROPERTIES LANGUAGE CXX)
    endif()
  endforeach()
  # What launched the compiler before, as ccache, is launched by this one.
  get_target_property(before ${target} CXX_COMPILER_LAUNCHER)
  set(launchers ${TENON_HOSTCUDA_ROOT}/bin/tenon-nvcc)
  if(before)
    list(APPEND launchers ${before})
  endif()
  set_target_properties(${target} PROPERTIES
    CXX_COMPILER_LAUNCHER "${launchers}"
    BUILD_RPATH ${TENON_HOSTCUDA_ROOT}/lib64)
  target_link_directories(${target} PRIVATE ${TENON_HOSTCUDA_ROOT}/lib64)
  target_link_libraries(${target} PRIVATE tenon_hostcuda cudart)
endfunction()
