//===- galv-opt.cpp - run passes on a file --------------------------------===//

#include "dialects/Comm/Comm.h"
#include "dialects/Galv/Galv.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<galv::GalvDialect, galv::comm::CommDialect,
                  mlir::func::FuncDialect>();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "galv: distributed transformer training\n", registry));
}
