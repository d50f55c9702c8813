//===- galv-opt.cpp - run passes on a file --------------------------------===//

#include "passes/Passes.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<galv::GalvDialect, galv::comm::CommDialect,
                  mlir::func::FuncDialect>();
  galv::registerGalvPasses();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "galv: distributed transformer training\n", registry));
}
