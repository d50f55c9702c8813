//===- Rank.h - the rank dialect --------------------------------*- C++ -*-===//

#ifndef GALV_DIALECTS_RANK_RANK_H
#define GALV_DIALECTS_RANK_RANK_H

#include "dialects/Galv/Galv.h"

#include "dialects/Rank/Dialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "dialects/Rank/Attributes.h.inc"

#define GET_OP_CLASSES
#include "dialects/Rank/Ops.h.inc"

#endif // GALV_DIALECTS_RANK_RANK_H
