# SPDX-License-Identifier: MIT
# cmake -DFOLDER=src/workload/suite -DHEADER=OUT -P hash_suite.cmake: a header with a hash of every source file there, without its
# comments and white space, so that only what a program does counts.
cmake_minimum_required(VERSION 3.25)
file(GLOB sources ${FOLDER}/*.cpp ${FOLDER}/programs/*.cpp)
list(SORT sources)
set(rows "")
foreach(source IN LISTS sources)
  cmake_path(GET source STEM name)
  file(READ ${source} text)
  # A literal or another character, and the comment that may follow. Literals are taken whole: two slashes in a string begin no comment.
  string(REGEX REPLACE "(\"([^\"\\\\\n]|\\\\.)*\"|'([^'\\\\\n]|\\\\.)'|[^\"/])(//[^\n]*|/\\*([^*]|\\*+[^*/])*\\*+/|)" "\\1" text "\n${text}")
  string(REGEX REPLACE "[ \t\r\n]+" "" text "${text}")
  string(SHA256 hash "${text}")
  string(APPEND rows "    {\"${name}\", \"${hash}\"},\n")
endforeach()
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#pragma once

#include <string_view>

namespace mergelane::suite {

struct SourceHash {
    std::string_view file, hash;
};

inline constexpr SourceHash kSourceHashes[] = {
@rows@};

}  // namespace mergelane::suite
" @ONLY)
