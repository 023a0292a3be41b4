// Every kind of argument beside plain pointers and tensor maps.

// The layout that C gives it: holes before b, d and at the end.
struct Mixed {
  unsigned char a;
  double b;
  short c;
  unsigned d;
  unsigned char e;
};

struct Raw {
  unsigned char bytes[12];
};

extern "C" __global__ void take_structs(const unsigned *x, Mixed mixed, Raw raw, const void *nothing, unsigned short small,
                                        unsigned *y) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned sum = mixed.a + static_cast<unsigned>(mixed.b * 4) + static_cast<unsigned>(mixed.c) + mixed.e + small;
  y[i] = x[i] * mixed.d + sum + raw.bytes[i % 12] + (nothing == nullptr ? 0u : 1000000u);
}

// The second half of x, then the first; results through a pointer of the array as well.
extern "C" __global__ void follow(unsigned *const *places, unsigned half) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned *from = i < half ? places[1] + i : places[0] + (i - half);
  places[2][i] = *from + 7u;
}
