import {
  bfloat16,
  type Entry,
  f32,
  floats,
  fromBfloat16,
  i32,
  i64,
  integers,
  product,
  type Refused,
  range,
  shuffled,
  sum,
} from './entry.ts';

const F32 = 2e-6;
const chunks = (values: readonly number[], size: number): number[][] =>
  range(Math.ceil(values.length / size)).map((i) => values.slice(i * size, i * size + size));
const exclusive = (values: readonly number[]): number[] => values.map((_, i) => sum(values.slice(0, i)));
const inclusive = (values: readonly number[]): number[] => values.map((_, i) => sum(values.slice(0, i + 1)));
const softmax = (row: readonly number[]): number[] => {
  const top = Math.max(...row);
  const e = row.map((x) => Math.exp(x - top));
  return e.map((x) => x / sum(e));
};
const dot = (a: readonly number[], b: readonly number[]): number => sum(a.map((x, i) => x * b[i]!));
const ascending = (a: number, b: number): number => a - b;

const blockSums = (kernel: string, perBlock: number): Entry => ({
  file: 'reductions.cu',
  kernel,
  grid: Math.ceil(300 / perBlock),
  block: 128,
  sharedBytes: 512,
  args: ['in', 'out', i32(300)],
  buffers: { in: floats(300, 1), out: new Float32Array(Math.ceil(300 / perBlock)) },
  inputs: ['in'],
  wanted: (b) => ({ out: chunks(b.in!, perBlock).map(sum) }),
  error: F32,
});

const REDUCTIONS: Entry[] = [
  blockSums('reduce_interleaved', 128),
  blockSums('reduce_two_loads', 256),
  {
    file: 'reductions.cu',
    kernel: 'reduce_atomic',
    grid: 3,
    block: 64,
    args: ['in', 'out', i32(500)],
    buffers: { in: floats(500, 2), out: new Float32Array(1) },
    inputs: ['in'],
    wanted: (b) => ({ out: [sum(b.in!)] }),
    error: F32 * 4,
  },
  {
    file: 'reductions.cu',
    kernel: 'reduce_cg',
    grid: 1,
    block: 96,
    args: ['in', 'out', i32(333)],
    buffers: { in: floats(333, 3), out: new Float32Array(1) },
    inputs: ['in'],
    wanted: (b) => ({ out: [sum(b.in!)] }),
    error: F32 * 4,
  },
  {
    file: 'reductions.cu',
    kernel: 'reduce_thread_group',
    grid: 1,
    block: 64,
    args: ['in', 'out'],
    buffers: { in: integers(64, 4, 100), out: new Int32Array(5) },
    inputs: ['in'],
    wanted: (b) => ({ out: [sum(b.in!), ...chunks(b.in!, 16).map(sum)] }),
  },
  {
    file: 'reductions.cu',
    kernel: 'reduce_cub',
    grid: 2,
    block: 128,
    args: ['in', 'out', i32(800)],
    buffers: { in: integers(800, 5, 1000), out: new Int32Array(4) },
    inputs: ['in'],
    wanted: (b) => ({ out: chunks(b.in!, 512).flatMap((c) => [sum(c), Math.max(...c)]) }),
  },
  {
    file: 'reductions.cu',
    kernel: 'argmax',
    grid: 3,
    block: 64,
    args: ['x', 'where', 'best', i32(150)],
    buffers: { x: floats(450, 6), where: new Int32Array(3), best: new Float32Array(3) },
    inputs: ['x'],
    wanted: (b) => {
      const rows = chunks(b.x!, 150);
      const best = rows.map((row) => Math.max(...row));
      return { best, where: rows.map((row, i) => row.indexOf(best[i]!)) };
    },
  },
  {
    file: 'reductions.cu',
    kernel: 'dot_last_block',
    grid: 3,
    block: 128,
    args: ['a', 'b', 'partial', 'count', 'out', i32(700)],
    buffers: {
      a: floats(700, 7),
      b: floats(700, 8),
      partial: new Float32Array(3),
      count: new Uint32Array(1),
      out: new Float32Array(1),
    },
    inputs: ['a', 'b'],
    wanted: ({ a, b }) => ({ out: [dot(a!, b!)], count: [0] }),
    error: F32 * 4,
  },
  {
    file: 'reductions.cu',
    kernel: 'guarded_block_max',
    grid: 2,
    block: 128,
    args: ['in', 'out', i32(200)],
    buffers: { in: integers(200, 9, 5000, -5000), out: new Int32Array(2) },
    inputs: ['in'],
    wanted: (b) => ({ out: chunks(b.in!, 128).map((c) => Math.max(...c)) }),
  },
];

const scan = (kernel: string, n: number, block: number, sharedBytes: number): Entry => ({
  file: 'scans.cu',
  kernel,
  grid: 1,
  block,
  sharedBytes,
  args: ['in', 'out', i32(n)],
  buffers: { in: integers(n, 11, 50), out: new Int32Array(n) },
  inputs: ['in'],
  wanted: (b) => ({ out: exclusive(b.in!) }),
});

const SCANS: Entry[] = [
  scan('hillis_steele', 128, 128, 1024),
  scan('blelloch', 128, 64, 512),
  {
    file: 'scans.cu',
    kernel: 'scan_cub',
    grid: 2,
    block: 64,
    args: ['in', 'out', 'sums'],
    buffers: { in: integers(512, 12, 50), out: new Int32Array(512), sums: new Int32Array(2) },
    inputs: ['in'],
    wanted: (b) => ({ out: chunks(b.in!, 256).flatMap(exclusive), sums: chunks(b.in!, 256).map(sum) }),
  },
  {
    file: 'scans.cu',
    kernel: 'scan_cg',
    grid: 2,
    block: 64,
    args: ['in', 'inclusive', 'exclusive'],
    buffers: { in: integers(128, 13, 50), inclusive: new Int32Array(128), exclusive: new Int32Array(128) },
    inputs: ['in'],
    wanted: (b) => ({
      inclusive: chunks(b.in!, 16).flatMap(inclusive),
      exclusive: chunks(b.in!, 16).flatMap(exclusive),
    }),
  },
  {
    file: 'scans.cu',
    kernel: 'warp_scan_cub',
    grid: 1,
    block: 128,
    args: ['in', 'out'],
    buffers: { in: integers(128, 14, 50), out: new Int32Array(128) },
    inputs: ['in'],
    wanted: (b) => ({ out: chunks(b.in!, 32).flatMap(inclusive) }),
  },
  {
    file: 'scans.cu',
    kernel: 'segmented_scan',
    grid: 1,
    block: 100,
    args: ['value', 'head', 'out', i32(100)],
    buffers: {
      value: integers(100, 15, 50),
      head: integers(100, 16, 5).map((x) => Number(x === 0)),
      out: new Int32Array(100),
    },
    inputs: ['value', 'head'],
    wanted: ({ value, head }) => {
      let total = 0;
      return { out: value!.map((x, i) => (total = head![i] ? x : total + x)) };
    },
  },
  {
    file: 'scans.cu',
    kernel: 'compact',
    grid: 2,
    block: 256,
    args: ['in', 'out', 'count', i32(400)],
    buffers: { in: floats(400, 17), out: new Float32Array(400), count: new Int32Array(1) },
    inputs: ['in'],
    wanted: (b) => {
      const kept = b.in!.filter((x) => x > 0);
      return { out: [...kept, ...new Array<number>(400 - kept.length).fill(0)], count: [kept.length] };
    },
    anyOrder: true,
  },
  {
    file: 'scans.cu',
    kernel: 'aggregated_filter',
    grid: 3,
    block: 64,
    args: ['in', 'out', 'count', i32(180)],
    buffers: { in: integers(180, 18, 1000, 1), out: new Int32Array(180), count: new Int32Array(1) },
    inputs: ['in'],
    wanted: (b) => {
      const kept = b.in!.filter((x) => x % 3 === 0);
      return { out: [...kept, ...new Array<number>(180 - kept.length).fill(0)], count: [kept.length] };
    },
    anyOrder: true,
  },
];

const fp8 = (code: number): number => {
  const [exponent, mantissa] = [(code >> 3) & 15, code & 7];
  const size = exponent === 0 ? mantissa * 2 ** -9 : (8 + mantissa) * 2 ** (exponent - 10);
  return code & 128 ? -size : size;
};

const GEMM: Entry[] = [
  {
    file: 'gemm.cu',
    kernel: 'sgemm_naive',
    grid: [2, 2, 1],
    block: [16, 16, 1],
    args: [i32(20), i32(24), i32(17), f32(0.5), 'A', 'B', f32(2), 'C'],
    buffers: { A: floats(340, 21), B: floats(408, 22), C: floats(480, 23) },
    inputs: ['A', 'B'],
    wanted: ({ A, B, C }) => ({ C: product(A!, B!, [20, 24, 17]).map((x, i) => 0.5 * x + 2 * C![i]!) }),
    error: F32,
  },
  {
    file: 'gemm.cu',
    kernel: 'sgemm_tiled',
    grid: [2, 2, 1],
    block: [16, 16, 1],
    args: ['A', 'B', 'C', i32(20), i32(24), i32(35)],
    buffers: { A: floats(700, 24), B: floats(840, 25), C: new Float32Array(480) },
    inputs: ['A', 'B'],
    wanted: ({ A, B }) => ({ C: product(A!, B!, [20, 24, 35]) }),
    error: F32,
  },
  {
    file: 'gemm.cu',
    kernel: 'sgemm_2d<64, 64, 8, 8, 8>',
    grid: [1, 1, 1],
    block: 64,
    args: [i32(64), i32(64), i32(16), 'A', 'B', 'C'],
    buffers: { A: floats(1024, 26), B: floats(1024, 27), C: new Float32Array(4096) },
    inputs: ['A', 'B'],
    wanted: ({ A, B }) => ({ C: product(A!, B!, [64, 64, 16]) }),
    error: F32,
  },
  {
    file: 'gemm.cu',
    kernel: 'gemm_wmma',
    grid: [1, 2, 1],
    block: [64, 1, 1],
    args: ['a', 'b', 'c', i32(32), i32(32), i32(32)],
    buffers: {
      a: Float16Array.from(floats(1024, 28)),
      b: Float16Array.from(floats(1024, 29)),
      c: new Float32Array(1024),
    },
    inputs: ['a', 'b'],
    wanted: ({ a, b }) => ({ c: product(a!, b!, [32, 32, 32]) }),
    error: 1e-5,
  },
  {
    file: 'gemm.cu',
    kernel: 'gemm_split_k',
    grid: [1, 5, 3],
    block: 32,
    args: ['A', 'B', 'C', i32(5), i32(20), i32(50), i32(17)],
    buffers: { A: floats(250, 30), B: floats(1000, 31), C: new Float32Array(100) },
    inputs: ['A', 'B'],
    wanted: ({ A, B }) => ({ C: product(A!, B!, [5, 20, 50]) }),
    error: F32 * 4,
  },
  {
    file: 'gemm.cu',
    kernel: 'gemm_batched',
    grid: [2, 2, 3],
    block: [8, 8, 1],
    args: ['A', 'B', 'C', i32(10), i32(12), i32(9)],
    buffers: { A: floats(270, 32), B: floats(324, 33), C: new Float32Array(360) },
    inputs: ['A', 'B'],
    wanted: ({ A, B }) => ({
      C: range(3).flatMap((i) => product(A!.slice(i * 90, i * 90 + 90), B!.slice(i * 108, i * 108 + 108), [10, 12, 9])),
    }),
    error: F32,
  },
  {
    file: 'gemm.cu',
    kernel: 'gemm_int8',
    grid: [2, 2, 1],
    block: [8, 8, 1],
    args: ['A', 'B', 'C', i32(10), i32(12), i32(32)],
    buffers: {
      A: Int8Array.from(integers(320, 34, 128, -128)),
      B: Int8Array.from(integers(384, 35, 128, -128)),
      C: new Int32Array(120),
    },
    inputs: ['A', 'B'],
    wanted: ({ A, B }) => ({
      C: range(120).map((i) => {
        const [row, column] = [Math.floor(i / 12), i % 12];
        return dot(A!.slice(row * 32, row * 32 + 32), B!.slice(column * 32, column * 32 + 32));
      }),
    }),
  },
  {
    file: 'gemm.cu',
    kernel: 'gemv_q4',
    grid: 2,
    block: [32, 4, 1],
    args: ['W', 'scale', 'x', 'y', i32(7), i32(128)],
    buffers: {
      W: Uint8Array.from(integers(448, 36, 256)),
      scale: floats(28, 37, 0.1, 1),
      x: floats(128, 38),
      y: new Float32Array(7),
    },
    inputs: ['W', 'scale', 'x'],
    wanted: ({ W, scale, x }) => ({
      y: range(7).map((row) =>
        sum(
          range(128).map((c) => {
            const at = row * 128 + c;
            const code = c % 2 === 0 ? W![at >> 1]! & 15 : W![at >> 1]! >> 4;
            return scale![at >> 5]! * (code - 8) * x![c]!;
          }),
        ),
      ),
    }),
    error: F32 * 8,
  },
  {
    file: 'gemm.cu',
    kernel: 'gemv_fp8',
    grid: 5,
    block: 32,
    args: ['W', 'x', 'y', i32(96)],
    buffers: {
      W: Uint8Array.from(integers(480, 39, 254), (code) => (code % 128 === 127 ? 0 : code)),
      x: floats(96, 40),
      y: new Float32Array(5),
    },
    inputs: ['W', 'x'],
    wanted: ({ W, x }) => ({ y: chunks(W!.map(fp8), 96).map((row) => dot(row, x!)) }),
    error: 1e-4,
  },
  {
    file: 'gemm.cu',
    kernel: 'gemv_vectorized',
    grid: 5,
    block: 64,
    args: ['W', 'x', 'y', i32(128)],
    buffers: { W: floats(640, 41), x: floats(128, 42), y: new Float32Array(5) },
    inputs: ['W', 'x'],
    wanted: ({ W, x }) => ({ y: chunks(W!, 128).map((row) => dot(row, x!)) }),
    error: F32 * 4,
  },
];

const mean = (values: readonly number[]): number => sum(values) / values.length;
const columns = (rows: readonly (readonly number[])[], c: number): number[] => rows.map((row) => row[c]!);

const attention = (q: readonly number[], keys: readonly number[][], values: readonly number[][], scale: number) => {
  const p = softmax(keys.map((k) => dot(q, k) * scale));
  return range(q.length).map((d) => dot(p, columns(values, d)));
};

const NETWORKS: Entry[] = [
  {
    file: 'networks.cu',
    kernel: 'softmax_forward',
    grid: 3,
    block: 64,
    sharedBytes: 256,
    args: ['x', 'y', i32(3), i32(150)],
    buffers: { x: floats(450, 51, -4, 4), y: new Float32Array(450) },
    inputs: ['x'],
    wanted: (b) => ({ y: chunks(b.x!, 150).flatMap(softmax) }),
    error: F32,
  },
  {
    file: 'networks.cu',
    kernel: 'softmax_online',
    grid: 3,
    block: 32,
    args: ['x', 'y', i32(150)],
    buffers: { x: floats(450, 52, -4, 4), y: new Float32Array(450) },
    inputs: ['x'],
    wanted: (b) => ({ y: chunks(b.x!, 150).flatMap(softmax) }),
    error: F32,
  },
  {
    file: 'networks.cu',
    kernel: 'layernorm',
    grid: 2,
    block: 64,
    args: ['out', 'inp', 'w', 'b', i32(3), i32(100)],
    buffers: { out: new Float32Array(300), inp: floats(300, 53), w: floats(100, 54), b: floats(100, 55) },
    inputs: ['inp', 'w', 'b'],
    wanted: ({ inp, w, b }) => ({
      out: chunks(inp!, 100).flatMap((x) => {
        const m = mean(x);
        const s = 1 / Math.sqrt(mean(x.map((v) => (v - m) ** 2)) + 1e-5);
        return x.map((v, i) => s * (v - m) * w![i]! + b![i]!);
      }),
    }),
    error: F32 * 4,
  },
  {
    file: 'networks.cu',
    kernel: 'rmsnorm',
    grid: 2,
    block: 64,
    args: ['o', 'x', 'weight', i32(100)],
    buffers: { o: new Float32Array(200), x: floats(200, 56), weight: floats(100, 57) },
    inputs: ['x', 'weight'],
    wanted: ({ x, weight }) => ({
      o: chunks(x!, 100).flatMap((row) => {
        const s = 1 / Math.sqrt(mean(row.map((v) => v * v)) + 1e-5);
        return row.map((v, i) => weight![i]! * s * v);
      }),
    }),
    error: F32,
  },
  {
    file: 'networks.cu',
    kernel: 'rope',
    grid: 2,
    block: 16,
    args: ['q', i32(5), i32(2), i32(32)],
    buffers: { q: floats(64, 58) },
    wanted: ({ q }) => ({
      q: q!.map((v, at) => {
        const i = (at % 32) & ~1;
        const angle = 5 / 10000 ** (i / 32);
        const [c, s] = [Math.cos(angle), Math.sin(angle)];
        return at % 2 === 0 ? v * c - q![at + 1]! * s : q![at - 1]! * s + v * c;
      }),
    }),
    error: 1e-5,
  },
  {
    file: 'networks.cu',
    kernel: 'gelu',
    grid: 2,
    block: 64,
    args: ['out', 'x', i32(100)],
    buffers: { out: new Float32Array(100), x: floats(100, 59, -4, 4) },
    inputs: ['x'],
    wanted: ({ x }) => ({
      out: x!.map((v) => 0.5 * v * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (v + 0.044715 * v ** 3)))),
    }),
    error: F32 * 2,
  },
  {
    file: 'networks.cu',
    kernel: 'swiglu_half2',
    grid: 1,
    block: 64,
    args: ['gate', 'up', 'out', i32(50)],
    buffers: {
      gate: Float16Array.from(floats(100, 60)),
      up: Float16Array.from(floats(100, 61)),
      out: new Float16Array(100),
    },
    inputs: ['gate', 'up'],
    wanted: ({ gate, up }) => ({ out: gate!.map((g, i) => (g / (1 + Math.exp(-g))) * up![i]!) }),
    error: 5e-4,
  },
  {
    file: 'networks.cu',
    kernel: 'cross_entropy',
    grid: 3,
    block: 32,
    args: ['losses', 'dlogits', 'logits', 'targets', i32(70)],
    buffers: {
      losses: new Float32Array(3),
      dlogits: new Float32Array(210),
      logits: floats(210, 62, -3, 3),
      targets: integers(3, 63, 70),
    },
    inputs: ['logits', 'targets'],
    wanted: ({ logits, targets }) => {
      const rows = chunks(logits!, 70).map(softmax);
      return {
        losses: rows.map((row, i) => -Math.log(row[targets![i]!]!)),
        dlogits: rows.flatMap((row, i) => row.map((p, j) => p - Number(j === targets![i]))),
      };
    },
    error: F32 * 2,
  },
  {
    file: 'networks.cu',
    kernel: 'adamw',
    grid: 2,
    block: 64,
    args: ['p', 'g', 'm', 'v', i64(100), ...[0.01, 0.9, 0.95, 0.1, 0.05, 1e-8, 0.1].map(f32)],
    buffers: { p: floats(100, 64), g: floats(100, 65), m: floats(100, 66), v: floats(100, 67, 0, 1) },
    inputs: ['g'],
    wanted: ({ p, g, m, v }) => {
      const m2 = m!.map((x, i) => g![i]! + (x - g![i]!) * 0.9);
      const v2 = v!.map((x, i) => g![i]! ** 2 + (x - g![i]! ** 2) * 0.95);
      const step = (x: number, i: number) => 0.01 * (m2[i]! / 0.1 / (Math.sqrt(v2[i]! / 0.05) + 1e-8) + 0.1 * x);
      return { m: m2, v: v2, p: p!.map((x, i) => x - step(x, i)) };
    },
    error: F32 * 4,
  },
  {
    file: 'networks.cu',
    kernel: 'encoder_forward',
    grid: 2,
    block: 64,
    args: ['out', 'inp', 'wte', 'wpe', i32(2), i32(6), i32(8)],
    buffers: {
      out: new Float32Array(384),
      inp: integers(12, 68, 10),
      wte: floats(320, 69),
      wpe: floats(192, 70),
    },
    inputs: ['inp', 'wte', 'wpe'],
    wanted: ({ inp, wte, wpe }) => ({
      out: range(384).map((i) => {
        const [row, c] = [Math.floor(i / 32), i % 32];
        return Math.fround(wte![inp![row]! * 32 + c]! + wpe![(row % 6) * 32 + c]!);
      }),
    }),
  },
  {
    file: 'networks.cu',
    kernel: 'bias_grad',
    grid: 2,
    block: [32, 4, 1],
    args: ['dbias', 'dout', i32(30), i32(50)],
    buffers: { dbias: floats(50, 71), dout: floats(1500, 72) },
    inputs: ['dout'],
    wanted: ({ dbias, dout }) => ({ dbias: dbias!.map((x, c) => x + sum(columns(chunks(dout!, 50), c))) }),
    error: F32 * 2,
  },
  {
    file: 'networks.cu',
    kernel: 'attention_row<16>',
    grid: 1,
    block: 32,
    args: ['Q', 'K', 'V', 'O', i32(24), f32(0.25)],
    buffers: { Q: floats(384, 73), K: floats(384, 74), V: floats(384, 75), O: new Float32Array(384) },
    inputs: ['Q', 'K', 'V'],
    wanted: ({ Q, K, V }) => {
      const [keys, values] = [chunks(K!, 16), chunks(V!, 16)];
      return {
        O: chunks(Q!, 16).flatMap((q, r) => attention(q, keys.slice(0, r + 1), values.slice(0, r + 1), 0.25)),
      };
    },
    error: F32 * 2,
  },
  {
    file: 'networks.cu',
    kernel: 'decode_attention',
    grid: 2,
    block: 32,
    sharedBytes: 80,
    args: ['q', 'k', 'v', 'out', i32(20), i32(16)],
    buffers: {
      q: bfloat16(floats(32, 76)),
      k: bfloat16(floats(640, 77)),
      v: bfloat16(floats(640, 78)),
      out: new Float32Array(32),
    },
    inputs: ['q', 'k', 'v'],
    wanted: (b) => {
      const [q, k, v] = [b.q!, b.k!, b.v!].map((bits) => chunks(fromBfloat16(bits), 16)) as [
        number[][],
        number[][],
        number[][],
      ];
      return {
        out: q.flatMap((row, h) => attention(row, k.slice(h * 20, h * 20 + 20), v.slice(h * 20, h * 20 + 20), 0.25)),
      };
    },
    error: F32 * 2,
  },
  {
    file: 'networks.cu',
    kernel: 'top_k',
    grid: 1,
    block: 64,
    args: ['x', 'values', 'indices', i32(150), i32(5)],
    buffers: {
      x: Float32Array.from(integers(150, 79, 40)),
      values: new Float32Array(5),
      indices: new Int32Array(5),
    },
    inputs: ['x'],
    wanted: ({ x }) => {
      const order = range(150).toSorted((a, b) => x![b]! - x![a]! || a - b);
      return { values: order.slice(0, 5).map((i) => x![i]!), indices: order.slice(0, 5) };
    },
  },
];

/** The element at (x, y), or what `outside` says. */
const pixel =
  (image: readonly number[], w: number, h: number, outside = 0) =>
  (x: number, y: number) =>
    x >= 0 && x < w && y >= 0 && y < h ? image[y * w + x]! : outside;
const perPixel = (w: number, h: number, value: (x: number, y: number) => number): number[] =>
  range(w * h).map((i) => value(i % w, Math.floor(i / w)));
const window = (radius: number): number[] => range(2 * radius + 1).map((i) => i - radius);
const bytes = (n: number, seed: number, high = 256): Uint8Array => Uint8Array.from(integers(n, seed, high));
const GAUSS = [0.03, 0.11, 0.22, 0.28, 0.22, 0.11, 0.03];

const IMAGES: Entry[] = [
  {
    file: 'images.cu',
    kernel: 'stencil_1d',
    grid: 2,
    block: 128,
    args: ['in', 'out', i32(200)],
    buffers: { in: integers(200, 81, 100), out: new Int32Array(200) },
    inputs: ['in'],
    wanted: (b) => ({ out: b.in!.map((_, i) => sum(window(3).map((k) => b.in![i + k] ?? 0))) }),
  },
  {
    file: 'images.cu',
    kernel: 'blur_rows',
    grid: [1, 5, 1],
    block: 32,
    args: ['in', 'out', i32(30)],
    buffers: { in: floats(150, 82), out: new Float32Array(150) },
    inputs: ['in'],
    wanted: (b) => ({
      out: perPixel(30, 5, (x, y) =>
        sum(window(3).map((k) => GAUSS[k + 3]! * b.in![y * 30 + Math.min(Math.max(x + k, 0), 29)]!)),
      ),
    }),
    error: F32,
  },
  {
    file: 'images.cu',
    kernel: 'conv2d',
    grid: [2, 2, 1],
    block: [16, 8, 1],
    args: ['in', 'filter', 'out', i32(12), i32(20)],
    buffers: { in: floats(240, 83), filter: floats(25, 84), out: new Float32Array(240) },
    inputs: ['in', 'filter'],
    wanted: (b) => {
      const at = pixel(b.in!, 20, 12);
      return {
        out: perPixel(20, 12, (x, y) =>
          sum(range(25).map((i) => b.filter![i]! * at(x + (i % 5) - 2, y + Math.floor(i / 5) - 2))),
        ),
      };
    },
    error: F32 * 2,
  },
  {
    file: 'images.cu',
    kernel: 'max_pool',
    grid: [1, 1, 2],
    block: [16, 8, 1],
    args: ['in', 'out', i32(12), i32(20)],
    buffers: { in: floats(480, 85), out: new Float32Array(120) },
    inputs: ['in'],
    wanted: (b) => ({
      out: chunks(b.in!, 240).flatMap((image) => {
        const at = pixel(image, 20, 12);
        return perPixel(10, 6, (x, y) =>
          Math.max(...[0, 1].flatMap((j) => [at(2 * x, 2 * y + j), at(2 * x + 1, 2 * y + j)])),
        );
      }),
    }),
  },
  {
    file: 'images.cu',
    kernel: 'rgb_to_gray',
    grid: 2,
    block: 32,
    args: ['rgb', 'gray', i32(50)],
    buffers: { rgb: bytes(150, 86), gray: new Uint8Array(50) },
    inputs: ['rgb'],
    wanted: (b) => ({ gray: chunks(b.rgb!, 3).map((p) => dot(p, [77, 151, 28]) >> 8) }),
  },
  {
    file: 'images.cu',
    kernel: 'sobel',
    grid: [2, 1, 1],
    block: [16, 16, 1],
    args: ['src', 'dst', i32(20), i32(12)],
    buffers: { src: bytes(240, 87), dst: new Int32Array(240) },
    inputs: ['src'],
    wanted: (b) => {
      const at = pixel(b.src!, 20, 12);
      const slope = (x: number, y: number, flip: boolean) =>
        sum(
          [-1, 0, 1].flatMap((k) =>
            [-1, 1].map((side) => {
              const [dx, dy] = flip ? [k, side] : [side, k];
              return side * (k === 0 ? 2 : 1) * at(x + dx!, y + dy!);
            }),
          ),
        );
      return { dst: perPixel(20, 12, (x, y) => Math.abs(slope(x, y, false)) + Math.abs(slope(x, y, true))) };
    },
  },
  {
    file: 'images.cu',
    kernel: 'transpose',
    grid: [2, 2, 1],
    block: [32, 8, 1],
    args: ['in', 'out', i32(40), i32(35)],
    buffers: { in: floats(1400, 88), out: new Float32Array(1400) },
    inputs: ['in'],
    wanted: (b) => ({ out: perPixel(35, 40, (x, y) => b.in![x * 40 + y]!) }),
  },
  {
    file: 'images.cu',
    kernel: 'histogram',
    grid: 2,
    block: 256,
    args: ['data', 'bins', i32(1000)],
    buffers: { data: bytes(1000, 89), bins: new Uint32Array(256) },
    inputs: ['data'],
    wanted: (b) => ({ bins: range(256).map((bin) => b.data!.filter((x) => x === bin).length) }),
  },
  {
    file: 'images.cu',
    kernel: 'life',
    grid: [2, 2, 1],
    block: [16, 8, 1],
    args: ['now', 'next', i32(20), i32(12)],
    buffers: { now: bytes(240, 90, 2), next: new Uint8Array(240) },
    inputs: ['now'],
    wanted: ({ now }) => {
      const at = (x: number, y: number) => now![((y + 12) % 12) * 20 + ((x + 20) % 20)]!;
      return {
        next: perPixel(20, 12, (x, y) => {
          const alive = sum(window(1).flatMap((dy) => window(1).map((dx) => (dx || dy ? at(x + dx, y + dy) : 0))));
          return Number(alive === 3 || (alive === 2 && at(x, y) === 1));
        }),
      };
    },
  },
  {
    file: 'images.cu',
    kernel: 'resize_bilinear',
    grid: [1, 9, 1],
    block: 32,
    args: ['in', 'out', i32(10), i32(6), i32(25), i32(9)],
    buffers: { in: floats(60, 91), out: new Float32Array(225) },
    inputs: ['in'],
    wanted: (b) => ({
      out: perPixel(25, 9, (x, y) => {
        const [fx, fy] = [Math.max(((x + 0.5) * 10) / 25 - 0.5, 0), Math.max(((y + 0.5) * 6) / 9 - 0.5, 0)];
        const [x0, y0] = [Math.floor(fx + 1e-6), Math.floor(fy + 1e-6)];
        const at = (dx: number, dy: number) => b.in![Math.min(y0 + dy, 5) * 10 + Math.min(x0 + dx, 9)]!;
        const row = (dy: number) => at(0, dy) * (1 - fx + x0) + at(1, dy) * (fx - x0);
        return row(0) * (1 - fy + y0) + row(1) * (fy - y0);
      }),
    }),
    error: 5e-6,
  },
  {
    file: 'images.cu',
    kernel: 'heat_3d',
    grid: [1, 1, 1],
    block: [16, 8, 1],
    args: ['u', 'v', i32(12), i32(8), i32(5)],
    buffers: { u: floats(480, 92), v: new Float32Array(480) },
    inputs: ['u'],
    wanted: ({ u }) => ({
      v: range(480).map((c) => {
        const [i, j, k] = [c % 12, Math.floor(c / 12) % 8, Math.floor(c / 96)];
        if (i < 1 || j < 1 || k < 1 || i > 10 || j > 6 || k > 3) return 0;
        return u![c]! + 0.1 * (sum([1, -1, 12, -12, 96, -96].map((d) => u![c + d]!)) - 6 * u![c]!);
      }),
    }),
    error: F32,
  },
];

const POINTERS = Int32Array.from([0, 3, 3, 40, 45, 60]);
const spmv = (kernel: string, grid: number, block: number): Entry => ({
  file: 'sorting.cu',
  kernel,
  grid,
  block,
  args: [i32(5), 'ptr', 'cols', 'vals', 'x', 'y'],
  buffers: {
    ptr: POINTERS,
    cols: integers(60, 101, 50),
    vals: floats(60, 102),
    x: floats(50, 103),
    y: new Float32Array(5),
  },
  inputs: ['ptr', 'cols', 'vals', 'x'],
  wanted: ({ ptr, cols, vals, x }) => ({
    y: range(5).map((row) =>
      sum(range(60).map((j) => (j >= ptr![row]! && j < ptr![row + 1]! ? vals![j]! * x![cols![j]!]! : 0))),
    ),
  }),
  error: F32 * 2,
});

const erfc = (x: number): number => {
  // Σ of the Maclaurin series, which converges for the arguments here.
  let [term, total] = [x, x];
  for (let n = 1; n < 80; n++) {
    term *= (-x * x) / n;
    total += term / (2 * n + 1);
  }
  return 1 - (2 / Math.sqrt(Math.PI)) * total;
};

const SORTING: Entry[] = [
  {
    file: 'sorting.cu',
    kernel: 'bitonic_sort',
    grid: 1,
    block: 128,
    sharedBytes: 512,
    args: ['values', i32(128)],
    buffers: { values: integers(128, 104, 1000, -1000) },
    wanted: (b) => ({ values: b.values!.toSorted(ascending) }),
  },
  {
    file: 'sorting.cu',
    kernel: 'odd_even_registers',
    grid: 1,
    block: 32,
    args: ['x'],
    buffers: { x: integers(256, 105, 1000) },
    wanted: (b) => ({ x: chunks(b.x!, 8).flatMap((c) => c.toSorted(ascending)) }),
  },
  {
    file: 'sorting.cu',
    kernel: 'radix_sort_block',
    grid: 1,
    block: 64,
    args: ['in', 'out', 'order'],
    buffers: {
      in: Float32Array.from(integers(128, 106, 60, -60), (x) => x / 4),
      out: new Float32Array(128),
      order: new Int32Array(128),
    },
    inputs: ['in'],
    wanted: (b) => {
      const order = range(128).toSorted((i, j) => b.in![i]! - b.in![j]! || i - j);
      return { out: order.map((i) => b.in![i]!), order };
    },
  },
  {
    file: 'sorting.cu',
    kernel: 'radix_pass',
    grid: 1,
    block: 100,
    args: ['in', 'out', i32(100), i32(2)],
    buffers: { in: Uint32Array.from(integers(100, 107, 1000)), out: new Uint32Array(100) },
    inputs: ['in'],
    wanted: (b) => ({ out: [...b.in!.filter((x) => !(x & 4)), ...b.in!.filter((x) => x & 4)] }),
  },
  {
    file: 'sorting.cu',
    kernel: 'merge_ranks',
    grid: 3,
    block: 64,
    args: ['a', 'b', 'out', i32(90), i32(70)],
    buffers: {
      a: integers(90, 108, 200).toSorted(),
      b: integers(70, 109, 200).toSorted(),
      out: new Int32Array(160),
    },
    inputs: ['a', 'b'],
    wanted: ({ a, b }) => ({ out: [...a!, ...b!].toSorted(ascending) }),
  },
  {
    file: 'sorting.cu',
    kernel: 'lower_bound',
    grid: 2,
    block: 32,
    args: ['keys', 'queries', 'at', i32(80), i32(50)],
    buffers: { keys: integers(80, 110, 100).toSorted(), queries: integers(50, 111, 110, -5), at: new Int32Array(50) },
    inputs: ['keys', 'queries'],
    wanted: ({ keys, queries }) => ({ at: queries!.map((q) => keys!.filter((k) => k < q).length) }),
  },
  spmv('spmv_csr_scalar', 1, 32),
  spmv('spmv_csr_vector', 2, 128),
  {
    file: 'sorting.cu',
    kernel: 'bfs_level',
    grid: 1,
    block: 32,
    args: ['ptr', 'edges', 'level', 'changed', i32(20), i32(1)],
    buffers: {
      ptr: Int32Array.from(range(21), (i) => 3 * i),
      edges: integers(60, 112, 20),
      level: Int32Array.from(range(20), (i) => (i === 0 ? 0 : i < 6 ? 1 : -1)),
      changed: new Int32Array(1),
    },
    inputs: ['ptr', 'edges'],
    wanted: ({ edges, level }) => {
      const reached = new Set(range(60).flatMap((e) => (level![Math.floor(e / 3)] === 1 ? [edges![e]!] : [])));
      const next = level!.map((l, v) => (l === -1 && reached.has(v) ? 2 : l));
      return { level: next, changed: [Number(next.includes(2))] };
    },
  },
  {
    file: 'sorting.cu',
    kernel: 'nms_mask',
    grid: [2, 2, 1],
    block: 64,
    args: [i32(70), f32(0.3), 'boxes', 'mask'],
    buffers: {
      boxes: Float32Array.from(
        range(70).flatMap((i) => {
          const [x, y] = [(i * 37) % 50, (i * 53) % 50];
          return [x, y, x + 10 + (i % 7), y + 10 + (i % 5)];
        }),
      ),
      mask: new BigUint64Array(140),
    },
    inputs: ['boxes'],
    wanted: ({ boxes }) => {
      const box = chunks(boxes!, 4) as [number, number, number, number][];
      const area = ([x, y, z, w]: readonly number[]) => (z! - x!) * (w! - y!);
      const iou = (i: number, j: number) => {
        const [a, b] = [box[i]!, box[j]!];
        const shared =
          Math.max(Math.min(a[2], b[2]) - Math.max(a[0], b[0]), 0) *
          Math.max(Math.min(a[3], b[3]) - Math.max(a[1], b[1]), 0);
        return shared / (area(a) + area(b) - shared);
      };
      const word = (i: number, block: number) =>
        Number(
          range(64)
            .map((bit) => 64 * block + bit)
            .filter((j) => j < 70 && (block !== i >> 6 || j > i) && iou(i, j) > Math.fround(0.3))
            .reduce((bits, j) => bits | (1n << BigInt(j & 63)), 0n),
        );
      return { mask: range(140).map((at) => word(at >> 1, at & 1)) };
    },
  },
  {
    file: 'sorting.cu',
    kernel: 'nbody',
    grid: 2,
    block: 64,
    args: ['pos', 'acc', i32(128)],
    buffers: { pos: floats(512, 113), acc: new Float32Array(512) },
    inputs: ['pos'],
    wanted: ({ pos }) => {
      const p = chunks(pos!, 4);
      return {
        acc: p.flatMap((me) =>
          range(4).map((axis) => {
            if (axis === 3) return 0;
            return sum(
              p.map((o) => {
                const r = range(3).map((i) => o[i]! - me[i]!);
                return (r[axis]! * o[3]!) / (dot(r, r) + 0.01) ** 1.5;
              }),
            );
          }),
        ),
      };
    },
    error: 1e-4,
  },
  {
    file: 'sorting.cu',
    kernel: 'fft_shared',
    grid: 2,
    block: 16,
    sharedBytes: 256,
    args: ['data', i32(32), i32(5)],
    buffers: { data: floats(128, 114) },
    wanted: ({ data }) => ({
      data: chunks(data!, 64).flatMap((x) =>
        range(32).flatMap((k) => {
          const angle = (j: number) => (-2 * Math.PI * j * k) / 32;
          const re = range(32).map((j) => x[2 * j]! * Math.cos(angle(j)) - x[2 * j + 1]! * Math.sin(angle(j)));
          const im = range(32).map((j) => x[2 * j]! * Math.sin(angle(j)) + x[2 * j + 1]! * Math.cos(angle(j)));
          return [sum(re), sum(im)];
        }),
      ),
    }),
    error: F32 * 4,
  },
  {
    file: 'sorting.cu',
    kernel: 'kmeans_assign',
    grid: 2,
    block: 64,
    sharedBytes: 60,
    args: ['points', 'centers', 'cluster', 'sizes', i32(100), i32(5), i32(3)],
    buffers: {
      points: floats(300, 115),
      centers: floats(15, 116),
      cluster: new Int32Array(100),
      sizes: new Int32Array(5),
    },
    inputs: ['points', 'centers'],
    wanted: ({ points, centers }) => {
      const middle = chunks(centers!, 3);
      const cluster = chunks(points!, 3).map((p) => {
        const d = middle.map((c) => sum(c.map((x, i) => (x - p[i]!) ** 2)));
        return d.indexOf(Math.min(...d));
      });
      return { cluster, sizes: range(5).map((j) => cluster.filter((c) => c === j).length) };
    },
  },
  {
    file: 'sorting.cu',
    kernel: 'mandelbrot',
    grid: [1, 12, 1],
    block: 32,
    args: ['out', i32(20), i32(12), i32(40)],
    buffers: { out: new Int32Array(240) },
    wanted: () => ({
      out: perPixel(20, 12, (x, y) => {
        const [cr, ci] = [-2 + (3 * x) / 20, -1.5 + (3 * y) / 12];
        let [zr, zi, i] = [0, 0, 0];
        while (i < 40 && zr * zr + zi * zi < 4) {
          [zr, zi] = [zr * zr - zi * zi + cr, 2 * zr * zi + ci];
          i++;
        }
        return i;
      }),
    }),
  },
  {
    file: 'sorting.cu',
    kernel: 'black_scholes',
    grid: 1,
    block: 64,
    args: ['call', 'put', 'S', 'X', 'T', f32(0.02), f32(0.3), i32(100)],
    buffers: {
      call: new Float32Array(100),
      put: new Float32Array(100),
      S: floats(100, 117, 5, 30),
      X: floats(100, 118, 5, 30),
      T: floats(100, 119, 0.5, 2),
    },
    inputs: ['S', 'X', 'T'],
    wanted: ({ S, X, T }) => {
      const cnd = (d: number) => 0.5 * erfc(-d * Math.SQRT1_2);
      const price = range(100).map((i) => {
        const [s, x, t] = [S![i]!, X![i]!, T![i]!];
        const d1 = (Math.log(s / x) + 0.065 * t) / (0.3 * Math.sqrt(t));
        const d2 = d1 - 0.3 * Math.sqrt(t);
        const e = x * Math.exp(-0.02 * t);
        return { call: s * cnd(d1) - e * cnd(d2), put: e * (1 - cnd(d2)) - s * (1 - cnd(d1)) };
      });
      return { call: price.map(({ call }) => call), put: price.map(({ put }) => put) };
    },
    error: 2e-5,
  },
  {
    file: 'sorting.cu',
    kernel: 'lcg_pi',
    grid: 2,
    block: 64,
    args: ['hits', i32(17), i32(20)],
    buffers: { hits: new Uint32Array(1) },
    wanted: () => {
      let hits = 0;
      for (let thread = 0; thread < 128; thread++) {
        let s = (17 + 7919 * thread) >>> 0;
        const next = () => {
          s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
          return (s >>> 8) * 2 ** -24;
        };
        for (let i = 0; i < 20; i++) {
          const [x, y] = [next(), next()];
          hits += Number(Math.fround(Math.fround(x * x) + Math.fround(y * y)) <= 1);
        }
      }
      return { hits: [hits] };
    },
  },
];

/** fp8 code of a value by search, ties to the even code; `top` is the code of the largest value. */
function fp8Code(value: number, mantissaBits: 3 | 2, top: number): number {
  const bias = mantissaBits === 3 ? 7 : 15;
  const unit = 2 ** mantissaBits;
  const decode = (code: number) => {
    const [exponent, mantissa] = [Math.floor(code / unit), code % unit];
    return exponent === 0 ? (mantissa / unit) * 2 ** (1 - bias) : (1 + mantissa / unit) * 2 ** (exponent - bias);
  };
  const distance = (code: number) => Math.abs(decode(code) - Math.abs(value));
  const best = range(top + 1).reduce((a, b) =>
    distance(b) < distance(a) || (distance(b) === distance(a) && b % 2 === 0) ? b : a,
  );
  return best + (value < 0 ? 128 : 0);
}

const VALUES = Float32Array.from([
  ...floats(40, 121, -4, 4),
  ...[0, 448, 464, 465, 1e9, 1 / 512, 1 / 1024, 0.0029, -500, 57344, 61440, 2 ** -16, 2 ** -17, 3 * 2 ** -17, 17, 19],
]);

const ASYNC: Entry[] = [
  {
    file: 'async.cu',
    kernel: 'barrier_copy',
    grid: 1,
    block: 128,
    args: ['in', 'out', i32(384)],
    buffers: { in: integers(384, 122, 1000), out: new Int32Array(384) },
    inputs: ['in'],
    wanted: (b) => ({ out: chunks(b.in!, 128).flatMap((c) => c.toReversed().map((x) => 2 * x)) }),
  },
  {
    file: 'async.cu',
    kernel: 'staged_copy<2>',
    grid: 1,
    block: 64,
    args: ['in', 'out', i32(5)],
    buffers: { in: floats(320, 123), out: new Float32Array(320) },
    inputs: ['in'],
    wanted: (b) => ({ out: chunks(b.in!, 64).flatMap((c) => c.toReversed().map((x) => Math.fround(x + 1))) }),
  },
  {
    file: 'async.cu',
    kernel: 'group_copy',
    grid: 2,
    block: 64,
    sharedBytes: 1024,
    args: ['in', 'out'],
    buffers: { in: floats(512, 124), out: new Float32Array(512) },
    inputs: ['in'],
    wanted: (b) => ({
      out: chunks(b.in!, 256).flatMap((c) =>
        chunks(c, 4)
          .toReversed()
          .flat()
          .map((x) => Math.max(x, 0)),
      ),
    }),
  },
  {
    file: 'async.cu',
    kernel: 'atomic_counts',
    grid: 2,
    block: 64,
    args: ['keys', 'counts', 'order', i32(100)],
    buffers: { keys: integers(100, 125, 10), counts: new Int32Array(10), order: new Int32Array(2) },
    inputs: ['keys'],
    wanted: ({ keys }) => ({ counts: range(10).map((k) => keys!.filter((x) => x === k).length), order: [64, 36] }),
  },
  {
    file: 'async.cu',
    kernel: 'with_grid_sync',
    grid: 6,
    block: 64,
    cooperative: true,
    args: ['in', 'between', 'out', i32(384)],
    buffers: { in: integers(384, 131, 100), between: new Int32Array(384), out: new Int32Array(384) },
    inputs: ['in'],
    wanted: (b) => ({ out: b.in!.map((_, i) => 2 * b.in![383 - i]!) }),
  },
  {
    file: 'async.cu',
    kernel: 'partitions',
    grid: 2,
    block: 64,
    args: ['in', 'out'],
    buffers: { in: shuffled(128, 126), out: new Int32Array(128) },
    inputs: ['in'],
    wanted: (b) => ({
      out: chunks(b.in!, 32).flatMap((warp) =>
        warp.map((x, lane) => {
          const side = warp.filter((y) => (y & 1) === (x & 1)).length;
          const label = warp.map((y) => y % 5 === x % 5);
          return side * 10000 + label.filter(Boolean).length * 100 + label.slice(0, lane).filter(Boolean).length;
        }),
      ),
    }),
  },
  {
    file: 'async.cu',
    kernel: 'quantize_fp8',
    grid: 1,
    block: 32,
    args: ['in', 'e4m3', 'e5m2', i32(14)],
    buffers: { in: VALUES, e4m3: new Uint32Array(14), e5m2: new Uint16Array(14) },
    inputs: ['in'],
    wanted: (b) => {
      const rows = chunks(b.in!, 4);
      const pack = (codes: readonly number[]) => codes.reduceRight((word, code) => word * 256 + code, 0);
      return {
        e4m3: rows.map((row) => pack(row.map((x) => fp8Code(x, 3, 0x7e)))),
        e5m2: rows.map((row) => pack(row.slice(0, 2).map((x) => fp8Code(x, 2, 0x7b)))),
      };
    },
  },
  {
    file: 'async.cu',
    kernel: 'prints',
    grid: 2,
    block: 32,
    args: ['in', 'out', i32(50)],
    buffers: { in: floats(50, 127), out: new Float32Array(50) },
    inputs: ['in'],
    wanted: (b) => ({ out: b.in!.map((x) => 2 * x) }),
  },
];

export const ENTRIES: readonly Entry[] = [
  ...REDUCTIONS,
  ...SCANS,
  ...GEMM,
  ...NETWORKS,
  ...IMAGES,
  ...SORTING,
  ...ASYNC,
];

export const REFUSED: readonly Refused[] = [
  { file: 'async.cu', kernel: 'with_texture', reason: 'textures (tex1Dfetch)' },
  { file: 'async.cu', kernel: 'with_heap', reason: 'the device heap outlives a launch' },
];
