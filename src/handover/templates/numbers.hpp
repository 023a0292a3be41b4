namespace detail {

// A value of kernel.json's expressions: a finite double, or no value (NaN) after a division by zero, an overflow, or a
// fraction where an integer is needed. Whatever is computed from no value has none.
struct Number {
  double value;
  Number(double number) : value(number >= -DBL_MAX && number <= DBL_MAX ? number : std::nan("")) {}
  bool exists() const { return value == value; }
  bool is_integer() const { return std::fabs(value) <= 9007199254740991.0 && value == std::floor(value); }
};

inline Number nothing() { return Number(std::nan("")); }
inline Number truth(Number a, Number b, bool holds) { return a.exists() && b.exists() ? Number(holds) : nothing(); }

inline Number operator+(Number a) { return a; }
inline Number operator-(Number a) { return 0.0 - a.value; }
inline Number operator!(Number a) { return truth(a, a, a.value == 0); }
inline Number operator~(Number a) { return a.is_integer() ? Number(-a.value - 1) : nothing(); }
inline Number operator+(Number a, Number b) { return a.value + b.value; }
inline Number operator-(Number a, Number b) { return a.value - b.value; }
inline Number operator*(Number a, Number b) { return a.value * b.value; }
inline Number operator/(Number a, Number b) { return b.value == 0 ? nothing() : Number(a.value / b.value); }
inline Number operator%(Number a, Number b) { return b.value == 0 ? nothing() : Number(std::fmod(a.value, b.value)); }
inline Number operator<(Number a, Number b) { return truth(a, b, a.value < b.value); }
inline Number operator<=(Number a, Number b) { return truth(a, b, a.value <= b.value); }
inline Number operator>(Number a, Number b) { return truth(a, b, a.value > b.value); }
inline Number operator>=(Number a, Number b) { return truth(a, b, a.value >= b.value); }
inline Number operator==(Number a, Number b) { return truth(a, b, a.value == b.value); }
inline Number operator!=(Number a, Number b) { return truth(a, b, a.value != b.value); }
// Both sides are evaluated, which changes nothing: what has no value counts only where it is asked for.
inline Number operator&&(Number a, Number b) { return a.value == 0 ? Number(0) : truth(a, b, b.value != 0); }
inline Number operator||(Number a, Number b) {
  return a.exists() && a.value != 0 ? Number(1) : truth(a, b, b.value != 0);
}
inline Number select(Number condition, Number when_true, Number when_false) {
  return !condition.exists() ? nothing() : condition.value != 0 ? when_true : when_false;
}
inline bool integers(Number a, Number b) { return a.is_integer() && b.is_integer(); }
inline std::int64_t bits(Number a) { return static_cast<std::int64_t>(a.value); }
inline Number operator|(Number a, Number b) {
  return integers(a, b) ? Number(static_cast<double>(bits(a) | bits(b))) : nothing();
}
inline Number operator^(Number a, Number b) {
  return integers(a, b) ? Number(static_cast<double>(bits(a) ^ bits(b))) : nothing();
}
inline Number operator&(Number a, Number b) {
  return integers(a, b) ? Number(static_cast<double>(bits(a) & bits(b))) : nothing();
}
inline double power_of_two(Number exponent) {
  return std::ldexp(1.0, static_cast<int>(exponent.value < 4096 ? exponent.value : 4096));
}
inline Number operator<<(Number a, Number b) {
  return integers(a, b) && b.value >= 0 ? Number(a.value * power_of_two(b)) : nothing();
}
inline Number operator>>(Number a, Number b) {
  return integers(a, b) && b.value >= 0 ? Number(std::floor(a.value / power_of_two(b))) : nothing();
}
// Not ceil(a / b): the remainder is exact where the quotient is rounded.
inline Number ceilDiv(Number a, Number b) {
  if (b.value == 0) return nothing();
  const double remainder = std::fmod(a.value, b.value);
  const double quotient = (a.value - remainder) / b.value;
  return remainder != 0 && (remainder > 0) == (b.value > 0) ? quotient + 1 : quotient;
}
inline Number floor(Number a) { return std::floor(a.value); }
inline Number ceil(Number a) { return std::ceil(a.value); }
inline Number abs(Number a) { return std::fabs(a.value); }
inline Number log2(Number a) { return std::log2(a.value); }
inline Number sqrt(Number a) { return std::sqrt(a.value); }
inline Number pow(Number base, Number exponent) {
  return base.exists() && exponent.exists() ? Number(std::pow(base.value, exponent.value)) : nothing();
}
inline Number minimum(Number a, Number b) {
  return a.exists() && b.exists() ? Number(b.value < a.value ? b.value : a.value) : nothing();
}
inline Number maximum(Number a, Number b) {
  return a.exists() && b.exists() ? Number(b.value > a.value ? b.value : a.value) : nothing();
}

// Rounding to element types: to nearest, ties to even; integers saturate.
inline Number round_to_float(Number a, int significant_bits, int minimum_exponent, double largest) {
  if (!a.exists() || a.value == 0) return a;
  int exponent = 0;
  std::frexp(a.value, &exponent);
  const int lowest_bit = (exponent - 1 < minimum_exponent ? minimum_exponent : exponent - 1) - (significant_bits - 1);
  const double rounded = std::ldexp(std::nearbyint(std::ldexp(a.value, -lowest_bit)), lowest_bit);
  return std::fabs(rounded) <= largest ? Number(rounded) : nothing();
}
inline Number round_to_integer(Number a, double low, double high) {
  if (!a.exists()) return a;
  const double rounded = std::nearbyint(a.value);
  return rounded < low ? low : rounded > high ? high : rounded;
}
inline Number round_to_f16(Number a) { return round_to_float(a, 11, -14, 65504.0); }
inline Number round_to_bf16(Number a) { return round_to_float(a, 8, -126, 3.38953138925153547590470800371487866880e38); }
inline Number round_to_f32(Number a) { return round_to_float(a, 24, -126, FLT_MAX); }
inline Number round_to_f64(Number a) { return a; }
inline Number round_to_i8(Number a) { return round_to_integer(a, -128, 127); }
inline Number round_to_u8(Number a) { return round_to_integer(a, 0, 255); }
inline Number round_to_i16(Number a) { return round_to_integer(a, -32768, 32767); }
inline Number round_to_u16(Number a) { return round_to_integer(a, 0, 65535); }
inline Number round_to_i32(Number a) { return round_to_integer(a, -2147483648.0, 2147483647.0); }
inline Number round_to_u32(Number a) { return round_to_integer(a, 0, 4294967295.0); }
inline Number round_to_i64(Number a) { return round_to_integer(a, -9223372036854775808.0, 9223372036854774784.0); }
inline Number round_to_u64(Number a) { return round_to_integer(a, 0, 18446744073709549568.0); }

// Bits of a value that a 16-bit float holds exactly.
inline std::uint16_t float_bits(double value, int significant_bits, int minimum_exponent) {
  const std::uint16_t sign = std::signbit(value) ? 0x8000u : 0u;
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  const bool subnormal = exponent - 1 < minimum_exponent;
  const int biased = subnormal ? 0 : exponent - 1 - minimum_exponent + 1;
  const int lowest_bit = (subnormal ? minimum_exponent : exponent - 1) - (significant_bits - 1);
  const std::uint32_t significand = static_cast<std::uint32_t>(std::ldexp(magnitude, -lowest_bit));
  const std::uint32_t mantissa = significand & ((1u << (significant_bits - 1)) - 1u);
  return static_cast<std::uint16_t>(sign | (static_cast<std::uint32_t>(biased) << (significant_bits - 1)) | mantissa);
}

// Takes results out of expressions, and remembers the first one that can't be used.
class Check {
 public:
  explicit Check(std::string* why) : why_(why) {}
  bool failed() const { return failed_; }

  std::int64_t integer(Number number, const char* place, const char* text, double least, double most) {
    if (number.is_integer() && number.value >= least && number.value <= most)
      return static_cast<std::int64_t>(number.value);
    refuse(place, text, number, "an integer from " + print(least) + " to " + print(most));
    return static_cast<std::int64_t>(least);
  }
  Number extent(Number number, const char* place, const char* text, double least) {
    return static_cast<double>(integer(number, place, text, least, 9007199254740991.0));
  }
  std::size_t bytes(Number number, const char* place) {
    return static_cast<std::size_t>(integer(number, place, "its size in bytes", 0, 9007199254740991.0));
  }
  unsigned int size(Number number, const char* place, const char* text, double most) {
    return static_cast<unsigned int>(integer(number, place, text, 1, most));
  }
  bool holds(Number number, const char* place, const char* text) {
    if (!number.exists()) refuse(place, text, number, "a finite value");
    return number.exists() && number.value != 0;
  }
  // A value of an element type, as kernel.json's scalars and struct fields are passed.
  Number scalar(Number number, Number rounded, bool is_integer, const char* place, const char* text) {
    const bool fits = rounded.exists() && (!is_integer || rounded.value == number.value);
    if (!fits) refuse(place, text, number, "a value within the range of its type");
    return fits ? rounded : Number(0);
  }
  void threads(dim3 block, const char* place, unsigned int most) {
    if (failed_ || block.x * block.y * block.z <= most) return;
    refuse_text(std::string(place) + ": a block of " + print(block) + " has more than " + print(most) + " threads");
  }
  void shared_memory(std::size_t bytes, std::int64_t most, const char* place) {
    if (failed_ || bytes <= static_cast<std::size_t>(most)) return;
    refuse_text(std::string(place) + ".sharedBytes: " + print(static_cast<double>(bytes)) +
                " bytes of shared memory; this device allows " + print(static_cast<double>(most)) + " per CTA");
  }
  void clusters(dim3 grid, dim3 cluster, const char* place, unsigned int most) {
    const bool divides = grid.x % cluster.x == 0 && grid.y % cluster.y == 0 && grid.z % cluster.z == 0;
    if (failed_ || (divides && cluster.x * cluster.y * cluster.z <= most)) return;
    refuse_text(std::string(place) + ": a grid of " + print(grid) + " in clusters of " + print(cluster) +
                "; expected whole clusters of at most " + print(most) + " CTAs");
  }
  void dimension(bool allowed, const char* name, std::int64_t value, const char* expected) {
    if (!allowed) refuse_text(std::string(name) + " is " + print(static_cast<double>(value)) + "; expected " + expected);
  }
  void aligned(const void* pointer, std::size_t alignment, const char* name) {
    if (pointer == nullptr) return refuse_text(std::string(name) + " is null");
    if (reinterpret_cast<std::uintptr_t>(pointer) % alignment != 0)
      refuse_text(std::string(name) + " is not aligned to " + print(static_cast<double>(alignment)) + " bytes");
  }
  void refuse_text(const std::string& text) {
    if (!failed_ && why_ != nullptr) *why_ = text;
    failed_ = true;
  }

  static std::string print(double value) {
    char text[32];
    std::snprintf(text, sizeof text, "%.15g", value);
    return text;
  }
  static std::string print(dim3 extent) {
    return print(extent.x) + " x " + print(extent.y) + " x " + print(extent.z);
  }

 private:
  void refuse(const char* place, const char* text, Number number, const std::string& expected) {
    const std::string value = number.exists() ? "is " + print(number.value) : std::string("has no finite value");
    refuse_text(std::string(place) + ": " + text + " " + value + "; expected " + expected);
  }

  std::string* why_;
  bool failed_ = false;
};

}  // namespace detail
