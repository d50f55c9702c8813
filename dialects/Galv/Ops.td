//===- Ops.td - all operations of the galv dialect ------------------------===//

#ifndef GALV_OPS_TD
#define GALV_OPS_TD

include "dialects/Galv/ProgramOps.td"
include "dialects/Galv/ComputeOps.td"
include "dialects/Galv/GradientOps.td"

#endif // GALV_OPS_TD
