# MLIR 22 of Debian, and the functions that make our libraries, tools, dialects
# and passes.

find_package(MLIR 22.1 REQUIRED CONFIG
  PATHS /usr/lib/llvm-22/lib/cmake/mlir NO_DEFAULT_PATH)
list(APPEND CMAKE_MODULE_PATH ${MLIR_CMAKE_DIR} ${LLVM_CMAKE_DIR})
include(TableGen)
include(AddLLVM)
include(AddMLIR)
find_package(nlohmann_json 3.11 REQUIRED CONFIG)

option(GALV_PCH "precompile MLIR's headers" ON)

# Everything is linked statically: with the shared libraries every start of a
# tool takes 60 ms of relocations, ten times what the tool itself needs, and
# each RUN line of a test pays it. Debian's MLIR archives name the imported
# target LLVM, the shared library, as their interface; it is re-pointed.
set_target_properties(LLVM PROPERTIES
  IMPORTED_LOCATION_RELWITHDEBINFO ${LLVM_LIBRARY_DIR}/libLLVMSupport.a
  IMPORTED_SONAME_RELWITHDEBINFO ""
  INTERFACE_LINK_LIBRARIES "LLVMCore;LLVMBitWriter;LLVMBitReader;LLVMAsmParser;LLVMRemarks;LLVMTransformUtils;LLVMIRReader;LLVMTargetParser;LLVMFrontendOpenMP;LLVMBitstreamReader;LLVMBinaryFormat;LLVMSupport;LLVMSupportLSP;LLVMDemangle")

# What a file that includes MLIR is compiled with. The runtime never links it.
add_library(galv_mlir INTERFACE)
target_include_directories(galv_mlir SYSTEM INTERFACE ${MLIR_INCLUDE_DIRS})
separate_arguments(_definitions NATIVE_COMMAND ${LLVM_DEFINITIONS})
target_compile_options(galv_mlir INTERFACE ${_definitions})

# Two precompiled headers: MLIR's, for the dialects, and MLIR's with the
# dialects' own, for everything behind them (DIALECTS), where parsing the
# generated operations would otherwise be most of the time of a file. A change
# of a .td file rebuilds those anyway.
function(_galv_pch target pch header)
  if(NOT GALV_PCH)
    return()
  endif()
  if(NOT TARGET ${pch})
    file(GENERATE OUTPUT ${PROJECT_BINARY_DIR}/${pch}.cpp CONTENT "")
    add_library(${pch} OBJECT ${PROJECT_BINARY_DIR}/${pch}.cpp)
    target_link_libraries(${pch} PRIVATE galv_mlir)
    target_precompile_headers(${pch} PRIVATE
      ${PROJECT_SOURCE_DIR}/include/galv/${header})
  endif()
  target_precompile_headers(${target} REUSE_FROM ${pch})
endfunction()

macro(_galv_target name)
  target_link_libraries(${name} PUBLIC galv_mlir ${ARG_LINK} ${ARG_MLIR})
  if(ARG_DEPENDS)
    add_dependencies(${name} ${ARG_DEPENDS})
  endif()
  if(ARG_DIALECTS)
    _galv_pch(${name} galv_dialect_pch DialectPch.h)
    if(TARGET galv_dialect_pch)
      add_dependencies(galv_dialect_pch GalvIncGen CommIncGen RankIncGen)
    endif()
  else()
    _galv_pch(${name} galv_pch Pch.h)
  endif()
endmacro()

# galv_library(Name SRCS a.cpp .. [DEPENDS FooIncGen ..] [LINK <ours> ..]
#              [MLIR <archives> ..])
# A static library of the compiler. DIALECTS: it works on galv's own dialects.
# DEPENDS names tablegen targets; a library
# that includes another dialect's header needs that dialect's too (a library in
# LINK brings the order, for it is built after the library's own DEPENDS).
function(galv_library name)
  cmake_parse_arguments(ARG "DIALECTS" "" "SRCS;DEPENDS;LINK;MLIR" ${ARGN})
  add_library(${name} STATIC ${ARG_SRCS})
  _galv_target(${name})
endfunction()

# galv_tool(galv-opt SRCS .. LINK .. MLIR ..): an executable in build/bin.
function(galv_tool name)
  cmake_parse_arguments(ARG "DIALECTS" "" "SRCS;DEPENDS;LINK;MLIR" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  _galv_target(${name})
endfunction()

# galv_unittest(Name SRCS .. LINK .. MLIR ..): a GoogleTest program of the
# compiler; each of its cases is a ctest entry `Unit.<case>`.
function(galv_unittest name)
  cmake_parse_arguments(ARG "DIALECTS" "" "SRCS;DEPENDS;LINK;MLIR" ${ARGN})
  add_executable(${name} ${ARG_SRCS})
  _galv_target(${name})
  _galv_register_unittest(${name})
endfunction()

# galv_tablegen(FooIncGen file.td Out.h.inc <flags> [+ Out.cpp.inc <flags>] ..)
# One tablegen target of one .td file; outputs land in the binary folder that
# mirrors the source folder, so that they are included by their path from the
# top: "dialects/Galv/GalvOps.h.inc". `+` starts the next output.
function(galv_tablegen target td)
  set(LLVM_TARGET_DEFINITIONS ${td})
  set(output "")
  set(flags "")
  foreach(word ${ARGN} +)
    if(word STREQUAL "+")
      mlir_tablegen(${output} ${flags} EXTRA_INCLUDES ${MLIR_INCLUDE_DIRS})
      set(output "")
      set(flags "")
    elseif(output STREQUAL "")
      set(output ${word})
    else()
      list(APPEND flags ${word})
    endif()
  endforeach()
  # mlir_tablegen adds to TABLEGEN_OUTPUT in this scope.
  add_public_tablegen_target(${target})
endfunction()

# galv_add_dialect(Galv galv) in dialects/Galv:
#   Ops.td (which includes the dialect's other .td files) gives
#     {Dialect,Ops,Types,Attributes,Enums}.{h,cpp}.inc
#   Interfaces.td, where there is one, gives
#     {Interfaces,AttributeInterfaces,TypeInterfaces}.{h,cpp}.inc
# The target is GalvIncGen; docs/generated/GalvDialect.md is its reference.
function(galv_add_dialect name mnemonic)
  galv_tablegen(${name}IncGen Ops.td
    Dialect.h.inc -gen-dialect-decls -dialect=${mnemonic} +
    Dialect.cpp.inc -gen-dialect-defs -dialect=${mnemonic} +
    Ops.h.inc -gen-op-decls -dialect=${mnemonic} +
    Ops.cpp.inc -gen-op-defs -dialect=${mnemonic} +
    Types.h.inc -gen-typedef-decls -typedefs-dialect=${mnemonic} +
    Types.cpp.inc -gen-typedef-defs -typedefs-dialect=${mnemonic} +
    Attributes.h.inc -gen-attrdef-decls -attrdefs-dialect=${mnemonic} +
    Attributes.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${mnemonic} +
    Enums.h.inc -gen-enum-decls +
    Enums.cpp.inc -gen-enum-defs)
  if(EXISTS ${CMAKE_CURRENT_SOURCE_DIR}/Interfaces.td)
    galv_tablegen(${name}InterfacesIncGen Interfaces.td
      Interfaces.h.inc -gen-op-interface-decls +
      Interfaces.cpp.inc -gen-op-interface-defs +
      AttributeInterfaces.h.inc -gen-attr-interface-decls +
      AttributeInterfaces.cpp.inc -gen-attr-interface-defs +
      TypeInterfaces.h.inc -gen-type-interface-decls +
      TypeInterfaces.cpp.inc -gen-type-interface-defs)
    add_dependencies(${name}IncGen ${name}InterfacesIncGen)
  endif()
  galv_doc(${name}Dialect Ops.td -gen-dialect-doc -dialect=${mnemonic})
endfunction()

# galv_add_passes(Galv [file.td]): Passes.h.inc with the declarations,
# definitions and registrations of all passes in Passes.td (or file.td, giving
# file.h.inc); the target is <Name>PassesIncGen; docs/generated/<Name>Passes.md
# is its reference.
function(galv_add_passes name)
  set(td Passes.td)
  if(ARGC GREATER 1)
    set(td ${ARGV1})
  endif()
  get_filename_component(stem ${td} NAME_WE)
  galv_tablegen(${name}PassesIncGen ${td}
    ${stem}.h.inc -gen-pass-decls -name ${name})
  galv_doc(${name}Passes ${td} -gen-pass-doc)
endfunction()
