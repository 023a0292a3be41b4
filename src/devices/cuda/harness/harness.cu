// The trusted device code of the referee: draws inputs, says whether they are still there, poisons outputs, looks for
// poison and for damaged guard zones, compares outputs, overwrites what launches leave on the chip, and copies to find the
// bandwidth peak. Compiled to PTX by `npm run harness`; what the host packs and launches stands in harness.ts, whose
// layouts and codes these are.
//
// One launch works on many jobs. Their work is cut into chunks of equal size, numbered over all jobs: job j owns the
// chunks from firstChunk up to the next job's, and CTA c takes chunks c, c + gridDim.x, ... Sizes may differ at will.
//
// Every value is made of integer operations and IEEE 754 operations rounded to nearest, each written as the instruction
// it must be (no contraction, no approximate function): draw gives the same bits on every run and every GPU.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

typedef unsigned int u32;
typedef unsigned long long u64;
typedef long long i64;

constexpr u32 kThreads = 256;

namespace {

enum DType : u32 { kF16, kBf16, kF32, kF64, kI8, kU8, kI16, kU16, kI32, kU32, kI64, kU64 };
enum Rule : u32 { kNormal, kUniform, kIntegers, kPermutation, kConstant };

// ---- Counter-based bits: src/evaluation/random.ts has the same. ---------------------------------------------------

// lowbias32 of C. Wellons' hash-prospector (public domain).
__device__ __forceinline__ u32 mix(u32 x) {
  x = (x ^ (x >> 16)) * 0x7feb352du;
  x = (x ^ (x >> 15)) * 0x846ca68bu;
  return x ^ (x >> 16);
}

struct Key {
  u32 k0, k1;
  __device__ __forceinline__ u32 bits(u32 counter) const { return mix(mix(counter + k0) ^ k1); }
};

// Counters have 32 bits; beyond them the second word changes with the high half of the index (mix(0) is 0).
__device__ __forceinline__ Key keyOf(u32 key0, u32 key1, u64 index) { return {key0, key1 ^ mix((u32)(index >> 32))}; }

// ---- Normal values, f32: Box-Muller over the counters 2p and 2p + 1 ------------------------------------------------

// −ln((bits + 0.5) ÷ 2^32), relative error below 2e-7: exponent and ln(1 + f), f in [√½ − 1, √2 − 1]. Chebyshev fit of
// (ln(1 + f) − f + f²/2) ÷ f³.
__device__ __forceinline__ float minusLog(u32 bits) {
  const float u = __fadd_rn(__uint2float_rn(bits), 0.5f);
  const u32 shifted = __float_as_uint(u) + (0x3f800000u - 0x3f3504f3u);
  const float f = __fadd_rn(__uint_as_float((shifted & 0x7fffffu) + 0x3f3504f3u), -1.0f);
  const float k = __int2float_rn((int)(shifted >> 23) - (127 + 32));
  float p = -0x1.4bd700p-4f;
  p = __fmaf_rn(p, f, 0x1.04591ap-3f);
  p = __fmaf_rn(p, f, -0x1.09abe4p-3f);
  p = __fmaf_rn(p, f, 0x1.22dc4cp-3f);
  p = __fmaf_rn(p, f, -0x1.54d54ep-3f);
  p = __fmaf_rn(p, f, 0x1.99a14cp-3f);
  p = __fmaf_rn(p, f, -0x1.0000c8p-2f);
  p = __fmaf_rn(p, f, 0x1.555552p-2f);
  const float square = __fmul_rn(f, f);
  const float tail = __fmaf_rn(__fmul_rn(square, f), p, __fmul_rn(square, -0.5f));
  return -__fmaf_rn(k, 0x1.62e430p-1f, __fadd_rn(f, tail));
}

struct Pair {
  float first, second;
};

// cos and sin of (bits ÷ 2^32) turns: the nearest quarter, and polynomials over the ±π/4 that remain.
__device__ __forceinline__ Pair cosSinOfTurns(u32 bits) {
  const u32 quarter = (bits + 0x20000000u) >> 30;
  const float x = __fmul_rn(__int2float_rn((int)(bits - (quarter << 30))), 0x1.921fb6p-30f);  // 2π ÷ 2^32
  const float z = __fmul_rn(x, x);
  float s = __fmaf_rn(-0x1.9ac9dep-13f, z, 0x1.110c2ap-7f);
  s = __fmaf_rn(s, z, -0x1.555552p-3f);
  s = __fmaf_rn(__fmul_rn(x, z), s, x);
  float c = __fmaf_rn(0x1.9bd966p-16f, z, -0x1.6c12d6p-10f);
  c = __fmaf_rn(c, z, 0x1.555554p-5f);
  c = __fmaf_rn(__fmul_rn(z, z), c, __fmaf_rn(z, -0.5f, 1.0f));
  const float cosine = quarter & 1 ? s : c, sine = quarter & 1 ? c : s;
  // Quarters 1 and 2 have a negative cosine, 2 and 3 a negative sine.
  return {__uint_as_float(__float_as_uint(cosine) ^ ((quarter + 1) >> 1 << 31)),
          __uint_as_float(__float_as_uint(sine) ^ (quarter >> 1 << 31))};
}

// What is read from the job once, before anything is stored.
struct NormalRule {
  u32 key0, key1;
  float mean, deviation;
};

__device__ __forceinline__ Pair normalPair(Key key, u32 counter, NormalRule rule) {
  const float radius = __fsqrt_rn(__fmul_rn(2.0f, minusLog(key.bits(counter))));
  const Pair angle = cosSinOfTurns(key.bits(counter + 1));
  return {__fmaf_rn(__fmul_rn(radius, angle.first), rule.deviation, rule.mean),
          __fmaf_rn(__fmul_rn(radius, angle.second), rule.deviation, rule.mean)};
}

// ---- One element of any dtype by any rule ---------------------------------------------------------------------------

struct DrawJob {
  u64 address;
  u64 elementCount;
  u64 firstChunk;
  u32 dtype, rule, key0, key1;
  // normal: mean, standard deviation (f64) · uniform: low, high − low, least and greatest value of the dtype (f64)
  // integers: low, high − low (i64) · permutation: bits of the left and right half · constant: the element's bits
  u64 parameters[4];
};

__device__ __forceinline__ double parameter(const DrawJob& job, int i) {
  return __longlong_as_double((i64)job.parameters[i]);
}

__device__ double normalValue(const DrawJob& job, Key key, u32 counter) {
  const u32 first = counter & ~1u;
  const double u = __dmul_rn(__dadd_rn(__uint2double_rn(key.bits(first)), 0.5), 0x1p-32);
  const double turns = __dmul_rn(__dadd_rn(__uint2double_rn(key.bits(first + 1)), 0.5), 0x1p-32);
  const double radius = __dsqrt_rn(__dmul_rn(-2.0, log(u)));
  const double halfTurns = __dmul_rn(2.0, turns);
  const double direction = counter & 1 ? sinpi(halfTurns) : cospi(halfTurns);
  return __dadd_rn(parameter(job, 0), __dmul_rn(parameter(job, 1), __dmul_rn(radius, direction)));
}

__device__ double uniformValue(const DrawJob& job, Key key, u32 counter) {
  const double u = __dmul_rn(__uint2double_rn(key.bits(counter)), 0x1p-32);
  const double value = __dadd_rn(parameter(job, 0), __dmul_rn(parameter(job, 1), u));
  return fmax(parameter(job, 2), fmin(value, parameter(job, 3)));
}

// low + floor(fraction × (high − low + 1)), the fraction 32 bits fine, or 64 where the range has more values than 2^32.
__device__ u64 integerValue(const DrawJob& job, Key key, u32 counter) {
  const u64 last = job.parameters[1];
  const u64 high = key.bits(counter);
  if (last <= 0xffffffffu) return job.parameters[0] + (high * (last + 1) >> 32);
  const u64 low = Key{key.k1, key.k0}.bits(counter);
  return job.parameters[0] + __umul64hi(high << 32 | low, last + 1);
}

constexpr u32 kFeistelRounds = 8;

// A Feistel network over the fewest bits that hold elementCount − 1, walked until it falls inside: a bijection of
// 0 ... elementCount − 1, because the network is one of all its words. Fewer than 2 steps on average.
__device__ u64 permutedIndex(const DrawJob& job, u64 index) {
  const u32 leftBits = (u32)job.parameters[0], rightBits = (u32)job.parameters[1];
  const u32 leftMask = (u32)((1ull << leftBits) - 1), rightMask = (u32)((1ull << rightBits) - 1);
  u64 word = index;
  do {
    u32 left = (u32)(word >> rightBits), right = (u32)word & rightMask;
    for (u32 round = 0; round < kFeistelRounds; round += 2) {
      left ^= mix(mix(right + job.key0 + round) ^ job.key1) & leftMask;
      right ^= mix(mix(left + job.key0 + round + 1) ^ job.key1) & rightMask;
    }
    word = (u64)left << rightBits | right;
  } while (word >= job.elementCount);
  return word;
}

// Nearest value of an integer dtype, ties to even, saturated: src/core/rounding.ts.
__device__ u64 nearestInteger(double value, u32 dtype) {
  switch (dtype) {
    case kI8: return (u64)(i64)__double2int_rn(fmax(-128.0, fmin(value, 127.0)));
    case kU8: return (u64)(i64)__double2int_rn(fmax(0.0, fmin(value, 255.0)));
    case kI16: return (u64)(i64)__double2int_rn(fmax(-32768.0, fmin(value, 32767.0)));
    case kU16: return (u64)(i64)__double2int_rn(fmax(0.0, fmin(value, 65535.0)));
    case kI32: return (u64)(i64)__double2int_rn(value);
    case kU32: return __double2uint_rn(fmax(0.0, value));
    case kI64: return (u64)__double2ll_rn(fmax(-0x1p63, fmin(value, 0x1.fffffffffffffp62)));
    default: return __double2ull_rn(fmax(0.0, fmin(value, 0x1.fffffffffffffp63)));
  }
}

// bf16 by hand: PTX converts from f32 only, and going through f32 would round twice. An f32 rounded to odd keeps what
// the second rounding has to know.
__device__ u32 nearestBf16(double value) {
  const u32 sign = (u32)((u64)__double_as_longlong(value) >> 63) << 31;
  const double magnitude = fabs(value);
  const float down = (float)magnitude;
  u32 bits = __float_as_uint(down);
  const double back = (double)down;
  if (back > magnitude) bits -= 1;
  if (back != magnitude) bits |= 1;
  return (sign | bits) + 0x7fffu + (bits >> 16 & 1) >> 16;
}

__device__ u64 nearestElement(double value, u32 dtype) {
  switch (dtype) {
    case kF16: return __half_as_ushort(__double2half(value));
    case kBf16: return nearestBf16(value);
    case kF32: return __float_as_uint(__double2float_rn(value));
    case kF64: return (u64)__double_as_longlong(value);
    default: return nearestInteger(value, dtype);
  }
}

// Whole numbers that the dtype holds, as the host has made sure.
__device__ u64 wholeElement(u64 value, u32 dtype) {
  return dtype <= kF64 ? nearestElement((double)(i64)value, dtype) : value;
}

// The element's bits; more than the dtype has are cut off by whoever stores them. Vectors may reach beyond the last
// element, where a permutation's walk would not end.
__device__ __noinline__ u64 drawElement(const DrawJob& job, u64 index) {
  if (index >= job.elementCount) return 0;
  const Key key = keyOf(job.key0, job.key1, index);
  switch (job.rule) {
    case kNormal: return nearestElement(normalValue(job, key, (u32)index), job.dtype);
    case kUniform: return nearestElement(uniformValue(job, key, (u32)index), job.dtype);
    case kIntegers: return wholeElement(integerValue(job, key, (u32)index), job.dtype);
    case kPermutation: return wholeElement(permutedIndex(job, index), job.dtype);
    default: return job.parameters[0];
  }
}

// ---- Vectors of 16 bytes -----------------------------------------------------------------------------------------

struct Vector {
  u64 low, high;
};
__device__ __forceinline__ Vector load(const void* from) {
  const ulonglong2 v = *(const ulonglong2*)from;
  return {v.x, v.y};
}
__device__ __forceinline__ void store(void* to, Vector v) { *(ulonglong2*)to = make_ulonglong2(v.low, v.high); }

// Bits of the vector's element e, and others above them.
template <int kBytes>
__device__ __forceinline__ u64 elementOf(Vector v, int e) {
  return (e * kBytes < 8 ? v.low : v.high) >> (8 * (e * kBytes & 7));
}

// Elements of kBytes bytes that are equal in two vectors.
template <int kBytes>
__device__ __forceinline__ u32 equalElements(Vector a, Vector b) {
  constexpr u64 kElement = ~0ull >> (64 - 8 * kBytes);
  u32 count = 0;
#pragma unroll
  for (int bit = 0; bit < 64; bit += 8 * kBytes) {
    count += ((a.low ^ b.low) & (kElement << bit)) == 0;
    count += ((a.high ^ b.high) & (kElement << bit)) == 0;
  }
  return count;
}

// What the elements from `index` on are to hold; `index` is a multiple of the elements in a vector.

__device__ __forceinline__ u64 packF16(Pair a, Pair b) {
  u32 low, high;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(low) : "f"(a.second), "f"(a.first));
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(high) : "f"(b.second), "f"(b.first));
  return (u64)high << 32 | low;
}
__device__ __forceinline__ u64 packBf16(Pair a, Pair b) {
  u32 low, high;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(low) : "f"(a.second), "f"(a.first));
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(high) : "f"(b.second), "f"(b.first));
  return (u64)high << 32 | low;
}
__device__ __forceinline__ u64 packF32(Pair a) {
  return (u64)__float_as_uint(a.second) << 32 | __float_as_uint(a.first);
}

// Normal values, the fast way.
template <DType kDType>
struct Normal {
  static constexpr int kBytes = kDType == kF32 ? 4 : 2;
  __device__ __forceinline__ static Vector vector(const DrawJob&, NormalRule rule, u64 index) {
    const Key key = keyOf(rule.key0, rule.key1, index);
    const u32 counter = (u32)index;
    const Pair a = normalPair(key, counter, rule), b = normalPair(key, counter + 2, rule);
    if (kDType == kF32) return {packF32(a), packF32(b)};
    const Pair c = normalPair(key, counter + 4, rule), d = normalPair(key, counter + 6, rule);
    return kDType == kF16 ? Vector{packF16(a, b), packF16(c, d)} : Vector{packBf16(a, b), packBf16(c, d)};
  }
};

// Everything else, element by element.
template <int kElementBytes>
struct Drawn {
  static constexpr int kBytes = kElementBytes;
  __device__ __forceinline__ static u64 half(const DrawJob& job, u64 index) {
    constexpr u64 kElement = ~0ull >> (64 - 8 * kBytes);
    u64 bits = 0;
#pragma unroll 1
    for (int e = 0; e < 8 / kBytes; e++) bits |= (drawElement(job, index + e) & kElement) << (8 * kBytes * e);
    return bits;
  }
  __device__ __forceinline__ static Vector vector(const DrawJob& job, NormalRule, u64 index) {
    return {half(job, index), half(job, index + 8 / kBytes)};
  }
};

// ---- draw and match ----------------------------------------------------------------------------------------------------

constexpr u64 kDrawChunkElements = 8192;

// The job that owns the chunk: the last one that begins at or before it.
template <class Job>
__device__ __forceinline__ u32 findJob(const Job* jobs, u32 jobCount, u64 chunk) {
  u32 low = 0, high = jobCount;
  while (high - low > 1) {
    const u32 middle = low + (high - low) / 2;
    if (jobs[middle].firstChunk <= chunk) low = middle;
    else high = middle;
  }
  return low;
}

template <int kBytes>
struct Word;
template <>
struct Word<1> {
  using Type = unsigned char;
};
template <>
struct Word<2> {
  using Type = unsigned short;
};
template <>
struct Word<4> {
  using Type = u32;
};
template <>
struct Word<8> {
  using Type = u64;
};

// Draws elements begin ... end − 1 of the job, or counts this thread's that hold what would be drawn.
template <bool kWrites, class Source>
__device__ __forceinline__ u32 visitElements(const DrawJob& job, u64 begin, u64 end) {
  constexpr int kBytes = Source::kBytes, kElements = 16 / kBytes;
  using Element = typename Word<kBytes>::Type;
  const bool aligned = (job.address & 15) == 0;
  const NormalRule rule = {job.key0, job.key1, (float)parameter(job, 0), (float)parameter(job, 1)};
  unsigned char* data = (unsigned char*)job.address;
  u32 matching = 0;
  for (u64 i = begin + (u64)threadIdx.x * kElements; i < end; i += (u64)kThreads * kElements) {
    const Vector want = Source::vector(job, rule, i);
    if (aligned && i + kElements <= end) {
      if (kWrites) store(data + i * kBytes, want);
      else matching += equalElements<kBytes>(load(data + i * kBytes), want);
      continue;
    }
#pragma unroll 1
    for (int e = 0; e < kElements && i + e < end; e++) {
      Element* element = (Element*)data + i + e;
      const Element bits = (Element)elementOf<kBytes>(want, e);
      if (kWrites) *element = bits;
      else matching += *element == bits;
    }
  }
  return matching;
}

template <bool kWrites>
__device__ __forceinline__ u32 visitChunk(const DrawJob& job, u64 begin, u64 end) {
  if (job.rule == kNormal && job.dtype == kF16) return visitElements<kWrites, Normal<kF16>>(job, begin, end);
  if (job.rule == kNormal && job.dtype == kBf16) return visitElements<kWrites, Normal<kBf16>>(job, begin, end);
  if (job.rule == kNormal && job.dtype == kF32) return visitElements<kWrites, Normal<kF32>>(job, begin, end);
  switch (job.dtype) {
    case kI8:
    case kU8: return visitElements<kWrites, Drawn<1>>(job, begin, end);
    case kF16:
    case kBf16:
    case kI16:
    case kU16: return visitElements<kWrites, Drawn<2>>(job, begin, end);
    case kF32:
    case kI32:
    case kU32: return visitElements<kWrites, Drawn<4>>(job, begin, end);
    default: return visitElements<kWrites, Drawn<8>>(job, begin, end);
  }
}

// Adds the CTA's counts to the job's, one atomic for each warp.
__device__ __forceinline__ void addCount(u64* count, u32 mine) {
  for (int offset = 16; offset > 0; offset >>= 1) mine += __shfl_xor_sync(~0u, mine, offset);
  if (threadIdx.x % 32 == 0 && mine > 0) atomicAdd(count, (u64)mine);
}

template <bool kWrites>
__device__ __forceinline__ void visitDrawJobs(const DrawJob* jobs, u64 jobCount, u64 chunkCount, u64* counts) {
  for (u64 chunk = blockIdx.x; chunk < chunkCount; chunk += gridDim.x) {
    const u32 index = findJob(jobs, (u32)jobCount, chunk);
    const DrawJob& job = jobs[index];
    const u64 begin = (chunk - job.firstChunk) * kDrawChunkElements;
    const u64 end = min(begin + kDrawChunkElements, job.elementCount);
    const u32 matching = visitChunk<kWrites>(job, begin, end);
    if (!kWrites) addCount(&counts[index], matching);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    warpsmith_draw(const DrawJob* jobs, u64 jobCount, u64 chunkCount) {
  visitDrawJobs<true>(jobs, jobCount, chunkCount, nullptr);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    warpsmith_match(const DrawJob* jobs, u64 jobCount, u64 chunkCount, u64* counts) {
  visitDrawJobs<false>(jobs, jobCount, chunkCount, counts);
}

// ---- fill and count --------------------------------------------------------------------------------------------------

namespace {

struct FillJob {
  u64 address;
  u64 bytes;
  u64 firstChunk;
  // Repeated to 8 bytes; byte 0 belongs at `address`.
  u64 pattern;
  u64 patternBytes;
};

// Chunks and vectors are counted from the last multiple of 16 at or before the address.
constexpr u64 kFillChunkBytes = 65536;

__device__ __forceinline__ unsigned char patternByte(u64 pattern, u64 offset) {
  return (unsigned char)(pattern >> 8 * (offset & 7));
}

// The whole elements that begin in bytes begin ... end − 1, as offsets from the address, and equal the pattern.
__device__ __noinline__ u32 countByBytes(const FillJob& job, u64 begin, u64 end) {
  const unsigned char* data = (const unsigned char*)job.address;
  const u64 size = job.patternBytes;
  u32 count = 0;
  for (u64 at = (begin + size - 1) / size * size; at < end && at + size <= job.bytes; at += size) {
    bool equal = true;
    for (u64 b = 0; b < size; b++) equal = equal && data[at + b] == patternByte(job.pattern, b);
    count += equal;
  }
  return count;
}

__device__ __forceinline__ u32 equalElementsOf(u64 bytes, Vector a, Vector b) {
  switch (bytes) {
    case 1: return equalElements<1>(a, b);
    case 2: return equalElements<2>(a, b);
    case 4: return equalElements<4>(a, b);
    default: return equalElements<8>(a, b);
  }
}

template <bool kWrites>
__device__ __forceinline__ void visitFillJobs(const FillJob* jobs, u64 jobCount, u64 chunkCount, u64* counts) {
  for (u64 chunk = blockIdx.x; chunk < chunkCount; chunk += gridDim.x) {
    const u32 index = findJob(jobs, (u32)jobCount, chunk);
    const FillJob& job = jobs[index];
    const u64 lead = job.address & 15;
    const u64 end = lead + job.bytes;
    unsigned char* base = (unsigned char*)(job.address - lead);
    // Byte 0 of the pattern stands at offset `lead` of the vector.
    const u32 turn = 8 * (u32)(lead & 7);
    const u64 turned = turn == 0 ? job.pattern : job.pattern << turn | job.pattern >> (64 - turn);
    const Vector want = {turned, turned};
    const bool vectorsHoldElements = kWrites || lead % job.patternBytes == 0;
    const u64 first = (chunk - job.firstChunk) * kFillChunkBytes;
    const u64 last = min(first + kFillChunkBytes, end);
    u32 equal = 0;
    for (u64 at = first + 16 * (u64)threadIdx.x; at < last; at += 16 * kThreads) {
      if (at >= lead && at + 16 <= end && vectorsHoldElements) {
        if (kWrites) store(base + at, want);
        else equal += equalElementsOf(job.patternBytes, load(base + at), want);
        continue;
      }
      const u64 from = max(at, lead) - lead, to = min(at + 16, end) - lead;
      if (kWrites) {
        for (u64 b = from; b < to; b++) base[lead + b] = patternByte(job.pattern, b);
      } else {
        equal += countByBytes(job, from, to);
      }
    }
    if (!kWrites) addCount(&counts[index], equal);
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    warpsmith_fill(const FillJob* jobs, u64 jobCount, u64 chunkCount) {
  visitFillJobs<true>(jobs, jobCount, chunkCount, nullptr);
}

extern "C" __global__ void __launch_bounds__(kThreads)
    warpsmith_count(const FillJob* jobs, u64 jobCount, u64 chunkCount, u64* counts) {
  visitFillJobs<false>(jobs, jobCount, chunkCount, counts);
}

// ---- compare ----------------------------------------------------------------------------------------------------------

namespace {

struct CompareJob {
  u64 left, right;  // addresses, multiples of the element's size
  u64 elementCount;
  u64 firstChunk;
  u32 dtype, unused;
  // Floating values within this share of |left| + |right| are equal, too; 0: only the same bits are.
  double tolerance;
};

constexpr u64 kCompareChunkElements = 8192;

__device__ double valueOf(u64 bits, u32 dtype) {
  switch (dtype) {
    case kF16: return (double)__half2float(__ushort_as_half((unsigned short)bits));
    case kBf16: return (double)__uint_as_float((u32)bits << 16);
    case kF32: return (double)__uint_as_float((u32)bits);
    default: return __longlong_as_double((i64)bits);
  }
}

// A NaN equals any NaN.
__device__ __noinline__ bool isNear(const CompareJob& job, u64 left, u64 right) {
  if (!(job.tolerance > 0) || job.dtype > kF64) return false;
  const double a = valueOf(left, job.dtype), b = valueOf(right, job.dtype);
  if (a != a) return b != b;
  return fabs(a - b) <= job.tolerance * (fabs(a) + fabs(b));
}

// Elements begin ... end − 1 that are equal on both sides.
template <int kBytes>
__device__ __forceinline__ u32 equalIn(const CompareJob& job, u64 begin, u64 end) {
  using Element = typename Word<kBytes>::Type;
  constexpr int kElements = 16 / kBytes;
  const bool aligned = ((job.left | job.right) & 15) == 0;
  const Element *left = (const Element*)job.left, *right = (const Element*)job.right;
  u32 equal = 0;
  for (u64 i = begin + (u64)threadIdx.x * kElements; i < end; i += (u64)kThreads * kElements) {
    if (aligned && i + kElements <= end) {
      const u32 same = equalElements<kBytes>(load(left + i), load(right + i));
      if (same == kElements) {
        equal += same;
        continue;
      }
    }
#pragma unroll 1
    for (u64 e = i; e < i + kElements && e < end; e++) equal += left[e] == right[e] || isNear(job, left[e], right[e]);
  }
  return equal;
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads)
    warpsmith_compare(const CompareJob* jobs, u64 jobCount, u64 chunkCount, u64* counts) {
  for (u64 chunk = blockIdx.x; chunk < chunkCount; chunk += gridDim.x) {
    const u32 index = findJob(jobs, (u32)jobCount, chunk);
    const CompareJob& job = jobs[index];
    const u64 begin = (chunk - job.firstChunk) * kCompareChunkElements;
    const u64 end = min(begin + kCompareChunkElements, job.elementCount);
    u32 equal = 0;
    switch (job.dtype) {
      case kI8:
      case kU8: equal = equalIn<1>(job, begin, end); break;
      case kF16:
      case kBf16:
      case kI16:
      case kU16: equal = equalIn<2>(job, begin, end); break;
      case kF32:
      case kI32:
      case kU32: equal = equalIn<4>(job, begin, end); break;
      default: equal = equalIn<8>(job, begin, end); break;
    }
    addCount(&counts[index], equal);
  }
}

// ---- What a launch leaves on the chip ----------------------------------------------------------------------------------

namespace {

constexpr int kScrubRegisters = 192;
constexpr int kScrubLocalWords = 1024;

__device__ __forceinline__ u32 rubbish(u64 key) {
  return mix(mix((blockIdx.x * kThreads + threadIdx.x) ^ (u32)key) + (u32)(key >> 32));
}

}  // namespace

// Overwrites shared memory and registers, one CTA with all the shared memory it may have on every SM. `rounds` is 2: a
// number that no compiler knows keeps all values in registers at once.
extern "C" __global__ void __launch_bounds__(kThreads, 1) warpsmith_scrub(u64 key, u64 sharedBytes, u64 rounds) {
  extern __shared__ u32 words[];
  u32 values[kScrubRegisters];
  values[0] = rubbish(key);
#pragma unroll
  for (int i = 1; i < kScrubRegisters; i++) values[i] = values[i - 1] * 0x9e3779b9u + 1;
  for (u64 round = 0; round < rounds; round++) {
#pragma unroll
    for (int i = 0; i < kScrubRegisters; i++) values[i] = values[i] * 0x85ebca6bu + values[(i + 1) % kScrubRegisters];
  }
  const u32 count = (u32)(sharedBytes / 4);
  for (u32 base = 0; base < count; base += kThreads * kScrubRegisters) {
#pragma unroll
    for (int i = 0; i < kScrubRegisters; i++) {
      const u32 at = base + i * kThreads + threadIdx.x;
      if (at < count) words[at] = values[i];
    }
  }
}

// Overwrites local memory: the stack frames of as many threads as an SM holds, from the top down to `bytes`.
extern "C" __global__ void __launch_bounds__(kThreads) warpsmith_scrub_local(u64 key, u64 bytes) {
  volatile u32 frame[kScrubLocalWords];
  const u32 value = rubbish(key);
  const int words = (int)min(bytes / 4, (u64)kScrubLocalWords);
  for (int i = kScrubLocalWords - words; i < kScrubLocalWords; i++) frame[i] = value + i;
}

// ---- Copies for the bandwidth peak, and nothing at all ---------------------------------------------------------------

namespace {

constexpr u32 kCopyVectorsPerThread = 4;

// Four loads in flight per thread, neighbouring threads on neighbouring vectors.
template <class V>
__device__ __forceinline__ void copy(V* to, const V* from, u64 count) {
  constexpr u64 kTile = kThreads * kCopyVectorsPerThread;
  for (u64 tile = blockIdx.x * kTile; tile < count; tile += gridDim.x * kTile) {
    const u64 at = tile + threadIdx.x;
    if (tile + kTile <= count) {
      V v[kCopyVectorsPerThread];
#pragma unroll
      for (u32 i = 0; i < kCopyVectorsPerThread; i++) v[i] = from[at + i * kThreads];
#pragma unroll
      for (u32 i = 0; i < kCopyVectorsPerThread; i++) to[at + i * kThreads] = v[i];
    } else {
      for (u64 i = at; i < count; i += kThreads) to[i] = from[i];
    }
  }
}

}  // namespace

extern "C" __global__ void __launch_bounds__(kThreads) warpsmith_copy_4(u32* to, const u32* from, u64 count) {
  copy(to, from, count);
}
extern "C" __global__ void __launch_bounds__(kThreads) warpsmith_copy_8(uint2* to, const uint2* from, u64 count) {
  copy(to, from, count);
}
extern "C" __global__ void __launch_bounds__(kThreads) warpsmith_copy_16(uint4* to, const uint4* from, u64 count) {
  copy(to, from, count);
}

extern "C" __global__ void warpsmith_empty() {}
