//===- SampleMain.cpp - runs one of the sample programs -------------------===//
//
// The program's name comes from GALV_SAMPLE_PROGRAM, so that the command line
// is that of an emitted program.
//
//===----------------------------------------------------------------------===//

#include "SampleParts.h"

#include <cstdlib>
#include <string>

int main(int argc, char **argv) {
  const char *value = std::getenv("GALV_SAMPLE_PROGRAM");
  std::string name = value ? value : "";
  if (name == "one")
    return galv::main(sample::oneProgram(), argc, argv);
  if (name == "data")
    return galv::main(sample::dataProgram(), argc, argv);
  if (name == "pipeline")
    return galv::main(sample::pipelineProgram(), argc, argv);
  return 2;
}
