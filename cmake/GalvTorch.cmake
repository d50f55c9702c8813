# LibTorch from the PyPI wheel, as the target galv_torch.
#
# Torch's own CMake package wants a CUDA toolkit and adds global flags; the
# wheel is headers and shared libraries in known places, so they are named here.
# The wheel's libraries find one another by their RUNPATH, ours by the one below.

file(GLOB _galv_torch LIST_DIRECTORIES true
  ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/torch)
set(GALV_TORCH_DIR "${_galv_torch}" CACHE PATH
  "the folder `torch` of an installed wheel (default: the one of tools/setup)")
if(NOT EXISTS "${GALV_TORCH_DIR}/include/ATen/ATen.h" AND _galv_torch)
  set(GALV_TORCH_DIR "${_galv_torch}" CACHE PATH "" FORCE)
endif()
if(NOT EXISTS "${GALV_TORCH_DIR}/include/ATen/ATen.h")
  message(STATUS "LibTorch not found (tools/setup installs it, or give "
    "-DGALV_TORCH_DIR=.../site-packages/torch): no runtime library")
  set(GALV_RUNTIME OFF)
  return()
endif()

get_filename_component(_galv_site "${GALV_TORCH_DIR}/.." ABSOLUTE)
set(GALV_TORCH_LIBRARY_DIRS ${GALV_TORCH_DIR}/lib ${_galv_site}/nvidia/cu13/lib)
add_library(galv_torch INTERFACE)
target_include_directories(galv_torch SYSTEM INTERFACE
  ${GALV_TORCH_DIR}/include ${GALV_TORCH_DIR}/include/torch/csrc/api/include)
target_compile_definitions(galv_torch INTERFACE USE_DISTRIBUTED USE_C10D_GLOO)
target_link_directories(galv_torch INTERFACE ${GALV_TORCH_LIBRARY_DIRS})
# torch_cpu registers its kernels when it is loaded: it must not be dropped as
# unused. What it needs in turn (libcudart.so.13, libcupti.so.13) is found when
# it is loaded; what those lack is never called on a CPU.
target_link_libraries(galv_torch INTERFACE
  -Wl,--no-as-needed torch_cpu c10 -Wl,--as-needed)
target_link_options(galv_torch INTERFACE
  -Wl,--unresolved-symbols=ignore-in-shared-libs -Wl,--allow-shlib-undefined)
foreach(dir ${GALV_TORCH_LIBRARY_DIRS})
  target_link_options(galv_torch INTERFACE -Wl,-rpath,${dir})
endforeach()

# galv_runtime_unittest(Name SRCS .. LINK galv_runtime ..): a GoogleTest program
# of the runtime; each of its cases is a ctest entry `Unit.<case>`.
function(galv_runtime_unittest name)
  cmake_parse_arguments(ARG "" "" "SRCS;LINK" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  target_link_libraries(${name} PRIVATE ${ARG_LINK} galv_torch)
  _galv_register_unittest(${name})
endfunction()
