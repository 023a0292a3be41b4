// Atomic read-modify-write: relaxed, at device scope; _block and _system variants at theirs.
#pragma once

#define __WS_ATOMIC_OPERATION(name, suffix, scope, type, operation) \
  __WS_DEVICE type name##suffix(type* address, type value) { return operation(address, value, __ATOMIC_RELAXED, scope); }
#define __WS_ATOMIC_SCOPES(row, ...)                   \
  row(, __MEMORY_SCOPE_DEVICE, __VA_ARGS__)            \
  row(_block, __MEMORY_SCOPE_WRKGRP, __VA_ARGS__)      \
  row(_system, __MEMORY_SCOPE_SYSTEM, __VA_ARGS__)

#define __WS_ATOMIC_BITS(suffix, scope, type)                                                     \
  __WS_ATOMIC_OPERATION(atomicAnd, suffix, scope, type, __scoped_atomic_fetch_and)                \
  __WS_ATOMIC_OPERATION(atomicOr, suffix, scope, type, __scoped_atomic_fetch_or)                  \
  __WS_ATOMIC_OPERATION(atomicXor, suffix, scope, type, __scoped_atomic_fetch_xor)
#define __WS_ATOMIC_ADD(suffix, scope, type) __WS_ATOMIC_OPERATION(atomicAdd, suffix, scope, type, __scoped_atomic_fetch_add)
#define __WS_ATOMIC_SUB(suffix, scope, type) __WS_ATOMIC_OPERATION(atomicSub, suffix, scope, type, __scoped_atomic_fetch_sub)
#define __WS_ATOMIC_EXTREMES(suffix, scope, type)                                                 \
  __WS_ATOMIC_OPERATION(atomicMin, suffix, scope, type, __scoped_atomic_fetch_min)                \
  __WS_ATOMIC_OPERATION(atomicMax, suffix, scope, type, __scoped_atomic_fetch_max)
#define __WS_ATOMIC_EXCHANGE(suffix, scope, type) \
  __WS_ATOMIC_OPERATION(atomicExch, suffix, scope, type, __scoped_atomic_exchange_n)
#define __WS_ATOMIC_CAS(suffix, scope, type)                                                      \
  __WS_DEVICE type atomicCAS##suffix(type* address, type compare, type value) {                   \
    __scoped_atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_RELAXED,         \
                                       __ATOMIC_RELAXED, scope);                                  \
    return compare;                                                                               \
  }

#define __WS_ATOMIC_INTEGER(type)                 \
  __WS_ATOMIC_SCOPES(__WS_ATOMIC_ADD, type)       \
  __WS_ATOMIC_SCOPES(__WS_ATOMIC_BITS, type)      \
  __WS_ATOMIC_SCOPES(__WS_ATOMIC_EXTREMES, type)  \
  __WS_ATOMIC_SCOPES(__WS_ATOMIC_EXCHANGE, type)  \
  __WS_ATOMIC_SCOPES(__WS_ATOMIC_CAS, type)
__WS_ATOMIC_INTEGER(int)
__WS_ATOMIC_INTEGER(unsigned int)
__WS_ATOMIC_INTEGER(long long)
__WS_ATOMIC_INTEGER(unsigned long long)
__WS_ATOMIC_INTEGER(long)
__WS_ATOMIC_INTEGER(unsigned long)
__WS_ATOMIC_SCOPES(__WS_ATOMIC_SUB, int)
__WS_ATOMIC_SCOPES(__WS_ATOMIC_SUB, unsigned int)
__WS_ATOMIC_SCOPES(__WS_ATOMIC_ADD, float)
__WS_ATOMIC_SCOPES(__WS_ATOMIC_ADD, double)
__WS_ATOMIC_SCOPES(__WS_ATOMIC_CAS, unsigned short)

#define __WS_ATOMIC_EXCHANGE_FLOAT(suffix, scope, type)                                           \
  __WS_DEVICE float atomicExch##suffix(float* address, float value) {                             \
    return __builtin_bit_cast(                                                                    \
        float, atomicExch##suffix((unsigned int*)address, __builtin_bit_cast(unsigned int, value))); \
  }
__WS_ATOMIC_SCOPES(__WS_ATOMIC_EXCHANGE_FLOAT, float)

// Wraps to 0 above `limit`, or to `limit` below 0: instructions of their own.
#define __WS_ATOMIC_WRAP(suffix, scope_word, unused)                                              \
  __WS_DEVICE unsigned int atomicInc##suffix(unsigned int* address, unsigned int limit) {         \
    return __nvvm_atom_##scope_word##inc_gen_ui(address, limit);                                  \
  }                                                                                               \
  __WS_DEVICE unsigned int atomicDec##suffix(unsigned int* address, unsigned int limit) {         \
    return __nvvm_atom_##scope_word##dec_gen_ui(address, limit);                                  \
  }
__WS_ATOMIC_WRAP(, , )
__WS_ATOMIC_WRAP(_block, cta_, )
__WS_ATOMIC_WRAP(_system, sys_, )
