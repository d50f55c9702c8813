//===- Pch.h - the precompiled header of the runtime ----------------------===//
//
// LibTorch's tensors: parsing them is most of the time of a kernel's file.
//
//===----------------------------------------------------------------------===//

#include <ATen/core/Tensor.h>
#include <ATen/ops/from_blob.h>

#include <string>
#include <vector>
