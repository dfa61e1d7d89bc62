# A project with LANGUAGES CUDA configures and builds with neither GPU nor toolkit:
#   cmake -B build -DCMAKE_TOOLCHAIN_FILE=<tenon>/hostcuda/cmake/tenon-cuda-toolchain.cmake
get_filename_component(TENON_HOSTCUDA_ROOT ${CMAKE_CURRENT_LIST_DIR}/.. ABSOLUTE)
set(CMAKE_CUDA_COMPILER ${TENON_HOSTCUDA_ROOT}/bin/nvcc)
set(CUDAToolkit_ROOT ${TENON_HOSTCUDA_ROOT})
set(CUDA_TOOLKIT_ROOT_DIR ${TENON_HOSTCUDA_ROOT})
if(NOT DEFINED CMAKE_CUDA_ARCHITECTURES)
  set(CMAKE_CUDA_ARCHITECTURES 80)
endif()
set(CMAKE_BUILD_RPATH ${TENON_HOSTCUDA_ROOT}/lib64)
