# hiera_embed(TARGET NAME FILES...): turns text files into constants of the namespace
# hiera::embedded, in a generated header NAME.h: `kernel/gemm/gemm.cc` becomes
# `inline constexpr std::string_view gemm_cc`. The header is on TARGET's include path.
function(hiera_embed target name)
  set(header ${CMAKE_CURRENT_BINARY_DIR}/embedded/${name}.h)
  set(files)
  foreach(file IN LISTS ARGN)
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    list(APPEND files ${file})
  endforeach()
  add_custom_command(
    OUTPUT ${header}
    COMMAND ${CMAKE_COMMAND} -DOUT=${header} "-DFILES=${files}" -P
            ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    DEPENDS ${files} ${PROJECT_SOURCE_DIR}/cmake/embed_files.cmake
    VERBATIM)
  target_sources(${target} PRIVATE ${header})
  target_include_directories(${target} PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/embedded)
endfunction()
