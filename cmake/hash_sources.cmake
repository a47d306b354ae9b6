# SPDX-License-Identifier: MIT
# cmake -DSOURCES=LIST_FILE -DHEADER=OUT -P hash_sources.cmake: a header with one hash of all files named in LIST_FILE.
cmake_minimum_required(VERSION 3.25)
file(STRINGS ${SOURCES} sources)
set(hashes "")
foreach(source IN LISTS sources)
  file(SHA256 ${source} hash)
  string(APPEND hashes ${hash})
endforeach()
string(SHA256 hash "${hashes}")
file(CONFIGURE OUTPUT ${HEADER} CONTENT "#define MERGELANE_SIMULATOR_SOURCES \"@hash@\"\n" @ONLY)
