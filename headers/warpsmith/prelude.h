// Included before every kernel, as nvcc includes cuda_runtime.h: all that CUDA C++ offers without an #include.
#pragma once
#include "warpsmith/keywords.h"
#include "warpsmith/vector_types.h"
#include "warpsmith/builtin_variables.h"
#include "warpsmith/runtime_declarations.h"
#include "warpsmith/warp.h"
#include "warpsmith/memory.h"
#include "warpsmith/fast_math.h"
#include "warpsmith/math_common.h"
#include "warpsmith/math_float.h"
