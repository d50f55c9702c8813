//===- Passes.td - the passes of all phases -------------------------------===//
//
// One pass, one file, one test of the same name. Pipelines.cpp puts them in
// order.
//
//===----------------------------------------------------------------------===//

#ifndef GALV_PASSES_TD
#define GALV_PASSES_TD

include "mlir/Pass/PassBase.td"

class Galv_Pass<string name> : Pass<name, "::mlir::ModuleOp"> {
  let dependentDialects = ["::galv::GalvDialect", "::galv::comm::CommDialect",
                           "::mlir::func::FuncDialect"];
}

def SetPrecisionPass : Galv_Pass<"galv-set-precision"> {
  let summary = "Set the types to compute, keep, accumulate and reduce in";
  let description = [{
    Replaces the imported element type `f32` by the run's. With `fp32` and
    `fp64` all four are one type, so that no cast is needed.

    **Requires:** an imported program.
    **Leaves true:** every floating-point element type is the run's.
  }];
  let options = [Option<"precision", "precision", "std::string", "\"fp32\"",
                        "fp32 or fp64">];
}

def AssignStrategyPass : Galv_Pass<"galv-assign-strategy"> {
  let summary = "Read and check the strategy, make the mesh";
  let description = [{
    Tags every operation with its block: 0 is the embedding, 1 to n are the
    layers, n + 1 is the head. The mesh is refined once, at the strides and
    extents of every layer's groups, so that layers of different degrees choose
    axes of one mesh. Wraps the program in `galv.microbatches`.

    **Requires:** an imported program.
    **Leaves true:** the model has a mesh and a strategy for each block; the
    batch is divisible by microbatches times each block's data degree.
  }];
  let options = [
    Option<"strategy", "strategy", "std::string", "\"\"",
           "strategy file (galv's or Galvatron's JSON)">,
    Option<"ranks", "ranks", "int64_t", "0",
           "ranks of the job, where the file does not say (0: as the file)">,
    Option<"galvatronVersion", "galvatron-version", "int64_t", "3",
           "how a Galvatron file is read: 2 or 3">];
}

def TensorParallelPass : Galv_Pass<"galv-tensor-parallel"> {
  let summary = "Give parameters and activations their placements";
  let description = [{
    Splits the dimensions that parameters name `heads`, `hidden` or
    `vocabulary` over the block's tensor axes and types every forward result by
    the choice that moves least. Blocks meet in their boundary type: the batch
    over microbatches and data axes, the sequence over the tensor axes where
    the strategy says so. A placement that is there already stays.

    **Requires:** `galv-assign-strategy`.
    **Leaves true:** every tensor of the model has a placement; between blocks
    nothing is partial but the loss. Operands inside blocks may clash.
  }];
}

def SequentialPartitionPass : Galv_Pass<"galv-sequential-partition"> {
  let summary = "Make the program a list of block calls";
  let description = [{
    Moves each block into a function; blocks with the same operations and types
    share one, so that the program grows with the number of different blocks.
    Module paths in a shared function say `{layer}` for the layer's number.

    **Requires:** `galv-tensor-parallel`.
    **Leaves true:** the microbatch's body holds uses, calls and
    redistributions only.
  }];
}

def InsertRedistributionPass : Galv_Pass<"galv-insert-redistribution"> {
  let summary = "Redistribute operands that differ from what their rule wants";
  let description = [{
    Results and parameters are settled; operands follow. Partial sums are added
    up first and reduced at the first consumer that refuses them; a value needed
    twice in one placement is redistributed once.

    **Requires:** every tensor has a placement.
    **Leaves true:** every operation's factor rule holds, and its verifier
    checks it from here on (`galv.placed`).
  }];
}

def StagePipelinePass : Galv_Pass<"galv-stage-pipeline"> {
  let summary = "Put every block on one stage";
  let description = [{
    Makes `galv.stage` symbols, a `forward` phase for each, and transfers at the
    borders. A parameter used on a second stage gets a copy there; its home is
    the stage of its first use.

    **Requires:** a list of block calls.
    **Leaves true:** a value that crosses stages goes through `galv.transfer`;
    every parameter has a home.
  }];
}

def ShardDataParallelPass : Galv_Pass<"galv-shard-data-parallel"> {
  let summary = "Give every parameter its rest";
  let description = [{
    From ZeRO stage 1 on a parameter rests flattened over the block's data
    axes; below, as it is used.

    **Requires:** every use has a placement and every parameter a home.
    **Leaves true:** every parameter has its placement at rest and the times of
    its actions (`zero`).
  }];
}

def AnnotateCheckpointPass : Galv_Pass<"galv-annotate-checkpoint"> {
  let summary = "Say what every block's backward keeps";
  let description = [{
    Marks the calls of blocks whose strategy recomputes: their backward keeps
    the block's inputs and runs its forward again.

    **Requires:** a list of block calls.
    **Leaves true:** every call says what is kept.
  }];
}

def AutodiffPass : Galv_Pass<"galv-autodiff"> {
  let summary = "Build the backward, on global placed types";
  let description = [{
    Writes the begin, backward and finish phases: counting labels, parameters
    from rest to use, each block's backward, gradients towards rest, norm, clip
    and update. A redistribution does not change the global value, so its
    derivative emits nothing; insertion runs on what the backward needs.

    **Requires:** every parameter has its rest, every block its stage.
    **Leaves true:** a whole step; no gradient that reaches an update is
    partial.
  }];
}

def FusePass : Galv_Pass<"galv-fuse"> {
  let summary = "Make one operation of what one kernel can do";
  let description = [{
    Stands in its place; there is no pattern yet.
  }];
}

def LocalisePass : Galv_Pass<"galv-localise"> {
  let summary = "From global shapes to one rank's";
  let description = [{
    Types lose their placement and get the local shape; each redistribution
    becomes its cheapest sequence of local cuts and collectives.

    **Requires:** `galv.placed`, no operand clashes.
    **Leaves true:** no placements; what a rank exchanges is `comm` operations.
  }];
}

def SchedulePass : Galv_Pass<"galv-schedule"> {
  let dependentDialects = ["::galv::GalvDialect", "::galv::rank::RankDialect",
                           "::mlir::func::FuncDialect"];
  let summary = "Make tables of each stage's actions, and their order";
  let description = [{
    Groups what stands between blocks into functions, one call an action and a
    block, and lays the order of phases, microbatches and transfers down. All
    stages are simulated together: the order ends, every send meets its
    receive.

    **Requires:** local shapes.
    **Leaves true:** every stage has segments of calls and an order proved free
    of deadlock.
  }];
}

def OverlapPass : Galv_Pass<"galv-overlap"> {
  let summary = "Start collectives early and await them late";
  let description = [{
    Stands in its place; everything runs in order yet.
  }];
}

def PlanMemoryPass : Galv_Pass<"galv-plan-memory"> {
  let dependentDialects = ["::galv::GalvDialect", "::galv::rank::RankDialect",
                           "::mlir::func::FuncDialect"];
  let summary = "Give every value a buffer";
  let description = [{
    Functions write into buffers that they are given; values inside a function
    lie in its scratch area, by the time they live. Values of microbatches in
    flight get slots.

    **Requires:** `galv-schedule`.
    **Leaves true:** every buffer has an offset in the stage's arena; its peak is
    known.
  }];
}

def VerifyContractPass : Galv_Pass<"galv-verify-contract"> {
  let dependentDialects = ["::galv::GalvDialect", "::galv::rank::RankDialect",
                           "::mlir::func::FuncDialect"];
  let summary = "Check what a phase leaves true";
  let description = [{
    Verifies the placement in every type again (MLIR does it only when it
    parses), and the contract of the named phase.
  }];
  let options = [Option<"phase", "phase", "std::string", "\"\"",
                        "name of the phase, as in galvc --compile-to">];
}

#endif // GALV_PASSES_TD
