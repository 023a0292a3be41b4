// cuda::std, as far as std goes here.
#pragma once
#include "algorithm"
#include "array"
#include "cmath"
#include "cstddef"
#include "cstdint"
#include "functional"
#include "limits"
#include "type_traits"
#include "utility"
namespace cuda {
namespace std = ::std;
}
