import type { LaunchCounters } from '../../core/counters.ts';
import { LANES_PER_WARP } from '../../core/gpu-sizes.ts';
import { figure } from '../../core/values.ts';
import type { ModelledLaunch } from '../rule.ts';
import { replaceInstructions } from '../what-if.ts';
import { where } from '../where.ts';
import { figureRule } from './figure-rule.ts';

/** Tensor FLOP per vector FLOP. */
const THRESHOLD = 0.01;
/** FLOP of one fused multiply-add over a warp, and of one mma.sync m16n8k16. */
const FLOP_PER_FMA_INSTRUCTION = 2 * LANES_PER_WARP;
const FLOP_PER_MMA = 2 * 16 * 8 * 16;
/** Wavefronts that feed one mma from shared memory with no register reuse: 16×16 and 16×8 halves, 128 B each. */
const WAVEFRONTS_PER_MMA = 6;

const vectorFlop = (launch: LaunchCounters): number => launch.flop.fp32 + launch.flop.fp16;

/** The launch with its multiply-adds on the tensor cores, and the loads and conversions that feed them shrunk alike. */
function onTensorCores(item: ModelledLaunch): LaunchCounters {
  const { launch } = item;
  const flop = vectorFlop(launch);
  const mmas = flop / FLOP_PER_MMA;
  const classes = launch.instructionsByClass;
  const vectorInstructions = classes.fp32 + classes.fp16;
  const multiplyAdds = Math.min(vectorInstructions, flop / FLOP_PER_FMA_INSTRUCTION);
  const remaining = vectorInstructions > 0 ? 1 - multiplyAdds / vectorInstructions : 1;
  const wavefronts = Math.min(launch.sharedLoadWavefronts, mmas * WAVEFRONTS_PER_MMA);
  const fed = launch.sharedLoadWavefronts > 0 ? wavefronts / launch.sharedLoadWavefronts : 1;
  return {
    ...replaceInstructions(item, {
      fp32: classes.fp32 * remaining,
      fp16: classes.fp16 * remaining,
      conversion: classes.conversion * remaining,
      'shared-load': classes['shared-load'] * fed,
      tensor: mmas,
    }),
    flop: { ...launch.flop, fp32: launch.flop.fp32 * remaining, fp16: launch.flop.fp16 * remaining, tensor: flop },
    sharedLoadWavefronts: wavefronts,
    sharedLoadRequests: launch.sharedLoadRequests * fed,
    sharedLoadBankConflicts: 0,
  };
}

/** Half-precision matrix products on the vector pipes, which are an eighth as fast as the tensor cores or less. */
export const tensorCoresUnused = figureRule({
  id: 'tensor-cores-unused',
  minimumSpeedup: 1.02,
  counter: 'tensor FLOP ÷ vector FLOP',
  threshold: THRESHOLD,
  comparison: 'below',
  valueOf({ launch }, { halfPrecisionMatrixWork }) {
    const flop = vectorFlop(launch);
    return halfPrecisionMatrixWork && flop > 0 ? launch.flop.tensor / flop : undefined;
  },
  title: ({ launch }) =>
    `tensor cores unused: ${figure(vectorFlop(launch))} FLOP of half-precision work on the vector pipes`,
  where: ({ launch }) => where(launch, (line) => line.threadInstructions),
  advice: (_, { spec: { tensorFp16FlopPerClock, fp32PerClock } }) =>
    'Compute the products with mma.sync or wmma: ' +
    `${figure(tensorFp16FlopPerClock.value / (2 * fp32PerClock.value))}× the fp32 rate on this device.`,
  remedy: 'the multiply-adds on the tensor cores',
  change: (item) => ({ launch: onTensorCores(item) }),
});
