# Texts that programs have inside: pages, rules.

# Adds to the list LIST a source that defines `std::string_view NAME` as the text of `file`, as `header` declares it in
# `namespace`. Where the text says {{FILE}}, it has the text of one of the files behind, which stand beside it or have a path.
function(tenon_embed list file header namespace name)
  file(READ ${file} text)
  get_filename_component(stem ${file} NAME)
  set(files ${file} ${ARGN})
  foreach(part ${ARGN})
    get_filename_component(part_name ${part} NAME)
    file(READ ${part} part_text)
    string(REPLACE "{{${part_name}}}" "${part_text}" text "${text}")
  endforeach()
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${files})
  set(output ${CMAKE_CURRENT_BINARY_DIR}/${stem}.cc)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/embedded_text.cc.in ${output} @ONLY)
  list(APPEND ${list} ${output})
  set(${list} ${${list}} PARENT_SCOPE)
endfunction()
