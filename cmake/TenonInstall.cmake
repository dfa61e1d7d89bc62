# What `cmake --install` puts where: bin/, lib/, include/ and the CMake package Tenon.
include(CMakePackageConfigHelpers)

# Two components, which are Debian packages of their own: what programs run with, and what they are built with.
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME runtime)
get_property(named_libraries GLOBAL PROPERTY TENON_NAMED_LIBRARIES)
install(TARGETS tenon ${named_libraries} tenon_cudart LIBRARY DESTINATION lib NAMELINK_COMPONENT dev)
# tenon_install(TARGET rule...): of a target that a build may go without. The Python package is what is installed.
function(tenon_install target)
  if(TARGET ${target})
    install(TARGETS ${target} ${ARGN})
    if(TARGET python_package)
      add_dependencies(python_package ${target})
    endif()
  endif()
endfunction()
foreach(library tenon_session tenon_serve)
  tenon_install(${library} ARCHIVE DESTINATION lib COMPONENT dev)
endforeach()
foreach(program tenon_cli tenon_server tenon_load)
  tenon_install(${program} RUNTIME DESTINATION bin)
  if(TARGET ${program})
    set_target_properties(${program} PROPERTIES INSTALL_RPATH "$ORIGIN/../lib")
  endif()
endforeach()
tenon_install(tenon_ort LIBRARY DESTINATION lib)
# As tritonserver --backend-directory=lib/triton/backends looks for it.
tenon_install(tenon_triton LIBRARY DESTINATION lib/triton/backends/tenon)

# oneDNN's wheel is no system package: its library lies beside ours.
if(TENON_ONEDNN)
  get_filename_component(onednn ${TENON_ONEDNN_LIBRARY} DIRECTORY)
  file(GLOB onednn ${onednn}/libdnnl.so.[0-9])
  foreach(library ${onednn})
    get_filename_component(soname ${library} NAME)
    get_filename_component(file ${library} REALPATH)
    install(PROGRAMS ${file} DESTINATION lib RENAME ${soname})
  endforeach()
endif()

# Programs that were linked with CUDA's runtime find ours under its name in this folder.
install(TARGETS tenon_cudart_name LIBRARY DESTINATION lib/compatible)
install(CODE "
  file(CREATE_LINK ../$<TARGET_FILE_NAME:tenon_cudart>
       \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/lib/compatible/libcudart.so\" SYMBOLIC)")

# Headers. CUDA's are apart, for programs that have the toolkit's.
install(DIRECTORY include/ DESTINATION include COMPONENT dev)
install(DIRECTORY cudart/include/ DESTINATION include/cudart COMPONENT dev)
foreach(folder session serve kit kernels)
  if(EXISTS ${PROJECT_SOURCE_DIR}/${folder}/tenon)
    install(DIRECTORY ${folder}/tenon DESTINATION include COMPONENT dev FILES_MATCHING PATTERN "*.h" PATTERN "*.hpp")
  endif()
endforeach()

# What writes test cases of plugins, for tenon/plugin/cases.h.
install(FILES plugins/cases.py DESTINATION share/tenon COMPONENT dev)

set(package lib/cmake/Tenon)
configure_package_config_file(cmake/TenonConfig.cmake.in TenonConfig.cmake
                              INSTALL_DESTINATION ${package})
write_basic_package_version_file(TenonConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/TenonConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/TenonConfigVersion.cmake DESTINATION ${package} COMPONENT dev)
configure_file(cmake/tenon.pc.in tenon.pc @ONLY)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/tenon.pc DESTINATION lib/pkgconfig COMPONENT dev)
install(FILES LICENSE DESTINATION share/doc/tenon RENAME copyright)
include(TenonPackages)
