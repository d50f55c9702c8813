//===- galv-opt.cpp - run passes on a file --------------------------------===//

#include "dialects/Rank/Rank.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"
#include "passes/Passes.h"
#include "passes/Pipelines.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  registry.insert<galv::GalvDialect, galv::comm::CommDialect,
                  galv::rank::RankDialect, mlir::func::FuncDialect>();
  galv::registerGalvPasses();
  mlir::registerCanonicalizerPass();
  galv::registerGalvPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "galv: distributed transformer training\n", registry));
}
