# SPDX-License-Identifier: MIT
# cmake -DSCRIPT=hash_suite.cmake -DFOLDER=EMPTY_FOLDER -P suite_sources.cmake: a workload's hash changes with what it does, not with its
# comments, its layout or another workload.
cmake_minimum_required(VERSION 3.25)
set(program [[
// A program.
int f() { return 6 / 2; }  // three
const char* url() { return "http://x \" // y"; }
char quote() { return '"'; }  // a quote "
]])

# hashes(A B): of a.cpp and b.cpp with these contents
function(hashes a b)
  file(REMOVE_RECURSE ${FOLDER})
  file(WRITE ${FOLDER}/a.cpp "${a}")
  file(WRITE ${FOLDER}/b.cpp "${b}")
  execute_process(COMMAND ${CMAKE_COMMAND} -DFOLDER=${FOLDER} -DHEADER=${FOLDER}/out.hpp -P ${SCRIPT} COMMAND_ERROR_IS_FATAL ANY)
  file(READ ${FOLDER}/out.hpp text)
  foreach(name a b)
    if(NOT text MATCHES "{\"${name}\", \"([0-9a-f]+)\"}")
      message(FATAL_ERROR "no hash of ${name}.cpp in:\n${text}")
    endif()
    set(${name} ${CMAKE_MATCH_1} PARENT_SCOPE)
  endforeach()
endfunction()

hashes("${program}" "${program}")
set(first ${a})

# expect(SAME|OTHER FROM TO): a.cpp with FROM written as TO; b.cpp stays as it is.
function(expect what from to)
  string(FIND "${program}" "${from}" at)
  string(REPLACE "${from}" "${to}" changed "${program}")
  hashes("${changed}" "${program}")
  if(at EQUAL -1)
    message(FATAL_ERROR "'${from}' is not in the program")
  elseif(NOT b STREQUAL first)
    message(FATAL_ERROR "'${to}' in one file changed the hash of the other")
  elseif(what STREQUAL "SAME" AND NOT a STREQUAL first)
    message(FATAL_ERROR "'${to}' for '${from}' changed the hash")
  elseif(what STREQUAL "OTHER" AND a STREQUAL first)
    message(FATAL_ERROR "'${to}' for '${from}' did not change the hash")
  endif()
endfunction()

expect(SAME "three" "3, \"or\" about so")
expect(SAME "// A program." "/* What / it * does. */\n/// and more")
expect(SAME "a quote" "it's one")
expect(SAME "{ return 6 / 2; }" "{\n    return 6 / 2;\n}\n")
expect(OTHER "6 / 2" "6 / 3")
expect(OTHER "6 / 2" "6 // 2\n")
expect(OTHER "http://x" "http://z")
expect(OTHER "// y" "// z")
expect(OTHER "'\"'" "'/'")
file(REMOVE_RECURSE ${FOLDER})
