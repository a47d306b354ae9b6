# SPDX-License-Identifier: MIT
# With MERGELANE_PACKAGES: what the tarball has instead of the command and the CUDA library, generated files, and the Debian packages (CPack).
# packaging/build calls all of it; docs/releasing.md says what a release is.

# -- The command and the CUDA library that need nothing but the C library and, alongside, METIS: Debian has no static library of METIS.
# They are linked a second time from the same objects, so that both forms of the product come from one compilation.
find_library(MERGELANE_LZMA_ARCHIVE liblzma.a REQUIRED)
set(static ${CMAKE_CURRENT_BINARY_DIR}/portable/static)
foreach(name zstd lz4 sqlite3)  # linked by name, and in this folder only the static form has it
  find_library(MERGELANE_${name}_ARCHIVE lib${name}.a REQUIRED)
  file(MAKE_DIRECTORY ${static})
  file(CREATE_LINK ${MERGELANE_${name}_ARCHIVE} ${static}/lib${name}.a SYMBOLIC)
endforeach()
add_library(mergelane_portable_parts OBJECT packaging/portable/fmt.cpp packaging/portable/toml.cpp packaging/portable/arc4random.cpp)
target_link_libraries(mergelane_portable_parts PRIVATE fmt::fmt tomlplusplus::tomlplusplus)
set_target_properties(mergelane_portable_parts PROPERTIES POSITION_INDEPENDENT_CODE ON)

# The objects of fmt and toml++ come first, so that no shared library of them is needed; --as-needed leaves it out.
function(mergelane_portable target)
  set_target_properties(${target} PROPERTIES LINKER_LANGUAGE CXX
                        BUILD_WITH_INSTALL_RPATH ON)  # one that is replaced would leave its length, that of the build's path, behind
  target_link_directories(${target} BEFORE PRIVATE ${static})
  target_link_options(${target} PRIVATE -static-libstdc++ -static-libgcc LINKER:--as-needed
                      LINKER:--whole-archive,${MERGELANE_LZMA_ARCHIVE},--no-whole-archive)
endfunction()
add_executable(mergelane_portable_cli $<TARGET_OBJECTS:mergelane_cli> $<TARGET_OBJECTS:mergelane_portable_parts>)
target_link_libraries(mergelane_portable_cli PRIVATE mergelane_command mergelane_flags)
set_target_properties(mergelane_portable_cli PROPERTIES OUTPUT_NAME mergelane RUNTIME_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/portable/bin
                      INSTALL_RPATH "$ORIGIN/../lib/mergelane")
mergelane_portable(mergelane_portable_cli)
add_library(mergelane_portable_cudart SHARED $<TARGET_OBJECTS:mergelane_cudart> $<TARGET_OBJECTS:mergelane_portable_parts>)
target_link_libraries(mergelane_portable_cudart PRIVATE mergelane mergelane_flags)
target_link_options(mergelane_portable_cudart PRIVATE -Wl,--version-script=${CMAKE_CURRENT_SOURCE_DIR}/apps/cudart/libcudart.map -Wl,--exclude-libs,ALL)
set_target_properties(mergelane_portable_cudart PROPERTIES OUTPUT_NAME cudart VERSION 13 SOVERSION 13 INSTALL_RPATH "$ORIGIN"
                      LIBRARY_OUTPUT_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/portable/lib/mergelane)
mergelane_portable(mergelane_portable_cudart)
# Installed over the component `command`.
install(TARGETS mergelane_portable_cli RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT portable EXCLUDE_FROM_ALL)
install(TARGETS mergelane_portable_cudart LIBRARY DESTINATION lib/mergelane NAMELINK_SKIP COMPONENT portable EXCLUDE_FROM_ALL)

# -- Generated from the help of the command, and from what is linked.
find_package(Python3 COMPONENTS Interpreter REQUIRED)
set(generated ${CMAKE_CURRENT_BINARY_DIR}/packaging)
set(scripts ${CMAKE_CURRENT_SOURCE_DIR}/packaging)
set(python ${CMAKE_COMMAND} -E env PYTHONDONTWRITEBYTECODE=1 ${Python3_EXECUTABLE})
add_custom_command(OUTPUT ${generated}/stamp
                   COMMAND ${CMAKE_COMMAND} -E rm -rf ${generated}/man1 ${generated}/completions
                   COMMAND ${python} ${scripts}/manual_pages.py $<TARGET_FILE:mergelane_cli> ${generated}/man1
                   COMMAND ${python} ${scripts}/completions.py $<TARGET_FILE:mergelane_cli> ${generated}/completions
                   COMMAND ${python} ${scripts}/sbom.py -o ${generated}/mergelane.spdx.json
                   COMMAND ${CMAKE_COMMAND} -E touch ${generated}/stamp
                   DEPENDS mergelane_cli packaging/command_help.py packaging/manual_pages.py packaging/completions.py packaging/sbom.py VERBATIM)
add_custom_target(mergelane_generated_files DEPENDS ${generated}/stamp)
install(FILES packaging/mergelane-clang-cuda.1 DESTINATION ${CMAKE_INSTALL_DATADIR}/man/man1)
install(DIRECTORY ${generated}/man1/ DESTINATION ${CMAKE_INSTALL_DATADIR}/man/man1 OPTIONAL)
install(FILES ${generated}/completions/mergelane DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions OPTIONAL)
install(FILES ${generated}/completions/_mergelane DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/vendor-completions OPTIONAL)
install(FILES ${generated}/completions/mergelane.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d OPTIONAL)
install(FILES ${generated}/mergelane.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR} OPTIONAL)
add_custom_target(mergelane_packages DEPENDS mergelane_cli mergelane_cudart mergelane_portable_cli mergelane_portable_cudart mergelane_generated_files)

# -- The Python package where Debian has those of its own.
if(MERGELANE_PYTHON)
  add_dependencies(mergelane_packages mergelane_python)
  set(dist lib/python3/dist-packages/mergelane)
  file(GLOB files CONFIGURE_DEPENDS python/mergelane/*.py python/mergelane/*.pyi python/mergelane/py.typed)
  install(TARGETS mergelane_python LIBRARY DESTINATION ${dist} COMPONENT python_module EXCLUDE_FROM_ALL)
  install(FILES ${files} DESTINATION ${dist} COMPONENT python_module EXCLUDE_FROM_ALL)
  set(CPACK_COMPONENTS_ALL command development python_module)
else()
  set(CPACK_COMPONENTS_ALL command development)
endif()

# -- Debian
set(MERGELANE_MAINTAINER "The Mergelane authors <maintainers@mergelane.invalid>" CACHE STRING "Maintainer that the Debian packages name")
set(MERGELANE_DEBIAN_REVISION "1" CACHE STRING "Revision of the Debian packages")
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME mergelane)
set(CPACK_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # each has its own
set(CPACK_PACKAGE_CONTACT ${MERGELANE_MAINTAINER})
set(CPACK_PACKAGE_DIRECTORY ${CMAKE_CURRENT_BINARY_DIR}/packages)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${CMAKE_CURRENT_BINARY_DIR}/packaging/finish_debian.cmake)
configure_file(packaging/finish_debian.cmake.in packaging/finish_debian.cmake @ONLY)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE ${MERGELANE_DEBIAN_REVISION})
set(CPACK_DEBIAN_COMPRESSION_TYPE none)  # packaging/build packs them again
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(same "(= ${PROJECT_VERSION}-${MERGELANE_DEBIAN_REVISION})")

set(CPACK_DEBIAN_COMMAND_PACKAGE_NAME mergelane)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SECTION science)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_COMMAND_PACKAGE_SUGGESTS "clang-14, python3-mergelane")
set(CPACK_DEBIAN_COMMAND_DESCRIPTION "cycle-level simulator of the GPU memory path
Mergelane simulates the memory path of a GPU cycle by cycle: from the lanes
of a warp through coalescer, L1, network and L2 to DRAM, and back. It runs
benchmarks, PTX kernels, unmodified CUDA programs and traces without a GPU,
reports what limits them, and reproduces experiments of published papers.

This package holds the command, machine presets, benchmarks and studies.")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libmergelane-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "mergelane ${same}, libfmt-dev, libtomlplusplus-dev, liblzma-dev, libzstd-dev, liblz4-dev, libmetis-dev, libsqlite3-dev")
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SUGGESTS "nlohmann-json3-dev")
set(CPACK_DEBIAN_DEVELOPMENT_DESCRIPTION "cycle-level simulator of the GPU memory path (library)
Mergelane simulates the memory path of a GPU cycle by cycle.

This package holds the static libraries, their C++ headers and what CMake's
find_package needs, for programs that simulate, and for mechanisms of your own.")

set(CPACK_DEBIAN_PYTHON_MODULE_PACKAGE_NAME python3-mergelane)
set(CPACK_DEBIAN_PYTHON_MODULE_PACKAGE_SECTION python)
set(CPACK_DEBIAN_PYTHON_MODULE_PACKAGE_SHLIBDEPS ON)
math(EXPR next "${Python3_VERSION_MINOR} + 1")
set(CPACK_DEBIAN_PYTHON_MODULE_PACKAGE_DEPENDS
    "mergelane ${same}, python3 (>= 3.${Python3_VERSION_MINOR}), python3 (<< 3.${next}), python3-numpy, python3-pandas")
set(CPACK_DEBIAN_PYTHON_MODULE_PACKAGE_SUGGESTS "python3-matplotlib, python3-optuna")
set(CPACK_DEBIAN_PYTHON_MODULE_PACKAGE_CONTROL_EXTRA "${scripts}/debian/postinst;${scripts}/debian/prerm")
set(CPACK_DEBIAN_PYTHON_MODULE_DESCRIPTION "cycle-level simulator of the GPU memory path (Python 3)
Mergelane simulates the memory path of a GPU cycle by cycle.

This package holds the Python package: runs, machines, sweeps and results as
objects and pandas frames.")
include(CPack)
