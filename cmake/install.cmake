# SPDX-License-Identifier: MIT
# `cmake --install`: the command, the static libraries with their headers, the machine presets, the suite's kernels, and what find_package needs.
# Include it last: it looks at the targets the project has made. Components: `command` is what `mergelane` needs (the default), `development`
# the library, `python` what a wheel adds (python/CMakeLists.txt).

set(MERGELANE_INSTALL_CMAKE ${CMAKE_INSTALL_LIBDIR}/cmake/mergelane)
set(MERGELANE_INSTALL_GPUS ${CMAKE_INSTALL_DATADIR}/mergelane/gpus)
set(MERGELANE_INSTALL_KERNELS ${CMAKE_INSTALL_DATADIR}/mergelane/kernels)
set(MERGELANE_INSTALL_ENERGY ${CMAKE_INSTALL_DATADIR}/mergelane/energy)

# The command finds its presets at ../share/mergelane/gpus, seen from its own directory.
get_property(mergelane_commands DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR}/apps/mergelane PROPERTY BUILDSYSTEM_TARGETS)
foreach(target IN LISTS mergelane_commands)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "EXECUTABLE")
    install(TARGETS ${target} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
  endif()
endforeach()

# ... and the replacement CUDA runtime at ../lib/mergelane, where it does not get in the way of the real one.
install(TARGETS mergelane_cudart LIBRARY DESTINATION lib/mergelane NAMELINK_SKIP)
install(FILES apps/cudart/include/mergelane_cuda.h cuda/mergelane/cta_cluster.cuh DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mergelane)
install(PROGRAMS scripts/clang-cuda DESTINATION ${CMAKE_INSTALL_BINDIR} RENAME mergelane-clang-cuda)

install(DIRECTORY gpus/ DESTINATION ${MERGELANE_INSTALL_GPUS} FILES_MATCHING PATTERN "*.toml")
# And the kernels of the workload suite at ../share/mergelane/kernels.
install(DIRECTORY kernels/ DESTINATION ${MERGELANE_INSTALL_KERNELS}
        FILES_MATCHING PATTERN "*.ptx" PATTERN "*.cu" PATTERN "metadata.toml")
# And the energy tables at ../share/mergelane/energy.
install(DIRECTORY data/energy/ DESTINATION ${MERGELANE_INSTALL_ENERGY} FILES_MATCHING PATTERN "*.toml" PATTERN "*.csv")
# And the published numbers that studies are judged by at ../share/mergelane/published.csv.
# Measurements of silicon and the rule of mechanisms beside them.
install(FILES data/published.csv data/silicon.csv data/mechanism_rule.toml DESTINATION ${CMAKE_INSTALL_DATADIR}/mergelane)
# And their results at paper size at ../share/mergelane/results.
install(DIRECTORY docs/reproduction/ DESTINATION ${CMAKE_INSTALL_DATADIR}/mergelane/results FILES_MATCHING PATTERN "*.jsonl.zst")
# And the studies themselves at ../share/mergelane/studies.
install(DIRECTORY studies/ DESTINATION ${CMAKE_INSTALL_DATADIR}/mergelane/studies FILES_MATCHING PATTERN "*.toml")
install(FILES LICENSE SECURITY.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
# Headers of these packages are compiled in; Debian has their licences.
foreach(package libcli11-dev nlohmann-json3-dev libxxhash-dev libprotozero-dev)
  install(FILES /usr/share/doc/${package}/copyright DESTINATION ${CMAKE_INSTALL_DOCDIR}/licences RENAME ${package} OPTIONAL)
endforeach()
# The library contains the chart library of its reports.
install(DIRECTORY third_party/vega/ DESTINATION ${CMAKE_INSTALL_DOCDIR}/vega FILES_MATCHING PATTERN "LICENSE.*" PATTERN "VERSIONS")

# Headers keep their folders below include/mergelane, which is on the include path of mergelane::mergelane.
install(DIRECTORY src/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mergelane COMPONENT development FILES_MATCHING PATTERN "*.hpp")
install(FILES apps/mergelane/mergelane_main.hpp DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/mergelane COMPONENT development)
install(TARGETS mergelane ${MERGELANE_FLOORS} mergelane_command EXPORT mergelaneTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development)
install(EXPORT mergelaneTargets NAMESPACE mergelane:: DESTINATION ${MERGELANE_INSTALL_CMAKE} COMPONENT development)

configure_package_config_file(cmake/mergelaneConfig.cmake.in ${CMAKE_CURRENT_BINARY_DIR}/mergelaneConfig.cmake
                              INSTALL_DESTINATION ${MERGELANE_INSTALL_CMAKE} PATH_VARS MERGELANE_INSTALL_GPUS MERGELANE_INSTALL_KERNELS MERGELANE_INSTALL_ENERGY)
# Before 1.0 a new minor version may change anything.
write_basic_package_version_file(${CMAKE_CURRENT_BINARY_DIR}/mergelaneConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/mergelaneConfig.cmake ${CMAKE_CURRENT_BINARY_DIR}/mergelaneConfigVersion.cmake
        DESTINATION ${MERGELANE_INSTALL_CMAKE} COMPONENT development)
