# SPDX-License-Identifier: MIT
# What reads, checks, judges and draws takes milliseconds; optimising it took minutes of every build, and so did the headers and
# templates that small files share. Cold files are compiled with -O1, and many files several as one (a bundle) unless
# MERGELANE_BUNDLES is off, which is better for whoever edits them. In no bundle: files with flags of their own (readers of TOML have
# some in fuzz/), those that are large and hot, and those with names in their anonymous namespaces that others have too.
option(MERGELANE_BUNDLES "Compile small files together" ON)

# mergelane_bundled(VARIABLE NAME hot|cold FOLDER FILE...): what to compile instead of the files, which are relative to the folder.
function(mergelane_bundled variable name heat folder)
  list(TRANSFORM ARGN PREPEND ${folder}/ OUTPUT_VARIABLE sources)
  if(MERGELANE_BUNDLES)
    list(JOIN ARGN "\"\n#include \"" text)
    set(sources ${CMAKE_CURRENT_BINARY_DIR}/generated/bundle_${name}.cpp)
    file(CONFIGURE OUTPUT ${sources} CONTENT "#include \"${text}\"\n" @ONLY)
  endif()
  if(heat STREQUAL "cold")
    set_source_files_properties(${sources} PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1>")
  endif()
  set(${variable} ${sources} PARENT_SCOPE)
endfunction()

# mergelane_bundle(FLOOR NAME hot|cold FILE...): the same for files of src/ that belong to one floor (cmake/floors.cmake).
function(mergelane_bundle floor name heat)
  mergelane_bundled(bundled ${name} ${heat} ${CMAKE_CURRENT_SOURCE_DIR}/src ${ARGN})
  list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/src/ OUTPUT_VARIABLE files)
  set(MERGELANE_BUNDLED_FILES ${MERGELANE_BUNDLED_FILES} ${files} PARENT_SCOPE)
  set(MERGELANE_BUNDLES_OF_${floor} ${MERGELANE_BUNDLES_OF_${floor}} ${bundled} PARENT_SCOPE)
endfunction()

# mergelane_files(VARIABLE PATTERN... EXCEPT NAME...): files of src/ by pattern, without those whose stem is listed.
function(mergelane_files variable)
  cmake_parse_arguments(PARSE_ARGV 1 wanted "" "" "EXCEPT")
  list(TRANSFORM wanted_UNPARSED_ARGUMENTS PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/src/)
  file(GLOB files CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR}/src ${wanted_UNPARSED_ARGUMENTS})
  foreach(name IN LISTS wanted_EXCEPT)
    list(FILTER files EXCLUDE REGEX "/${name}\\.cpp$")
  endforeach()
  set(${variable} ${files} PARENT_SCOPE)
endfunction()

mergelane_files(files */*_spec.cpp)
mergelane_bundle(model specs cold ${files} config/statistics.cpp sim/declared.cpp sim/laws.cpp parts/cache_checks.cpp
                 core/law_book.cpp core/result.cpp core/wiring.cpp)
mergelane_files(files dispatch/*.cpp parts/replacement/*.cpp EXCEPT dispatcher dispatch_spec clustering_spec)
mergelane_bundle(model policies hot ${files} parts/index_hash.cpp parts/replacement.cpp sm/greedy_then_oldest.cpp sm/loose_round_robin.cpp
                 sm/warp_scheduler.cpp)
mergelane_files(files workload/suite/*.cpp workload/suite/programs/*.cpp EXCEPT kernel_files lud nn srad transpose)
mergelane_bundle(workload suite cold ${files})
mergelane_bundle(workload suite_too cold workload/suite/programs/lud.cpp workload/suite/programs/nn.cpp workload/suite/programs/srad.cpp)
mergelane_files(files workload/ptx/decode*.cpp workload/ptx/parser*.cpp)
mergelane_bundle(workload ptx cold ${files} workload/ptx/check.cpp workload/ptx/flow.cpp workload/ptx/lexer.cpp workload/ptx/module.cpp workload/ptx/timing_table.cpp
                 workload/ptx/types.cpp)
mergelane_bundle(workload formats cold workload/cuda/fatbin.cpp workload/cuda/link_ptx.cpp workload/cuda/ptx_images.cpp workload/accelsim/kernel_list.cpp
                 workload/accelsim/sass_opcodes.cpp workload/accelsim/trace_header.cpp)
mergelane_files(files workload/record/*.cpp workload/tracefile/*.cpp)
mergelane_bundle(workload traces hot ${files})
mergelane_files(files energy/*.cpp EXCEPT energy_table)
mergelane_bundle(energy energy cold ${files})
mergelane_files(files report/*.cpp EXCEPT embedded instructions json summary timeline)
mergelane_bundle(report drawing cold ${files})
mergelane_bundle(report results cold report/instructions.cpp report/json.cpp report/summary.cpp)
mergelane_files(files study/*.cpp formula/*.cpp runs/*.cpp launch/*.cpp campaign/*.cpp
                EXCEPT child record store_writer store_reader plan_file campaign_file run_table table_files table_reader study_reader study_report)
mergelane_bundle(studies study cold ${files})
mergelane_bundle(studies records cold launch/child.cpp runs/record.cpp runs/store_writer.cpp runs/store_reader.cpp campaign/plan_file.cpp)
set_source_files_properties(src/config/config.cpp src/core/text.cpp src/energy/energy_table.cpp src/profile/profile_report.cpp src/report/embedded.cpp
                            src/sim/built_in.cpp src/sim/machine.cpp src/study/study_reader.cpp src/study/study_report.cpp
                            src/workload/cuda/program_file.cpp src/workload/ptx/manifest.cpp src/workload/suite/kernel_files.cpp
                            src/workload/suite/programs/transpose.cpp
                            PROPERTIES COMPILE_OPTIONS "$<$<CONFIG:Release>:-O1>")
