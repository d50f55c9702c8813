# The reference pages that mlir-tblgen writes from the .td files. They are
# committed in docs/generated, so that they can be read where the project is
# hosted; a test regenerates and compares them.

set(GALV_DOCS_DIR ${PROJECT_BINARY_DIR}/docs)
file(MAKE_DIRECTORY ${GALV_DOCS_DIR})

# `ninja galv-docs` writes build/docs; docs/generate.sh copies it to
# docs/generated.
add_custom_target(galv-docs)

# galv_doc(Page file.td <mlir-tblgen flags>): build/docs/Page.md.
function(galv_doc page td)
  get_property(includes DIRECTORY PROPERTY INCLUDE_DIRECTORIES)
  list(APPEND includes ${MLIR_INCLUDE_DIRS} ${CMAKE_CURRENT_SOURCE_DIR})
  list(TRANSFORM includes PREPEND -I)
  add_custom_command(OUTPUT ${GALV_DOCS_DIR}/${page}.md
    COMMAND ${MLIR_TABLEGEN_EXE} ${ARGN} ${includes}
      ${CMAKE_CURRENT_SOURCE_DIR}/${td} -o ${GALV_DOCS_DIR}/${page}.md
      -d ${GALV_DOCS_DIR}/${page}.md.d
    DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/${td}
    DEPFILE ${GALV_DOCS_DIR}/${page}.md.d
    COMMENT "Writing ${page}.md")
  add_custom_target(galv-doc-${page} DEPENDS ${GALV_DOCS_DIR}/${page}.md)
  add_dependencies(galv-docs galv-doc-${page})
endfunction()
