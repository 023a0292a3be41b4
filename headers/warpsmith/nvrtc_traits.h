// What <type_traits> asks clang by name and NVRTC does not know: the same answers by specialisation.
#pragma once
template <class>
inline constexpr bool __ws_is_integral = false;
template <class>
inline constexpr bool __ws_is_floating_point = false;
#define __WS_ANSWER(name, type)                                              \
  template <>                                                                \
  inline constexpr bool name<type> = true;                                   \
  template <>                                                                \
  inline constexpr bool name<const type> = true;                             \
  template <>                                                                \
  inline constexpr bool name<volatile type> = true;                          \
  template <>                                                                \
  inline constexpr bool name<const volatile type> = true;
__WS_ANSWER(__ws_is_integral, bool)
__WS_ANSWER(__ws_is_integral, char)
__WS_ANSWER(__ws_is_integral, signed char)
__WS_ANSWER(__ws_is_integral, unsigned char)
__WS_ANSWER(__ws_is_integral, wchar_t)
__WS_ANSWER(__ws_is_integral, char16_t)
__WS_ANSWER(__ws_is_integral, char32_t)
__WS_ANSWER(__ws_is_integral, short)
__WS_ANSWER(__ws_is_integral, unsigned short)
__WS_ANSWER(__ws_is_integral, int)
__WS_ANSWER(__ws_is_integral, unsigned int)
__WS_ANSWER(__ws_is_integral, long)
__WS_ANSWER(__ws_is_integral, unsigned long)
__WS_ANSWER(__ws_is_integral, long long)
__WS_ANSWER(__ws_is_integral, unsigned long long)
__WS_ANSWER(__ws_is_floating_point, float)
__WS_ANSWER(__ws_is_floating_point, double)
#undef __WS_ANSWER
template <class Type>
inline constexpr bool __ws_is_arithmetic = __ws_is_integral<Type> || __ws_is_floating_point<Type>;

template <class Type, bool = __ws_is_arithmetic<Type>>
inline constexpr bool __ws_is_signed = false;
template <class Type>
inline constexpr bool __ws_is_signed<Type, true> = Type(-1) < Type(0);
template <class Type, bool = __ws_is_arithmetic<Type>>
inline constexpr bool __ws_is_unsigned = false;
template <class Type>
inline constexpr bool __ws_is_unsigned<Type, true> = Type(0) < Type(-1);

template <class>
inline constexpr bool __ws_is_pointer = false;
template <class Type>
inline constexpr bool __ws_is_pointer<Type*> = true;
template <class Type>
inline constexpr bool __ws_is_pointer<Type* const> = true;
template <class Type>
inline constexpr bool __ws_is_pointer<Type* volatile> = true;
template <class Type>
inline constexpr bool __ws_is_pointer<Type* const volatile> = true;
template <class>
inline constexpr bool __ws_is_array = false;
template <class Type>
inline constexpr bool __ws_is_array<Type[]> = true;
template <class Type, size_t count>
inline constexpr bool __ws_is_array<Type[count]> = true;
template <class>
inline constexpr bool __ws_is_const = false;
template <class Type>
inline constexpr bool __ws_is_const<const Type> = true;
template <class>
inline constexpr bool __ws_is_void = false;
template <>
inline constexpr bool __ws_is_void<void> = true;
template <>
inline constexpr bool __ws_is_void<const void> = true;
template <>
inline constexpr bool __ws_is_void<volatile void> = true;
template <>
inline constexpr bool __ws_is_void<const volatile void> = true;
template <class>
inline constexpr bool __ws_is_reference = false;
template <class Type>
inline constexpr bool __ws_is_reference<Type&> = true;
template <class Type>
inline constexpr bool __ws_is_reference<Type&&> = true;
template <class Type>
inline constexpr bool __ws_is_enum = __is_enum(Type);
template <class Type>
inline constexpr bool __ws_is_class = __is_class(Type);
template <class Type>
inline constexpr bool __ws_is_trivially_copyable = __is_trivially_copyable(Type);
template <class Type>
inline constexpr bool __ws_is_empty = __is_empty(Type);

// A parameter's type is what decay means: arrays and functions become pointers, the outer const is dropped.
template <class Type>
__host__ __device__ Type __ws_as_parameter(Type);
template <class Type>
struct __ws_decay_of { using type = decltype(__ws_as_parameter(*(Type*)nullptr)); };
template <class Type>
struct __ws_decay_of<Type&> : __ws_decay_of<Type> {};
template <class Type>
struct __ws_decay_of<Type&&> : __ws_decay_of<Type> {};
template <class Type>
using __ws_decay = typename __ws_decay_of<Type>::type;

template <size_t bytes, bool is_signed>
struct __ws_integer;
template <> struct __ws_integer<1, true> { using type = signed char; };
template <> struct __ws_integer<2, true> { using type = short; };
template <> struct __ws_integer<4, true> { using type = int; };
template <> struct __ws_integer<8, true> { using type = long; };
template <> struct __ws_integer<1, false> { using type = unsigned char; };
template <> struct __ws_integer<2, false> { using type = unsigned short; };
template <> struct __ws_integer<4, false> { using type = unsigned int; };
template <> struct __ws_integer<8, false> { using type = unsigned long; };
template <class Type, bool is_signed>
struct __ws_with_sign { using type = typename __ws_integer<sizeof(Type), is_signed>::type; };
template <> struct __ws_with_sign<long long, true> { using type = long long; };
template <> struct __ws_with_sign<unsigned long long, true> { using type = long long; };
template <> struct __ws_with_sign<long long, false> { using type = unsigned long long; };
template <> struct __ws_with_sign<unsigned long long, false> { using type = unsigned long long; };
template <class Type>
using __ws_make_signed = typename __ws_with_sign<Type, true>::type;
template <class Type>
using __ws_make_unsigned = typename __ws_with_sign<Type, false>::type;
