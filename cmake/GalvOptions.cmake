# Flags of all our targets, compiler and runtime.

# The time of a build goes into parsing headers, and -O1 is enough for a
# compiler that finishes in seconds. Asserts stay on: those in MLIR's headers
# cost little and turn a wrong cast into a message. The runtime asks for more
# itself.
set(CMAKE_CXX_FLAGS_RELEASE "-O1")
set(CMAKE_C_FLAGS_RELEASE "-O1")

# -fPIC and not CMake's property, which would give executables -fPIE: all share
# one precompiled header, which must have been compiled the same way.
add_compile_options(-fPIC -Wall -Wextra -Wno-unused-parameter
  -ffunction-sections -fdata-sections)
if(GALV_WERROR)
  add_compile_options(-Werror)
endif()
if(CMAKE_CXX_COMPILER_ID MATCHES Clang)
  # lld of the compiler's own version; with it, ccache can reuse objects that
  # were built against the precompiled header.
  add_compile_options("$<$<COMPILE_LANGUAGE:CXX>:SHELL:-Xclang -fno-pch-timestamp>")
  add_link_options(-fuse-ld=lld)
endif()
add_link_options(-Wl,--as-needed -Wl,--gc-sections)

include_directories(${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include
  ${PROJECT_BINARY_DIR})

find_program(GALV_CCACHE ccache)
if(GALV_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    ${GALV_CCACHE})
endif()

# Debian's GoogleTest; without it there are no unit tests. Use galv_unittest or
# galv_runtime_unittest.
find_package(GTest CONFIG QUIET)
include(GoogleTest)
function(_galv_register_unittest name)
  target_link_libraries(${name} PRIVATE GTest::gtest_main)
  set_target_properties(${name} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/unittests)
  gtest_discover_tests(${name} TEST_PREFIX Unit. DISCOVERY_TIMEOUT 60
    PROPERTIES TIMEOUT 600 ENVIRONMENT OMP_NUM_THREADS=1)
endfunction()
