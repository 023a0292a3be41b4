// Read-only and cache-hinted loads and stores, fences, address-space conversions.
#pragma once

__WS_DEVICE size_t __cvta_generic_to_shared(const void* p) {
  return (size_t)(__attribute__((address_space(3))) const void*)p;
}
__WS_DEVICE size_t __cvta_generic_to_global(const void* p) {
  return (size_t)(__attribute__((address_space(1))) const void*)p;
}
__WS_DEVICE size_t __cvta_generic_to_constant(const void* p) {
  return (size_t)(__attribute__((address_space(4))) const void*)p;
}
__WS_DEVICE size_t __cvta_generic_to_local(const void* p) {
  return (size_t)(__attribute__((address_space(5))) const void*)p;
}
__WS_DEVICE void* __cvta_shared_to_generic(size_t p) {
  return (void*)(__attribute__((address_space(3))) void*)(unsigned int)p;
}
__WS_DEVICE void* __cvta_global_to_generic(size_t p) { return (void*)(__attribute__((address_space(1))) void*)p; }
__WS_DEVICE void* __cvta_constant_to_generic(size_t p) {
  return (void*)(__attribute__((address_space(4))) void*)(unsigned int)p;
}
__WS_DEVICE void* __cvta_local_to_generic(size_t p) {
  return (void*)(__attribute__((address_space(5))) void*)(unsigned int)p;
}
__WS_DEVICE unsigned int __isShared(const void* p) { return __nvvm_isspacep_shared(p); }
__WS_DEVICE unsigned int __isGlobal(const void* p) { return __nvvm_isspacep_global(p); }
__WS_DEVICE unsigned int __isConstant(const void* p) { return __nvvm_isspacep_const(p); }
__WS_DEVICE unsigned int __isLocal(const void* p) { return __nvvm_isspacep_local(p); }

__WS_DEVICE void __threadfence_block() { __nvvm_membar_cta(); }
__WS_DEVICE void __threadfence() { __nvvm_membar_gl(); }
__WS_DEVICE void __threadfence_system() { __nvvm_membar_sys(); }
__WS_DEVICE void __nanosleep(unsigned int ns) { __nvvm_nanosleep(ns); }
__WS_DEVICE long long clock64() { return __nvvm_read_ptx_sreg_clock64(); }
__WS_DEVICE int clock() { return __nvvm_read_ptx_sreg_clock(); }
__WS_DEVICE void __trap() { __builtin_trap(); }
__WS_DEVICE void __brkpt() { asm volatile("brkpt;"); }

// Loads: `type` is CUDA's, moved as `count` registers of PTX type `ptx` (asm constraint `c`).
// ca: all levels; cg: L2 only; cs: streaming; lu: last use; cv: volatile; nc: read-only path.
#define __WS_LOAD1(name, op, type, ptx, c, register_)                                                        \
  __WS_DEVICE type name(const type* p) {                                                                     \
    register_ a;                                                                                             \
    asm volatile("ld.global." op "." ptx " %0, [%1];" : "=" c(a) : "l"(__cvta_generic_to_global(p)) : "memory"); \
    return (type)a;                                                                                          \
  }
#define __WS_LOAD2(name, op, type, ptx, c, register_, element)                                               \
  __WS_DEVICE type name(const type* p) {                                                                     \
    register_ a, b;                                                                                          \
    asm volatile("ld.global." op ".v2." ptx " {%0, %1}, [%2];"                                               \
                 : "=" c(a), "=" c(b) : "l"(__cvta_generic_to_global(p)) : "memory");                        \
    return type{(element)a, (element)b};                                                                     \
  }
#define __WS_LOAD4(name, op, type, ptx, c, register_, element)                                               \
  __WS_DEVICE type name(const type* p) {                                                                     \
    register_ a, b, d, e;                                                                                    \
    asm volatile("ld.global." op ".v4." ptx " {%0, %1, %2, %3}, [%4];"                                       \
                 : "=" c(a), "=" c(b), "=" c(d), "=" c(e) : "l"(__cvta_generic_to_global(p)) : "memory");    \
    return type{(element)a, (element)b, (element)d, (element)e};                                             \
  }
#define __WS_STORE1(name, op, type, ptx, c, register_)                                                       \
  __WS_DEVICE void name(type* p, type v) {                                                                   \
    asm volatile("st.global." op "." ptx " [%0], %1;" ::"l"(__cvta_generic_to_global(p)), c((register_)v) : "memory"); \
  }
#define __WS_STORE2(name, op, type, ptx, c, register_)                                                       \
  __WS_DEVICE void name(type* p, type v) {                                                                   \
    asm volatile("st.global." op ".v2." ptx " [%0], {%1, %2};" ::"l"(__cvta_generic_to_global(p)),           \
                 c((register_)v.x), c((register_)v.y) : "memory");                                           \
  }
#define __WS_STORE4(name, op, type, ptx, c, register_)                                                       \
  __WS_DEVICE void name(type* p, type v) {                                                                   \
    asm volatile("st.global." op ".v4." ptx " [%0], {%1, %2, %3, %4};" ::"l"(__cvta_generic_to_global(p)),   \
                 c((register_)v.x), c((register_)v.y), c((register_)v.z), c((register_)v.w) : "memory");     \
  }
// One row per type CUDA declares these functions for; KIND is LOAD or STORE with its own trailing columns.
#define __WS_HINTED_LOADS(name, op)                                                  \
  __WS_LOAD1(name, op, char, "s8", "r", int)                                         \
  __WS_LOAD1(name, op, signed char, "s8", "r", int)                                  \
  __WS_LOAD1(name, op, unsigned char, "u8", "r", unsigned int)                       \
  __WS_LOAD1(name, op, short, "s16", "h", short)                                     \
  __WS_LOAD1(name, op, unsigned short, "u16", "h", unsigned short)                   \
  __WS_LOAD1(name, op, int, "s32", "r", int)                                         \
  __WS_LOAD1(name, op, unsigned int, "u32", "r", unsigned int)                       \
  __WS_LOAD1(name, op, long, "s64", "l", long)                                       \
  __WS_LOAD1(name, op, unsigned long, "u64", "l", unsigned long)                     \
  __WS_LOAD1(name, op, long long, "s64", "l", long long)                             \
  __WS_LOAD1(name, op, unsigned long long, "u64", "l", unsigned long long)           \
  __WS_LOAD1(name, op, float, "f32", "f", float)                                     \
  __WS_LOAD1(name, op, double, "f64", "d", double)                                   \
  __WS_LOAD2(name, op, char2, "s8", "r", int, signed char)                           \
  __WS_LOAD2(name, op, uchar2, "u8", "r", unsigned int, unsigned char)               \
  __WS_LOAD2(name, op, short2, "s16", "h", short, short)                             \
  __WS_LOAD2(name, op, ushort2, "u16", "h", unsigned short, unsigned short)          \
  __WS_LOAD2(name, op, int2, "s32", "r", int, int)                                   \
  __WS_LOAD2(name, op, uint2, "u32", "r", unsigned int, unsigned int)                \
  __WS_LOAD2(name, op, longlong2, "s64", "l", long long, long long)                  \
  __WS_LOAD2(name, op, ulonglong2, "u64", "l", unsigned long long, unsigned long long) \
  __WS_LOAD2(name, op, float2, "f32", "f", float, float)                             \
  __WS_LOAD2(name, op, double2, "f64", "d", double, double)                          \
  __WS_LOAD4(name, op, char4, "s8", "r", int, signed char)                           \
  __WS_LOAD4(name, op, uchar4, "u8", "r", unsigned int, unsigned char)               \
  __WS_LOAD4(name, op, short4, "s16", "h", short, short)                             \
  __WS_LOAD4(name, op, ushort4, "u16", "h", unsigned short, unsigned short)          \
  __WS_LOAD4(name, op, int4, "s32", "r", int, int)                                   \
  __WS_LOAD4(name, op, uint4, "u32", "r", unsigned int, unsigned int)                \
  __WS_LOAD4(name, op, float4, "f32", "f", float, float)
#define __WS_HINTED_STORES(name, op)                                     \
  __WS_STORE1(name, op, char, "s8", "r", int)                            \
  __WS_STORE1(name, op, signed char, "s8", "r", int)                     \
  __WS_STORE1(name, op, unsigned char, "u8", "r", unsigned int)          \
  __WS_STORE1(name, op, short, "s16", "h", short)                        \
  __WS_STORE1(name, op, unsigned short, "u16", "h", unsigned short)      \
  __WS_STORE1(name, op, int, "s32", "r", int)                            \
  __WS_STORE1(name, op, unsigned int, "u32", "r", unsigned int)          \
  __WS_STORE1(name, op, long, "s64", "l", long)                          \
  __WS_STORE1(name, op, unsigned long, "u64", "l", unsigned long)        \
  __WS_STORE1(name, op, long long, "s64", "l", long long)                \
  __WS_STORE1(name, op, unsigned long long, "u64", "l", unsigned long long) \
  __WS_STORE1(name, op, float, "f32", "f", float)                        \
  __WS_STORE1(name, op, double, "f64", "d", double)                      \
  __WS_STORE2(name, op, char2, "s8", "r", int)                           \
  __WS_STORE2(name, op, uchar2, "u8", "r", unsigned int)                 \
  __WS_STORE2(name, op, short2, "s16", "h", short)                       \
  __WS_STORE2(name, op, ushort2, "u16", "h", unsigned short)             \
  __WS_STORE2(name, op, int2, "s32", "r", int)                           \
  __WS_STORE2(name, op, uint2, "u32", "r", unsigned int)                 \
  __WS_STORE2(name, op, longlong2, "s64", "l", long long)                \
  __WS_STORE2(name, op, ulonglong2, "u64", "l", unsigned long long)      \
  __WS_STORE2(name, op, float2, "f32", "f", float)                       \
  __WS_STORE2(name, op, double2, "f64", "d", double)                     \
  __WS_STORE4(name, op, char4, "s8", "r", int)                           \
  __WS_STORE4(name, op, uchar4, "u8", "r", unsigned int)                 \
  __WS_STORE4(name, op, short4, "s16", "h", short)                       \
  __WS_STORE4(name, op, ushort4, "u16", "h", unsigned short)             \
  __WS_STORE4(name, op, int4, "s32", "r", int)                           \
  __WS_STORE4(name, op, uint4, "u32", "r", unsigned int)                 \
  __WS_STORE4(name, op, float4, "f32", "f", float)

__WS_HINTED_LOADS(__ldca, "ca")
__WS_HINTED_LOADS(__ldcg, "cg")
__WS_HINTED_LOADS(__ldcs, "cs")
__WS_HINTED_LOADS(__ldlu, "lu")
__WS_HINTED_LOADS(__ldcv, "cv")
__WS_HINTED_STORES(__stwb, "wb")
__WS_HINTED_STORES(__stcg, "cg")
__WS_HINTED_STORES(__stcs, "cs")
__WS_HINTED_STORES(__stwt, "wt")

// Read-only loads carry no ordering, so clang may move and merge them: its own builtins, not asm.
#define __WS_LDG1(type, suffix) \
  __WS_DEVICE type __ldg(const type* p) { return __nvvm_ldg_##suffix(p); }
#define __WS_LDG_VECTOR(type, element, count, suffix)                                   \
  __WS_DEVICE type __ldg(const type* p) {                                               \
    typedef element __ws_vector __attribute__((ext_vector_type(count)));                \
    return __builtin_bit_cast(type, __nvvm_ldg_##suffix##count((const __ws_vector*)p)); \
  }
#define __WS_LDG(type, element, suffix)           \
  __WS_LDG_VECTOR(type##2, element, 2, suffix)    \
  __WS_LDG_VECTOR(type##4, element, 4, suffix)
__WS_LDG1(char, c)
__WS_LDG1(signed char, sc)
__WS_LDG1(unsigned char, uc)
__WS_LDG1(short, s)
__WS_LDG1(unsigned short, us)
__WS_LDG1(int, i)
__WS_LDG1(unsigned int, ui)
__WS_LDG1(long, l)
__WS_LDG1(unsigned long, ul)
__WS_LDG1(long long, ll)
__WS_LDG1(unsigned long long, ull)
__WS_LDG1(float, f)
__WS_LDG1(double, d)
__WS_LDG(char, signed char, sc)
__WS_LDG(uchar, unsigned char, uc)
__WS_LDG(short, short, s)
__WS_LDG(ushort, unsigned short, us)
__WS_LDG(int, int, i)
__WS_LDG(uint, unsigned int, ui)
__WS_LDG(float, float, f)
__WS_LDG_VECTOR(longlong2, long long, 2, ll)
__WS_LDG_VECTOR(ulonglong2, unsigned long long, 2, ull)
__WS_LDG_VECTOR(double2, double, 2, d)
