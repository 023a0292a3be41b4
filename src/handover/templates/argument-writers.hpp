namespace detail {

template <typename T>
inline void put_value(Launch& step, std::size_t at, T value) {
  std::memcpy(step.arguments + at, &value, sizeof value);
}
inline void put_f16(Launch& step, std::size_t at, Number n) { put_value(step, at, float_bits(n.value, 11, -14)); }
inline void put_bf16(Launch& step, std::size_t at, Number n) { put_value(step, at, float_bits(n.value, 8, -126)); }
inline void put_f32(Launch& step, std::size_t at, Number n) { put_value(step, at, static_cast<float>(n.value)); }
inline void put_f64(Launch& step, std::size_t at, Number n) { put_value(step, at, n.value); }
inline void put_i8(Launch& step, std::size_t at, Number n) { put_value(step, at, static_cast<std::int8_t>(n.value)); }
inline void put_u8(Launch& step, std::size_t at, Number n) { put_value(step, at, static_cast<std::uint8_t>(n.value)); }
inline void put_i16(Launch& step, std::size_t at, Number n) { put_value(step, at, static_cast<std::int16_t>(n.value)); }
inline void put_u16(Launch& step, std::size_t at, Number n) { put_value(step, at, static_cast<std::uint16_t>(n.value)); }
inline void put_i32(Launch& step, std::size_t at, Number n) { put_value(step, at, static_cast<std::int32_t>(n.value)); }
inline void put_u32(Launch& step, std::size_t at, Number n) { put_value(step, at, static_cast<std::uint32_t>(n.value)); }
inline void put_i64(Launch& step, std::size_t at, Number n) { put_value(step, at, static_cast<std::int64_t>(n.value)); }
inline void put_u64(Launch& step, std::size_t at, Number n) { put_value(step, at, static_cast<std::uint64_t>(n.value)); }
// The bytes of one element behind those before it.
inline void append(std::vector<unsigned char>& bytes, std::size_t size, void (*put)(Launch&, std::size_t, Number),
                   Number number) {
  Launch element = Launch();
  put(element, 0, number);
  bytes.insert(bytes.end(), element.arguments, element.arguments + size);
}
// The first bytes again and again, up to a size.
inline void repeat_to(std::vector<unsigned char>& bytes, std::size_t size) {
  bytes.reserve(size);
  for (std::size_t i = 0; bytes.size() < size; ++i) bytes.push_back(static_cast<unsigned char>(bytes[i]));
}
inline void put_pointer(Launch& step, std::size_t at, const void* base, std::int64_t offset) {
  put_value(step, at, reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset));
}
inline void* place_at(void* base, std::int64_t offset) {
  return reinterpret_cast<void*>(reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset));
}
inline const void* place_at(const void* base, std::int64_t offset) {
  return reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(base) + static_cast<std::uintptr_t>(offset));
}
inline std::int64_t round_up(std::int64_t bytes, std::int64_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace detail
