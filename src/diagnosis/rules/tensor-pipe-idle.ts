import { figure } from '../../core/values.ts';
import { nanoseconds, percent } from '../format.ts';
import { type DiagnosisContext, type ModelledLaunch, type Rule, resourceNs } from '../rule.ts';
import { isTensorWork, sequenceNs } from './tensor-work.ts';

/** Busy share of the tensor pipe. FlashAttention-3 reaches 0.75 (arXiv 2407.08608). */
const THRESHOLD = 0.7;
/** Exponentials that take a smaller share of the products' time are no reason. */
const LEAST_SPECIAL_RATIO = 0.1;

/** Time of a launch: measured, where the sequence was measured; its parts as the model divides it. */
const launchNs = ({ timing }: DiagnosisContext, { timeShare, model }: ModelledLaunch): number =>
  timing.kind === 'measured' ? timing.medianNs * timeShare : model.ns;

/** Products wait for exponentials: one warp does one after the other, and no other warp multiplies meanwhile. */
export const tensorPipeIdle: Rule = {
  id: 'tensor-pipe-idle',
  minimumSpeedup: 1.05,
  observe(context) {
    const idle = context.launches
      .filter(({ launch }) => isTensorWork(launch))
      .map((item) => {
        const ns = launchNs(context, item);
        const [tensorNs, specialNs] = [resourceNs(item, 'tensor'), resourceNs(item, 'special')];
        const busyRatio = item.launch.activity?.tensorPipeRatio ?? Math.min(1, tensorNs / ns);
        return { item, ns, tensorNs, specialNs, busyRatio };
      })
      .filter(({ busyRatio, tensorNs, specialNs }) => {
        return busyRatio < THRESHOLD && specialNs > LEAST_SPECIAL_RATIO * tensorNs;
      });
    const worst = idle[0];
    if (!worst) return undefined;
    const totalNs = sequenceNs(context);
    const hiddenNs = idle.reduce((sum, { tensorNs, specialNs }) => sum + Math.min(tensorNs, specialNs), 0);
    const estimatedSpeedup = totalNs / Math.max(totalNs - hiddenNs, totalNs / 2);
    return {
      title:
        `the tensor pipe is idle ${percent(1 - worst.busyRatio)} of the time: products and exponentials take turns` +
        ` (${nanoseconds(worst.tensorNs)} and ${nanoseconds(worst.specialNs)} if nothing else ran)`,
      evidence: idle.map(({ item, busyRatio }) => ({
        counter: 'busy share of the tensor pipe',
        value: busyRatio,
        threshold: THRESHOLD,
        comparison: 'below' as const,
        where: item.launch.functionName,
      })),
      advice:
        'Let some warps multiply while others exponentiate: warpgroups in turns (named barriers), the next scores issued ' +
        'before these exponentials, more warpgroups, and fewer instructions between a product and its exponentials.',
      estimatedSpeedup,
      arithmetic:
        `the shorter of products and exponentials hidden behind the longer: ${nanoseconds(totalNs)} − ` +
        `${nanoseconds(Math.min(hiddenNs, totalNs / 2))} = ${figure(estimatedSpeedup)}×`,
    };
  },
};
