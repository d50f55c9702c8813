//===- StrategyTest.cpp - What a strategy knows of itself -----------------===//

#include "lib/Strategy/Strategy.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

using namespace galv;
using namespace mlir;

namespace {

struct StrategyTest : testing::Test {
  MLIRContext context;
  std::string error;
  ScopedDiagnosticHandler handler{
      &context, [&](Diagnostic &diagnostic) { error = diagnostic.str(); }};

  /// Four layers on two stages of four ranks; layer 2 has two data ranks.
  Strategy make() {
    Location loc = UnknownLoc::get(&context);
    Strategy strategy(loc);
    strategy.ranks = 8;
    strategy.microbatches = 3;
    strategy.stages = {3, 1};
    LayerStrategy layer(loc);
    layer.tensor = 4;
    strategy.layers.assign(4, layer);
    strategy.layers[2].data = strategy.layers[2].tensor = 2;
    strategy.vocabulary = layer;
    return strategy;
  }
};

TEST_F(StrategyTest, Stages) {
  Strategy strategy = make();
  EXPECT_EQ(strategy.ranksPerStage(), 4);
  EXPECT_EQ(strategy.stageOf(0), 0);
  EXPECT_EQ(strategy.stageOf(2), 0);
  EXPECT_EQ(strategy.stageOf(3), 1);
}

TEST_F(StrategyTest, LayersCompareWithoutTheirPlace) {
  LayerStrategy a(UnknownLoc::get(&context));
  LayerStrategy b(FileLineColLoc::get(&context, "s.json", 1, 2));
  EXPECT_EQ(a, b);
  b.tensorOuter = true;
  EXPECT_NE(a, b);
}

TEST_F(StrategyTest, BatchIsDividedByMicrobatchesAndDataRanks) {
  Strategy strategy = make();
  EXPECT_TRUE(succeeded(verifyBatchSize(strategy, 12)));
  EXPECT_TRUE(failed(verifyBatchSize(strategy, 9)));
  EXPECT_EQ(error, "the batch size, 9, is not divisible by the number of "
                   "microbatches times the data degree of layer 2, 3 x 2 = 6");
  strategy.vocabulary.data = 4;
  EXPECT_TRUE(failed(verifyBatchSize(strategy, 6)));
  EXPECT_EQ(error,
            "the batch size, 6, is not divisible by the number of microbatches "
            "times the data degree of the vocabulary layers, 3 x 4 = 12");
}

TEST_F(StrategyTest, BatchIsTheOneOfTheFile) {
  Strategy strategy = make();
  strategy.batchSize = 12;
  EXPECT_TRUE(succeeded(verifyBatchSize(strategy, 12)));
  EXPECT_TRUE(failed(verifyBatchSize(strategy, 24)));
  EXPECT_EQ(error, "the strategy is for a batch size of 12, but the model's is "
                   "24");
}

} // namespace
