// min/max/abs over all arithmetic types, rounding, classification: what one or two instructions give exactly.
#pragma once

// --- Float ----------------------------------------------------------------------------------------------------------
__WS_BOTH float fabsf(float x) { return __builtin_fabsf(x); }
__WS_BOTH float fminf(float x, float y) { return __builtin_fminf(x, y); }
__WS_BOTH float fmaxf(float x, float y) { return __builtin_fmaxf(x, y); }
__WS_BOTH float fmaf(float x, float y, float z) { return __builtin_fmaf(x, y, z); }
__WS_BOTH float floorf(float x) { return __builtin_floorf(x); }
__WS_BOTH float ceilf(float x) { return __builtin_ceilf(x); }
__WS_BOTH float truncf(float x) { return __builtin_truncf(x); }
__WS_BOTH float rintf(float x) { return __builtin_rintf(x); }
__WS_BOTH float nearbyintf(float x) { return __builtin_nearbyintf(x); }
__WS_BOTH float copysignf(float x, float y) { return __builtin_copysignf(x, y); }
__WS_BOTH float sqrtf(float x) { return __builtin_sqrtf(x); }
__WS_BOTH float rsqrtf(float x) { return __WS_FTZ(rsqrt_approx)(x); }
__WS_BOTH float fdimf(float x, float y) { return x <= y ? 0.0f : x - y; }
__WS_BOTH float fdividef(float x, float y) { return x / y; }
