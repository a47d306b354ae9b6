# SPDX-License-Identifier: MIT
# One static library per floor of the house (docs/adr/0027-rooms-and-targets.md). A floor links only floors below it, so that a program
# that needs the model alone links neither SQLite nor METIS nor the report. mergelane::mergelane is all of them.

# mergelane_floor(NAME PATTERN...): the library of the files of src/ that match, as the target mergelane_NAME, for others mergelane::NAME.
function(mergelane_floor name)
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/src/ OUTPUT_VARIABLE patterns)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${patterns})
  list(REMOVE_ITEM sources ${MERGELANE_BUNDLED_FILES})
  set(target mergelane_${name})
  add_library(${target} STATIC ${sources} ${MERGELANE_BUNDLES_OF_${name}})
  add_library(mergelane::${name} ALIAS ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name}
                        POSITION_INDEPENDENT_CODE ON)  # the replacement CUDA runtime, a shared library, is made of it
  target_include_directories(${target} PUBLIC $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/src>
                                              $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}/mergelane>
                                       PRIVATE ${MERGELANE_GENERATED} ${XXHASH_INCLUDE} ${ZSTD_INCLUDE} ${LZ4_INCLUDE} ${METIS_INCLUDE} ${SQLITE_INCLUDE} ${PROTOZERO_INCLUDE})
  target_compile_features(${target} PUBLIC cxx_std_20)
  # Kernels executed from PTX, and energy, give the same bits on every host: no fusing that was not written.
  target_compile_options(${target} PRIVATE -fno-semantic-interposition -ffp-contract=off $<$<BOOL:${MERGELANE_FUZZ}>:-fsanitize=fuzzer-no-link>)
  # xxhash is compiled in from its header, so that users of the installed library need not link it.
  target_compile_definitions(${target} PRIVATE XXH_INLINE_ALL MERGELANE_VERSION="${PROJECT_VERSION}")
  target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:nlohmann_json::nlohmann_json> $<BUILD_INTERFACE:mergelane_flags>)
  if(NOT name STREQUAL "model")
    mergelane_precompile(${target} REUSE mergelane_model)
  endif()
  set(MERGELANE_FLOORS ${MERGELANE_FLOORS} ${target} PARENT_SCOPE)
endfunction()

set(MERGELANE_GENERATED ${CMAKE_CURRENT_BINARY_DIR}/generated)

# A machine, what it is made of and described by, and synthetic kernels to run on it.
mergelane_floor(model core/*.cpp parts/*.cpp files/*.cpp config/*.cpp dispatch/*.cpp gpc/*.cpp sm/*.cpp cluster/*.cpp nodes/*.cpp noc/*.cpp l2/*.cpp
                dram/*.cpp sim/*.cpp)
target_sources(mergelane_model PRIVATE src/workload/revisit.cpp src/workload/synthetic.cpp)
target_link_libraries(mergelane_model PUBLIC Threads::Threads fmt::fmt tomlplusplus::tomlplusplus)
mergelane_precompile(mergelane_model)

# Kernels from traces, from PTX and from CUDA programs; the suite.
mergelane_floor(workload workload/*/*.cpp)
target_link_libraries(mergelane_workload PUBLIC mergelane_model PRIVATE zstd lz4 LibLZMA::LibLZMA)

mergelane_floor(energy energy/*.cpp costing/*.cpp)
target_link_libraries(mergelane_energy PUBLIC mergelane_model)

mergelane_floor(report report/*.cpp)
target_link_libraries(mergelane_report PUBLIC mergelane_model)

# Whole workloads from some of their launches.
mergelane_floor(sampling sampling/*.cpp)
target_link_libraries(mergelane_sampling PUBLIC mergelane_model)

mergelane_floor(profile profile/*.cpp advise/*.cpp explain/*.cpp microbench/*.cpp)
target_link_libraries(mergelane_profile PUBLIC mergelane_report PRIVATE metis)

mergelane_floor(studies formula/*.cpp runs/*.cpp launch/*.cpp campaign/*.cpp study/*.cpp)
target_link_libraries(mergelane_studies PUBLIC mergelane_workload mergelane_energy mergelane_profile mergelane_sampling
                      PRIVATE zstd LibLZMA::LibLZMA sqlite3 ${CMAKE_DL_LIBS})

add_library(mergelane INTERFACE)
add_library(mergelane::mergelane ALIAS mergelane)
target_link_libraries(mergelane INTERFACE ${MERGELANE_FLOORS})

# Only this file knows where the sources are, so that all others compile the same in every checkout.
# Packages must not know, nor what is trained for them: scripts/build-pgo says where the data are.
set(tree ${CMAKE_CURRENT_SOURCE_DIR})
if(MERGELANE_PACKAGES)
  set(tree /nonexistent)
endif()
set_source_files_properties(src/files/data_paths.cpp PROPERTIES COMPILE_DEFINITIONS MERGELANE_SOURCE_TREE="${tree}")
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  set_source_files_properties(src/workload/ptx/lanes/avx2.cpp PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c" SKIP_PRECOMPILE_HEADERS ON)
endif()
# Files the report carries with it (report/embedded.cpp).
file(GLOB MERGELANE_EMBEDDED CONFIGURE_DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/src/report/page.* ${CMAKE_CURRENT_SOURCE_DIR}/third_party/vega/*)
set_source_files_properties(src/report/embedded.cpp PROPERTIES OBJECT_DEPENDS "${MERGELANE_EMBEDDED}"
                            COMPILE_DEFINITIONS MERGELANE_EMBED_TOP="${CMAKE_CURRENT_SOURCE_DIR}")
# Recordings of executed kernels and results of studies are kept (docs/adr/0010). A hash of a workload's own source is part of their keys.
file(GLOB MERGELANE_SUITE_SOURCES CONFIGURE_DEPENDS src/workload/suite/*.cpp src/workload/suite/programs/*.cpp)
add_custom_command(OUTPUT ${MERGELANE_GENERATED}/suite_sources.hpp
                   COMMAND ${CMAKE_COMMAND} -DFOLDER=${CMAKE_CURRENT_SOURCE_DIR}/src/workload/suite -DHEADER=${MERGELANE_GENERATED}/suite_sources.hpp
                           -P ${CMAKE_CURRENT_SOURCE_DIR}/cmake/hash_suite.cmake
                   DEPENDS ${MERGELANE_SUITE_SOURCES} cmake/hash_suite.cmake VERBATIM)
target_sources(mergelane_workload PRIVATE ${MERGELANE_GENERATED}/suite_sources.hpp)
