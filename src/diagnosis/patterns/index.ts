import type { Pattern } from '../pattern.ts';
import { fillingMoves } from './computed-settings.ts';
import { fitCtas } from './fit-ctas.ts';
import { fewer, mended, more, movesOr, neighbours, rungs } from './moves.ts';
import { raiseOccupancy } from './raise-occupancy.ts';

const FEWER_REGISTERS = 'fewer registers per thread, which is what the assembler lacks most often';

/** Every pattern, the most specific first. */
export const PATTERNS: readonly Pattern[] = [
  /** Fill the GPU before anything else: 2 CTAs on 58 SMs use 3.4 % of it. */
  {
    id: 'parallelism-first',
    title: 'Parallelism first: give every SM a CTA',
    source: 'seed pattern 18 (parallelism first); the B1 H1 S128 case of the L4 reports',
    triggers: ['parallelism'],
    propose: movesOr(
      'Split the reduced axis over CTAs and combine the partial results: no parameter of this kernel makes more CTAs. ' +
        'Derive the merge of two partial results by hand on a small case first.',
      (context) => fillingMoves(context, 0.9),
      rungs(0.45, 'a rung with more CTAs'),
    ),
  },
  /** Reductions by all lanes (shuffles) instead of one thread, and no CTA-wide wait for them. */
  {
    id: 'warp-parallel-reductions',
    title: 'Reduce across the lanes of a warp, not in one thread',
    source: 'L4 ladder: serial reductions 3652 µs → warp-parallel reductions and fewer barriers 870 µs',
    triggers: ['serial-sections', 'warp-imbalance', 'barrier-heavy'],
    propose: movesOr(
      'Give each reduction to the lanes of a warp: partial results in registers, merged by butterfly shuffles; derive the ' +
        'merge of two partial results by hand on a small case first.',
      rungs(0.8, 'lanes share the reduction and no warp waits for another one'),
      more('warps', 0.4, 'more warps share the rows whose reductions run one after the other'),
    ),
  },
  /** Load a tile once, coalesced, and let every row of the CTA use it. */
  {
    id: 'tiles-in-shared-memory',
    title: 'Stage tiles in shared memory, loaded coalesced and used by many rows',
    source: 'FlashAttention tiling; L4 ladder phases 1 to 4',
    triggers: ['uncoalesced-access', 'redundant-global-loads'],
    propose: (context) =>
      movesOr(
        'Copy a tile of the operand into shared memory with neighbouring lanes on neighbouring addresses.',
        rungs(0.7, 'tiles come through shared memory, coalesced'),
        more(
          'row-tile',
          context.finding.id === 'redundant-global-loads' ? 0.5 : 0.1,
          'more rows per CTA use each loaded tile',
        ),
      )(context),
  },
  /** 16 bytes per lane and load. */
  {
    id: 'vectorised-loads',
    title: 'Load 16 bytes per lane',
    source: 'L4 ladder phase 4 (vectorised loads); CUDA vectorised memory access',
    triggers: ['narrow-loads', 'compute-bound', 'uncoalesced-access'],
    propose(context) {
      const direct = context.finding.id === 'narrow-loads';
      const width = more('vector-width', direct ? 0.8 : 0.3, 'fewer requests move the same bytes');
      if (!direct) return width(context);
      return movesOr(
        'Load float4 (8 halves) where addresses are 16-byte aligned.',
        width,
        rungs(0.6, 'its global loads are wide'),
      )(context);
    },
  },
  /** Rows of a shared array that start in different banks. */
  {
    id: 'pad-shared-rows',
    title: 'Pad (or swizzle) the rows of shared arrays',
    source:
      'published attention ladders: conflict-free shared memory 15.8 → 72.6 % of FA2 on A100, 68 → 86 % on RTX 5090',
    triggers: ['bank-conflicts'],
    propose: movesOr(
      'Pad each row of the shared array by one access width, or swizzle its columns by the row.',
      more('padding', 0.8, 'padding puts the rows that a request reads into different banks'),
      rungs(0.5, 'its shared layout avoids the conflicts'),
      fewer('padding', 0.2, 'this padding does not spread the rows; a smaller one may'),
    ),
  },
  fitCtas,
  raiseOccupancy,
  /** Choose the tile so that the CTAs divide evenly among the SMs. */
  {
    id: 'whole-waves',
    title: 'Choose tiles so that CTAs fill whole waves',
    source: 'wave quantisation, CUDA C++ Best Practices Guide; FlashAttention-3 tile choices',
    triggers: ['tail-effect'],
    propose: movesOr(
      'Start the longest CTAs first, or make the grid persistent with dynamic scheduling.',
      (context) => fillingMoves(context, 0.5),
      rungs(0.5, 'its CTAs draw tiles until none is left'),
    ),
  },
  /** Matrix products on the matrix unit. */
  {
    id: 'tensor-cores',
    title: 'Compute half-precision products on tensor cores',
    source: 'L4 ladder: WMMA family 870 → 98.5 µs; mma.sync reaches 99 % of FA2 on A100',
    triggers: ['tensor-cores-unused'],
    propose: movesOr(
      'Write the products with mma.sync.m16n8k16 (fp16 inputs, fp32 accumulators): no rung of this ladder does yet.',
      rungs(0.7, 'its products run on the tensor cores'),
    ),
  },
  /** Keep the tensor cores busy while other warps exponentiate. */
  {
    id: 'overlap-softmax',
    title: 'Multiply in some warps while others exponentiate',
    source: 'FlashAttention-3, ping-pong and overlap inside a warpgroup: 570 → 661 TFLOP/s; attention notebook, turns',
    triggers: ['tensor-pipe-idle'],
    propose: movesOr(
      'Issue the next product before the exponentials of this one (two sets of accumulators), or let warpgroups take turns ' +
        'with named barriers.',
      rungs(0.7, 'more of its products run beside exponentials'),
      mended(more('consumers', 0.4, 'one more warpgroup multiplies while the others exponentiate')),
      mended(more('stages', 0.3, 'warpgroups that are apart in time need tiles that are apart')),
      mended(more('column-tile', 0.3, 'fewer borders between tiles, at which nothing overlaps')),
      mended(neighbours(0.2, (parameter) => `what overlaps with what depends on ${parameter}, too`)),
    ),
  },
  /** Tiles on their way before they are needed. */
  {
    id: 'copies-ahead',
    title: 'Copy tiles ahead of their use',
    source: 'CUDA C++ Programming Guide, asynchronous copies; attention notebook: cp.async ring 1.28 to 1.35×',
    triggers: ['exposed-copies', 'few-stages'],
    propose: movesOr(
      'A ring of tiles filled by cp.async, or by TMA and a producer warp, with as many stages as shared memory holds.',
      rungs(0.7, 'its copies run ahead of the products'),
      mended(more('stages', 0.5, 'more tiles are on their way at once')),
      more('column-tile', 0.3, 'larger tiles: more bytes on their way at once'),
    ),
  },
  /** wgmma that the assembler need not wait for. */
  {
    id: 'asynchronous-products',
    title: 'Let wgmma stay asynchronous',
    source: 'PTX ISA, wgmma.mma_async; warnings C7510 to C7520 of ptxas, attention notebook (Hopper rungs, 1)',
    triggers: ['wgmma-serialized'],
    propose: movesOr(
      'Read accumulators only after wgmma.wait_group, and take the warpgroup’s number from a shuffle, so that branches ' +
        'around wgmma are provably uniform.',
      mended(fewer('column-tile', 0.5, FEWER_REGISTERS)),
      mended(fewer('consumers', 0.5, FEWER_REGISTERS)),
      fewer('rows-per-warp', 0.5, FEWER_REGISTERS),
    ),
  },
  /** Independent work to fill the waits: register tiles, pipelined loads, more warps. */
  {
    id: 'more-work-in-flight',
    title: 'Keep more independent work in flight',
    source: 'Little’s law; published ladders: eager loads 72.6 → 77.6 %, two stages 86 → 91 %',
    triggers: ['latency-bound'],
    propose: movesOr(
      'Issue loads before the work that does not need them, and give each thread several independent accumulators.',
      rungs(0.6, 'register tiles give independent accumulators'),
      more('stages', 0.5, 'the next tile loads while this one is used'),
      more('warps', 0.4, 'more warps to switch to while one waits'),
      more('ctas-per-sm', 0.4, 'more warps to switch to while one waits'),
      more('items-per-thread', 0.3, 'more independent loads of a thread in flight'),
      more('unroll', 0.3, 'more independent instructions between a load and its use'),
    ),
  },
  /** More reuse of what is loaded, and more work between barriers. */
  {
    id: 'larger-tiles',
    title: 'Use larger tiles: more reuse, fewer barriers',
    source: 'roofline; FlashAttention tile choices (128 × 112 at D = 64 on sm_8x)',
    triggers: ['memory-bound', 'barrier-heavy'],
    propose: (context) =>
      movesOr(
        'Keep more results per thread in registers, so that each loaded value is used several times.',
        ...(context.finding.id === 'memory-bound' ? [rungs(0.6, 'it reuses what it loads')] : []),
        more('column-tile', 0.5, 'more work per tile and barrier'),
        more('rows-per-warp', 0.4, 'each loaded value is used for more rows'),
        more('row-tile', 0.4, 'each loaded tile is used for more rows'),
      )(context),
  },
  /** Smaller per-thread tiles and constant indices. */
  {
    id: 'keep-arrays-in-registers',
    title: 'Keep per-thread arrays in registers',
    source: 'CUDA C++ Programming Guide, local memory; FA2 register budgets',
    triggers: ['register-spills'],
    propose: movesOr(
      'Unroll the loops that index per-thread arrays, so that every index is a constant.',
      ...(['rows-per-warp', 'unroll', 'row-tile', 'column-tile'] as const).map((role) =>
        fewer(role, 0.5, 'a smaller per-thread tile needs fewer registers'),
      ),
    ),
  },
  /** One atomic per CTA. */
  {
    id: 'aggregate-atomics',
    title: 'Reduce in the warp and the CTA before an atomic',
    source: 'warp-aggregated atomics, NVIDIA developer blog',
    triggers: ['atomics-contention'],
    propose: movesOr(
      'Sum over the lanes with shuffles, over the warps in shared memory, then add once per CTA.',
      rungs(0.7, 'it reduces before it adds atomically'),
      more('items-per-thread', 0.4, 'each CTA puts more together before it adds atomically'),
      fewer('ctas-per-sm', 0.2, 'fewer CTAs add to the result'),
    ),
  },
  /** CTAs that run side by side read the same tiles, while these are in L2. */
  {
    id: 'order-ctas-for-reuse',
    title: 'Order CTAs so that those resident at once share their tiles in L2',
    source:
      'CUTLASS threadblock swizzle; Triton matrix-multiplication tutorial, grouped ordering: 220 → 245 TFLOPS on A100',
    triggers: ['cache-reuse'],
    propose: movesOr(
      'Number the CTAs in square blocks instead of along rows (blockIdx swizzle), or finish all passes over a part that ' +
        'fits L2 before the next part.',
      more('cta-group', 0.6, 'larger groups of neighbouring CTAs share rows and columns in L2'),
      rungs(0.6, 'its CTAs re-read data that is still in L2'),
      more('row-tile', 0.4, 'each tile that comes from DRAM is used for more rows'),
      more('column-tile', 0.4, 'each tile that comes from DRAM is used for more columns'),
    ),
  },
  /** Fewer trips through the special-function units for the same result. */
  {
    id: 'fewer-special-functions',
    title: 'Use fewer special functions, and fold their scales',
    source:
      'FlashAttention-2: exp2 with log2(e) folded into the scale; FlashAttention-4: part of the exponentials as polynomials',
    triggers: ['special-function-bound'],
    propose: movesOr(
      'exp2f with log2(e) folded into the scale instead of expf, one reciprocal per row instead of a division per ' +
        'element, and a polynomial on the fp32 pipe for part of the exponentials.',
      rungs(0.6, 'it needs fewer special functions'),
      more('column-tile', 0.2, 'larger tiles rescale running sums less often'),
    ),
  },
  /** Fewer, larger launches. */
  {
    id: 'fuse-launches',
    title: 'Fuse launches, and give each more work',
    source:
      'kernel fusion, CUDA C++ Best Practices Guide; threadFenceReduction of the CUDA samples: one launch instead of two',
    triggers: ['launch-bound'],
    propose: (context) =>
      movesOr(
        'Do the final step in the CTA that finishes last (a counter in device memory), or batch several problems into one ' +
          'launch.',
        // A launch that is alone has nothing to be fused with, and the finding says so by a gain of 1.
        ...(context.finding.estimatedSpeedup > 1
          ? [rungs(0.6, 'it needs fewer launches'), fewer('split', 0.3, 'fewer parts leave less to combine')]
          : []),
      )(context),
  },
  /** Paths chosen per warp, or tiles chosen per case. */
  {
    id: 'uniform-branches',
    title: 'Branch per warp, and keep masked tiles apart from full ones',
    source: 'FlashAttention-3: separate masked and unmasked loops; bitmask masking −3 % instructions',
    triggers: ['divergence'],
    propose: movesOr(
      'Handle the few tiles that need masks in a loop of their own; use predicated arithmetic elsewhere.',
      rungs(0.6, 'its lanes take one path'),
    ),
  },
  /** Fewer address calculations, loads and conversions per useful operation. */
  {
    id: 'fewer-instructions',
    title: 'Spend fewer instructions per useful operation',
    source: 'published ladder on A100: fewer IADD3/LOP3/SHF 80.3 → 87.8 %, fewer MOVs → 95.3 %',
    triggers: ['compute-bound'],
    propose: movesOr(
      'Hoist address arithmetic out of loops, convert once, fold scales into exp2, and use packed half2 arithmetic.',
      rungs(0.5, 'it does the same with fewer instructions'),
      more('rows-per-warp', 0.4, 'loads and conversions are shared by more rows'),
      more('row-tile', 0.4, 'each warp owns more rows, which share its loads and conversions'),
      fewer('warps', 0.3, 'fewer warps own more rows each, which share loads and conversions'),
      more('unroll', 0.3, 'fewer loop and address instructions'),
    ),
  },
  /** When a resource binds and no remedy is left: one step of each parameter, either way. */
  {
    id: 'tune-neighbours',
    title: 'Try the neighbouring value of each parameter',
    source: 'tile, warp and stage sweeps of the L4 reports; autotuning 77.6 → 80.3 % in a published ladder',
    triggers: ['memory-bound', 'compute-bound', 'latency-bound', 'occupancy', 'tail-effect'],
    propose: (context) => neighbours(0.15, (parameter) => `${context.finding.id}: one step of ${parameter}`)(context),
  },
];
