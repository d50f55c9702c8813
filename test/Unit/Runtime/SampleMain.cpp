//===- SampleMain.cpp - runs one of the sample programs -------------------===//
//
// The program's name comes from GALV_SAMPLE_PROGRAM, so that the command line
// is that of an emitted program.
//
//===----------------------------------------------------------------------===//

#include "SamplePrograms.h"

#include <cstdlib>

int main(int argc, char **argv) {
  const char *name = std::getenv("GALV_SAMPLE_PROGRAM");
  const galv::Program *program = name ? sample::find(name) : nullptr;
  return program ? galv::main(*program, argc, argv) : 2;
}
