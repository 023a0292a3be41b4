import type { LaunchCounters } from '../../core/counters.ts';
import type { DiagnosisContext } from '../rule.ts';

/** Whether most of a launch's arithmetic runs on the tensor cores. */
export const isTensorWork = ({ flop }: LaunchCounters): boolean => flop.tensor > flop.fp32 + flop.fp16;

/** Time of the sequence: measured where it was, else modelled. */
export const sequenceNs = ({ timing, totalNs }: DiagnosisContext): number =>
  timing.kind === 'measured' ? timing.medianNs : totalNs;
