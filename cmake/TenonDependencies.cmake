# Every package the tree needs. All come from Debian or PyPI; nothing is downloaded by a build.
find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json REQUIRED)
# One TBB in the process: oneDNN links the release library, so debug builds do too.
set(CMAKE_MAP_IMPORTED_CONFIG_DEBUG Release None "")
find_package(TBB REQUIRED)
if(TENON_TESTS)
  find_package(GTest REQUIRED)
  include(GoogleTest)
endif()

# The allocator of the programs, which takes the place of malloc and new: in half of glibc's time where models are many small
# parts (docs/decisions/0073). No library links it, as the process belongs to others, and sanitizers have their own.
add_library(tenon_jemalloc INTERFACE)
if(NOT TENON_SANITIZE)
  find_library(TENON_JEMALLOC jemalloc REQUIRED)
  target_link_options(tenon_jemalloc INTERFACE -Wl,--push-state,--no-as-needed,${TENON_JEMALLOC},--pop-state)
endif()

# oneDNN (TBB build) and the ONNX schema are PyPI wheels; `./dev setup` puts them into .venv.
set(TENON_VENV ${PROJECT_SOURCE_DIR}/.venv CACHE PATH "Python environment that holds the wheels")
if(TENON_ONEDNN)
  find_path(TENON_ONEDNN_INCLUDE oneapi/dnnl/dnnl.hpp HINTS ${TENON_VENV}/include NO_DEFAULT_PATH)
  find_library(TENON_ONEDNN_LIBRARY dnnl HINTS ${TENON_VENV}/lib NO_DEFAULT_PATH)
  if(NOT TENON_ONEDNN_INCLUDE OR NOT TENON_ONEDNN_LIBRARY)
    message(FATAL_ERROR "oneDNN is not in ${TENON_VENV}: run ./dev setup, or configure with "
                        "-DTENON_ONEDNN=OFF for reference kernels only")
  endif()
  add_library(tenon_onednn INTERFACE)
  target_include_directories(tenon_onednn SYSTEM INTERFACE ${TENON_ONEDNN_INCLUDE})
  target_link_libraries(tenon_onednn INTERFACE ${TENON_ONEDNN_LIBRARY})
  target_compile_definitions(tenon_onednn INTERFACE TENON_ONEDNN)
endif()

# The public headers, with the CUDA runtime's beside them.
add_library(tenon_api_headers INTERFACE)
target_include_directories(tenon_api_headers INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                       ${PROJECT_SOURCE_DIR}/cudart/include)
