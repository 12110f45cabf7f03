# Writes OUT, a header in which each of FILES is a string_view named after the file.
set(text "#pragma once\n#include <string_view>\nnamespace hiera::embedded {\n")
foreach(file IN LISTS FILES)
  get_filename_component(name ${file} NAME)
  string(MAKE_C_IDENTIFIER ${name} name)
  file(READ ${file} hex HEX)
  string(LENGTH "${hex}" length)
  math(EXPR size "${length} / 2")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "'\\\\x\\1'," bytes "${hex}")
  string(APPEND text "inline constexpr char ${name}_bytes[] = {${bytes}'\\0'};\n"
                     "inline constexpr std::string_view ${name}{${name}_bytes, ${size}};\n")
endforeach()
string(APPEND text "}  // namespace hiera::embedded\n")
file(WRITE ${OUT} "${text}")
